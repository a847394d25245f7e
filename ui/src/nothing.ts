// What stands in the middle of a plot in which nothing can be drawn: why, and where there is something.

import { exactOf } from "./decode.ts";
import { readingOver } from "./reading.ts";
import type { Range } from "./state.ts";
import { formatInstant, type Zone } from "./time.ts";
import type { Trace } from "./trace.ts";
import { commonWords, plotWords as words } from "./words.ts";

/** More PVs than this are not told one by one. */
const PVS_TOLD_MAX = 4;

/** The lines to say; none while anything is drawn, or not yet loaded. */
export function nothingLines(traces: Trace[], range: Range, zone: Zone): string[] {
  const shown = traces.filter((trace) => !trace.hidden);
  if (shown.length === 0) return traces.length > 0 ? [words.allHidden] : [];
  if (!shown.every((trace) => isEmpty(trace, range))) return [];
  const lines = shown.slice(0, PVS_TOLD_MAX).map((trace) => `${trace.name}: ${whereText(trace, zone)}`);
  if (shown.length > PVS_TOLD_MAX) lines.push(commonWords.andMore(shown.length - PVS_TOLD_MAX));
  return [words.nothingToDraw, ...lines];
}

function isEmpty(trace: Trace, range: Range): boolean {
  // What was drawn before an answer failed to come is still drawn.
  if (!trace.history) return trace.error !== null;
  if (trace.kind === "array" || trace.kind === "structure") return false;
  const { value, count } = readingOver(trace, range);
  return value === undefined && count === 0;
}

function whereText(trace: Trace, zone: Zone): string {
  if (trace.error) return trace.error;
  const [first, last] = [
    exactOf(trace.detail?.extent?.first ?? ""),
    exactOf(trace.detail?.extent?.last ?? ""),
  ];
  if (!first || !last) return words.nothingRecorded;
  return words.samplesFrom(formatInstant(first, zone, 0), formatInstant(last, zone, 0));
}
