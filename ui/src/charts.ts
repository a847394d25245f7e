// Draws what the archiver computes of rows of a plot: pairs with their time as colour, histograms, spectra.

import { valueRange } from "./axis.ts";
import { drawAxes, within, type Chart, type Size } from "./chart_axes.ts";
import type { Histogram, Pairs, Spectrum } from "./relations.ts";
import type { Palette } from "./style.ts";

/** From dark violet by blue and green to yellow, each lighter than the one before: told apart by everybody. */
const RAMP: [number, number, number][] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];
/** Which part of it is seen on a light ground, and on a dark one. */
const PARTS = { light: [0, 0.52], dark: [0.42, 1] } as const;
/** So many colours are told apart by nobody. */
const SHADES = 64;

/** The colour of a time, as a part of the range from its beginning to its end. */
export function timeColour(part: number, isDark: boolean): string {
  const [first, last] = isDark ? PARTS.dark : PARTS.light;
  const scaled = (first + Math.min(Math.max(part, 0), 1) * (last - first)) * (RAMP.length - 1);
  const i = Math.min(Math.floor(scaled), RAMP.length - 2);
  const [a, b] = [RAMP[i]!, RAMP[i + 1]!];
  const mixed = ([0, 1, 2] as const).map((k) => Math.round(a[k] + (b[k] - a[k]) * (scaled - i)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The least and the greatest of what is finite. */
export function extent(values: Iterable<number>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

export interface PairsLook {
  titles: { x: string; y: string };
  /** The values in sight; of none all are. */
  x: [number, number] | null;
  y: [number, number] | null;
  /** What stands at the ends of the colours. */
  times: { from: number; to: number; first: string; last: string };
  /** The pair that is pointed at. */
  marked: number | null;
  palette: Palette;
}

const KEY = 84;

export function drawPairs(
  context: CanvasRenderingContext2D,
  size: Size,
  pairs: Pairs,
  { titles, times, marked, palette, ...sight }: PairsLook,
): Chart {
  const x = sight.x ?? valueRange(...extent(pairs.x), false);
  const y = sight.y ?? valueRange(...extent(pairs.y), false);
  const axis = (range: [number, number], title: string) => ({ range, title, log: false });
  const chart = drawAxes(context, size, axis(x, titles.x), axis(y, titles.y), palette, KEY);
  drawKey(context, chart, times, palette);
  const side = pairs.x.length > 4000 ? 2 : pairs.x.length > 400 ? 3 : 4;
  within(context, chart, () => {
    let shade = -1;
    for (let i = 0; i < pairs.x.length; i++) {
      const [px, py] = [chart.xOf(pairs.x[i]!), chart.yOf(pairs.y[i]!)];
      if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
      const part = (pairs.time[i]! - times.from) / (times.to - times.from);
      const now = Math.min(SHADES - 1, Math.max(0, Math.floor(part * SHADES)));
      // They come in the order of time: the colour changes seldom.
      if (now !== shade) context.fillStyle = timeColour((now + 0.5) / SHADES, palette.dark);
      shade = now;
      context.fillRect(px - side / 2, py - side / 2, side, side);
    }
    if (pairs.slope !== null && pairs.intercept !== null && pairs.correlation !== null)
      drawFit(context, chart, x, pairs.slope, pairs.intercept, palette);
  });
  if (marked !== null && marked < pairs.x.length && isInSight(pairs, marked, sight))
    ring(context, chart.xOf(pairs.x[marked]!), chart.yOf(pairs.y[marked]!), palette);
  return chart;
}

/** Whether a pair is among the values in sight. */
export function isInSight(pairs: Pairs, row: number, { x, y }: Pick<PairsLook, "x" | "y">): boolean {
  const isWithin = (value: number, range: [number, number] | null) =>
    range === null || (value >= range[0] && value <= range[1]);
  return isWithin(pairs.x[row]!, x) && isWithin(pairs.y[row]!, y);
}

/** The straight line that lies nearest to the pairs. */
function drawFit(
  context: CanvasRenderingContext2D,
  chart: Chart,
  [from, to]: [number, number],
  slope: number,
  intercept: number,
  palette: Palette,
): void {
  context.strokeStyle = palette.text;
  context.lineWidth = 1;
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(chart.xOf(from), chart.yOf(slope * from + intercept));
  context.lineTo(chart.xOf(to), chart.yOf(slope * to + intercept));
  context.stroke();
  context.setLineDash([]);
}

function drawKey(
  context: CanvasRenderingContext2D,
  chart: Chart,
  { first, last }: PairsLook["times"],
  palette: Palette,
): void {
  const left = chart.left + chart.width + 12;
  const high = chart.height / SHADES;
  for (let i = 0; i < SHADES; i++) {
    context.fillStyle = timeColour((i + 0.5) / SHADES, palette.dark);
    context.fillRect(left, chart.top + chart.height - (i + 1) * high, 8, high + 0.5);
  }
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = palette.faint;
  context.textAlign = "left";
  context.fillText(last, left + 14, chart.top + 5);
  context.fillText(first, left + 14, chart.top + chart.height - 5);
}

function ring(context: CanvasRenderingContext2D, x: number, y: number, palette: Palette): void {
  if (!Number.isFinite(x) || !Number.isFinite(y)) return;
  // Seen on any colour: a dark ring on a light one, or the other way.
  for (const [stroke, width] of [
    [palette.back, 5],
    [palette.text, 2],
  ] as const) {
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.stroke();
  }
}

/** In which units of time bars are told, by the longest. */
export function timeUnit(seconds: number): [name: string, seconds: number] {
  const units: [string, number][] = [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ];
  return units.find(([, size]) => seconds >= 2 * size) ?? ["s", 1];
}

export interface BarsLook {
  title: string;
  stroke: string;
  /** Bars are as long as samples are many, not by how long they held. */
  isCount: boolean;
  /** What the lengths of bars are, without units of time. */
  samples: string;
  marked: number | null;
  palette: Palette;
}

export function drawHistogram(
  context: CanvasRenderingContext2D,
  size: Size,
  { bins }: Histogram,
  { title, stroke, isCount, samples, marked, palette }: BarsLook,
): Chart {
  const lengths = bins.map((bin) => (isCount ? bin.count : bin.seconds) ?? 0);
  const most = lengths.reduce((a, b) => Math.max(a, b), 0);
  const [unit, seconds] = isCount ? [samples, 1] : timeUnit(most);
  const [low, high] = [bins[0]?.low ?? 0, bins.at(-1)?.high ?? 1];
  const x: [number, number] = low < high ? [low, high] : valueRange(low, high, false);
  const y: [number, number] = [0, most > 0 ? (most / seconds) * 1.06 : 1];
  const chart = drawAxes(
    context,
    size,
    { range: x, log: false, title },
    { range: y, log: false, title: unit },
    palette,
  );
  within(context, chart, () => {
    bins.forEach((bin, i) => {
      if (lengths[i]! === 0) return;
      const [a, b] = low < high ? [chart.xOf(bin.low), chart.xOf(bin.high)] : middle(chart);
      const top = chart.yOf(lengths[i]! / seconds);
      // Neighbours are told apart where there is room between them.
      const between = b - a >= 4 ? 1 : 0;
      context.fillStyle = marked === i ? palette.text : stroke;
      const foot = chart.top + chart.height;
      // What there is is seen, however short it was.
      context.fillRect(a, Math.min(top, foot - 1.5), Math.max(1, b - a - between), Math.max(1.5, foot - top));
    });
  });
  return chart;
}

/** Where all values are the same there is one bar. */
function middle({ left, width }: Chart): [number, number] {
  return [left + width * 0.45, left + width * 0.55];
}

export interface LinesLook {
  titles: { x: string; y: string };
  stroke: string;
  logX: boolean;
  logY: boolean;
  /** Frequencies that are in sight. */
  band: [number, number] | null;
  marked: number | null;
  palette: Palette;
}

/** Strengths far below the greatest are noise of the reckoning. */
const DECADES_MAX = 9;

/** What of a spectrum is in sight: its first and last row. What is constant was taken away, and has no place on a logarithmic axis. */
export function rowsInSight(
  spectrum: Spectrum,
  look: Pick<LinesLook, "band" | "logX" | "logY">,
): [number, number] {
  const { frequency } = spectrum;
  const isLog = look.logX || look.logY;
  let [first, last] = [isLog && frequency[0] === 0 ? 1 : 0, frequency.length - 1];
  if (look.band) {
    const [low, high] = look.band;
    while (first < last && frequency[first + 1]! <= low) first += 1;
    while (last > first && frequency[last - 1]! >= high) last -= 1;
  }
  return [first, Math.max(first, last)];
}

export function drawSpectrum(
  context: CanvasRenderingContext2D,
  size: Size,
  spectrum: Spectrum,
  look: LinesLook,
): Chart {
  const { titles, stroke, logX, logY, marked, palette } = look;
  const { frequency, strength } = spectrum;
  const [first, last] = rowsInSight(spectrum, look);
  const seen = strength.subarray(first, last + 1);
  const [, high] = extent(seen);
  const least = extent(seen.filter((value) => value > 0))[0];
  const floor = Math.max(least, high / 10 ** DECADES_MAX);
  const y = logY ? valueRange(floor, high, true) : valueRange(0, high, false);
  if (!logY) y[0] = 0;
  const band = look.band ?? [logX ? (frequency[first] ?? 0) : 0, frequency[last] ?? 1];
  const x: [number, number] = band[0] < band[1] ? [...band] : [0, (band[1] || 1) * 2];
  const chart = drawAxes(
    context,
    size,
    { range: x, log: logX, title: titles.x },
    { range: y, log: logY, title: titles.y },
    palette,
  );
  const yOf = (value: number) => (logY ? chart.yOf(Math.max(value, y[0])) : chart.yOf(value));
  within(context, chart, () => {
    context.strokeStyle = stroke;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.beginPath();
    trace(context, chart, spectrum, [first, last], yOf);
    context.stroke();
  });
  if (marked !== null && marked >= first && marked <= last)
    ring(context, chart.xOf(frequency[marked]!), yOf(strength[marked]!), palette);
  return chart;
}

/** A line through all rows: of those in one column of pixels its lowest and highest, so that no peak is lost. */
function trace(
  context: CanvasRenderingContext2D,
  chart: Chart,
  { frequency, strength }: Spectrum,
  [first, last]: [number, number],
  yOf: (value: number) => number,
): void {
  let isDown = false;
  const to = (x: number, value: number) => {
    if (isDown) context.lineTo(x, yOf(value));
    else context.moveTo(x, yOf(value));
    isDown = true;
  };
  for (let i = first; i <= last;) {
    const column = Math.floor(chart.xOf(frequency[i]!));
    let [end, least, most] = [i, i, i];
    while (end < last && Math.floor(chart.xOf(frequency[end + 1]!)) === column) {
      end += 1;
      if (strength[end]! < strength[least]!) least = end;
      if (strength[end]! > strength[most]!) most = end;
    }
    const rows = [...new Set([i, Math.min(least, most), Math.max(least, most), end])];
    for (const row of rows) to(chart.xOf(frequency[row]!), strength[row]!);
    i = end + 1;
  }
}

/** The strongest frequencies that stand above their neighbours, the strongest first. */
export function peaks({ frequency, strength }: Spectrum, most: number): number[] {
  const found: number[] = [];
  for (let i = 1; i < frequency.length; i++) {
    const [before, here, behind] = [strength[i - 1]!, strength[i]!, strength[i + 1] ?? 0];
    if (here > 0 && here >= before && here > behind) found.push(i);
  }
  return found.sort((a, b) => strength[b]! - strength[a]!).slice(0, most);
}
