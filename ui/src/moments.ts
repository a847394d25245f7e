// Moments that come again and have a name, as the last fill: a saved search of the folder `moments`, and when it was last before what is shown.

import { searchWhen, type WhenLine } from "./analysis.ts";
import { exactOf } from "./decode.ts";
import { findViews, type SavedView } from "./memos.ts";
import type { Range } from "./state.ts";
import { floatOf } from "./time.ts";

/** Searches that are saved in this folder are offered for plots. */
export const FOLDER = "moments/";
/** More are not offered one by one. */
const MOMENTS_MAX = 20;
/** How far back is looked, one after the other: what happens often is found in the first. */
const BACK_SECONDS = [1, 7, 60, 366, 3660].map((days) => days * 86_400);

export interface NamedMoment {
  name: string;
  expression: string;
  anyUnits: boolean;
}

/** Those that somebody has saved. */
export async function namedMoments(signal?: AbortSignal): Promise<NamedMoment[]> {
  const views = await findViews(FOLDER.slice(0, -1), 10 * MOMENTS_MAX, signal);
  return views.flatMap(momentOf).slice(0, MOMENTS_MAX);
}

function momentOf({ name, query }: SavedView): NamedMoment[] {
  const params = new URLSearchParams(query.replaceAll("+", "%2B"));
  const expression = params.get("q");
  if (!name.startsWith(FOLDER) || params.get("part") !== "when" || !expression) return [];
  return [{ name: name.slice(FOLDER.length), expression, anyUnits: params.get("units") === "any" }];
}

/** A moment, and that of what is shown at which it is to be laid. */
export interface Laid {
  moment: number;
  at: number;
}

/**
 * When the condition last began to hold: where it begins within the range, the time before that is laid at it, so that both begin at one
 * place; else the newest at the beginning of the range. None if it did not for ten years.
 */
export async function lastBefore(
  { expression, anyUnits }: NamedMoment,
  range: Range,
  signal: AbortSignal,
): Promise<Laid | null> {
  for (const back of BACK_SECONDS) {
    let [before, newest] = [NaN, NaN];
    const take = (line: WhenLine) => {
      // Of one that held when the search begins nobody knows since when.
      if (!("found" in line) || line.found.begins !== "change") return;
      const exact = exactOf(line.found.from);
      if (exact) [before, newest] = [newest, floatOf(exact)];
    };
    const searched = { from: range.from - back, to: range.to };
    await searchWhen({ expression, range: searched, anyUnits }, take, signal);
    const isWithin = newest > range.from;
    const laid = isWithin ? { moment: before, at: newest } : { moment: newest, at: range.from };
    if (Number.isFinite(laid.moment) && laid.moment < laid.at) return laid;
  }
  return null;
}
