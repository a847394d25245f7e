// What mouse, wheel and fingers say on the plotting area: zoom, pan, pinch, cursors, menu.

import { HELD_MILLIS } from "./asked.ts";
import { zoomed, type Range } from "./state.ts";

export interface Gestures {
  /** By dragging over a stretch. */
  zoom(range: Range): void;
  /** By turning the wheel, or with two fingers. */
  wheel(range: Range): void;
  pan(range: Range): void;
  /** A click, or a tap: cursor A; with Shift cursor B. */
  pin(at: number, isSecond: boolean): void;
  /** A double click: back to the view before. */
  back(): void;
}

interface Surface extends Gestures {
  range(): Range | null;
  /** The cursor, as a part of the width; none if it has left. */
  hover(part: number | null, y: number): void;
  /** What is being chosen by a drag, in pixels; none when it is over. */
  choose(from: number | null, to: number, isHeight: boolean): void;
  chooseHeight(top: number, bottom: number, began: number): void;
}

/** A press that moves less is a click. */
const CLICK_PIXELS = 4;
const DOUBLE_MILLIS = 350;

export class GestureReader {
  private fingers = new Map<number, PointerEvent>();
  private began: { range: Range; span: number; middle: number } | null = null;
  private lastTap = 0;
  private holding = 0;
  /** A finger has rested: the cursor is there, and a menu. */
  private isHeld = false;

  constructor(
    private over: HTMLElement,
    private surface: Surface,
  ) {
    over.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") this.hover(event);
    });
    over.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") surface.hover(null, 0);
    });
    over.addEventListener("pointerdown", (event) => this.down(event));
    over.addEventListener("dblclick", () => surface.back());
    over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  private box(): DOMRect {
    return this.over.getBoundingClientRect();
  }

  private hover(event: PointerEvent): void {
    const box = this.box();
    const part = (event.clientX - box.left) / box.width;
    this.surface.hover(Math.min(Math.max(part, 0), 1), event.clientY - box.top);
  }

  private momentAt(clientX: number, range: Range): number {
    const box = this.box();
    return range.from + ((clientX - box.left) / box.width) * (range.to - range.from);
  }

  private down(event: PointerEvent): void {
    const range = this.surface.range();
    if (!range) return;
    if (event.pointerType === "touch") return this.touch(event, range);
    if (event.button === 1 || (event.button === 0 && event.shiftKey)) this.drag(event, range);
    else if (event.button === 0) this.choose(event, range);
  }

  private drag(down: PointerEvent, range: Range): void {
    down.preventDefault();
    const perPixel = (range.to - range.from) / this.box().width;
    follow(
      (event) => {
        const by = (down.clientX - event.clientX) * perPixel;
        if (Math.abs(event.clientX - down.clientX) >= CLICK_PIXELS)
          this.surface.pan({ from: range.from + by, to: range.to + by });
      },
      (event) => {
        const isClick = Math.abs(event.clientX - down.clientX) < CLICK_PIXELS;
        if (isClick && down.button === 0) this.surface.pin(this.momentAt(event.clientX, range), true);
      },
    );
  }

  /** A drag chooses a stretch of time, with Alt one of height; a press that does not move sets the cursor. */
  private choose(down: PointerEvent, range: Range): void {
    const box = this.box();
    const isHeight = down.altKey;
    const placeOf = (event: PointerEvent) =>
      isHeight
        ? Math.min(Math.max(event.clientY - box.top, 0), box.height)
        : Math.min(Math.max(event.clientX - box.left, 0), box.width);
    const from = placeOf(down);
    follow(
      (event) => {
        const to = placeOf(event);
        this.surface.choose(Math.abs(to - from) < CLICK_PIXELS ? null : from, to, isHeight);
      },
      (event) => {
        this.surface.choose(null, 0, isHeight);
        const to = placeOf(event);
        const [low, high] = [Math.min(from, to), Math.max(from, to)];
        if (high - low < CLICK_PIXELS) {
          const now = this.surface.range() ?? range;
          if (event.type === "pointerup" && !isHeight)
            this.surface.pin(this.momentAt(event.clientX, now), false);
        } else if (isHeight) {
          this.surface.chooseHeight(low, high, from);
        } else {
          const perPixel = (range.to - range.from) / box.width;
          this.surface.zoom({ from: range.from + low * perPixel, to: range.from + high * perPixel });
        }
      },
    );
  }

  private wheel(event: WheelEvent): void {
    const range = this.surface.range();
    if (!range) return;
    event.preventDefault();
    const seconds = range.to - range.from;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      const by = (Math.sign(sideways) * seconds) / 10;
      this.surface.pan({ from: range.from + by, to: range.to + by });
      return;
    }
    const about = this.momentAt(event.clientX, range);
    this.surface.wheel(zoomed(range, about, event.deltaY > 0 ? 1.25 : 0.8));
  }

  /** One finger pans, two pinch, a tap reads, two taps go back. */
  private touch(down: PointerEvent, range: Range): void {
    down.preventDefault();
    this.over.setPointerCapture(down.pointerId);
    this.fingers.set(down.pointerId, down);
    this.begin(range);
    if (this.fingers.size > 1) return;
    window.clearTimeout(this.holding);
    this.isHeld = false;
    this.holding = window.setTimeout(() => {
      this.isHeld = true;
      this.hover(down);
    }, HELD_MILLIS);
    const move = (event: PointerEvent) => {
      if (!this.fingers.has(event.pointerId)) return;
      this.fingers.set(event.pointerId, event);
      if (distance(event, down) >= CLICK_PIXELS || this.fingers.size > 1) window.clearTimeout(this.holding);
      this.moved(down);
    };
    const up = (event: PointerEvent) => {
      const wasAlone = this.fingers.size === 1;
      this.fingers.delete(event.pointerId);
      this.begin(this.surface.range() ?? range);
      if (this.fingers.size > 0) return;
      window.clearTimeout(this.holding);
      for (const name of ["pointermove", "pointerup", "pointercancel"] as const)
        this.over.removeEventListener(name, name === "pointermove" ? move : up);
      const isTap = wasAlone && !this.isHeld && distance(event, down) < CLICK_PIXELS * 2;
      if (isTap && event.type === "pointerup") this.tap(event);
    };
    this.over.addEventListener("pointermove", move);
    this.over.addEventListener("pointerup", up);
    this.over.addEventListener("pointercancel", up);
  }

  private tap(event: PointerEvent): void {
    const now = event.timeStamp;
    const isSecond = now - this.lastTap < DOUBLE_MILLIS;
    this.lastTap = isSecond ? 0 : now;
    const range = this.surface.range();
    if (isSecond) this.surface.back();
    else if (range) this.surface.pin(this.momentAt(event.clientX, range), false);
  }

  private begin(range: Range): void {
    const [a, b] = [...this.fingers.values()];
    const middle = a && b ? (a.clientX + b.clientX) / 2 : (a?.clientX ?? 0);
    this.began = { range, span: a && b ? Math.max(20, Math.abs(a.clientX - b.clientX)) : 0, middle };
  }

  private moved(down: PointerEvent): void {
    const { began } = this;
    const [a, b] = [...this.fingers.values()];
    if (!began || !a) return;
    const box = this.box();
    const { from, to } = began.range;
    const seconds = to - from;
    const middle = b ? (a.clientX + b.clientX) / 2 : a.clientX;
    if (!b) {
      if (distance(a, down) < CLICK_PIXELS) return;
      const by = ((began.middle - middle) / box.width) * seconds;
      return this.surface.pan({ from: from + by, to: to + by });
    }
    const factor = began.span / Math.max(20, Math.abs(a.clientX - b.clientX));
    const held = from + ((began.middle - box.left) / box.width) * seconds;
    const length = seconds * factor;
    const start = held - ((middle - box.left) / box.width) * length;
    this.surface.wheel({ from: start, to: start + length });
  }
}

function distance(a: PointerEvent, b: PointerEvent): number {
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
}

function follow(move: (event: PointerEvent) => void, done: (event: PointerEvent) => void): void {
  const up = (event: PointerEvent) => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    window.removeEventListener("pointercancel", up);
    done(event);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", up);
  window.addEventListener("pointercancel", up);
}
