// What the page says of policies, and of what applying those of the config file would change.

import { pvsText } from "./counts.ts";

/** Policies, and what the file would change now. */
export const policyWords = {
  are: "They say how PVs are archived by their names: the first that fits decides. They stand in the config file.",
  areOther:
    "They say how PVs are archived by their names: the first that fits decides. Marked is what the config file says otherwise now.",
  differ: (lines: number) => (lines === 1 ? "1 line differs" : `${lines.toLocaleString("en")} lines differ`),
  notInForce: "new",
  isMoved: "stands in another place",
  none: "The config file has no policies: every change of each PV is recorded.",
  planHead: "What the file would change now",
  nothing: "Nothing: every PV is recorded as the file says.",
  byHand: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "has" : "have"} settings that were given by hand, and ${count === 1 ? "is" : "are"} left alone.`,
  groups: (names: string[]) =>
    `Groups that change: ${names.slice(0, 5).join(", ")}${names.length > 5 ? " …" : ""}`,
  change: (count: number) => (count === 1 ? "PV changes" : "PVs change"),
  nothingYet: "nothing is changed yet",
  aDay: "a day",
  takenNow: "what they take now, about",
  fromTo: (from: string, to: string) => `${from} → ${to}, about, from the last day`,
  gaps: (count: number) => (count === 1 ? "gap" : "gaps"),
  atLeast: (count: number) => `≥ ${count.toLocaleString("en")}`,
  connectedAnew: "until they are connected by another protocol",
  ofThoseListed: "of those listed: recording goes on",
  goesOn: "recording goes on meanwhile",
  whatChanges: "What changes",
  changeHeads: ["Policy", "PVs", "From", "To", "Bytes a day"],
  noPolicy: "none",
  listed: (listed: number, total: number) =>
    `Shown are the first ${listed.toLocaleString("en")} of ${pvsText(total)}; the CSV has all.`,
  many: (names: string[], count: number) => `${names.join(", ")}${count > names.length ? " …" : ""}`,
  wouldKeep: (band: string, pv: string) => `What a dead band of ${band} would have kept: ${pv}`,
  another: "Another PV",
  yesterday: "a day ago",
  now: "now",
  recorded: (count: string, cut: boolean) => `as recorded, ${cut ? "the first " : ""}${count} samples`,
  kept: (count: string, band: string) => `as it would be, ${count} samples, never more than ${band} off`,
  nothingRecorded: "Nothing was recorded of it in the last day.",
  noNumbers: "Its values are no numbers: a dead band does nothing to it.",
  chart: (pv: string, all: string, kept: string) =>
    `${pv} of the last day: ${all} samples recorded, ${kept} would have been kept`,
  foot: "One line in the audit. It can be taken back for a day; what is recorded already stays as it is.",
  csvOf: (count: number) => `CSV of ${count.toLocaleString("en")}`,
  apply: (count: number) => `Change ${pvsText(count)}`,
  applied: (count: number) => `${pvsText(count)} ${count === 1 ? "is" : "are"} recorded as the file says.`,
  notApplied: "Nothing was changed.",
} as const;

/** Settings as the archiver writes them (`monitor, deadband 1%`), for people. */
export function settingsText(settings: string): string {
  return settings
    .replace(/\bmonitor\b/, "every change")
    .replace(/\bscan ([\d.]+)s\b/, "the newest value every $1 s")
    .replace(/\bdeadband ([\d.e+-]+)(%?)/, (_, width: string, percent: string) =>
      bandText(width, percent !== ""),
    );
}

function bandText(width: string, isPercent: boolean): string {
  return `dead band ${width}${isPercent ? " %" : ""}`;
}
