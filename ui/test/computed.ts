// What the test server computes of its samples, as the archiver does: snapshots, differences, searches.

import type { Json, WireGap } from "../src/api.ts";
import { isoOf, type Instant } from "../src/time.ts";
import type { FixturePv } from "./pvs.ts";

/** A sample of a test PV. */
export interface Row extends Instant {
  t: number;
  value: Json;
  severity: number;
}

/** Where values come from. */
export interface Source {
  pv(name: string): FixturePv | null;
  held(pv: FixturePv, at: number): Row | null;
  gaps(pv: FixturePv, from: number, to: number): WireGap[];
}

function entryOf(row: Row | null): object | null {
  return row && { time: isoOf(row), value: row.value, severity: row.severity };
}

/** The values of a list at a moment, as a file. */
export function atCsv(source: Source, pvs: FixturePv[], at: number): string {
  const lines = pvs.flatMap((pv) => {
    const row = source.held(pv, at);
    return row ? [`${pv.name},${isoOf(row)},${JSON.stringify(row.value)},${row.severity},0`] : [];
  });
  return ["pv,time,value,severity,status", ...lines, ""].join("\n");
}

/** By how much each PV changed beside the spread of a minute's values of the day before. */
export function diffOf(source: Source, pvs: FixturePv[], before: number, after: number): object {
  const rows = pvs.map((pv) => {
    const [a, b] = [source.held(pv, before), source.held(pv, after)];
    const [x, y] = [Number(a?.value), Number(b?.value)];
    const change = Number.isFinite(y - x) && typeof a?.value === "number" ? y - x : null;
    const usual = Array.from({ length: 24 }, (_, hour) =>
      Number(source.held(pv, before - hour * 3600)?.value),
    ).filter(Number.isFinite);
    const mean = usual.reduce((sum, value) => sum + value, 0) / usual.length;
    const spread = Math.sqrt(usual.reduce((sum, value) => sum + (value - mean) ** 2, 0) / usual.length);
    const score = change !== null && spread > 0 ? Math.abs(change) / spread : null;
    return { pv: pv.name, before: entryOf(a), after: entryOf(b), change, spread, score };
  });
  rows.sort((a, b) => (b.score ?? Infinity) - (a.score ?? Infinity) || (a.pv < b.pv ? -1 : 1));
  return { unknown: [], pvs: rows };
}

/** What PVs are and their gaps: what of `/view` a snapshot needs. */
export function knownOf(source: Source, pvs: FixturePv[], from: number, to: number): object {
  return {
    pvs: pvs.map((pv) => ({
      ...{ pv: pv.name, type: pv.type, metadata: pv.metadata, gaps: source.gaps(pv, from, to) },
    })),
  };
}

/** `A > 3 while B = 1`, looked at every second; a line a finding, some of progress, and the tally. */
export function whenLines(source: Source, expression: string, from: number, to: number): object[] {
  const missing = /^missing\((\S+)\)(?: or missing\((\S+)\))?$/.exec(expression);
  const clauses = missing
    ? []
    : expression.split(/ while | and /).map((text) => /^(\S+) (>|=) (\S+)$/.exec(text)!);
  const names = missing ? missing.slice(1).filter(Boolean) : clauses.map((clause) => clause[1]!);
  const pvs = names.map((name) => source.pv(name)!);
  const lost = (t: number) => pvs.some((pv) => source.gaps(pv, t, t + 0.5).length > 0);
  const holds = (t: number) =>
    clauses.every(([, , sign, value], i) => {
      const row = source.held(pvs[i]!, t);
      return (
        row !== null &&
        (sign === ">" ? Number(row.value) > Number(value) : String(Number(row.value)) === value)
      );
    });
  const lines: object[] = [{ search: { expression, from: iso(from), to: iso(to) } }];
  let [begin, held, unknown, intervals]: [number | null, number, number, number] = [null, 0, 0, 0];
  for (let t = from; t <= to; t++) {
    const isLost = lost(t);
    if (isLost && !missing) unknown += 1;
    const isOn = t < to && (missing ? isLost : !isLost && holds(t));
    if (isOn && begin === null) begin = t;
    if (!isOn && begin !== null) {
      const [begins, ends] = [
        begin === from ? "range" : "change",
        t >= to ? "range" : isLost ? "unknown" : "change",
      ];
      lines.push({ found: { from: iso(begin), to: iso(t), seconds: t - begin, begins, ends } });
      held += t - begin;
      intervals += 1;
      begin = null;
    }
    if (t > from && (t - from) % 600 === 0)
      lines.push({ progress: { until: iso(t), done: (t - from) / (to - from), intervals, read: t - from } });
  }
  const tally = {
    intervals,
    held,
    unknown,
    by_summaries: 0,
    read: to - from,
    until: iso(to),
    whole: true,
    damage: [],
  };
  return [...lines, { tally }];
}

function iso(t: number): string {
  return isoOf({ seconds: Math.floor(t), nanos: 0 });
}
