// Two value axes about a chart of its own: what stands at them, and where a pair of numbers lies between them.

import { logLabels, valueLabels, valueTicks } from "./axis.ts";
import { cutMiddle } from "./cut.ts";
import type { Palette } from "./style.ts";

export interface Size {
  width: number;
  height: number;
}

export interface Axis {
  range: [number, number];
  log: boolean;
  /** Whose numbers these are, and their units. */
  title: string;
}

export interface Chart {
  left: number;
  top: number;
  width: number;
  height: number;
  xOf(value: number): number;
  /** The number that stands at a place. */
  xAt(place: number): number;
  yOf(value: number): number;
  yAt(place: number): number;
}

const LEFT = 62;
const TOP = 22;
const BELOW = 34;
/** Of a tick's label beside its line. */
const BESIDE = 8;

/** Draws axes and grid; `right` is left free for what stands beside the chart. */
export function drawAxes(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  x: Axis,
  y: Axis,
  palette: Palette,
  right = 16,
): Chart {
  const box = { left: LEFT, top: TOP, width: width - LEFT - right, height: height - TOP - BELOW };
  const xOf = placed(x, box.left, box.width);
  const yOf = placed(y, box.top + box.height, -box.height);
  context.font = "11px system-ui, sans-serif";
  context.strokeStyle = palette.grid;
  context.fillStyle = palette.faint;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const rows = valueTicks(y.range, box.height / 30, y.log);
  labelsOf(rows, y.log).forEach((label, i) => {
    line(context, box.left, yOf(rows[i]!), box.left + box.width, yOf(rows[i]!));
    context.fillText(label, box.left - BESIDE, yOf(rows[i]!));
  });
  context.textAlign = "center";
  const columns = valueTicks(x.range, box.width / 70, x.log);
  labelsOf(columns, x.log).forEach((label, i) => {
    const at = xOf(columns[i]!);
    line(context, at, box.top, at, box.top + box.height);
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(at, half), width - half), box.top + box.height + 9);
  });
  context.font = "600 11px system-ui, sans-serif";
  context.fillStyle = palette.text;
  context.textAlign = "left";
  context.fillText(cutMiddle(context, y.title, box.width), box.left, TOP / 2 - 1);
  context.textAlign = "right";
  context.fillText(cutMiddle(context, x.title, box.width), box.left + box.width, height - 8);
  const xAt = standing(x, box.left, box.width);
  const yAt = standing(y, box.top + box.height, -box.height);
  return { ...box, xOf, yOf, xAt, yAt };
}

/** Keeps what is drawn within the axes. */
export function within(context: CanvasRenderingContext2D, chart: Chart, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(chart.left, chart.top - 1, chart.width, chart.height + 2);
  context.clip();
  draw();
  context.restore();
}

function placed({ range: [low, high], log }: Axis, from: number, length: number): (value: number) => number {
  const of = (value: number) => (log ? Math.log10(value) : value);
  const [a, b] = [of(low), of(high)];
  return (value) => from + ((of(value) - a) / (b - a)) * length;
}

function standing({ range: [low, high], log }: Axis, from: number, length: number): (at: number) => number {
  const [a, b] = log ? [Math.log10(low), Math.log10(high)] : [low, high];
  return (at) => {
    const value = a + ((at - from) / length) * (b - a);
    return log ? 10 ** value : value;
  };
}

function labelsOf(ticks: number[], isLog: boolean): string[] {
  return (isLog ? logLabels(ticks) : valueLabels(ticks)).map((label) => label.replace(/-/g, "−"));
}

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}
