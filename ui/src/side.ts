// A range that was moved: which of the bins at hand still hold in it, and what is missing at one side.

import type { Bins } from "./decode.ts";
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
  const column = (key: Exclude<keyof Bins, "before" | "severity">) => {
    const kept = bins[key].subarray(side.first, side.last + 1);
    return Float64Array.from(side.isBefore ? [...added[key], ...kept] : [...kept, ...added[key]]);
  };
  const severities = bins.severity.subarray(side.first, side.last + 1);
  return {
    ...{ start: column("start"), end: column("end"), count: column("count") },
    ...{ min: column("min"), max: column("max"), mean: column("mean") },
    ...{ first: column("first"), last: column("last") },
    severity: Uint8Array.from(
      side.isBefore ? [...added.severity, ...severities] : [...severities, ...added.severity],
    ),
    before: side.isBefore ? added.before : heldBefore(bins, side.first),
  };
}

/** The value that holds when a row begins: that of the newest bin before it with a sample. */
function heldBefore(bins: Bins, first: number): Bins["before"] {
  const row = bins.count.subarray(0, first).findLastIndex((count) => count > 0);
  if (row < 0) return bins.before;
  return { x: bins.end[row]!, y: bins.last[row]!, severity: bins.severity[row]!, at: null };
}
