// Lines of one PV, in seconds and units: what is joined, what holds, and where the pen is lifted.
//
//   samples   each value holds until the next sample:  ──┐  ┌──    (IOCs send changes, so silence means "as before")
//   bins      their means are joined; across empty bins the last value holds
//   gaps      nothing is drawn within a gap:           ──    ──    Behind it the value holds again, for an IOC that comes
//             back sends its value at once; had it changed, there would be a sample.

import type { Bins, Gap, Samples } from "./decode.ts";
import { lastAtOrBefore } from "./rows.ts";
import type { Range } from "./state.ts";

/** Joined points; a y of NaN lifts the pen. */
export interface Line {
  x: number[];
  y: number[];
}

/** What a line of samples is made of. */
export type Joined = Pick<Samples, "x" | "y">;

/** Stretches of time in which nothing is known, apart and in order. */
export interface Holes {
  from: number[];
  to: number[];
}

/** Gaps as holes: overlapping ones become one. */
export function holesOf(gaps: Gap[]): Holes {
  const holes: Holes = { from: [], to: [] };
  for (const gap of [...gaps].sort((a, b) => a.from - b.from)) {
    const newest = holes.to.length - 1;
    if (newest >= 0 && gap.from <= holes.to[newest]!) {
      holes.to[newest] = Math.max(holes.to[newest]!, gap.to);
    } else {
      holes.from.push(gap.from);
      holes.to.push(gap.to);
    }
  }
  return holes;
}

/** The first hole that ends after `a`: its place in the list. */
function holeAfter(holes: Holes, a: number): number {
  return lastAtOrBefore(holes.to, a) + 1;
}

/** Whether any of the time from `a` to `b` is in a hole. */
export function isBroken(holes: Holes, a: number, b: number): boolean {
  const from = holes.from[holeAfter(holes, a)];
  return from !== undefined && from < b;
}

/** Draws a value from `a` to `b`, except in holes. The pen stays down at `b` if that is in none. */
function hold(line: Line, holes: Holes, a: number, b: number, y: number): void {
  point(line, a, y);
  let known = a;
  for (let i = holeAfter(holes, a); i < holes.from.length && holes.from[i]! < b; i++) {
    if (holes.from[i]! > known) point(line, holes.from[i]!, y);
    lift(line, Math.max(holes.from[i]!, a));
    known = holes.to[i]!;
    if (known >= b) return;
    point(line, known, y);
  }
  if (b > known) point(line, b, y);
}

/** Steps: every sample holds until the next, the last one until `until`. */
export function sampleLine(samples: Joined, holes: Holes, until: number): Line {
  const line: Line = { x: [], y: [] };
  const count = samples.x.length;
  for (let i = 0; i < count; i++) {
    const x = samples.x[i]!;
    const y = samples.y[i]!;
    if (!Number.isFinite(y)) {
      lift(line, x);
      continue;
    }
    hold(line, holes, x, i + 1 < count ? samples.x[i + 1]! : Math.max(until, x), y);
  }
  return line;
}

/** Straight from sample to sample, as set by somebody who knows that values change between them; the last one holds until `until`. */
export function straightLine(samples: Joined, holes: Holes, until: number): Line {
  const line: Line = { x: [], y: [] };
  const count = samples.x.length;
  for (let i = 0; i < count; i++) {
    const [x, y] = [samples.x[i]!, samples.y[i]!];
    if (!Number.isFinite(y)) {
      lift(line, x);
      continue;
    }
    const next = i + 1 < count ? samples.x[i + 1]! : Math.max(until, x);
    // Across a hole nobody knows how it went: the value is drawn as far as it held.
    if (i + 1 === count || isBroken(holes, x, next)) hold(line, holes, x, next, y);
    else point(line, x, y);
  }
  return line;
}

/** How the samples within a bin are shown as one line: numbers by their mean, states by their first and last. */
export type BinStyle = "mean" | "steps";

/** The line through bins, from the value that holds before them until `until`. */
export function binLine(bins: Bins, style: BinStyle, holes: Holes, from: number, until: number): Line {
  const line: Line = { x: [], y: [] };
  // What holds: since when, and the bin that it is from.
  let held = heldBefore(bins, holes, from);
  for (let i = 0; i < bins.count.length; i++) {
    if (bins.count[i] === 0) continue;
    const start = bins.start[i]!;
    // The newest bin may reach beyond now.
    const middle = Math.max(start, Math.min((start + bins.end[i]!) / 2, until));
    if (!Number.isFinite(bins.mean[i]!)) {
      if (held && held.bin !== i - 1 && held.x < start) hold(line, holes, held.x, start, held.y);
      lift(line, start);
      held = null;
      continue;
    }
    if (held && held.bin === i - 1) {
      if (isBroken(holes, held.x, middle)) lift(line, held.x);
    } else if (held && held.x < start) {
      hold(line, holes, held.x, start, held.y);
      if (!isBroken(holes, start, middle)) point(line, start, bins.first[i]!);
    }
    if (style === "steps") {
      point(line, start, bins.first[i]!);
      point(line, middle, bins.first[i]!);
      point(line, middle, bins.last[i]!);
    } else {
      point(line, middle, bins.mean[i]!);
    }
    held = { x: middle, y: bins.last[i]!, bin: i };
  }
  if (held && until > held.x) hold(line, holes, held.x, until, held.y);
  return line;
}

/** The rows of bins that a part of their line is made of: those in sight, and some with samples before and behind it. */
export function binsWithin(bins: Bins, { from, to }: Range): Bins {
  const { start, count } = bins;
  // The line leads to the middle of a bin from that of the one before.
  let first = lastAtOrBefore(start, from);
  for (let lacking = 2; first > 0; first--) if (count[first]! > 0 && --lacking === 0) break;
  first = Math.max(0, first);
  let end = lastAtOrBefore(start, to) + 1;
  while (end < count.length && count[end] === 0) end++;
  end = Math.min(end + 1, count.length);
  const column = (key: Exclude<keyof Bins, "before" | "severity">) => bins[key].subarray(first, end);
  return {
    ...{ start: column("start"), end: column("end"), count: column("count") },
    ...{ min: column("min"), max: column("max"), mean: column("mean") },
    ...{ first: column("first"), last: column("last"), severity: bins.severity.subarray(first, end) },
    before: first > 0 ? null : bins.before,
  };
}

/** The same of samples. */
export function samplesWithin({ x, y }: Joined, { from, to }: Range): Joined {
  let first = Math.max(0, lastAtOrBefore(x, from));
  while (first > 0 && x[first]! >= from) first--;
  const end = lastAtOrBefore(x, to) + 2;
  return { x: x.slice(first, end), y: y.slice(first, end) };
}

/** One line after another: joined where the first reaches the second, else with the pen lifted between. */
export function joined(first: Line, second: Line): Line {
  const last = first.x.length - 1;
  const begin = second.x[0];
  const lifted = last >= 0 && begin !== undefined && first.x[last]! < begin && !Number.isNaN(first.y[last]!);
  return {
    x: [...first.x, ...(lifted ? [begin] : []), ...second.x],
    y: [...first.y, ...(lifted ? [NaN] : []), ...second.y],
  };
}

/** The value that holds when the range begins, or when the gap ends in which it begins. */
function heldBefore(bins: Bins, holes: Holes, from: number): { x: number; y: number; bin: number } | null {
  if (!bins.before || !Number.isFinite(bins.before.y)) return null;
  const next = holeAfter(holes, from);
  const isWithin = next < holes.from.length && holes.from[next]! <= from;
  const x = isWithin ? holes.to[next]! : from;
  return Number.isFinite(x) ? { x, y: bins.before.y, bin: -2 } : null;
}

function point(line: Line, x: number, y: number): void {
  const newest = line.x.length - 1;
  if (newest >= 0 && line.x[newest] === x && line.y[newest] === y) return;
  line.x.push(x);
  line.y.push(y);
}

function lift(line: Line, x: number): void {
  const newest = line.y.length - 1;
  if (newest < 0 || Number.isNaN(line.y[newest]!)) return;
  line.x.push(x);
  line.y.push(NaN);
}
