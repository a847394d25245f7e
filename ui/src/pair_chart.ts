// A column of a table against another: its rows as points that a thin line joins in their order, on a canvas of its own.

import { valueLabels, valueRange, valueTicks } from "./axis.ts";
import { h } from "./dom.ts";
import type { Palette } from "./style.ts";

const LEFT = 58;
const RIGHT = 16;
const TOP = 22;
const BELOW = 22;
/** A point is meant that is so near. */
const NEAR = 16;
/** More points than this are drawn without the line that joins them. */
const JOINED_MAX = 2000;

interface Shown {
  x: number[];
  y: number[];
  labels: { x: string; y: string };
  stroke: string;
  palette: Palette;
}

export class PairChart {
  readonly element = h("canvas", { class: "wave-chart", tabindex: "0", role: "img" });
  private shown: Shown | null = null;
  private at: number | null = null;

  /** `pointed` is told the row under the cursor. */
  constructor(private pointed: (row: number | null) => void) {
    const { element } = this;
    element.addEventListener("pointermove", (event) => this.point(this.rowAt(event)));
    element.addEventListener("pointerleave", () => this.point(null));
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  show(
    x: number[],
    y: number[],
    labels: Shown["labels"],
    stroke: string,
    palette: Palette,
    label: string,
  ): void {
    this.shown = { x, y, labels, stroke, palette };
    this.element.setAttribute("aria-label", label);
    this.point(this.at !== null && this.at < this.rows ? this.at : null);
  }

  private get rows(): number {
    return this.shown ? Math.min(this.shown.x.length, this.shown.y.length) : 0;
  }

  private point(row: number | null): void {
    this.at = row;
    this.pointed(row);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || this.rows === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (this.at ?? (by > 0 ? -1 : this.rows)) + by * (event.shiftKey ? 10 : 1);
    this.point(Math.min(Math.max(next, 0), this.rows - 1));
  }

  private rowAt({ offsetX, offsetY }: PointerEvent): number | null {
    const places = this.places();
    if (!places) return null;
    let [found, near]: [number | null, number] = [null, NEAR];
    for (let row = 0; row < this.rows; row++) {
      const distance = Math.hypot(places.x(row) - offsetX, places.y(row) - offsetY);
      if (distance < near) [found, near] = [row, distance];
    }
    return found;
  }

  private places() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.shown || width < 80) return null;
    const { x, y } = this.shown;
    const box = { left: LEFT, top: TOP, width: width - LEFT - RIGHT, height: height - TOP - BELOW };
    const [xs, ys] = [rangeOf(x), rangeOf(y)];
    const xOf = (value: number) => box.left + ((value - xs[0]) / (xs[1] - xs[0])) * box.width;
    const yOf = (value: number) => box.top + box.height - ((value - ys[0]) / (ys[1] - ys[0])) * box.height;
    return { box, xs, ys, xOf, yOf, x: (row: number) => xOf(x[row]!), y: (row: number) => yOf(y[row]!) };
  }

  private draw(): void {
    const { element, shown } = this;
    const places = this.places();
    if (!shown || !places) return;
    const { palette, labels } = shown;
    const { box, xs, ys, xOf, yOf } = places;
    const ratio = devicePixelRatio;
    element.width = Math.round(element.clientWidth * ratio);
    element.height = Math.round(element.clientHeight * ratio);
    const context = element.getContext("2d")!;
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.faint;
    context.strokeStyle = palette.grid;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const rows = valueTicks(ys, box.height / 34, false);
    const rowLabels = valueLabels(rows);
    rows.forEach((tick, i) => {
      line(context, box.left, yOf(tick), box.left + box.width, yOf(tick));
      context.fillText(rowLabels[i]!.replace(/^-/, "−"), box.left - 8, yOf(tick));
    });
    context.textAlign = "center";
    const columns = valueTicks(xs, box.width / 90, false);
    const columnLabels = valueLabels(columns);
    columns.forEach((tick, i) => {
      line(context, xOf(tick), box.top, xOf(tick), box.top + box.height);
      context.fillText(columnLabels[i]!.replace(/^-/, "−"), xOf(tick), element.clientHeight - BELOW / 2 + 2);
    });
    context.textAlign = "left";
    context.fillText(labels.y, box.left, TOP / 2 - 2, box.width / 2);
    context.textAlign = "right";
    context.fillText(labels.x, box.left + box.width, TOP / 2 - 2, box.width / 2 - 8);
    context.strokeStyle = context.fillStyle = shown.stroke;
    if (this.rows <= JOINED_MAX) {
      context.globalAlpha = 0.35;
      context.beginPath();
      let isDown = false;
      for (let row = 0; row < this.rows; row++) {
        const [x, y] = [places.x(row), places.y(row)];
        const isThere = Number.isFinite(x) && Number.isFinite(y);
        if (isThere && isDown) context.lineTo(x, y);
        else if (isThere) context.moveTo(x, y);
        isDown = isThere;
      }
      context.stroke();
      context.globalAlpha = 1;
    }
    for (let row = 0; row < this.rows; row++) {
      const [x, y] = [places.x(row), places.y(row)];
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      context.beginPath();
      context.arc(x, y, row === this.at ? 5 : 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

function rangeOf(numbers: number[]): [number, number] {
  const seen = numbers.filter((number) => Number.isFinite(number));
  return valueRange(
    seen.reduce((a, b) => Math.min(a, b), Infinity),
    seen.reduce((a, b) => Math.max(a, b), -Infinity),
    false,
  );
}

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}
