// What became of each update of a range, as bars: stored, lost above that, and hatched where nobody recorded.

import type { Reason, Step } from "./api.ts";
import { counted, h } from "./dom.ts";
import type { Range } from "./state.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { whyWords as words } from "./words/why.ts";

/** More bars nobody could tell apart. */
const BARS_MAX = 240;
const LENGTHS = [60, 3600, 86_400];

/** How long each bar is: minutes, where these are too many hours, then days. */
export function stepFor({ from, to }: Range): number {
  const length = to - from;
  const step = LENGTHS.find((seconds) => length / seconds <= BARS_MAX);
  return step ?? 86_400 * Math.ceil(length / (86_400 * BARS_MAX));
}

export function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** For how many seconds nobody recorded. */
export function missingOf(gaps: Reason[], range: Range): number {
  let [sum, until] = [0, range.from];
  for (const { from_seconds: from, to_seconds: to } of [...gaps].sort(
    (a, b) => a.from_seconds - b.from_seconds,
  )) {
    const end = Math.min(to, range.to);
    sum += Math.max(0, end - Math.max(from, until));
    until = Math.max(until, end);
  }
  return sum;
}

export interface Updates {
  steps: Step[];
  /** Seconds. */
  step: number;
  range: Range;
  gaps: Reason[];
  zone: Zone;
  /** For how many seconds nobody recorded. */
  missing: number;
}

/** Nothing where nothing is known of updates. */
export function updatesOf({ steps, step, range, gaps, zone, missing }: Updates): HTMLElement | null {
  const lostOf = ({ lost }: Step) => sumOf(lost);
  const most = steps.reduce((most, one) => Math.max(most, one.stored + one.skipped + lostOf(one)), 0);
  if (most === 0) return null;
  const length = range.to - range.from;
  const part = (at: number) => Math.min(Math.max((at - range.from) / length, 0), 1);
  const box = (kind: string, from: number, to: number, low: number, high: number) => {
    const bar = h("i", { class: kind });
    Object.assign(bar.style, {
      left: `${100 * part(from)}%`,
      width: `${100 * (part(to) - part(from))}%`,
      bottom: `${100 * low}%`,
      height: `${100 * (high - low)}%`,
    });
    return bar;
  };
  const bars = steps.flatMap((one) => {
    const [from, to] = [one.from_seconds, one.from_seconds + step];
    const heights = [one.stored, lostOf(one), one.skipped].map((count) => count / most);
    let low = 0;
    return ["stored", "lost", "skipped"].flatMap((kind, i) => {
      const high = low + heights[i]!;
      const bar = high > low ? [box(kind, from, to, low, high)] : [];
      low = high;
      return bar;
    });
  });
  const holes = gaps.map((gap) => box("hole", gap.from_seconds, gap.to_seconds, 0, 1));
  const sum = (of: (one: Step) => number) => steps.reduce((sum, one) => sum + of(one), 0);
  const told = [
    ["stored", words.stored(counted(sum(({ stored }) => stored)))],
    ...(sum(lostOf) > 0 ? [["lost", words.lostOf(counted(sum(lostOf)))]] : []),
    ...(missing > 0 ? [["hole", words.notRecorded(formatDuration(missing))]] : []),
    ...(sum(({ skipped }) => skipped) > 0
      ? [["skipped", words.skipped(counted(sum(({ skipped }) => skipped)))]]
      : []),
  ] as [string, string][];
  const text = told.map(([, text]) => text).join(", ");
  const clock = (at: number) => formatTime(at, zone, 0).slice(0, 16);
  return h(
    "figure",
    { class: "why-updates" },
    h("h3", {}, words.updates),
    h("p", { class: "faint" }, words.most(counted(most), formatDuration(step))),
    h(
      "div",
      { class: "why-bars", role: "img", "aria-label": `${words.updates}: ${text}` },
      ...bars,
      ...holes,
    ),
    h("p", { class: "why-ends faint" }, h("span", {}, clock(range.from)), h("span", {}, clock(range.to))),
    h(
      "figcaption",
      {},
      ...told.map(([kind, text]) => h("span", {}, h("i", { class: kind, "aria-hidden": "true" }), text)),
    ),
  );
}
