// Live samples behind a history: no seam, nothing twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireChunk } from "../src/api.ts";
import { decodeSamples } from "../src/decode.ts";
import { readingAt, readingOver } from "../src/reading.ts";
import {
  appendLive,
  extremesOf,
  fallSilent,
  knownUntil,
  newTrace,
  runsOf,
  takeHistory,
  type Trace,
} from "../src/trace.ts";

function chunk(...rows: [number, number][]): WireChunk {
  return {
    type: "f64",
    seconds: rows.map(([t]) => Math.floor(t)),
    nanos: rows.map(([t]) => Math.round((t % 1) * 1e9)),
    values: rows.map(([, value]) => value),
    severity: rows.map(([, value]) => (value > 100 ? 2 : 0)),
    status: rows.map(() => 0),
  };
}

const FRESH = { settled: Infinity, generation: 0, earlier: 0 };

/** A number's trace with these samples loaded up to (not including) 10 s. */
function loaded(...rows: [number, number][]): Trace {
  const trace = newTrace("T", 0);
  trace.kind = "number";
  const samples = decodeSamples({ metadata: null, chunks: [chunk(...rows)], truncated: false });
  takeHistory(trace, {
    range: { from: 0, to: 10 },
    live: true,
    bins: null,
    samples,
    truncated: false,
    ...FRESH,
  });
  return trace;
}

test("what the history holds is not taken again from the stream", () => {
  const trace = loaded([8, 1], [9, 2]);
  appendLive(trace, chunk([9, 2], [9.5, 3], [10, 4], [11, 5]));
  assert.deepEqual(trace.tail.x, [10, 11]);
});

test("a stream that repeats itself after an interruption adds nothing twice", () => {
  const trace = loaded();
  appendLive(trace, chunk([10, 1], [11, 2]));
  appendLive(trace, chunk([10, 1], [11, 2], [12, 3]));
  assert.deepEqual(trace.tail.y, [1, 2, 3]);
});

test("two values at one time are both kept", () => {
  const trace = loaded();
  appendLive(trace, chunk([10, 1], [10, 2]));
  assert.deepEqual(trace.tail.y, [1, 2]);
});

test("a longer history takes over what came live, a fixed one ends the tail", () => {
  const trace = loaded();
  appendLive(trace, chunk([10, 1], [11, 2], [12, 3]));
  takeHistory(trace, {
    range: { from: 0, to: 12 },
    live: true,
    bins: null,
    samples: null,
    truncated: false,
    ...FRESH,
  });
  assert.deepEqual(trace.tail.x, [12]);
  takeHistory(trace, {
    range: { from: 0, to: 5 },
    live: false,
    bins: null,
    samples: null,
    truncated: false,
    ...FRESH,
  });
  assert.deepEqual(trace.tail.x, []);
});

test("of arrays only the newest live one is kept", () => {
  const trace = newTrace("T", 0);
  trace.kind = "array";
  const wave: WireChunk = { ...chunk([10, 0], [11, 0]), type: "f64[]", values: [[1], [2]] };
  appendLive(trace, wave);
  appendLive(trace, { ...wave, seconds: [12], nanos: [0], values: [[3]], severity: [0] });
  assert.deepEqual(trace.tail.values, [[3]]);
});

test("a reading is the sample that holds, across the seam", () => {
  const trace = loaded([8, 1], [9, 2]);
  appendLive(trace, chunk([10.5, 300]));
  assert.equal(readingAt(trace, 7).value, undefined);
  assert.equal(readingAt(trace, 9.9).value, 2);
  assert.deepEqual(readingAt(trace, 11).time, { instant: { seconds: 10, nanos: 500_000_000 } });
  const over = readingOver(trace, { from: 8.5, to: 11 });
  assert.deepEqual([over.count, over.min, over.max, over.mean, over.severity], [2, 2, 300, 151, 2]);
});

test("the axis reaches to the value that holds at its beginning", () => {
  const trace = loaded([1, 50], [8, 1], [9, 2]);
  assert.deepEqual(extremesOf(trace, { from: 5, to: 10 }), [1, 50]);
});

test("alarms last until the next sample", () => {
  const runs = runsOf(loaded([1, 500], [4, 1], [6, 700], [7, 800]), 10);
  assert.deepEqual(
    runs.map((run) => [run.from, run.to, run.severity]),
    [
      [1, 4, 2],
      [4, 6, 0],
      [6, 10, 2],
    ],
  );
});

test("the alarm of a bin lasts until the next sample, however many values the bin has", () => {
  const trace = newTrace("T", 0);
  trace.kind = "number";
  const column = (...values: number[]) => Float64Array.from(values);
  const bins = {
    ...{ start: column(0, 1, 2, 3, 4), end: column(1, 2, 3, 4, 5), count: column(3, 0, 0, 1, 0) },
    ...{ min: column(1, NaN, NaN, 5, NaN), max: column(9, NaN, NaN, 5, NaN) },
    ...{
      mean: column(4, NaN, NaN, 5, NaN),
      first: column(1, NaN, NaN, 5, NaN),
      last: column(9, NaN, NaN, 5, NaN),
    },
    severity: Uint8Array.from([2, 0, 0, 0, 0]),
    before: null,
  };
  takeHistory(trace, {
    range: { from: 0, to: 5 },
    live: false,
    bins,
    samples: null,
    truncated: false,
    ...FRESH,
  });
  assert.deepEqual(
    runsOf(trace, 5).map((run) => [run.from, run.to, run.severity]),
    [
      [0, 3, 2],
      [3, 5, 0],
    ],
  );
});

test("a value holds until now, but not beyond the moment at which its IOC was lost", () => {
  const trace = loaded([8, 1]);
  assert.equal(knownUntil(trace, 20), 20);
  Object.assign(trace, { state: "disconnected", since: "1970-01-01T00:00:12Z" });
  assert.equal(knownUntil(trace, 20), 12);
});

test("of a PV of which nobody says anything no value holds on that came often, and others up to that moment", () => {
  const often = loaded([7, 1], [8, 2]);
  fallSilent(often, 12);
  assert.equal(knownUntil(often, 30), 8);
  fallSilent(often, 15);
  assert.equal(knownUntil(often, 30), 8, "it was silent already");
  const seldom = loaded([1, 1]);
  fallSilent(seldom, 12);
  assert.equal(knownUntil(seldom, 30), 12);
  appendLive(seldom, chunk([13, 5]));
  seldom.untoldSince = null;
  fallSilent(seldom, 14);
  assert.equal(knownUntil(seldom, 30), 13);
});
