// What the page says of exports.

import { pvsText } from "./counts.ts";

/** Files of the whole view. */
export const exportWords = {
  title: (pvs: number, length: string) => `Data of the whole view: ${pvsText(pvs)}, ${length}`,
  leftOut: (rows: number) =>
    `${rows === 1 ? "One row" : `${rows.toLocaleString("en")} rows`} of the view ${rows === 1 ? "is" : "are"} in no file: what is hidden, formulas, other times, and names that no PV has.`,
  format: "Format",
  formats: { csv: "CSV", parquet: "Parquet", arrow: "Arrow", xlsx: "XLSX", mat: "MAT" },
  times: "Times",
  rows: { raw: "as recorded", aligned: "aligned" },
  every: "every",
  period: "Seconds between rows",
  method: "What stands in a row",
  methods: {
    previous: "the value that held",
    linear: "straight from sample to sample",
    nearest: "the nearest sample",
  },
  noPeriod: "Rows need a time between them: 1, or 0.1.",
  go: (format: string) => `Download ${format}`,
  plan: (isAligned: boolean, rows: number, pvs: number, size: string) =>
    isAligned
      ? `${rows.toLocaleString("en")} rows of ${pvsText(pvs)}, about ${size}`
      : `About ${rows.toLocaleString("en")} samples of ${pvsText(pvs)}, about ${size}`,
  free: (size: string) => `Exports may still take ${size} on the archiver’s disk.`,
  files: "Files that were made",
  progress: (file: string) => `How far ${file} is`,
  save: "Download",
  saveIt: (file: string) => `Download ${file}`,
  cancel: "Cancel",
  remove: "Remove",
  waiting: "waits for its turn",
  running: (done: number, all: number, size: string) =>
    `${done.toLocaleString("en")} of ${pvsText(all)}, ${size} so far. It goes on when this is closed.`,
  without: (names: string[], count: number) =>
    count === 0
      ? ""
      : `nothing recorded of ${names.slice(0, 3).join(", ")}${count > 3 ? ` and ${(count - 3).toLocaleString("en")} more` : ""}`,
  gaps: (count: number) =>
    count === 0 ? "" : `${count.toLocaleString("en")} ${count === 1 ? "gap" : "gaps"} in the range`,
  damage: (blocks: string[], count: number) =>
    count === 0
      ? ""
      : `${count.toLocaleString("en")} damaged ${count === 1 ? "block is" : "blocks are"} left out: ${blocks[0] ?? ""}`,
  kept: (length: string) => `kept for ${length}`,
  of: (owner: string) => `ordered by ${owner}`,
  more: (count: number) => `and ${count.toLocaleString("en")} older ones`,
} as const;
