// What was seen is shown again without a question, while it cannot have changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bins, Gap } from "../src/decode.ts";
import { Tiles } from "../src/tiles.ts";
import { newTrace, type History, type Trace } from "../src/trace.ts";

/** Bins of some length, each with its own start as its values. */
function bins(from: number, to: number, width: number): Bins {
  const start = Float64Array.from({ length: Math.round((to - from) / width) }, (_, i) => from + i * width);
  return {
    start,
    end: start.map((x) => x + width),
    count: start.map(() => 2),
    ...{ min: start, max: start, mean: start, first: start, last: start },
    severity: new Uint8Array(start.length),
    before: { x: from - 1, y: -1, severity: 0, at: null },
  };
}

function shown(trace: Trace, from: number, to: number, width: number, more: Partial<History> = {}): Trace {
  trace.history = {
    ...{ range: { from, to }, bins: bins(from, to, width), samples: null, truncated: false, live: false },
    ...{ settled: 1e9, generation: 1, earlier: 0 },
    ...more,
  };
  return trace;
}

const sought = (from: number, to: number, more = {}) => ({
  ...{ range: { from, to }, bins: 100, settled: 1e9, generation: 1, earlier: 0 },
  ...more,
});

test("a zoom back to what was seen finds it as it was, with its gaps", () => {
  const [tiles, trace] = [new Tiles(), newTrace("A", 0)];
  const gap = { from: 40, to: 50, cause: "disconnected" } as Gap;
  tiles.put(Object.assign(shown(trace, 0, 1000, 10), { gaps: [gap] }));
  const before = trace.history;
  tiles.put(Object.assign(shown(trace, 400, 500, 1), { gaps: [] }));
  const found = tiles.find(trace, sought(0, 1000))!;
  assert.equal(found.history, before);
  assert.deepEqual(found.gaps, [gap]);
  assert.equal(tiles.find(trace, sought(0, 1000, { bins: 400 })), null, "a window that is wider has more");
  assert.equal(tiles.find(newTrace("B", 1), sought(0, 1000)), null, "of another PV nothing was seen");
});

test("a part of it, or more than it, is asked for: there may be finer bins", () => {
  const [tiles, trace] = [new Tiles(), newTrace("A", 0)];
  tiles.put(shown(trace, 0, 1000, 10));
  assert.equal(tiles.find(trace, sought(300, 400)), null);
  assert.equal(tiles.find(trace, sought(0, 1010)), null);
  tiles.put(shown(trace, 300, 400, 1));
  assert.equal(tiles.find(trace, sought(300, 400))!.history, trace.history);
});

test("what may change yet is not kept, nor given", () => {
  const [tiles, trace] = [new Tiles(), newTrace("A", 0)];
  tiles.put(shown(trace, 0, 1000, 10, { live: true }));
  tiles.put(shown(trace, 0, 1000, 10, { settled: 999 }));
  tiles.put(shown(trace, 0, 1000, 10, { truncated: true }));
  tiles.put(shown(trace, 0, 1000, 10, { bins: null }));
  assert.equal(tiles.find(trace, sought(0, 1000)), null);
  tiles.put(shown(trace, 0, 1000, 10));
  assert.equal(tiles.find(trace, sought(0, 1000, { settled: 900 })), null, "the clock was set back");
  assert.equal(
    tiles.find(trace, sought(0, 1000, { earlier: 60 })),
    null,
    "it was laid over by another length",
  );
  assert.ok(tiles.find(trace, sought(0, 1000)));
  assert.equal(tiles.find(trace, sought(0, 1000, { generation: 2 })), null, "it is asked for anew");
  assert.equal(tiles.find(trace, sought(0, 1000)), null, "for good");
});

test("it is kept for a while, and no more than so much of it", () => {
  let now = 0;
  const [tiles, trace] = [new Tiles(() => now), newTrace("A", 0)];
  tiles.put(shown(trace, 0, 1000, 10));
  now = 299_000;
  assert.ok(tiles.find(trace, sought(0, 1000)));
  now = 301_000;
  assert.equal(tiles.find(trace, sought(0, 1000)), null);
  // 65 bytes a bin: a hundred of these are beyond sixteen megabytes.
  for (let i = 0; i < 100; i++) tiles.put(shown(trace, i * 10_000, (i + 1) * 10_000, 2.5));
  const fine = { bins: 4000 };
  assert.equal(tiles.find(trace, sought(0, 10_000, fine)), null, "the oldest has gone");
  assert.ok(tiles.find(trace, sought(990_000, 1_000_000, fine)));
});
