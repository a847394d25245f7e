// Panes: which PVs share a value axis, which axes a pane, and how far each axis reaches. Texts and states are bands, not lines.

import { valueRange } from "./axis.ts";
import type { Look } from "./look.ts";
import type { Range } from "./state.ts";
import { extremesOf, unitsOf, type Trace } from "./trace.ts";
import { plotWords as words } from "./words/plot.ts";

/** A value axis. */
export interface ValueScale {
  key: string;
  /** What is written at it. */
  label: string;
  log: boolean;
  /** Its ends were set by hand. */
  fixed: boolean;
  traces: Trace[];
  range: [number, number];
  /** Of a normalised axis: how far each of its PVs reaches by itself. Its own range is then in parts of these, from 0 to 1. */
  spans: Map<Trace, Reach> | null;
}

/** From where to where an axis goes, and how. */
export interface Reach {
  range: [number, number];
  log: boolean;
}

/** A plot of its own above the common time axis: at most two axes, the first at its left. */
export interface Pane {
  letter: string;
  scales: ValueScale[];
}

export interface Layout {
  panes: Pane[];
  /** States and texts, in a strip each. */
  bands: Trace[];
}

const AXES_MAX = 2;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** By what the view's list of logarithmic axes names that of a trace: its units, "" for all without. */
export function axisOf(trace: Trace): string {
  return unitsOf(trace);
}

/** Whether the axis of a number is logarithmic. Older links name an axis without units by its PV. */
export function isLog(trace: Trace, log: string[]): boolean {
  if (trace.look.log) return true;
  return log.includes(axisOf(trace)) || (unitsOf(trace) === "" && log.includes(trace.name));
}

/**
 * What a view draws and where, in the order of its first traces. Hidden traces claim nothing. Axes reach as far as those that are held, as
 * long as all values have room there.
 */
export function layoutOf(traces: Trace[], log: string[], range: Range, held: Layout | null = null): Layout {
  const shown = traces.filter((trace) => !trace.hidden);
  const numbers = shown.filter((trace) => trace.kind === "number");
  return {
    panes: panesOf(scalesOf(numbers, log, range, held?.panes.flatMap(({ scales }) => scales) ?? [])),
    bands: shown.filter((trace) => trace.kind === "state" || trace.kind === "text"),
  };
}

function scalesOf(traces: Trace[], log: string[], range: Range, held: ValueScale[]): ValueScale[] {
  const scales: ValueScale[] = [];
  for (const trace of traces) {
    const isLogarithmic = isLog(trace, log);
    const key = keyOf(trace, isLogarithmic, traces, range);
    const shared = scales.find((scale) => scale.key === key);
    if (shared) join(shared, trace);
    else
      scales.push({
        ...{ key, label: unitsOf(trace) || trace.name, log: isLogarithmic },
        ...{ fixed: trace.look.fix !== null, traces: [trace], range: [0, 1], spans: null },
      });
  }
  for (const scale of scales) {
    const before = held.find(({ key }) => key === scale.key);
    if (scale.key.startsWith(NORMALISED)) normalise(scale, log, range, before);
    else scale.range = reachOf(scale, range, before);
  }
  return scales;
}

const NORMALISED = "norm ";

/** Each PV of the axis over all of its height. */
function normalise(scale: ValueScale, log: string[], range: Range, held: ValueScale | undefined): void {
  const spanOf = (trace: Trace): Reach => {
    const alone = { ...scale, traces: [trace], log: isLog(trace, log) };
    const before = [...(held?.spans ?? [])].find(([{ name }]) => name === trace.name)?.[1];
    return { range: reachOf(alone, range, before), log: alone.log };
  };
  scale.spans = new Map(scale.traces.map((trace) => [trace, spanOf(trace)]));
  Object.assign(scale, { range: [0, 1], log: false, label: words.normalised });
}

/** How far the axis of a trace goes, of several that are normalised its own. */
export function reachFor(scale: ValueScale, trace: Trace): Reach {
  return scale.spans?.get(trace) ?? scale;
}

/** The axes as each of their PVs has one: of a normalised axis its own. */
export function eachAlone(scale: ValueScale): ValueScale[] {
  return scale.spans === null
    ? [scale]
    : scale.traces.map((trace) => ({
        ...{ ...scale, ...reachFor(scale, trace), traces: [trace], spans: null },
        ...{ key: trace.name, label: unitsOf(trace) || trace.name },
      }));
}

/** PVs of a key share an axis. What was set for one alone takes it away from the others. */
function keyOf(trace: Trace, isLogarithmic: boolean, traces: Trace[], range: Range): string {
  const { axis, pane, fix } = trace.look;
  if (trace.look.norm) return `${NORMALISED}${axis === "own" ? trace.name : ""} ${pane ?? ""}`;
  if (axis === "own") return `own ${trace.name}`;
  const units = unitsOf(trace);
  const company = units === "" ? `like ${companyOf(trace, traces, range)}` : `units ${units}`;
  return [company, isLogarithmic ? "log" : "", pane ?? "", fix?.join("..") ?? ""].join(" ");
}

/**
 * PVs without units share an axis while what they span overlaps by half. Once a PV has found its company it stays there, so that
 * nothing jumps while values come.
 */
function companyOf(trace: Trace, traces: Trace[], range: Range): string {
  const first = traces.find((other) => other.name === trace.company);
  if (first && unitsOf(first) === "") return first.name;
  const own = extremesOf(trace, range);
  const isKnown = own[0] <= own[1];
  const leaders = traces
    .slice(0, traces.indexOf(trace))
    .filter((other) => unitsOf(other) === "" && other.company === other.name);
  const found = leaders.find((leader) => !isKnown || overlaps(own, extremesOf(leader, range)));
  const company = found?.name ?? trace.name;
  if (isKnown) trace.company = company;
  return company;
}

/** Whether two spans share half of the shorter. A flat line is as wide as a twentieth of its value. */
function overlaps(a: [number, number], b: [number, number]): boolean {
  if (!(b[0] <= b[1])) return true;
  const [[al, ah], [bl, bh]] = [widened(a), widened(b)];
  return Math.min(ah, bh) - Math.max(al, bl) >= 0.5 * Math.min(ah - al, bh - bl);
}

function widened([low, high]: [number, number]): [number, number] {
  const least = Math.max(Math.abs(low), Math.abs(high)) * 0.05 || 1;
  const lacking = Math.max(0, least - (high - low));
  return [low - lacking / 2, high + lacking / 2];
}

function join(scale: ValueScale, trace: Trace): void {
  scale.traces.push(trace);
  if (unitsOf(trace) === "") scale.label = words.noUnits;
}

/** An axis has a pane of its own, unless one of its PVs is set to another, or to the right of the one before. */
function panesOf(scales: ValueScale[]): Pane[] {
  const panes: { wanted: string | null; scales: ValueScale[]; right: ValueScale | null }[] = [];
  for (const scale of scales) {
    const set = (key: keyof Look) =>
      scale.traces.map(({ look }) => look[key]).find((value) => value !== null);
    const wanted = (set("pane") as string | undefined) ?? null;
    const isRight = set("axis") === "right";
    const room = panes.filter((pane) => pane.scales.length < AXES_MAX);
    const home =
      wanted !== null
        ? room.find(
            (pane) =>
              pane.wanted === wanted || (pane.wanted === null && letter(panes.indexOf(pane)) === wanted),
          )
        : isRight
          ? room.at(-1)
          : undefined;
    if (home) home.scales.push(scale);
    else panes.push({ wanted, scales: [scale], right: null });
    const pane = home ?? panes.at(-1)!;
    if (isRight) pane.right = scale;
  }
  return panes.map((pane, i) => ({
    letter: letter(i),
    scales: pane.right && pane.scales[0] === pane.right ? [...pane.scales].reverse() : pane.scales,
  }));
}

/** A, B, … Z, AA, AB. */
export function letter(index: number): string {
  const last = LETTERS[index % LETTERS.length]!;
  return index < LETTERS.length ? last : letter(Math.floor(index / LETTERS.length) - 1) + last;
}

function reachOf(scale: ValueScale, range: Range, held: Reach | undefined): [number, number] {
  const fix = scale.traces.map((trace) => trace.look.fix).find((fix) => fix !== null);
  if (fix) return scale.log && fix[0] <= 0 ? [fix[1] / 1e6, fix[1]] : fix;
  let [low, high] = [Infinity, -Infinity];
  for (const trace of scale.traces) {
    const [l, h] = extremesOf(trace, range);
    low = Math.min(low, l);
    high = Math.max(high, h);
  }
  if (!held) return valueRange(low, high, scale.log);
  if (!(low < held.range[0] || high > held.range[1])) return held.range;
  const wide = valueRange(low, high, scale.log);
  return [Math.min(wide[0], held.range[0]), Math.max(wide[1], held.range[1])];
}

/** What stands above an axis. */
export function titleOf(scale: ValueScale): string {
  return scale.log ? words.logarithmic(scale.label) : scale.label;
}
