// What stands in the middle of a plot in which nothing can be drawn: why, and where there is something, with a way there.

import { exactOf } from "./decode.ts";
import { readingOver } from "./reading.ts";
import { secondsEarlier } from "./source.ts";
import type { Range } from "./state.ts";
import { floatOf, formatTime, type Zone } from "./time.ts";
import { knownUntil, sampleParts, type Trace } from "./trace.ts";
import { commonWords } from "./words/common.ts";
import { plotWords as words } from "./words/plot.ts";

/** More PVs than this are not told one by one. */
const PVS_TOLD_MAX = 4;

/** A sample to which a link leads stands so far from the edge of what is shown then. */
const BESIDE = 0.1;

/** A line, and where it leads. */
export interface Said {
  text: string;
  to: Range | null;
}

/** What is known of the time: of the plot, and by the archiver. */
export interface Moment {
  range: Range;
  zone: Zone;
  /** Up to when anything is known. */
  known: number;
  /** The archiver is silent: what is behind nobody knows. */
  silent: boolean;
}

/** The lines to say; none while anything is drawn, or not yet loaded. */
export function nothingLines(traces: Trace[], moment: Moment): Said[] {
  const shown = traces.filter((trace) => !trace.hidden);
  if (shown.length === 0) return traces.length > 0 ? [plain(words.allHidden)] : [];
  if (!shown.every((trace) => isEmpty(trace, moment))) return [];
  const lines = shown.slice(0, PVS_TOLD_MAX).map((trace) => {
    const { text, to } = whereOf(trace, moment);
    return { text: `${trace.name}: ${text}`, to };
  });
  if (shown.length > PVS_TOLD_MAX) lines.push(plain(commonWords.andMore(shown.length - PVS_TOLD_MAX)));
  return [plain(words.nothingToDraw), ...lines];
}

function plain(text: string): Said {
  return { text, to: null };
}

function isEmpty(trace: Trace, moment: Moment): boolean {
  // What was drawn before an answer failed to come is still drawn.
  if (!trace.history) return trace.error !== null;
  if (trace.kind === "array" || trace.kind === "structure") return false;
  const { value, count } = readingOver(trace, moment.range);
  return count === 0 && (value === undefined || !isHeld(trace, moment));
}

/** Whether a value from before the range is drawn anywhere in it: no gap covers all that is known of it. */
function isHeld(trace: Trace, { range, known, silent }: Moment): boolean {
  if (silent || trace.source.kind === "formula") return true;
  let from = range.from;
  const to = Math.min(range.to, knownUntil(trace, known));
  for (let i = 0; i < trace.holes.from.length; i++)
    if (trace.holes.from[i]! <= from) from = Math.max(from, trace.holes.to[i]!);
  return from < to;
}

/** Where samples are of a PV that has none in a range, as far as that is known. */
export function whereOf(trace: Trace, { range, zone }: Pick<Moment, "range" | "zone">): Said {
  if (trace.error) return plain(trace.error);
  const { first, last, before } = endsOf(trace, range);
  const time = (at: number) => formatTime(at, zone, 0);
  const beside = (at: number, part: number, text: string): Said => {
    const length = range.to - range.from;
    return { text, to: { from: at - part * length, to: at + (1 - part) * length } };
  };
  if (first !== null && first >= range.to) return beside(first, BESIDE, words.firstLater(time(first)));
  const again = againAfter(trace, range);
  if (before !== null && again !== null)
    return beside(before, 1 - BESIDE, words.lostFrom(time(before), time(again)));
  if (last !== null && last <= range.from) return beside(last, 1 - BESIDE, words.lastEarlier(time(last)));
  if (first !== null && last !== null) return plain(words.samplesFrom(time(first), time(last)));
  const isKnown = trace.detail !== null && trace.source.kind === "pv";
  return plain(isKnown ? words.nothingRecorded : words.nothingHere);
}

/** When the gap is over that goes on behind a range. */
function againAfter({ holes }: Trace, range: Range): number | null {
  const nth = holes.to.findIndex((to, i) => holes.from[i]! < range.to && to >= range.to);
  const to = holes.to[nth] ?? Infinity;
  return Number.isFinite(to) ? to : null;
}

/** When its samples begin and end, and the newest before a range; of another time, when they are drawn. */
function endsOf(trace: Trace, range: Range): Record<"first" | "last" | "before", number | null> {
  const { source, detail, history } = trace;
  const earlier = source.kind === "over" ? secondsEarlier(source.by, range.from) : 0;
  const end = (text: string | undefined) => {
    const exact = exactOf(text ?? "");
    return exact && floatOf(exact) + earlier;
  };
  const [first, told] = [end(detail?.extent?.first), end(detail?.extent?.last)];
  const found = [...sampleParts(trace).flatMap(({ x }) => x), history?.bins?.before?.x];
  const before = found.findLast((x) => x !== undefined && x <= range.from) ?? null;
  // What was told of it once is older than what has come since.
  const last = told === null ? before : Math.max(told, before ?? -Infinity);
  return { first, last, before };
}
