// What the server computes of samples: snapshots, what changed between two times, when something held, formulas and figures.

import { ApiError, isAbort, post, type Json, type Metadata, type WireGap, postRaw } from "./api.ts";
import type { Range } from "./state.ts";
import { iso } from "./time.ts";
import { answerWords as words } from "./words/answer.ts";

/** PVs as a list of names, or all that fit a pattern. */
export type Asked = { names: string[] } | { match: string };

/** What a PV had at a moment; none where it had nothing yet. */
export interface Held {
  time: string;
  value: Json;
  severity: number;
}

export interface Difference {
  pv: string;
  before: Held | null;
  after: Held | null;
  change: number | null;
  spread: number | null;
  score: number | null;
}

export interface AtRow {
  pv: string;
  time: string | null;
  type: string | null;
  value: Json;
  severity: number | null;
}

function pathOf(path: string, asked: Asked, pairs: string[]): string {
  const match = "match" in asked ? [`match=${encodeURIComponent(asked.match)}`] : [];
  return `${path}?${[...match, ...pairs].join("&")}`;
}

function bodyOf(asked: Asked): string[] {
  return "names" in asked ? asked.names : [];
}

/** A list in which PVs are missing would be taken for one of all: it is refused then, with their names. */
const WHOLE = "whole=true";

/** The values at a moment of all that are asked for. */
export function getSnapshot(
  asked: Asked,
  at: number,
  signal: AbortSignal,
): Promise<{ pvs: AtRow[]; unknown: string[] }> {
  return post(pathOf("/at", asked, [WHOLE, `time=${iso(at)}`]), bodyOf(asked), signal);
}

/** What changed between two moments, in the archiver's order: what changed most beside what is usual comes first. */
export async function getDiff(
  asked: Asked,
  before: number,
  after: number,
  signal: AbortSignal,
): Promise<Difference[]> {
  const path = pathOf("/diff", asked, [
    WHOLE,
    `before=${iso(before)}`,
    `after=${iso(after)}`,
    "unchanged=true",
  ]);
  return (await post<{ pvs: Difference[] }>(path, bodyOf(asked), signal)).pvs;
}

/** What a PV is, and in which gaps it was within a range. */
export interface Known {
  pv: string;
  type: string | null;
  metadata: Metadata | null;
  gaps: WireGap[];
}

/** The most PVs that one answer of `/view` has. */
const VIEW_PVS = 200;

/** What PVs are, and their gaps in a range. */
export async function getKnown(names: string[], range: Range, signal: AbortSignal): Promise<Known[]> {
  const known: Known[] = [];
  for (let i = 0; i < names.length; i += VIEW_PVS) {
    const path = `/view?from=${iso(range.from)}&to=${iso(range.to)}&bins=1&format=json&${WHOLE}`;
    known.push(...(await post<{ pvs: Known[] }>(path, names.slice(i, i + VIEW_PVS), signal)).pvs);
  }
  return known;
}

/** The same as a file, as the archiver writes it. */
export async function getCsv(path: "/at" | "/diff", asked: Asked, pairs: string[]): Promise<string> {
  const response = await postRaw(pathOf(path, asked, [...pairs, WHOLE, "format=csv"]), bodyOf(asked));
  return response.text();
}

/** A stretch in which a condition held. */
export interface Interval {
  from: string;
  to: string;
  seconds: number;
  /** Whether the condition changed there, is not known on the other side, or the range ends. */
  begins: "change" | "unknown" | "range";
  ends: "change" | "unknown" | "range";
}

export interface Tally {
  intervals: number;
  held: number;
  unknown: number;
  by_summaries: number;
  read: number;
  until: string;
  whole: boolean;
}

export interface Progress {
  until: string;
  done: number;
  intervals: number;
  read: number;
}

/** What a search tells, one after another. */
export type WhenLine =
  | { search: { expression: string; from: string; to: string } }
  | { found: Interval }
  | { progress: Progress }
  | { tally: Tally }
  | { error: { message: string; hint?: string } };

export interface WhenAsked {
  expression: string;
  range: Range;
  limit?: number;
  /** Numbers of different units may be compared. */
  anyUnits?: boolean;
}

/** Searches for the times at which a condition held, and tells each line as it comes. Ends early by the signal. */
export async function searchWhen(
  { expression, range, limit, anyUnits }: WhenAsked,
  tell: (line: WhenLine) => void,
  signal: AbortSignal,
): Promise<void> {
  const more = `${limit === undefined ? "" : `&limit=${limit}`}${anyUnits ? "&units=any" : ""}`;
  const path = `/when?from=${iso(range.from)}&to=${iso(range.to)}&format=lines${more}`;
  const response = await postRaw(path, expression, signal);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let isTold = false;
  const take = (text: string) => {
    const line = asJson(text) as WhenLine | null;
    if (!line) return;
    if ("error" in line) throw new ApiError("broken", line.error.message, line.error.hint ?? null);
    isTold ||= "tally" in line;
    tell(line);
  };
  let rest = "";
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "") take(line);
    }
  } catch (error) {
    if (isAbort(error) || error instanceof ApiError) throw error;
    throw new ApiError("unreachable", words.brokenOff, null);
  }
  if (rest !== "") take(rest);
  if (!isTold) throw new ApiError("unreachable", words.brokenOff, null);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
