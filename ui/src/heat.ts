// Waveforms over time: a column for each, or for the bin in which it lies, its elements from below upwards by their colour.

import { timeLabels, timeTicks, valueLabels } from "./axis.ts";
import { h } from "./dom.ts";
import { frameOf, hatch } from "./draw.ts";
import type { Holes } from "./line.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import type { Zone } from "./time.ts";

/** A number for each row of elements, for as long as they held. */
export interface Column {
  at: number;
  to: number;
  /** How many elements there are, and how many neighbouring ones share a row. */
  length: number;
  each: number;
  numbers: ArrayLike<number>;
}

/** What is under the mouse. */
export interface Pointed {
  column: Column;
  row: number;
}

export interface HeatActions {
  /** A column was clicked. */
  choose(column: Column): void;
  /** It was clicked twice. */
  zoom(column: Column): void;
  point(pointed: Pointed | null): void;
}

const LEFT = 58;
const RIGHT = 64;
const BELOW = 22;
const TOP = 8;

/** From low to high: dark blue to yellow, to be told apart by everybody, and by lightness alone. */
const RAMP: [number, number, number][] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** The colour of a part from 0 to 1 of the way from the lowest to the highest. */
export function colourAt(part: number): [number, number, number] {
  const scaled = Math.min(Math.max(part, 0), 1) * (RAMP.length - 1);
  const i = Math.min(Math.floor(scaled), RAMP.length - 2);
  const [a, b] = [RAMP[i]!, RAMP[i + 1]!];
  const between = (k: 0 | 1 | 2) => Math.round(a[k] + (b[k] - a[k]) * (scaled - i));
  return [between(0), between(1), between(2)];
}

/** The lowest and highest of all elements; `[0, 1]` where there are none. */
export function extent(columns: Column[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { numbers } of columns)
    for (let i = 0; i < numbers.length; i++) {
      const value = numbers[i]!;
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  return low <= high ? [low, high] : [0, 1];
}

export class HeatMap {
  readonly element = h("canvas", { class: "heat", role: "img" });
  private shown: { columns: Column[]; holes: Holes; range: Range; zone: Zone; palette: Palette } | null =
    null;
  private marked: number | null = null;

  constructor(actions: HeatActions) {
    const { element } = this;
    element.addEventListener("click", (event) => {
      const column = this.columnAt(event.offsetX);
      if (column) actions.choose(column);
    });
    element.addEventListener("dblclick", (event) => {
      const column = this.columnAt(event.offsetX);
      if (column) actions.zoom(column);
    });
    element.addEventListener("pointermove", (event) => actions.point(this.pointedAt(event)));
    element.addEventListener("pointerleave", () => actions.point(null));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  show(columns: Column[], holes: Holes, range: Range, zone: Zone, palette: Palette, label: string): void {
    this.shown = { columns, holes, range, zone, palette };
    this.element.setAttribute("aria-label", label);
    this.draw();
  }

  /** Marks the moment that is looked at. */
  mark(at: number | null): void {
    this.marked = at;
    this.draw();
  }

  private columnAt(x: number): Column | null {
    if (!this.shown) return null;
    const { columns, range } = this.shown;
    const width = this.element.clientWidth - LEFT - RIGHT;
    const at = range.from + ((x - LEFT) / Math.max(1, width)) * (range.to - range.from);
    return columns.findLast((column) => column.at <= at) ?? columns[0] ?? null;
  }

  private pointedAt({ offsetX, offsetY }: PointerEvent): Pointed | null {
    const column = this.columnAt(offsetX);
    if (!column || offsetX < LEFT || offsetX > this.element.clientWidth - RIGHT) return null;
    const tall = this.element.clientHeight - TOP - BELOW;
    const element = Math.floor(((TOP + tall - offsetY) / tall) * this.longest());
    const row = Math.floor(element / column.each);
    return element >= 0 && row < column.numbers.length ? { column, row } : null;
  }

  /** How many elements fit into the height. */
  private longest(): number {
    return this.shown?.columns.reduce((most, { length }) => Math.max(most, length), 1) ?? 1;
  }

  private draw(): void {
    const { element, shown } = this;
    const width = element.clientWidth;
    if (!shown || width < 160) return;
    const ratio = devicePixelRatio;
    element.width = Math.round(width * ratio);
    const height = element.clientHeight;
    element.height = Math.round(height * ratio);
    const context = element.getContext("2d")!;
    context.scale(ratio, ratio);
    const { columns, holes, range, zone, palette } = shown;
    const box = { left: LEFT, top: TOP, width: width - LEFT - RIGHT, height: height - TOP - BELOW };
    const [low, high] = extent(columns);
    const most = this.longest();
    context.fillStyle = palette.track;
    context.fillRect(box.left, box.top, box.width, box.height);
    const xOf = (at: number) => box.left + ((at - range.from) / (range.to - range.from)) * box.width;
    context.save();
    context.imageSmoothingEnabled = false;
    // The last row may stand for elements that there are not.
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    columns.forEach((column) => {
      const [x0, x1] = [Math.max(xOf(column.at), box.left), Math.min(xOf(column.to), box.left + box.width)];
      if (x1 <= x0 || column.numbers.length === 0) return;
      const strip = stripOf(column.numbers, low, high);
      const tall = ((column.numbers.length * column.each) / most) * box.height;
      context.drawImage(strip, x0, box.top + box.height - tall, x1 - x0 + 0.5, tall);
    });
    context.restore();
    // What held before a gap is not known to hold within it.
    holes.from.forEach((from, i) => {
      const [x0, x1] = [xOf(Math.max(from, range.from)), xOf(Math.min(holes.to[i]!, range.to))];
      if (x1 <= x0) return;
      context.fillStyle = palette.back;
      context.fillRect(x0, box.top, x1 - x0, box.height);
      hatch(frameOf(context, box, range, 1), from, Math.min(holes.to[i]!, range.to), palette.hatch);
    });
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.faint;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(String(most - 1), box.left - 8, box.top + 5);
    context.fillText("0", box.left - 8, box.top + box.height - 5);
    const ticks = timeTicks(range, box.width / 96, zone);
    const labels = timeLabels(ticks, zone);
    context.textAlign = "center";
    ticks.forEach((tick, i) => {
      context.fillText(labels[i]!.split("\n")[0]!, xOf(tick), height - BELOW / 2 + 2);
    });
    drawKey(context, box, [low, high], palette);
    if (this.marked !== null && this.marked >= range.from && this.marked <= range.to) {
      context.fillStyle = palette.text;
      context.fillRect(Math.round(xOf(this.marked)), box.top - 4, 1, box.height + 8);
    }
  }
}

/** One column of pixels, the first element at its foot. */
function stripOf(numbers: ArrayLike<number>, low: number, high: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = numbers.length;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(1, numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    const value = numbers[i]!;
    if (Number.isNaN(value)) continue;
    const [red, green, blue] = colourAt(high > low ? (value - low) / (high - low) : 0.5);
    image.data.set([red, green, blue, 255], (numbers.length - 1 - i) * 4);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** What the colours mean, at the right. */
function drawKey(
  context: CanvasRenderingContext2D,
  box: { left: number; top: number; width: number; height: number },
  [low, high]: [number, number],
  palette: Palette,
): void {
  const left = box.left + box.width + 10;
  for (let y = 0; y < box.height; y++) {
    const [red, green, blue] = colourAt(1 - y / box.height);
    context.fillStyle = `rgb(${red}, ${green}, ${blue})`;
    context.fillRect(left, box.top + y, 8, 1.5);
  }
  const [least, most] = valueLabels([low, high]);
  context.fillStyle = palette.faint;
  context.textAlign = "left";
  context.fillText(most!.replace(/^-/, "−"), left + 12, box.top + 5);
  context.fillText(least!.replace(/^-/, "−"), left + 12, box.top + box.height - 5);
}
