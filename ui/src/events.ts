// What happened in the range shown: alarms, states, gaps, and what people noted, in order of time.

import { causeText, severityName } from "./decode.ts";
import type { NoteMark } from "./notes.ts";
import { lastAtOrBefore } from "./rows.ts";
import type { Range } from "./state.ts";
import { knownUntil, MANY, runsOf, type Trace } from "./trace.ts";
import { wordOf } from "./words/panel.ts";
import { plotWords as words } from "./words/plot.ts";

export interface Happening {
  at: number;
  pv: string;
  kind: "alarm" | "state" | "gap" | "back" | "note";
  severity: number;
  text: string;
  /** It is known from a bin alone, which ends then: `at` is where that begins. */
  within?: number;
  note?: NoteMark;
}

/** More than this nobody reads one by one. */
export const HAPPENINGS_MAX = 200;

/** All of the PVs shown, and all notes, the earliest first. */
export function happenings(
  traces: Trace[],
  range: Range,
  known: number,
  notes: NoteMark[] = [],
): Happening[] {
  // What is laid over happened at another time.
  const shown = traces.filter(({ source, hidden }) => !hidden && source.kind === "pv");
  const found = shown.flatMap((trace) => of(trace, range, known));
  for (const note of notes)
    found.push({
      ...{ at: Math.max(note.from, range.from), pv: note.text, kind: "note", severity: 0 },
      ...{ text: wordOf.note, note },
    });
  return found.sort((a, b) => a.at - b.at);
}

function of(trace: Trace, range: Range, known: number): Happening[] {
  const found: Happening[] = [];
  const isWithin = (at: number) => at >= range.from && at < range.to;
  const named = trace.kind === "state" || trace.kind === "text";
  let before: { severity: number; text: string | null } | null = null;
  for (const run of runsOf(trace, Math.min(knownUntil(trace, known), range.to))) {
    const isNews = before !== null || run.severity > 0;
    if (isNews && isWithin(run.from)) {
      const happening = { at: run.from, pv: trace.name, severity: run.severity, ...binAt(trace, run.from) };
      if (run.severity > 0 && run.severity !== before?.severity)
        found.push({ ...happening, kind: "alarm", text: severityName(run.severity) });
      else if (named && run.text !== null && run.text !== MANY && run.text !== before?.text)
        found.push({ ...happening, kind: "state", text: run.text });
    }
    before = run;
  }
  for (const gap of trace.gaps) {
    const happening = { pv: trace.name, severity: 0 };
    if (isWithin(gap.from))
      found.push({ ...happening, at: gap.from, kind: "gap", text: causeText(gap.cause) });
    if (isWithin(gap.to) && gap.to <= known)
      found.push({ ...happening, at: gap.to, kind: "back", text: words.recordedAgain });
  }
  return found;
}

/** The bin that begins at a moment, if there is one. */
function binAt({ history }: Trace, at: number): { within?: number } {
  const bins = history?.bins;
  if (!bins) return {};
  const i = lastAtOrBefore(bins.start, at);
  return i >= 0 && bins.start[i] === at ? { within: bins.end[i]! } : {};
}

/** The moment of the next one behind another, or of the one before it; none if there is none. */
export function nextAt(moments: number[], at: number, by: 1 | -1): number | null {
  // Two moments so near are the same to whoever has just been led to one.
  const apart = 1e-6;
  const sorted = [...moments].sort((a, b) => a - b);
  const found =
    by > 0 ? sorted.find((moment) => moment > at + apart) : sorted.findLast((moment) => moment < at - apart);
  return found ?? null;
}
