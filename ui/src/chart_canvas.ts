// A canvas on which a chart is pointed at by mouse and by arrows, and over which one drags to zoom, by keys too.

import type { Size } from "./chart_axes.ts";
import { h } from "./dom.ts";

export interface Point {
  x: number;
  y: number;
}

/** What was dragged over, in pixels; along an axis that keeps what it shows none. */
export interface Part {
  x: [number, number] | null;
  y: [number, number] | null;
}

/** Along which axes one zooms. */
export type Zoomed = "x" | "xy";

export interface ChartActions {
  draw(context: CanvasRenderingContext2D, size: Size): void;
  /** Somebody points there, or nowhere any more. */
  point(at: Point | null): void;
  /** By an arrow, far with Shift. */
  step(by: 1 | -1, isFar: boolean): void;
  choose(): void;
  /** None: all is to be seen again. */
  zoom(part: Part | null): void;
  /** About what is pointed at. */
  zoomBy(factor: number): void;
  isZoomed(): boolean;
}

/** A drag over less is a click. */
const DRAG_LEAST = 5;
/** Where a second click would show all again the first waits for it so long. */
const CLICK_MILLIS = 300;

export class ChartCanvas {
  readonly element = h("canvas", { class: "chart", tabindex: "0", role: "img" });
  private drag: { from: Point; to: Point } | null = null;
  private clicked = 0;

  constructor(
    private actions: ChartActions,
    private zoomed: Zoomed,
    private accent: () => string,
  ) {
    const { element } = this;
    const placeOf = (event: PointerEvent) => ({ x: event.offsetX, y: event.offsetY });
    element.addEventListener("pointermove", (event) => {
      if (this.drag) this.drag.to = placeOf(event);
      actions.point(placeOf(event));
      if (this.drag) this.draw();
    });
    element.addEventListener("pointerleave", () => {
      if (!this.drag) actions.point(null);
    });
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      this.drag = { from: placeOf(event), to: placeOf(event) };
    });
    element.addEventListener("pointerup", () => this.drop());
    element.addEventListener("pointercancel", () => this.letGo());
    element.addEventListener("dblclick", () => {
      window.clearTimeout(this.clicked);
      actions.zoom(null);
    });
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  draw(): void {
    const { element } = this;
    const size = { width: element.clientWidth, height: element.clientHeight };
    if (size.width < 120 || size.height < 80) return;
    const ratio = devicePixelRatio;
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    const context = element.getContext("2d")!;
    context.scale(ratio, ratio);
    this.actions.draw(context, size);
    const part = this.part();
    if (!part) return;
    const [x0, x1] = part.x ?? [0, size.width];
    const [y0, y1] = part.y ?? [0, size.height];
    context.globalAlpha = 0.2;
    context.fillStyle = this.accent();
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
    context.globalAlpha = 1;
  }

  /** What is dragged over; none before that is more than a click. */
  private part(): Part | null {
    if (!this.drag) return null;
    const { from, to } = this.drag;
    const along = (a: number, b: number): [number, number] | null =>
      Math.abs(b - a) < DRAG_LEAST ? null : [Math.min(a, b), Math.max(a, b)];
    const part = { x: along(from.x, to.x), y: this.zoomed === "xy" ? along(from.y, to.y) : null };
    return part.x || part.y ? part : null;
  }

  private drop(): void {
    const part = this.part();
    const wasHeld = this.drag !== null;
    this.letGo();
    if (part) return this.actions.zoom(part);
    if (!wasHeld) return;
    window.clearTimeout(this.clicked);
    if (this.actions.isZoomed()) this.clicked = window.setTimeout(() => this.actions.choose(), CLICK_MILLIS);
    else this.actions.choose();
  }

  private letGo(): void {
    this.drag = null;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key] as 1 | -1 | undefined;
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (by !== undefined) this.actions.step(by, event.shiftKey);
    else if (factor !== undefined) this.actions.zoomBy(factor);
    else if (event.key === "Enter") this.actions.choose();
    // The last thing begun ends first: a drag, a zoom, and only then the drawer.
    else if (event.key === "Escape" && this.drag) this.letGo();
    else if (event.key === "Escape" && this.actions.isZoomed()) this.actions.zoom(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
