// What the test server computes of its samples, as the archiver does: snapshots, differences, searches.

import type { Json, WireGap } from "../src/api.ts";
import { instantOf, isoOf, type Instant } from "../src/time.ts";
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

/** A formula of arithmetic over PVs, by a function of the moment; refused with the place where it cannot be one. */
export function formulaOf(
  source: Source,
  expression: string,
): { units: string | null; at(t: number): number } {
  if (/[-+*/(]\s*$/.test(expression))
    throw new WrongFormula(
      `a number, a name or a function is expected and the end was found, at character ${expression.length + 1}`,
    );
  const names = [...expression.matchAll(/`([^`]+)`|[A-Z][\w:]*/g)].map(([text, quoted]) => ({
    text,
    pv: source.pv(quoted ?? text),
    place: expression.indexOf(text) + 1,
  }));
  const unknown = names.find(({ pv }) => pv === null);
  if (unknown)
    throw new WrongFormula(
      `no PV of this archive is called "${unknown.text}", at character ${unknown.place}`,
    );
  const units = new Set(names.map(({ pv }) => pv!.metadata.units ?? ""));
  const joins = /[-+]/.exec(expression.replace(/`[^`]+`|[A-Z][\w:]*/g, ""));
  if (units.size > 1 && joins)
    throw new WrongFormula(
      `${[...units].join(" and ")} cannot be added, at character ${expression.search(/ [-+] /) + 2}`,
    );
  let body = expression;
  names.forEach(({ text }, i) => (body = body.replace(text, `v[${i}]`)));
  const compute = new Function("v", `return ${body};`) as (v: number[]) => number;
  const at = (t: number) => {
    const values = names.map(({ pv }) => {
      if (source.gaps(pv!, t, t + 1e-3).length > 0) return NaN;
      return Number(source.held(pv!, t)?.value ?? NaN);
    });
    return compute(values);
  };
  return { units: [...units][0] ?? null, at };
}

export class WrongFormula extends Error {}

type Formula = ReturnType<typeof formulaOf>;

/** What two formulas were at the same times, so far apart; of means two looks at each stretch are enough here. */
export function pairsOf(
  [x, y]: [Formula, Formula],
  { from, to, by, step }: { from: number; to: number; by: string; step: number },
): { facts: Record<string, string>; columns: { time: number[]; x: number[]; y: number[] } } {
  const columns = { time: [] as number[], x: [] as number[], y: [] as number[] };
  let unpaired = 0;
  for (let t = from; t < to; t += step) {
    const of = ({ at }: Formula) => (by === "mean" ? (at(t) + at(t + step / 2)) / 2 : at(t));
    const [a, b] = [of(x), of(y)];
    if (Number.isNaN(a)) continue;
    if (Number.isNaN(b)) {
      unpaired += 1;
      continue;
    }
    columns.time.push(t);
    columns.x.push(a);
    columns.y.push(b);
  }
  const fit = fitOf(columns.x, columns.y);
  const told = fit && Object.fromEntries(Object.entries(fit).map(([key, value]) => [key, String(value)]));
  const units = JSON.stringify({ x: x.units || null, y: y.units || null });
  return { facts: { units, unpaired: String(unpaired), damage: "[]", ...told }, columns };
}

/** The straight line that lies nearest, and how near. */
function fitOf(x: number[], y: number[]): { correlation: number; slope: number; intercept: number } | null {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [mx, my] = [mean(x), mean(y)];
  const spread = (a: number[], ma: number, b: number[], mb: number) =>
    a.reduce((sum, value, i) => sum + (value - ma) * (b[i]! - mb), 0);
  const [xx, yy, xy] = [spread(x, mx, x, mx), spread(y, my, y, my), spread(x, mx, y, my)];
  if (!(xx > 0) || !(yy > 0)) return null;
  return { correlation: xy / Math.sqrt(xx * yy), slope: xy / xx, intercept: my - (xy / xx) * mx };
}

/** For how long a formula lay where, looked at each second; how often, if each look were a sample. */
export function histogramOf(
  of: Formula,
  {
    from,
    to,
    count,
    isCount,
    ends,
  }: { from: number; to: number; count: number; isCount: boolean; ends: [number | null, number | null] },
): object {
  const looks = Array.from({ length: Math.floor(to - from) }, (_, i) => of.at(from + i));
  const known = looks.filter((value) => !Number.isNaN(value));
  const [low, high] = [ends[0] ?? Math.min(...known), ends[1] ?? Math.max(...known)];
  const width = (high - low) / count;
  const share = (length: number) => ({ seconds: isCount ? null : length, count: isCount ? length : null });
  const lengths = new Array<number>(known.length > 0 ? count : 0).fill(0);
  let [below, above] = [0, 0];
  for (const value of known) {
    if (value < low) below += 1;
    if (value > high) above += 1;
    if (value < low || value > high) continue;
    const i = Math.min(count - 1, Math.floor((value - low) / width));
    lengths[i] = lengths[i]! + 1;
  }
  const bins = lengths.map((length, i) => ({
    ...{ low: low + i * width, high: low + (i + 1) * width },
    ...share(length),
  }));
  return {
    ...{ units: of.units || null, bins, below: share(below), above: share(above), infinite: share(0) },
    ...{ minus_infinite: share(0), nan: share(0), gaps: { seconds: looks.length - known.length } },
    ...{ before: { seconds: 0 }, damage: [] },
  };
}

/** The amplitudes of a formula's frequencies, by so many looks at it. */
export function spectrumOf(
  of: Formula,
  { from, step, points }: { from: number; step: number; points: number },
): { frequency: number[]; strength: number[] } {
  const looks = Array.from({ length: points }, (_, i) => of.at(from + i * step));
  const mean = looks.reduce((sum, value) => sum + value, 0) / points;
  const rows = Array.from({ length: points / 2 + 1 }, (_, k) => k);
  const strength = rows.map((k) => {
    let [re, im] = [0, 0];
    looks.forEach((value, i) => {
      const angle = (-2 * Math.PI * k * i) / points;
      re += (value - mean) * Math.cos(angle);
      im += (value - mean) * Math.sin(angle);
    });
    return (Math.hypot(re, im) * (k === 0 || k === points / 2 ? 1 : 2)) / points;
  });
  return { frequency: rows.map((k) => k / (step * points)), strength };
}

const wireOf = (value: number) => (Number.isNaN(value) ? null : value);

/** A step each time at which one of its PVs may have another value: here each second. */
export function formulaSteps(
  of: { units: string | null; at(t: number): number },
  { from, to, limit }: { from: number; to: number; limit: number },
): object {
  const steps: object[] = [];
  for (let t = from; t < to && steps.length < limit; t = Math.floor(t) + 1)
    steps.push({ time: isoOf(instantOf(t)), value: wireOf(of.at(t)) });
  return { units: of.units, steps };
}

/** Means of equal parts, of ten looks at each. */
export function formulaBins(
  of: { units: string | null; at(t: number): number },
  { from, to, count, extremes }: { from: number; to: number; count: number; extremes: boolean },
): object {
  const width = (to - from) / count;
  const bins = Array.from({ length: count }, (_, i) => {
    const start = from + i * width;
    const values = Array.from({ length: 10 }, (_, k) => of.at(start + (k * width) / 10)).filter(
      (value) => !Number.isNaN(value),
    );
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return {
      ...{ start: isoOf(instantOf(start)), end: isoOf(instantOf(start + width)), mean: wireOf(mean) },
      ...{ covered: (values.length / 10) * width, made_of: extremes ? "samples" : "summaries" },
      ...(extremes ? { min: wireOf(Math.min(...values)), max: wireOf(Math.max(...values)) } : {}),
    };
  });
  return { units: of.units, bins };
}

/** What it amounts to, looked at a thousand times. */
export function statisticsOf(
  of: { units: string | null; at(t: number): number },
  { from, to }: { from: number; to: number },
): object {
  const looks = Array.from({ length: 1000 }, (_, i) => of.at(from + ((i + 0.5) / 1000) * (to - from)));
  const known = looks.filter((value) => !Number.isNaN(value));
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const std = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length);
  const covered = (known.length / looks.length) * (to - from);
  return {
    ...{ units: of.units, covered, unknown: to - from - covered, mean: wireOf(mean), std: wireOf(std) },
    ...{ min: wireOf(Math.min(...known)), max: wireOf(Math.max(...known)), read: known.length },
  };
}
