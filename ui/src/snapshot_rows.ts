// The rows of a snapshot: what PVs had at one moment, and how that differs from what they had at another.

import type { AtRow, Difference, Held, Known } from "./analysis.ts";
import type { Json, Metadata } from "./api.ts";
import { decodeGaps, formatNumber, formatValue, kindOf, severityOf, type Kind } from "./decode.ts";

export interface SnapshotRow {
  pv: string;
  kind: Kind;
  metadata: Metadata | null;
  /** At A, and at B where there is one. */
  at: Held | null;
  before: Held | null;
  /** A − B, of numbers. */
  change: number | null;
  /** By how many of its usual spreads it changed; none where it never moved before, or is no number. */
  score: number | null;
  isChanged: boolean;
  /** The cause of the gap in which A lies. */
  gap: string | null;
}

export type Shown = "changed" | "all" | "lacking";

/** The rows of a snapshot by itself, by names. */
export function rowsAt(pvs: AtRow[], known: Known[], at: number): SnapshotRow[] {
  const of = byName(known);
  return pvs
    .map((row) => {
      const held = row.time === null ? null : heldOf(row.time, row.value, row.severity);
      return { ...plainRow(row.pv, of, row.type, at), at: held };
    })
    .sort((a, b) => (a.pv < b.pv ? -1 : 1));
}

/** The rows of two snapshots, in the order of the archiver. More than so many usual spreads is a change; another alarm is one too. */
export function rowsBetween(pvs: Difference[], known: Known[], at: number, tolerance: number): SnapshotRow[] {
  const of = byName(known);
  return pvs.map(({ pv, before, after, change, score }) => {
    const row = { ...plainRow(pv, of, null, at), at: after, before, change, score };
    // Of what nobody recorded at A nobody knows whether it changed.
    return { ...row, isChanged: !isLacking(row) && isChanged(before, after, change, score, tolerance) };
  });
}

function isChanged(
  before: Held | null,
  after: Held | null,
  change: number | null,
  score: number | null,
  tolerance: number,
): boolean {
  if (!before || !after) return before !== after;
  if (before.severity !== after.severity) return true;
  if (JSON.stringify(before.value) === JSON.stringify(after.value)) return false;
  // Of what never moved before, and of what is no number, any change is one.
  return change === null || score === null || score > tolerance;
}

/** Which of the rows are asked for. What nobody recorded at A stands for itself. */
export function shownRows(rows: SnapshotRow[], shown: Shown): SnapshotRow[] {
  const lacking = rows.filter(isLacking);
  if (shown === "lacking") return lacking;
  return rows.filter((row) => (shown === "all" ? !isLacking(row) : row.isChanged));
}

/** Nobody recorded it at A, or it had no value yet. */
export function isLacking(row: SnapshotRow): boolean {
  return row.gap !== null || row.at === null;
}

/** A value in words; a minus is a minus. */
export function valueText({ kind, metadata }: SnapshotRow, held: Held | null): string {
  if (!held) return "";
  const text = formatValue(held.value, kind, metadata);
  return kind === "number" ? text.replace(/-/g, "−") : text;
}

/** `+6.1`; of states and texts nothing, because their difference is none. */
export function changeText({ kind, metadata, change }: SnapshotRow): string {
  if (change === null || kind !== "number") return "";
  const text = formatNumber(change, metadata?.precision ?? null).replace(/-/g, "−");
  return change > 0 ? `+${text}` : text;
}

/** How long a bar is, as a part of the longest: a spread is a fifth of it, thirty and more are all of it. */
export function barPart(score: number): number {
  return Math.min(1, Math.log1p(Math.abs(score)) / Math.log1p(30));
}

function byName(known: Known[]): Map<string, Known> {
  return new Map(known.map((one) => [one.pv, one]));
}

function plainRow(pv: string, of: Map<string, Known>, type: string | null, at: number): SnapshotRow {
  const known = of.get(pv);
  const gap = decodeGaps(known?.gaps ?? []).find((gap) => gap.from < at && gap.to >= at);
  return {
    pv,
    kind: kindOf(type ?? known?.type),
    metadata: known?.metadata ?? null,
    ...{ at: null, before: null, change: null, score: null, isChanged: false, gap: gap?.cause ?? null },
  };
}

function heldOf(time: string, value: Json, severity: number | string | null): Held {
  return { time, value: value ?? null, severity: severityOf(severity ?? 0) };
}

/** What a row is sorted by, where it is not the archiver's order. */
export function inNames(rows: SnapshotRow[]): SnapshotRow[] {
  return [...rows].sort((a, b) => (a.pv < b.pv ? -1 : 1));
}
