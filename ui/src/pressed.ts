// Whether a button of the mouse, or a finger, is held down, as in a drag.

let pressed = false;
const listeners: (() => void)[] = [];

/** Begins to watch; nothing is known before. */
export function watchPresses(): void {
  window.addEventListener("pointerdown", () => (pressed = true), { capture: true });
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, release);
}

function release(): void {
  pressed = false;
  for (const listener of listeners) listener();
}

export function isPressed(): boolean {
  return pressed;
}

export function onRelease(listener: () => void): void {
  listeners.push(listener);
}
