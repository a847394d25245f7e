// Scales: which traces share a value axis, and from where to where it reaches.

import { valueRange } from "./axis.ts";
import { labelOf } from "./decode.ts";
import type { Range } from "./state.ts";
import { extremesOf, unitsOf, type Trace } from "./trace.ts";

/** A value axis: one for each units; one for each PV that has none, or has named states: nothing says they compare. */
export interface ValueScale {
  key: string;
  /** The units, or the PV's name. The view's list of logarithmic axes names them by it. */
  label: string;
  log: boolean;
  /** The names of the states, by index, for a PV that has them. */
  states: string[] | null;
  traces: Trace[];
  range: [number, number];
}

/** More states than this are numbered, not named: nobody could read the names. */
const STATES_MAX = 16;

/** What is written at the axis of a trace. */
export function scaleLabelOf(trace: Trace): string {
  return trace.kind === "state" ? trace.name : unitsOf(trace) || trace.name;
}

/** The key of the axis that a trace is drawn on; none for texts, arrays and structures. */
function scaleKeyOf(trace: Trace): string | null {
  if (trace.kind !== "state" && trace.kind !== "number") return null;
  return trace.kind === "number" && unitsOf(trace) !== "" ? `units ${unitsOf(trace)}` : `pv ${trace.name}`;
}

/** The axes of a view, in the order of its first traces. Hidden traces claim none. */
export function scalesOf(traces: Trace[], log: string[], range: Range): ValueScale[] {
  const scales: ValueScale[] = [];
  for (const trace of traces) {
    const key = scaleKeyOf(trace);
    if (key === null || trace.hidden) continue;
    const shared = scales.find((scale) => scale.key === key);
    if (shared) shared.traces.push(trace);
    else scales.push(trace.kind === "state" ? stateScale(trace, key) : numberScale(trace, key, log));
  }
  for (const scale of scales) scale.range = reachOf(scale, range);
  return scales;
}

function numberScale(trace: Trace, key: string, log: string[]): ValueScale {
  const label = scaleLabelOf(trace);
  return { key, label, log: log.includes(label), states: null, traces: [trace], range: [0, 1] };
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
