// Which PVs share an axis, and which axes are logarithmic.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scalesOf } from "../src/scales.ts";
import { newTrace, type Trace } from "../src/trace.ts";

function number(name: string, units: string): Trace {
  const trace = newTrace(name, 0);
  trace.kind = "number";
  trace.metadata = { type: "f64", units };
  return trace;
}

function written(traces: Trace[], log: string[] = []): string[] {
  return scalesOf(traces, log, { from: 0, to: 1 }).map(
    (scale) => `${scale.label}: ${scale.traces.length}${scale.log ? " log" : ""}`,
  );
}

test("twenty PVs without units share one axis, beside that of each units", () => {
  const bare = Array.from({ length: 20 }, (_, i) => number(`A${i}`, ""));
  assert.deepEqual(written([...bare, number("B", "mA"), number("C", "mA")]), ["no units: 20", "mA: 2"]);
});

test("one PV without units gives the axis its name", () => {
  assert.deepEqual(written([number("A", "")]), ["A: 1"]);
});

test("an axis is logarithmic by its units; that without units by the empty name, or in older links by a PV's", () => {
  const traces = [number("A", ""), number("B", ""), number("C", "mbar")];
  assert.deepEqual(written(traces, ["mbar"]), ["no units: 2", "mbar: 1 log"]);
  assert.deepEqual(written(traces, [""]), ["no units: 2 log", "mbar: 1"]);
  assert.deepEqual(written(traces, ["B"]), ["no units: 2 log", "mbar: 1"]);
});
