// Rows of the table of samples as text, to be copied: as the archiver writes them in CSV, and with tabs, as tables take them.

import type { Metadata } from "./api.ts";
import { formatValue, severityName } from "./decode.ts";
import { isGap, ownTime, type GapRow, type Row, type SampleRow } from "./sample_rows.ts";
import { instantOf, isoOf } from "./time.ts";

/** What is known of the PV or formula of a row. */
export interface About {
  units: string;
  metadata: Metadata | null;
  /** What its status is called. */
  status(status: number): string;
}

function written(value: SampleRow["value"]): string {
  return value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function quoted(text: string, special: RegExp): string {
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows as the archiver writes them, with their PVs; a gap says until when, and why. */
export function csvText(rows: Row[]): string {
  const lines = rows.map((row) => {
    const cells = isGap(row)
      ? ["", "", "", untilOf(row), row.cause]
      : [written(row.value), String(row.severity), String(row.status), "", ""];
    return [isoOf(ownTime(row)), row.pv, ...cells].map((text) => quoted(text, /[",\n\r]/)).join(",");
  });
  return ["time,pv,value,severity,status,gap_until,gap_cause", ...lines, ""].join("\n");
}

const HEADS = ["time", "pv", "value", "units", "severity", "status", "gap_until", "gap_cause"];

/** Rows with tabs between their cells, numbers with all their digits, all else in words; the first row has the heads. */
export function tabbedText(rows: Row[], aboutOf: (pv: string) => About): string {
  const lines = rows.map((row) => {
    const { units, metadata, status } = aboutOf(row.pv);
    // A table would take what begins so for a formula of its own.
    const name = row.pv.replace(/^=\s*/, "");
    const cells = isGap(row)
      ? ["", "", "", "", untilOf(row), row.cause]
      : [
          row.kind === "state" ? formatValue(row.value, "state", metadata) : written(row.value),
          row.kind === "number" ? units : "",
          row.severity > 0 ? severityName(row.severity) : "",
          row.status > 0 ? status(row.status) : "",
          ...["", ""],
        ];
    return [isoOf(ownTime(row)), name, ...cells].map((text) => quoted(text, /["\t\n\r]/)).join("\t");
  });
  return [HEADS.join("\t"), ...lines, ""].join("\n");
}

function untilOf({ until, earlier }: GapRow): string {
  return until === Infinity ? "" : isoOf(instantOf(until - earlier));
}
