// A waveform as a line of its elements, on a canvas of its own: with the element that is pointed at, and zoom by dragging.

import { valueLabels, valueRange, valueTicks } from "./axis.ts";
import { h } from "./dom.ts";
import type { Palette } from "./style.ts";

const LEFT = 58;
const RIGHT = 12;
const TOP = 8;
const BELOW = 22;
/** Keys zoom in to so many steps between elements. */
const PART_LEAST = 4;
/** A drag over less is a click. */
const DRAG_LEAST = 4;

export class WaveChart {
  readonly element = h("canvas", { class: "wave-chart", tabindex: "0", role: "img" });
  private numbers: number[] = [];
  private stroke = "";
  private palette: Palette | null = null;
  /** The elements that are in sight: from, to. */
  private part: [number, number] | null = null;
  private at: number | null = null;
  private drag: { from: number; to: number } | null = null;

  /** `pointed` is told the element under the cursor. */
  constructor(private pointed: (index: number | null) => void) {
    const { element } = this;
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerleave", () => this.point(null));
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      this.drag = { from: this.indexOf(event), to: this.indexOf(event) };
    });
    element.addEventListener("pointerup", () => this.drop());
    element.addEventListener("dblclick", () => this.zoom(null));
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  get index(): number | null {
    return this.at;
  }

  show(numbers: number[], stroke: string, palette: Palette, label: string): void {
    if (numbers.length !== this.numbers.length) this.part = null;
    this.numbers = numbers;
    this.stroke = stroke;
    this.palette = palette;
    this.element.setAttribute("aria-label", label);
    this.draw();
    this.point(this.at !== null && this.at < numbers.length ? this.at : null);
  }

  private get shown(): [number, number] {
    return this.part ?? [0, Math.max(1, this.numbers.length - 1)];
  }

  private indexOf(event: PointerEvent): number {
    const width = this.element.clientWidth - LEFT - RIGHT;
    const [from, to] = this.shown;
    const index = Math.round(from + ((event.offsetX - LEFT) / Math.max(1, width)) * (to - from));
    return Math.min(Math.max(index, Math.ceil(from)), Math.floor(to));
  }

  private move(event: PointerEvent): void {
    const index = this.indexOf(event);
    if (this.drag) this.drag.to = index;
    this.point(index);
  }

  private drop(): void {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    const [low, high] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    const [from, to] = this.shown;
    const width = this.element.clientWidth - LEFT - RIGHT;
    if (high > low && ((high - low) / (to - from)) * width > DRAG_LEAST) this.zoom([low, high]);
    else this.draw();
  }

  private zoom(part: [number, number] | null): void {
    this.part = part;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    if (this.numbers.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (factor === undefined && by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const [from, to] = this.shown;
    if (by === undefined) return this.zoomed(from, to, factor!);
    const next = (this.at ?? from - by) + by * (event.shiftKey ? 10 : 1);
    this.point(Math.min(Math.max(next, Math.ceil(from)), Math.floor(to)));
  }

  /** As many times as many elements about the one that is pointed at. */
  private zoomed(from: number, to: number, factor: number): void {
    const most = this.numbers.length - 1;
    const length = Math.max(PART_LEAST, (to - from) * factor);
    if (length >= most) return this.zoom(null);
    const about = this.at ?? (from + to) / 2;
    const first = Math.min(Math.max(0, Math.round(about - length / 2)), Math.floor(most - length));
    this.zoom([first, Math.ceil(first + length)]);
  }

  private point(index: number | null): void {
    this.at = index;
    this.pointed(index);
    this.draw();
  }

  private draw(): void {
    const { element, palette, numbers } = this;
    const width = element.clientWidth;
    if (!palette || width < 80) return;
    const ratio = devicePixelRatio;
    element.width = Math.round(width * ratio);
    const height = element.clientHeight;
    element.height = Math.round(height * ratio);
    const context = element.getContext("2d")!;
    context.scale(ratio, ratio);
    const [from, to] = this.shown;
    const box = { left: LEFT, top: TOP, width: width - LEFT - RIGHT, height: height - TOP - BELOW };
    const seen = numbers.slice(Math.ceil(from), Math.floor(to) + 1).filter((value) => Number.isFinite(value));
    const [low, high] = valueRange(
      seen.reduce((a, b) => Math.min(a, b), Infinity),
      seen.reduce((a, b) => Math.max(a, b), -Infinity),
      false,
    );
    const xOf = (i: number) => box.left + ((i - from) / (to - from)) * box.width;
    const yOf = (value: number) => box.top + box.height - ((value - low) / (high - low)) * box.height;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.faint;
    context.strokeStyle = palette.grid;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const ticks = valueTicks([low, high], box.height / 34, false);
    const labels = valueLabels(ticks);
    ticks.forEach((tick, i) => {
      line(context, box.left, yOf(tick), box.left + box.width, yOf(tick));
      context.fillText(labels[i]!.replace(/^-/, "−"), box.left - 8, yOf(tick));
    });
    context.textAlign = "center";
    for (const tick of valueTicks([from, to], box.width / 90, false)) {
      if (!Number.isInteger(tick)) continue;
      line(context, xOf(tick), box.top, xOf(tick), box.top + box.height);
      context.fillText(String(tick), Math.min(xOf(tick), width - 16), height - BELOW / 2 + 2);
    }
    context.save();
    context.beginPath();
    context.rect(box.left, box.top - 2, box.width, box.height + 4);
    context.clip();
    if (this.drag) {
      context.globalAlpha = 0.2;
      context.fillStyle = palette.accent;
      const [a, b] = [xOf(this.drag.from), xOf(this.drag.to)];
      context.fillRect(Math.min(a, b), box.top, Math.abs(b - a), box.height);
      context.globalAlpha = 1;
    }
    context.strokeStyle = this.stroke;
    context.fillStyle = this.stroke;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.beginPath();
    let isDown = false;
    for (let i = Math.max(0, Math.floor(from)); i <= Math.min(numbers.length - 1, Math.ceil(to)); i++) {
      const value = numbers[i]!;
      if (!Number.isFinite(value)) isDown = false;
      else if (isDown) context.lineTo(xOf(i), yOf(value));
      else {
        context.moveTo(xOf(i), yOf(value));
        context.lineTo(xOf(i) + 0.01, yOf(value));
        isDown = true;
      }
    }
    context.stroke();
    if (this.at !== null && Number.isFinite(numbers[this.at])) {
      context.beginPath();
      context.arc(xOf(this.at), yOf(numbers[this.at]!), 4, 0, 2 * Math.PI);
      context.fill();
    }
    context.restore();
  }
}

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}
