// A canvas on which a chart is pointed at by mouse and by arrows, and along which one drags to zoom.

import type { Size } from "./chart_axes.ts";
import { h } from "./dom.ts";

export interface ChartActions {
  draw(context: CanvasRenderingContext2D, size: Size): void;
  /** Somebody points there, or nowhere any more. */
  point(at: { x: number; y: number } | null): void;
  /** By an arrow, far with Shift. */
  step(by: 1 | -1, isFar: boolean): void;
  choose(): void;
  /** From and to, in pixels; none: all is to be seen again. */
  zoom(part: [number, number] | null): void;
  /** About what is pointed at. */
  zoomBy(factor: number): void;
}

/** A drag over less is a click. */
const DRAG_LEAST = 5;

export class ChartCanvas {
  readonly element = h("canvas", { class: "chart", tabindex: "0", role: "img" });
  private drag: { from: number; to: number } | null = null;

  constructor(
    private actions: ChartActions,
    private accent: () => string,
  ) {
    const { element } = this;
    element.addEventListener("pointermove", (event) => {
      if (this.drag) this.drag.to = event.offsetX;
      actions.point({ x: event.offsetX, y: event.offsetY });
      if (this.drag) this.draw();
    });
    element.addEventListener("pointerleave", () => {
      if (!this.drag) actions.point(null);
    });
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      this.drag = { from: event.offsetX, to: event.offsetX };
    });
    element.addEventListener("pointerup", () => this.drop());
    element.addEventListener("pointercancel", () => {
      this.drag = null;
      this.draw();
    });
    element.addEventListener("dblclick", () => actions.zoom(null));
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  draw(): void {
    const { element, drag } = this;
    const size = { width: element.clientWidth, height: element.clientHeight };
    if (size.width < 120 || size.height < 80) return;
    const ratio = devicePixelRatio;
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    const context = element.getContext("2d")!;
    context.scale(ratio, ratio);
    this.actions.draw(context, size);
    if (!drag || Math.abs(drag.to - drag.from) < DRAG_LEAST) return;
    context.globalAlpha = 0.2;
    context.fillStyle = this.accent();
    context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), size.height);
    context.globalAlpha = 1;
  }

  private drop(): void {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    if (to - from < DRAG_LEAST) this.actions.choose();
    else this.actions.zoom([from, to]);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key] as 1 | -1 | undefined;
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (by !== undefined) this.actions.step(by, event.shiftKey);
    else if (factor !== undefined) this.actions.zoomBy(factor);
    else if (event.key === "Enter") this.actions.choose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
