// A strip for each year with the times that were found, and hatched what nobody knows; a press leads to a time.

import { timeLabels, timeTicks } from "./axis.ts";
import { frameOf, hatch } from "./draw.ts";
import { h } from "./dom.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { fieldsOf, momentOf, type Zone } from "./time.ts";

/** More years are not drawn each by itself: their strips hold several. */
const STRIPS_MAX = 12;
const HIGH = 28;
/** A time below a strip has so much room. */
const TICK_SPACE = 140;
const LABEL_ROOM = 70;
/** What is shorter is seen all the same. */
const LEAST = 2;

export interface Years {
  range: Range;
  /** Up to when it was looked. */
  until: number;
  found: Range[];
  unknown: Range[];
  zone: Zone;
  palette: Palette;
  choose(at: number): void;
}

/** The ranges of the strips: calendar years, or several of them together. */
export function stripsOf({ from, to }: Range, zone: Zone): Range[] {
  const first = fieldsOf(from, zone).year;
  const last = fieldsOf(Math.max(from, to - 1e-3), zone).year;
  const step = Math.ceil((last - first + 1) / STRIPS_MAX);
  const begin = (year: number) => momentOf({ year, month: 1, day: 1, hour: 0, minute: 0, second: 0 }, zone);
  const strips: Range[] = [];
  for (let year = first; year <= last; year += step)
    strips.push({ from: begin(year), to: begin(year + step) });
  return strips;
}

export function yearStrips(years: Years, width: number): HTMLElement {
  // Within a day a strip of a year says nothing: then it is the range itself.
  const isShort = years.range.to - years.range.from < 40 * 86_400;
  const strips = isShort ? [years.range] : stripsOf(years.range, years.zone);
  const rows = strips.map((strip) => {
    const canvas = h("canvas", { class: "year-strip", "aria-hidden": "true" });
    const ratio = devicePixelRatio;
    canvas.width = Math.round(width * ratio);
    canvas.height = HIGH * ratio;
    canvas.style.width = `${width}px`;
    draw(canvas, strip, years);
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      years.choose(strip.from + ((event.clientX - box.left) / box.width) * (strip.to - strip.from));
    });
    const label = isShort ? "" : String(fieldsOf(strip.from, years.zone).year);
    return h("div", { class: "year" }, h("b", {}, label), canvas);
  });
  const texts = ticksOf(strips[0]!, years.zone, width).map(({ at, name }) => {
    const text = h("span", {}, name);
    text.style.left = `${((at - strips[0]!.from) / (strips[0]!.to - strips[0]!.from)) * width}px`;
    return text;
  });
  return h(
    "div",
    { class: "years" },
    ...rows,
    h("div", { class: "months", "aria-hidden": "true" }, ...texts),
  );
}

/** Where a strip is divided, and what is written there: the months of a year; of less than that times; of several years nothing. */
function ticksOf(strip: Range, zone: Zone, width: number): { at: number; name: string }[] {
  const length = strip.to - strip.from;
  if (length > 400 * 86_400) return [];
  if (length < 40 * 86_400) {
    const ticks = timeTicks(strip, Math.max(2, width / TICK_SPACE), zone);
    const labels = timeLabels(ticks, zone);
    // The date stands below in the plot; here it goes before.
    const last = strip.to - length * Math.min(0.5, LABEL_ROOM / width);
    return ticks.map((at, i) => ({
      at,
      name: at > last ? "" : labels[i]!.split("\n").reverse().join(" "),
    }));
  }
  const year = fieldsOf(strip.from, zone).year;
  return Array.from({ length: 12 }, (_, month) => {
    const at = momentOf({ year, month: month + 1, day: 1, hour: 0, minute: 0, second: 0 }, zone);
    const name = new Date(Date.UTC(2000, month, 1)).toLocaleString("en", { month: "short", timeZone: "UTC" });
    return { at, name };
  });
}

function draw(canvas: HTMLCanvasElement, strip: Range, years: Years): void {
  const context = canvas.getContext("2d")!;
  const { width, height } = canvas;
  const x = (at: number) => ((at - strip.from) / (strip.to - strip.from)) * width;
  const fill = (range: Range, colour: string, least: number) => {
    const [from, to] = [Math.max(x(range.from), 0), Math.min(x(range.to), width)];
    if (to < 0 || from > width || range.to < strip.from || range.from > strip.to) return;
    context.fillStyle = colour;
    context.fillRect(from, 0, Math.max(to - from, least), height);
  };
  fill({ from: years.range.from, to: Math.min(years.until, years.range.to) }, years.palette.track, 0);
  const frame = frameOf(context, { left: 0, top: 0, width, height }, strip, devicePixelRatio);
  // Divided as it is labelled; what was found is not cut by that.
  context.fillStyle = years.palette.back;
  for (const { at } of ticksOf(strip, years.zone, width / devicePixelRatio))
    if (at > strip.from) context.fillRect(Math.round(x(at)), 0, devicePixelRatio, height);
  for (const gap of years.unknown) hatch(frame, gap.from, gap.to, years.palette.hatch);
  for (const found of years.found) fill(found, years.palette.accent, LEAST * devicePixelRatio);
}
