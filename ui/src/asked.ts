// Asking for a menu: by the right button of the mouse, or by holding a finger on something. Keys ask for it in keys.ts.

/** A finger that rests so long asks; one that moves farther than this pans or scrolls. */
export const HELD_MILLIS = 500;
export const STILL_PIXELS = 8;

/** The click of a finger that is lifted comes at once; nobody presses anything else so soon. */
const LIFTED_MILLIS = 300;

/** Where somebody asks, and of what. */
export interface Asking {
  x: number;
  y: number;
  target: Element;
}

/** Calls `ask` when somebody asks within an element; it says whether there is a menu of that. */
export function onAsked(element: HTMLElement, ask: (asking: Asking) => boolean): void {
  /** When a finger has asked: a browser that tells of held fingers, too, tells a second time. */
  let heldAt = -Infinity;
  element.addEventListener("contextmenu", (event) => {
    const isTold = event.timeStamp - heldAt < 2 * HELD_MILLIS;
    if (isTold || ask({ x: event.clientX, y: event.clientY, target: event.target as Element }))
      event.preventDefault();
  });
  element.addEventListener("pointerdown", (down) => {
    if (down.pointerType !== "touch" || !down.isPrimary) return;
    const target = down.target as Element;
    const timer = window.setTimeout(() => {
      end();
      heldAt = performance.now();
      swallowClick();
      ask({ x: down.clientX, y: down.clientY, target });
    }, HELD_MILLIS);
    const end = () => {
      window.clearTimeout(timer);
      for (const name of ["pointermove", "pointerup", "pointercancel", "pointerdown"] as const)
        window.removeEventListener(name, look, { capture: true });
    };
    const look = (event: PointerEvent) => {
      const isStill = Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < STILL_PIXELS;
      // A second finger pinches.
      if (event !== down && (event.type !== "pointermove" || !isStill)) end();
    };
    for (const name of ["pointermove", "pointerup", "pointercancel", "pointerdown"] as const)
      window.addEventListener(name, look, { capture: true });
  });
}

/** The finger that asked must not press what opens below it: of its lifting some browsers make a click. */
function swallowClick(): void {
  const swallow = (event: Event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const lifted = () => {
    for (const name of ["pointerup", "pointercancel"])
      window.removeEventListener(name, lifted, { capture: true });
    window.setTimeout(() => window.removeEventListener("click", swallow, { capture: true }), LIFTED_MILLIS);
  };
  window.addEventListener("click", swallow, { capture: true });
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, lifted, { capture: true });
}
