// What happened in a range: alarms, states and gaps in order of time, and the way from one to the next.

import assert from "node:assert/strict";
import { test } from "node:test";
import { noSamples } from "../src/decode.ts";
import { happenings, nextAt } from "../src/events.ts";
import { newTrace, type Trace } from "../src/trace.ts";

function trace(name: string, kind: Trace["kind"], rows: [number, number, number][]): Trace {
  const made = newTrace(name, 0);
  made.kind = kind;
  made.metadata = { type: kind === "state" ? "enum" : "f64", labels: ["off", "on"] };
  made.tail = noSamples();
  for (const [x, y, severity] of rows) {
    made.tail.x.push(x);
    made.tail.y.push(y);
    made.tail.values.push(y);
    made.tail.severity.push(severity);
  }
  return made;
}

const told = (traces: Trace[], from = 0, to = 100) =>
  happenings(traces, { from, to }, 1000).map(({ at, pv, kind, text }) => `${at} ${pv} ${kind} ${text}`);

test("an alarm is told when it begins and when it becomes another, not while it lasts, nor when it is over", () => {
  const rows: [number, number, number][] = [
    [1, 5, 0],
    [2, 6, 1],
    [3, 7, 1],
    [4, 8, 2],
    [5, 5, 0],
  ];
  assert.deepEqual(told([trace("A", "number", rows)]), ["2 A alarm MINOR", "4 A alarm MAJOR"]);
});

test("a state is told when it changes, by its name, and not the one in which the range begins", () => {
  const rows: [number, number, number][] = [
    [1, 0, 0],
    [2, 1, 0],
    [3, 1, 0],
    [4, 0, 0],
  ];
  assert.deepEqual(told([trace("S", "state", rows)]), ["2 S state on", "4 S state off"]);
});

test("a gap is told at its beginning and at its end, if these are in the range", () => {
  const made = trace("G", "number", [[1, 5, 0]]);
  made.gaps = [
    { from: 10, to: 20, cause: "disconnected", lost: 0, scope: "pv" },
    { from: 90, to: Infinity, cause: "paused", lost: 0, scope: "pv" },
  ];
  assert.deepEqual(told([made]), [
    "10 G gap connection to the IOC lost",
    "20 G back recorded again",
    "90 G gap archiving paused",
  ]);
  assert.deepEqual(told([made], 15, 80), ["20 G back recorded again"]);
  made.hidden = true;
  assert.deepEqual(told([made]), []);
});

test("from one moment one is led to the next on either side, and from the last nowhere", () => {
  assert.equal(nextAt([30, 10, 20], 10, 1), 20);
  assert.equal(nextAt([30, 10, 20], 25, -1), 20);
  assert.equal(nextAt([30, 10, 20], 30, 1), null);
  assert.equal(nextAt([], 0, 1), null);
});
