// Lines and bands of one PV, in seconds and units: what is joined, what holds, and what breaks at a gap.
//
//   samples   each value holds until the next sample:   ──┐  ┌──     (IOCs send changes, so silence means "as before")
//   bins      means joined, min..max as a band; across empty bins the last value holds
//   gaps      nothing holds across a gap: the line ends where the gap begins

import type { Bins, Gap, Samples } from "./decode.ts";

/** Joined points; a y of NaN lifts the pen. */
export interface Line {
  x: number[];
  y: number[];
}

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

/** How long a value known at `a` holds: until the first hole after it, at most until `b`. */
export function holdUntil(holes: Holes, a: number, b: number): number {
  let low = 0;
  let high = holes.to.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holes.to[middle]! > a) high = middle;
    else low = middle + 1;
  }
  const from = holes.from[low];
  return from !== undefined && from < b ? Math.max(a, from) : b;
}

/** Steps: every sample holds until the next, the last one until `until`. */
export function sampleLine(samples: Samples, holes: Holes, until: number): Line {
  const line: Line = { x: [], y: [] };
  const count = samples.x.length;
  for (let i = 0; i < count; i++) {
    const x = samples.x[i]!;
    const y = samples.y[i]!;
    if (!Number.isFinite(y)) {
      lift(line, x);
      continue;
    }
    const end = i + 1 < count ? samples.x[i + 1]! : Math.max(until, x);
    const stop = holdUntil(holes, x, end);
    point(line, x, y);
    if (stop > x) point(line, stop, y);
    if (stop < end) lift(line, stop);
  }
  return line;
}

/** How the samples within a bin are shown as one line: numbers by their mean, states by their first and last. */
export type BinStyle = "mean" | "steps";

/** The line through bins, from the value that holds before them until `until`. */
export function binLine(bins: Bins, style: BinStyle, holes: Holes, from: number, until: number): Line {
  const line: Line = { x: [], y: [] };
  let held = heldBefore(bins, holes, from);
  if (held) point(line, held.x, held.y);
  let previous = -1;
  for (let i = 0; i < bins.count.length; i++) {
    if (bins.count[i] === 0) continue;
    const middle = (bins.start[i]! + bins.end[i]!) / 2;
    if (!Number.isFinite(bins.mean[i]!)) {
      lift(line, bins.start[i]!);
      held = null;
      previous = -1;
      continue;
    }
    const joins = previous === i - 1 && previous >= 0 && held !== null;
    if (held && joins) {
      if (holdUntil(holes, held.x, middle) < middle) lift(line, held.x);
    } else if (held) {
      hold(line, held, holes, bins.start[i]!, bins.first[i]!);
    }
    if (style === "steps") {
      point(line, bins.start[i]!, bins.first[i]!);
      point(line, middle, bins.first[i]!);
      point(line, middle, bins.last[i]!);
    } else {
      point(line, middle, bins.mean[i]!);
    }
    held = { x: middle, y: bins.last[i]! };
    previous = i;
  }
  if (held && until > held.x) {
    const stop = holdUntil(holes, held.x, until);
    point(line, held.x, held.y);
    point(line, stop, held.y);
  }
  return line;
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

/** Draws a held value up to the bin that ends it, or to the hole before that. */
function hold(line: Line, held: { x: number; y: number }, holes: Holes, start: number, first: number): void {
  const stop = holdUntil(holes, held.x, start);
  point(line, held.x, held.y);
  point(line, stop, held.y);
  if (stop < start) lift(line, stop);
  else point(line, start, first);
}

function heldBefore(bins: Bins, holes: Holes, from: number): { x: number; y: number } | null {
  const before = bins.before;
  if (!before || !Number.isFinite(before.y)) return null;
  return holdUntil(holes, before.x, from) < from ? null : { x: from, y: before.y };
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
