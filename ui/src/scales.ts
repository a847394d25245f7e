// Scales: which traces share a value axis, and from where to where it reaches.

import { valueRange } from "./axis.ts";
import { labelOf } from "./decode.ts";
import type { Range } from "./state.ts";
import { extremesOf, unitsOf, type Trace } from "./trace.ts";

/** A value axis: one for each units, one for all numbers without, and one for each PV with named states. */
export interface ValueScale {
  key: string;
  /** What is written at it. */
  label: string;
  log: boolean;
  /** The names of the states, by index, for a PV that has them. */
  states: string[] | null;
  traces: Trace[];
  range: [number, number];
}

/** More states than this are numbered, not named: nobody could read the names. */
const STATES_MAX = 16;

/** By what the view's list of logarithmic axes names that of a trace: its units, "" for all without. */
export function axisOf(trace: Trace): string {
  return trace.kind === "state" ? trace.name : unitsOf(trace);
}

/** Whether the axis of a number is logarithmic. Older links name an axis without units by its PV. */
export function isLog(trace: Trace, log: string[]): boolean {
  return log.includes(axisOf(trace)) || (unitsOf(trace) === "" && log.includes(trace.name));
}

/** The key of the axis that a trace is drawn on; none for texts, arrays and structures. */
function scaleKeyOf(trace: Trace): string | null {
  if (trace.kind !== "state" && trace.kind !== "number") return null;
  return trace.kind === "number" ? `units ${unitsOf(trace)}` : `pv ${trace.name}`;
}

/** The axes of a view, in the order of its first traces. Hidden traces claim none. */
export function scalesOf(traces: Trace[], log: string[], range: Range): ValueScale[] {
  const scales: ValueScale[] = [];
  for (const trace of traces) {
    const key = scaleKeyOf(trace);
    if (key === null || trace.hidden) continue;
    const shared = scales.find((scale) => scale.key === key);
    if (shared) join(shared, trace, log);
    else scales.push(trace.kind === "state" ? stateScale(trace, key) : numberScale(trace, key, log));
  }
  for (const scale of scales) scale.range = reachOf(scale, range);
  return scales;
}

function numberScale(trace: Trace, key: string, log: string[]): ValueScale {
  const label = unitsOf(trace) || trace.name;
  return { key, label, log: isLog(trace, log), states: null, traces: [trace], range: [0, 1] };
}

/** One more PV on an axis: without units it no longer is that of the first alone. */
function join(scale: ValueScale, trace: Trace, log: string[]): void {
  scale.traces.push(trace);
  scale.log ||= isLog(trace, log);
  if (unitsOf(trace) === "") scale.label = "no units";
}

function stateScale(trace: Trace, key: string): ValueScale {
  const named = trace.metadata?.labels?.length ?? 0;
  const count = named > 0 ? named : trace.metadata?.type === "bool" ? 2 : 0;
  const isReadable = count > 0 && count <= STATES_MAX;
  const states = isReadable ? Array.from({ length: count }, (_, i) => labelOf(i, trace.metadata)) : null;
  return { key, label: trace.name, log: false, states, traces: [trace], range: [0, 1] };
}

function reachOf(scale: ValueScale, range: Range): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const trace of scale.traces) {
    const [l, h] = extremesOf(trace, range);
    low = Math.min(low, l);
    high = Math.max(high, h);
  }
  if (scale.states) return [Math.min(low, 0) - 0.4, Math.max(high, scale.states.length - 1) + 0.4];
  return valueRange(low, high, scale.log);
}
