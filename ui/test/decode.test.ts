// The server's answers as columns and as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeBins,
  decodeGaps,
  decodeSamples,
  exactOf,
  formatNumber,
  formatValue,
  kindOf,
} from "../src/decode.ts";
import type { WireBins } from "../src/api.ts";

test("types are of the kinds that are drawn differently", () => {
  const kinds = ["f64", "u8", "enum", "bool", "string", "f32[]", "string[]", "structure", null].map(kindOf);
  assert.deepEqual(kinds, [
    "number",
    "number",
    "state",
    "state",
    "text",
    "array",
    "structure",
    "structure",
    "unknown",
  ]);
});

test("numbers that JSON lacks come as text, and big integers keep all their digits", () => {
  const samples = decodeSamples({
    metadata: null,
    truncated: false,
    chunks: [
      {
        type: "u64",
        seconds: [1, 2, 3],
        nanos: [0, 500_000_000, 999_999_999],
        values: ["18446744073709551615", "NaN", "-Infinity"],
        severity: [0, 1, 3],
        status: [0, 0, 0],
      },
    ],
  });
  assert.equal(samples.values[0], "18446744073709551615");
  assert.deepEqual(samples.y, [2 ** 64, NaN, -Infinity]);
  assert.deepEqual([samples.x[1], samples.seconds[2], samples.nanos[2]], [2.5, 3, 999_999_999]);
  assert.deepEqual(samples.severity, [0, 1, 3]);
});

test("chunks of different types follow one another, and texts that look like numbers stay texts", () => {
  const rows = { nanos: [0], severity: [0], status: [0] };
  const samples = decodeSamples({
    metadata: null,
    truncated: false,
    chunks: [
      { type: "f64", seconds: [1], values: [7], ...rows },
      { type: "string", seconds: [2], values: ["7"], ...rows },
    ],
  });
  assert.deepEqual(samples.y, [7, NaN]);
  assert.deepEqual(samples.values, [7, "7"]);
});

test("empty bins have no numbers, and the value before the range keeps its exact time", () => {
  const wire: WireBins = {
    type: "f64",
    metadata: null,
    raw: false,
    bins: {
      start: [0, 1],
      end: [1, 2],
      count: [0, 2],
      min: [null, "-Infinity"],
      max: [null, 4],
      mean: [null, 4],
      first: [null, "-Infinity"],
      last: [null, 4],
      severity: [0, 2],
    },
    before: { time: "1969-12-31T23:59:59.000000001Z", seconds: -1 + 1e-9, value: 3, severity: "MINOR" },
  };
  const bins = decodeBins(wire);
  assert.deepEqual([...bins.min], [NaN, -Infinity]);
  assert.deepEqual([...bins.severity], [0, 2]);
  assert.deepEqual(bins.before, { x: -1 + 1e-9, y: 3, severity: 1, at: { seconds: -1, nanos: 1 } });
});

test("a gap that lasts has no end", () => {
  const gap = {
    from: "…",
    to: null,
    from_seconds: 5,
    to_seconds: null,
    cause: "disconnected",
    lost: 0,
    scope: "pv",
  };
  assert.equal(decodeGaps([gap])[0]!.to, Infinity);
});

test("exact times are read with any number of digits, and nothing else is taken for one", () => {
  assert.deepEqual(exactOf("2026-11-20T12:00:00.5Z"), { seconds: 1795176000, nanos: 500_000_000 });
  assert.deepEqual(exactOf("2026-11-20T12:00:00Z"), { seconds: 1795176000, nanos: 0 });
  assert.equal(exactOf("never"), null);
});

test("values are written as operators read them", () => {
  assert.equal(formatValue(1, "state", { labels: ["Off", "On"] }), "On");
  assert.equal(formatValue(7, "state", { labels: ["Off", "On"] }), "7");
  assert.equal(formatValue(true, "state", { type: "bool" }), "true");
  assert.equal(formatValue([1, 2, 3], "array", null), "3 elements");
  assert.equal(formatNumber(1.23456789, 2), "1.23");
  assert.equal(formatNumber(0.000123456, 2), "0.000123456");
  assert.equal(formatNumber(1.5e-9, 3), "1.500e-9");
  assert.equal(formatNumber(NaN, 3), "NaN");
});
