// Rows of snapshots: what counts as a change, what nobody recorded, and how values are written.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Difference, Held, Known } from "../src/analysis.ts";
import { barPart, changeText, rowsAt, rowsBetween, shownRows, valueText } from "../src/snapshot_rows.ts";

const AT = 1_000_000;
const TIME = "1970-01-12T13:46:39.000000000Z";

function held(value: Held["value"], severity = 0): Held {
  return { time: TIME, value, severity };
}

function difference(pv: string, before: Held | null, after: Held | null, score: number | null): Difference {
  const [x, y] = [before?.value, after?.value];
  const change = typeof x === "number" && typeof y === "number" ? y - x : null;
  return { pv, before, after, change, spread: 1, score };
}

const known = (pv: string, type: string, more: Partial<Known> = {}): Known => ({
  ...{ pv, type, metadata: { type, precision: 1, labels: ["Off", "On"] }, gaps: [] },
  ...more,
});

const GAP = {
  ...{ from: "", to: null, from_seconds: AT - 100, to_seconds: null },
  ...{ cause: "disconnected", lost: 0, scope: "pv" },
};

test("a change is another value beyond the tolerance, another alarm, or a value where there was none", () => {
  const pvs = [
    difference("noise", held(1), held(1.5), 0.5),
    difference("jump", held(1), held(9), 8),
    difference("alarm", held(1), held(1), 0),
    difference("same", held(1), held(1), 0),
    difference("new", null, held(1), null),
    difference("first", held(1), held(2), null),
    difference("text", held("a"), held("b"), null),
  ];
  pvs[2]!.after = held(1, 2);
  const names = (tolerance: number) =>
    shownRows(rowsBetween(pvs, [], AT, tolerance), "changed").map(({ pv }) => pv);
  assert.deepEqual(names(1), ["jump", "alarm", "new", "first", "text"]);
  assert.deepEqual(names(0), ["noise", "jump", "alarm", "new", "first", "text"]);
});

test("of what nobody recorded at A it is not said that it changed", () => {
  const pvs = [difference("lost", held(1), held(9), 8), difference("there", held(1), held(9), 8)];
  const rows = rowsBetween(pvs, [known("lost", "f64", { gaps: [GAP] }), known("there", "f64")], AT, 1);
  assert.deepEqual(
    shownRows(rows, "changed").map(({ pv }) => pv),
    ["there"],
  );
  assert.deepEqual(
    shownRows(rows, "lacking").map(({ pv, gap }) => [pv, gap]),
    [["lost", "disconnected"]],
  );
  const later = rowsBetween(pvs, [known("lost", "f64", { gaps: [{ ...GAP, from_seconds: AT + 1 }] })], AT, 1);
  assert.equal(shownRows(later, "lacking").length, 0);
});

test("values have their names, digits and signs", () => {
  const rows = rowsAt(
    [
      { pv: "b", time: TIME, type: "enum", value: 1, severity: 0 },
      { pv: "a", time: TIME, type: "f64", value: -1.25, severity: 2 },
      { pv: "c", time: null, type: null, value: null, severity: null },
    ],
    [known("b", "enum"), known("a", "f64")],
    AT,
  );
  assert.deepEqual(
    rows.map((row) => valueText(row, row.at)),
    ["−1.3", "On", ""],
  );
  assert.deepEqual(
    rows.map(({ pv }) => pv),
    ["a", "b", "c"],
  );
  assert.deepEqual(
    shownRows(rows, "lacking").map(({ pv }) => pv),
    ["c"],
  );
  const [up] = rowsBetween([difference("x", held(1), held(7.1), 6)], [known("x", "f64")], AT, 1);
  assert.equal(changeText(up!), "+6.1");
});

test("a bar is longer for a larger change, and no longer than all of it", () => {
  const scores = [0, 0.1, 1, 5, 29, 1e9, Infinity];
  const parts = scores.map(barPart);
  parts.forEach((part, i) => assert.ok(part >= (parts[i - 1] ?? 0) && part <= 1, `${scores[i]}: ${part}`));
});
