// Ticks and their labels, in UTC and where clocks change: in Berlin from 3:00 back to 2:00 on 25 October 2026.

import assert from "node:assert/strict";
import { test } from "node:test";
import { logLabels, timeLabels, timeTicks, valueLabels, valueRange } from "../src/axis.ts";

process.env.TZ = "Europe/Berlin";

const at = (text: string) => Date.parse(text) / 1000;

function labels(from: string, to: string, zone: "utc" | "local", count = 8): string[] {
  const ticks = timeTicks({ from: at(from), to: at(to) }, count, zone);
  return timeLabels(ticks, zone).map((label) => label.replace("\n", " "));
}

test("an hour has ticks at round minutes and the date once", () => {
  assert.deepEqual(labels("2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z", "utc"), [
    "10:00 2026-11-20",
    "10:10",
    "10:20",
    "10:30",
    "10:40",
    "10:50",
    "11:00",
  ]);
});

test("the date stands where it changes, by the clocks of the zone shown", () => {
  const day = ["2026-11-20T18:00:00Z", "2026-11-21T02:00:00Z"] as const;
  assert.ok(labels(...day, "utc").includes("00:00 2026-11-21"));
  assert.ok(labels(...day, "local").includes("00:00 2026-11-21"));
  assert.equal(labels(...day, "local")[0], "19:00 2026-11-20");
});

test("ticks stay at round hours when the clocks change", () => {
  const ticks = labels("2026-10-24T22:00:00Z", "2026-10-25T22:00:00Z", "local", 6);
  assert.deepEqual(ticks, ["00:00 2026-10-25", "06:00", "12:00", "18:00"]);
});

test("a day is a day even when it has 25 hours", () => {
  assert.deepEqual(labels("2026-10-24T00:00:00Z", "2026-10-28T00:00:00Z", "local", 6), [
    "2026-10-25",
    "2026-10-26",
    "2026-10-27",
    "2026-10-28",
  ]);
});

test("years have ticks at months, centuries at years", () => {
  assert.deepEqual(labels("2025-12-15T00:00:00Z", "2026-12-15T00:00:00Z", "utc", 4), [
    "2026-01",
    "2026-04",
    "2026-07",
    "2026-10",
  ]);
  const years = timeTicks({ from: at("1970-01-01T00:00:00Z"), to: at("2070-01-01T00:00:00Z") }, 8, "utc");
  assert.ok(years.length >= 3 && years.length <= 8);
});

test("milliseconds are written without rounding a tick into its neighbour", () => {
  const ticks = timeTicks({ from: 1795176000, to: 1795176000.01 }, 8, "utc");
  assert.deepEqual(timeLabels(ticks, "utc").slice(0, 3), [
    "12:00:00.000\n2026-11-20",
    "12:00:00.002",
    "12:00:00.004",
  ]);
});

test("no range has too many ticks", () => {
  for (let seconds = 1e-3; seconds < 3e9; seconds *= 1.7) {
    for (const zone of ["utc", "local"] as const) {
      const count = timeTicks({ from: 1.79e9, to: 1.79e9 + seconds }, 10, zone).length;
      assert.ok(count <= 11, `${count} ticks in ${seconds} s`);
    }
  }
});

test("value ticks have the digits that tell them apart", () => {
  assert.deepEqual(valueLabels([22.4, 22.6, 22.8]), ["22.4", "22.6", "22.8"]);
  assert.deepEqual(valueLabels([20, 22.5, 25]), ["20.0", "22.5", "25.0"]);
  assert.deepEqual(valueLabels([0, 0.25, 0.5]), ["0", "0.25", "0.50"]);
  assert.deepEqual(valueLabels([0, 1e-9, 2e-9]), ["0", "1e-9", "2e-9"]);
  assert.deepEqual(valueLabels([1e8, 1.5e8]), ["1.0e8", "1.5e8"]);
  assert.deepEqual(logLabels([1e-9, 2e-9, 1e-8, 1e-6]), ["1e-9", "", "1e-8", "1e-6"]);
});

test("a flat line stands in the middle, and nothing at all has an axis too", () => {
  assert.deepEqual(valueRange(5, 5, false), [4.75, 5.25]);
  assert.deepEqual(valueRange(0, 0, false), [-1, 1]);
  assert.deepEqual(valueRange(Infinity, -Infinity, false), [0, 1]);
  assert.deepEqual(valueRange(2e-9, 5e-7, true), [1e-9, 1e-6]);
});

test("an axis of huge numbers reaches so far that floats tell its ticks apart", () => {
  const middle = 2 ** 60;
  const [low, high] = valueRange(middle, middle + 3000, false);
  assert.ok(low < middle && high > middle + 3000);
  const step = (high - low) / 60;
  for (let tick = low; tick < high; tick += step) assert.notEqual(tick + step, tick);
});
