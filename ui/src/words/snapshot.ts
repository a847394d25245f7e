// What the page says of snapshots, and of what has changed.

import { pvsText } from "./counts.ts";

/** A snapshot of many PVs, and two of them compared. */
export const snapshotWords = {
  title: "Snapshot",
  list: "PVs",
  listHint: "Part of a name, *glob*, ~regex, or a pasted list",
  named: "A named list",
  namedFirst: "or a named list",
  namedOf: (name: string, pvs: number) => `${name}, ${pvsText(pvs)}`,
  noNamed: (name: string) => `No view with PVs has the name ${name}.`,
  a: "A",
  b: "B, to compare with",
  bHint: "nothing",
  quick: { now: "Now", "-1 h": "An hour ago", "-1 d": "A day", "-1 w": "A week" } as Record<string, string>,
  take: "Take",
  taking: "asking the archiver …",
  begin:
    "Name PVs and a time A: their values are shown as they were. With a time B, what has changed comes first.",
  which: "Which rows",
  table: "Values of the PVs",
  tolerance: "What counts as a change",
  tolerances: (many: number) =>
    many === 0
      ? "changed: any other value"
      : many === 1
        ? "changed: by more than its usual spread"
        : `changed: by more than ${many} usual spreads`,
  names: (count: number) => `${count.toLocaleString("en")} PVs of a list`,
  noList: "Name the PVs first: part of a name, a glob, or a pasted list.",
  noMoment: (which: string) =>
    `${which} is no time. Times are written as 2026-06-01 08:30, 8:00, -8h, or now.`,
  none: (unknown: string[]) =>
    unknown.length > 0
      ? `None of these PVs is archived: ${unknown.slice(0, 5).join(", ")}${unknown.length > 5 ? " …" : ""}`
      : "No PV fits.",
  tooMany: (count: number, most: number) =>
    `${pvsText(count)} fit, and at most ${most.toLocaleString("en")} are compared at once: narrow the list.`,
  shown: { changed: "Changed", all: "All", lacking: "Not recorded" },
  told: (total: number, changed: number | null, lacking: number, unknown: string[]) =>
    `${pvsText(total)}${changed === null ? "" : `: ${changed.toLocaleString("en")} changed, ${(total - changed - lacking).toLocaleString("en")} did not`}${lacking > 0 ? `; ${lacking.toLocaleString("en")} not recorded at A` : ""}${unknown.length > 0 ? `; ${unknown.length.toLocaleString("en")} not archived: ${unknown.slice(0, 5).join(", ")}${unknown.length > 5 ? " …" : ""}` : ""}. Values are the last at or before each moment; an age above an hour stands beside it.`,
  csvAt: (which: string) => `CSV${which}`,
  csvDiff: "CSV of changes",
  plot: (count: number, found: number) =>
    count < found ? `Plot the first ${count}` : count === 1 ? "Plot it" : `Plot the ${count}`,
  lackingAt: "Not recorded at A",
  notKept: " The list is too long for an address: whoever opens this one has to paste it again.",
  pv: "PV",
  description: "Description",
  units: "Units",
  change: "Change, in usual spreads",
  alarm: "Alarm",
  alarmAtA: "Alarm at A",
  nothingYet: "nothing yet",
  notRecorded: "not recorded",
  why: "Why?",
  age: (age: string) => `${age} old`,
  another: (kind: string) =>
    kind === "state" ? "another state" : kind === "text" ? "another text" : "another value",
  neverMoved: "did not move in the day before",
  score: (score: number) => `${score.toPrecision(3)} times the spread of the day before B`,
} as const;
