// What a heat-map shows of bins of arrays, and which bins it asks for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lessReference, roundWidth, sideOf, type ArrayBin } from "../src/array_bins.ts";

const bin: ArrayBin = {
  ...{ from: 0, to: 60, arrays: 60, length: 4, each: 1 },
  min: Float64Array.from([-95, 19, NaN, -Infinity]),
  max: Float64Array.from([20, 95, NaN, 3]),
  mean: Float64Array.from([18, 20, NaN, NaN]),
};

test("what lies furthest from the mean is seen whichever way it goes", () => {
  assert.deepEqual([...sideOf(bin, "furthest")], [-95, 95, NaN, 3]);
  assert.deepEqual([...sideOf(bin, "max")], [20, 95, NaN, 3]);
  assert.deepEqual([...sideOf(bin, "min")], [-95, 19, NaN, -Infinity]);
  assert.deepEqual([...sideOf(bin, "mean")], [18, 20, NaN, NaN]);
});

test("neighbouring elements that share a row are compared with the mean of theirs", () => {
  const numbers = Float64Array.from([10, 20, 30]);
  assert.deepEqual([...lessReference(numbers, 2, [1, 3, NaN, 5])], [8, 15, NaN]);
  assert.deepEqual([...lessReference(numbers, 1, [1, 2])], [9, 18, NaN]);
});

test("bins are of widths that the archiver takes, too, so that parts of a range fit together", () => {
  assert.deepEqual([0.1, 1, 1.01, 14, 45_000, 90_000, 200_000, 900_000].map(roundWidth), [
    ...[1, 1, 2, 30, 86_400, 172_800, 432_000, 1_728_000],
  ]);
});
