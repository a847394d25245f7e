// A reading: what the legend says about one PV, at a moment or over the whole range.

import type { Json } from "./api.ts";
import type { Instant } from "./time.ts";
import { lastAtOrBefore } from "./rows.ts";
import type { Range } from "./state.ts";
import { gapsAt, sampleParts, type Trace } from "./trace.ts";
import type { Gap, Samples } from "./decode.ts";

export interface Reading {
  /** The value that holds; none before the first sample. For bins this is the last of its samples. */
  value: Json | undefined;
  min: number;
  max: number;
  mean: number;
  count: number;
  severity: number;
  /** When the value was sampled; for bins only their limits are known. */
  time: { instant: Instant } | { range: Range } | null;
  gaps: Gap[];
}

export const NO_READING: Reading = {
  value: undefined,
  min: NaN,
  max: NaN,
  mean: NaN,
  count: 0,
  severity: 0,
  time: null,
  gaps: [],
};

/** What a trace says at a moment. */
export function readingAt(trace: Trace, at: number): Reading {
  const gaps = gapsAt(trace, at);
  for (const samples of sampleParts(trace).reverse()) {
    const row = lastAtOrBefore(samples.x, at);
    if (row >= 0) return sampleReading(samples, row, gaps);
  }
  const { atPinned } = trace;
  if (atPinned?.at === at) {
    const { value, severity, time } = atPinned;
    return { ...NO_READING, gaps, value, severity, count: 1, time: { instant: time } };
  }
  return binReading(trace, at, gaps);
}

function sampleReading(samples: Samples, row: number, gaps: Gap[]): Reading {
  return {
    ...NO_READING,
    gaps,
    value: samples.values[row],
    count: 1,
    severity: samples.severity[row]!,
    time: { instant: { seconds: samples.seconds[row]!, nanos: samples.nanos[row]! } },
  };
}

function binReading(trace: Trace, at: number, gaps: Gap[]): Reading {
  const bins = trace.history?.bins;
  if (!bins) return { ...NO_READING, gaps };
  let row = lastAtOrBefore(bins.start, at);
  while (row >= 0 && bins.count[row] === 0) row--;
  if (row < 0) {
    const before = bins.before;
    if (!before || before.x > at) return { ...NO_READING, gaps };
    const time = before.at ? { instant: before.at } : null;
    return { ...NO_READING, gaps, value: before.y, count: 1, severity: before.severity, time };
  }
  return {
    value: bins.last[row],
    min: bins.min[row]!,
    max: bins.max[row]!,
    mean: bins.mean[row]!,
    count: bins.count[row]!,
    severity: bins.severity[row]!,
    time: { range: { from: bins.start[row]!, to: bins.end[row]! } },
    gaps,
  };
}

/** What a trace says over a range: its newest value, and least, greatest, mean and number of its samples. */
export function readingOver(trace: Trace, range: Range): Reading {
  const reading = readingAt(trace, range.to);
  const sums = { min: Infinity, max: -Infinity, sum: 0, finite: 0, count: 0 };
  const take = (min: number, max: number, mean: number, count: number) => {
    sums.count += count;
    if (!Number.isFinite(mean)) return;
    sums.min = Math.min(sums.min, min);
    sums.max = Math.max(sums.max, max);
    sums.sum += mean * count;
    sums.finite += count;
  };
  const bins = trace.history?.bins;
  for (let i = 0; bins && i < bins.count.length; i++) {
    if (bins.count[i]! > 0) take(bins.min[i]!, bins.max[i]!, bins.mean[i]!, bins.count[i]!);
  }
  for (const samples of sampleParts(trace)) {
    for (let i = 0; i < samples.x.length; i++) {
      const isWithin = samples.x[i]! >= range.from && samples.x[i]! < range.to;
      if (isWithin) take(samples.y[i]!, samples.y[i]!, samples.y[i]!, 1);
    }
  }
  const known = sums.finite > 0;
  return {
    ...reading,
    min: known ? sums.min : NaN,
    max: known ? sums.max : NaN,
    mean: known ? sums.sum / sums.finite : NaN,
    count: sums.count,
  };
}
