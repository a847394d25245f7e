// What a moved range keeps of its bins, and what it asks for.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bins } from "../src/decode.ts";
import { sideOf, withSide } from "../src/side.ts";

/** Bins one second long, each with its own start as its values. */
function bins(from: number, to: number): Bins {
  const start = Float64Array.from({ length: to - from }, (_, i) => from + i);
  return {
    start,
    end: start.map((x) => x + 1),
    count: start.map(() => 2),
    ...{ min: start, max: start, mean: start, first: start, last: start },
    severity: new Uint8Array(start.length),
    before: { x: from - 1, y: -1, severity: 0, at: null },
  };
}

const had = { range: { from: 0, to: 100 }, bins: bins(0, 100), settled: Infinity };

test("a range that moved on asks for its end alone, in bins of the same places", () => {
  const side = sideOf(had, { from: 9.5, to: 109.5 })!;
  assert.deepEqual([side.range, side.bins], [{ from: 100, to: 110 }, 10]);
  const moved = withSide(had.bins, side, bins(100, 110))!;
  assert.deepEqual([...moved.start], [...bins(9, 110).start]);
  assert.deepEqual([...moved.last], [...bins(9, 110).last]);
  assert.equal(moved.severity.length, 101);
  assert.deepEqual(moved.before, { x: 9, y: 8, severity: 0, at: null });
});

test("a range that moved back asks for its beginning alone, and for the value that holds before", () => {
  const side = sideOf(had, { from: -20, to: 80 })!;
  assert.deepEqual([side.range, side.bins], [{ from: -20, to: 0 }, 20]);
  const moved = withSide(had.bins, side, bins(-20, 0))!;
  assert.deepEqual([...moved.start], [...bins(-20, 80).start]);
  assert.equal(moved.before!.x, -21);
});

test("another length, a jump, and bins that are not final are asked for as a whole or again", () => {
  assert.equal(sideOf(had, { from: 0, to: 120 }), null);
  assert.equal(sideOf(had, { from: 90, to: 190 }), null);
  assert.equal(sideOf(had, { from: 0, to: 100 }), null);
  assert.deepEqual(sideOf({ ...had, settled: 95.5 }, { from: 10, to: 110 })!.range, { from: 95, to: 110 });
  assert.equal(sideOf({ ...had, settled: 95.5 }, { from: -3, to: 97 }), null);
});

test("an answer with other bins than were asked for is not joined", () => {
  const side = sideOf(had, { from: 10, to: 110 })!;
  assert.equal(withSide(had.bins, side, bins(100, 109)), null);
  assert.equal(withSide(had.bins, side, bins(101, 111)), null);
});
