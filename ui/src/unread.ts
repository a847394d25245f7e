// What of the address of a plot cannot be read: a link that was cut off or written by hand shows what it can, and it is said what it cannot.

import { isPlain, readLook } from "./look.ts";
import { readDrawer } from "./drawer_state.ts";
import { RANGE_SECONDS_MAX, readSpan } from "./state.ts";
import { parseTime, Refusal } from "./typed.ts";
import { zoneOf } from "./time.ts";
import { unreadWords as words } from "./words/unread.ts";

const WORDS_OF: Record<string, string[]> = {
  theme: ["light", "dark", "system"],
  lanes: ["0", "1"],
  panel: ["0", "1"],
  embed: ["0", "1"],
  wall: ["0", "1"],
};
const FREE = [
  "pv",
  "hidden",
  "set",
  "from",
  "to",
  "live",
  "log",
  "at",
  "b",
  "drawer",
  "found",
  "part",
  "came",
];
/** What may be chosen of a drawer stands beside it. */
const OF_DRAWERS = [
  "x",
  "y",
  "by",
  "step",
  "xin",
  "yin",
  "of",
  "bins",
  "weight",
  "within",
  "window",
  "output",
];
const MORE_OF_DRAWERS = ["axes", "fill", "band"];
const KNOWN = new Set([...Object.keys(WORDS_OF), ...FREE, ...OF_DRAWERS, ...MORE_OF_DRAWERS]);
/** What others put behind links says nothing of a view. */
const OTHERS = /^(utm_|fbclid|gclid)/;

/** A sentence for each part of a query that is left out, as the archiver's clock shows `now`. */
export function unreadOf(query: string, now: number): string[] {
  const params = new URLSearchParams(query.replaceAll("+", "%2B"));
  const found: string[] = [];
  const leave = (key: string, text: string, why: string) => found.push(words.leftOut(`${key}=${text}`, why));
  const [from, to] = [params.get("from"), params.get("to")];
  try {
    if (from !== null || to !== null) readSpan(from, to, "utc", now);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const ends = (["from", "to"] as const).filter((end) => params.has(end));
    const [end] = error.ends.length === 1 ? error.ends : ends;
    const both =
      error.ends.length === 1
        ? ""
        : ends
            .slice(1)
            .map((end) => `&${end}=${params.get(end)}`)
            .join("");
    leave(end!, `${params.get(end!) ?? ""}${both}`, error.message);
  }
  for (const [key, text] of params) {
    if (key === "zone") {
      if (text !== "" && text !== "local" && zoneOf(text) === "local") leave(key, text, words.noZone);
    } else if (!KNOWN.has(key)) {
      if (!OTHERS.test(key)) leave(key, text, words.notKnown);
    } else if (WORDS_OF[key] && text !== "" && !WORDS_OF[key].includes(text))
      leave(key, text, words.oneOf(WORDS_OF[key]));
    else if ((key === "at" || key === "b") && text !== "" && parseTime(text, "utc", now) === null)
      leave(key, text, words.noTime);
    else if (key === "live" && !(Number(text) > 0 && Number(text) <= RANGE_SECONDS_MAX))
      leave(key, text, words.noSeconds);
    else if (key === "drawer" && readDrawer(new URLSearchParams({ drawer: text })) === null)
      leave(key, text, words.noDrawer);
    else if (key === "set")
      for (const part of text.split(",").filter((part) => part !== "" && isPlain(readLook(part))))
        leave(key, part, words.noSetting);
  }
  return found;
}
