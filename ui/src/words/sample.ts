// What the page says of samples, in a table.

import { pvsText } from "./counts.ts";

/** By Channel Access the status of a record, by pvAccess the class of cause. */
const STATUSES: Record<string, string[]> = {
  ca: [
    ...[
      "NO_ALARM",
      "READ",
      "WRITE",
      "HIHI",
      "HIGH",
      "LOLO",
      "LOW",
      "STATE",
      "COS",
      "COMM",
      "TIMEOUT",
      "HWLIMIT",
    ],
    ...["CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM", "READ_ACCESS", "WRITE_ACCESS"],
  ],
  pva: ["NONE", "DEVICE", "DRIVER", "RECORD", "DB", "CONF", "UNDEFINED", "CLIENT"],
};

/** The samples of PVs as a table. */
export const sampleWords = {
  of: "Of",
  all: (pvs: number, others: number) =>
    others === 0 ? `all ${pvsText(pvs)}` : `all ${(pvs + others).toLocaleString("en")} of the plot`,
  heads: { time: "Time", pv: "PV", value: "Value", severity: "Severity", status: "Status" },
  label:
    "Samples in the order of time; arrows go from row to row, Shift and Space mark rows, Enter sets the cursors of the plot there, Ctrl C copies what is marked",
  asking: "asking the archiver …",
  count: (samples: number, steps: number) => {
    const formulas = `${steps.toLocaleString("en")} ${steps === 1 ? "value" : "values"} of formulas, computed of every sample`;
    return steps === 0
      ? samplesText(samples)
      : samples === 0
        ? formulas
        : `${samplesText(samples)}, ${formulas}`;
  },
  whole: (count: string) => `${count}: all of the range`,
  part: (count: string, until: string) => `The first ${count}, up to ${until}. There are more: scroll on`,
  full: (rows: number, until: string, hasAll: boolean) =>
    `The first ${rows.toLocaleString("en")} rows, up to ${until}. There are more: choose a shorter range${hasAll ? ", or take the CSV, which has all" : ""}`,
  live: (told: string, time: string) => `${told}; as of ${time}`,
  means: (formula: string, seconds: string, madeOf: "summaries" | "samples") =>
    `${formula} changes too often, or its samples are too many, to be computed of each: these are means of ${seconds}, made of ${madeOf === "summaries" ? "summaries only" : "summaries and samples"}`,
  meanOf: (seconds: string) => `mean of ${seconds}`,
  notKnown: "not known",
  sentences: (parts: string[]) =>
    parts.length === 1 ? parts[0]! : parts.map((part) => `${part.replace(/\.$/, "")}.`).join(" "),
  again: "Ask again",
  copy: "Copy as CSV",
  copyMarked: (rows: number) => `Copy ${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`,
  unmark: "Mark none",
  tapsMark: (rows: number) =>
    `${rows.toLocaleString("en")} ${rows === 1 ? "row is" : "rows are"} marked. Tap for one more; hold for all between.`,
  toCursors: "Cursors A, B there",
  marked: (rows: number) => `${rows.toLocaleString("en")} rows are marked.`,
  copied: (rows: number) => `${rows === 1 ? "The row is" : `${rows.toLocaleString("en")} rows are`} copied.`,
  copiedPart: (rows: number, hasAll: boolean) =>
    `The ${rows.toLocaleString("en")} rows that are here are copied${hasAll ? "; the CSV has all" : ""}.`,
  csvOfPvs: "CSV of the PVs",
  notCopied: "This browser does not let a page copy here.",
  noPv: "No row of the plot is shown that has samples.",
  findOne: "Find a PV",
  nothing: (from: string, to: string) => `Nothing was recorded from ${from} to ${to}, and no gap is known.`,
  status: (status: number, protocol: string | null) => {
    const name = STATUSES[protocol ?? ""]?.[status];
    return name === undefined ? String(status) : `${name} (${status})`;
  },
  gap: (until: string | null, length: string, cause: string, lost: number) =>
    `not recorded ${until === null ? `since then, for ${length}` : `until ${until}, for ${length}`}: ${cause}${lost > 0 ? `, ${lost.toLocaleString("en")} samples lost` : ""}`,
} as const;

function samplesText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "sample" : "samples"}`;
}
