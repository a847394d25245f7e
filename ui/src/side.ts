// A range that was moved: which of the bins at hand still hold in it, and what is missing at one side.

import type { Bins, Gap } from "./decode.ts";
import type { Range } from "./state.ts";

/** What is at hand: bins of a range, final up to a moment. */
interface Had {
  range: Range;
  bins: Bins;
  settled: number;
}

/** What to ask for: so many bins like those at hand, before or behind the rows of them that are kept. */
export interface Side {
  range: Range;
  bins: number;
  isBefore: boolean;
  first: number;
  last: number;
}

/** Shorter bins are not asked for by side: times are sent in microseconds. */
const WIDTH_MIN = 0.001;

/** Less than this part of a range is not worth keeping. */
const KEPT_PART = 0.25;

/** The missing side of a range that was moved; none if it is of another length, or lacks more than one side. */
export function sideOf({ range: had, bins, settled }: Had, range: Range): Side | null {
  const width = bins.end[0]! - bins.start[0]!;
  const length = range.to - range.from;
  if (!(width >= WIDTH_MIN) || Math.abs(length - (had.to - had.from)) > width / 2) return null;
  const first = bins.end.findIndex((end) => end > range.from);
  const last = bins.end.findLastIndex((end, row) => end <= settled && bins.start[row]! < range.to);
  if (first < 0 || (last - first + 1) * width < length * KEPT_PART) return null;
  const [from, to] = [bins.start[first]!, bins.end[last]!];
  const isBefore = range.from < from;
  if (isBefore === range.to > to) return null;
  const count = Math.ceil((isBefore ? from - range.from : range.to - to) / width - 1e-6);
  const missing = isBefore ? { from: from - count * width, to: from } : { from: to, to: to + count * width };
  return { range: missing, bins: count, isBefore, first, last };
}

/** The kept bins with the new ones at their side; none if these are not what was asked for. */
export function withSide(bins: Bins, side: Side, added: Bins): Bins | null {
  const most = added.start.length - 1;
  const near = (side.range.to - side.range.from) / side.bins / 100;
  const isAsked =
    most === side.bins - 1 &&
    Math.abs(added.start[0]! - side.range.from) < near &&
    Math.abs(added.end[most]! - side.range.to) < near;
  if (!isAsked) return null;
  const rows = side.last + 1 - side.first + added.start.length;
  const column = (key: Exclude<keyof Bins, "before" | "severity">) =>
    laid(new Float64Array(rows), bins[key].subarray(side.first, side.last + 1), added[key], side.isBefore);
  const severities = bins.severity.subarray(side.first, side.last + 1);
  const joined: Bins = {
    ...{ start: column("start"), end: column("end"), count: column("count") },
    ...{ min: column("min"), max: column("max"), mean: column("mean") },
    ...{ first: column("first"), last: column("last") },
    severity: laid(new Uint8Array(rows), severities, added.severity, side.isBefore),
    before: side.isBefore ? added.before : heldBefore(bins, side.first),
  };
  takenOver.set(joined, { of: new WeakRef(bins), rows: side.last + 1 - side.first });
  return joined;
}

/** Which bins others were made of. It keeps none of them alive: each would keep the ones before it. */
const takenOver = new WeakMap<Bins, { of: WeakRef<Bins>; rows: number }>();

/** How many rows of bins are in others unchanged, from the first row on that both have; 0 where nothing is known. */
export function keptRows(bins: Bins, joined: Bins): number {
  const known = takenOver.get(joined);
  return known?.of.deref() === bins ? known.rows : 0;
}

/** One column before or behind another. */
function laid<T extends Float64Array | Uint8Array>(into: T, kept: T, added: T, isBefore: boolean): T {
  const [one, other] = isBefore ? [added, kept] : [kept, added];
  into.set(one);
  into.set(other, one.length);
  return into;
}

/** The value that holds when a row begins: that of the newest bin before it with a sample. */
function heldBefore(bins: Bins, first: number): Bins["before"] {
  const row = bins.count.subarray(0, first).findLastIndex((count) => count > 0);
  if (row < 0) return bins.before;
  return { x: bins.end[row]!, y: bins.last[row]!, severity: bins.severity[row]!, at: null };
}

/** The gaps at hand that reach into a range, with those of its new side; one that reaches across the seam came twice. */
export function withGaps(had: Gap[], added: Gap[], range: Range): Gap[] {
  const isAdded = (gap: Gap) =>
    added.some(({ from, cause, scope }) => from === gap.from && cause === gap.cause && scope === gap.scope);
  const kept = had.filter((gap) => gap.from < range.to && gap.to > range.from && !isAdded(gap));
  return [...kept, ...added].sort((a, b) => a.from - b.from);
}
