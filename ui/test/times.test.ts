// Typed times, each case of testdata/times.json: every reader of the project is held to that file.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseTime, readRange, Refusal } from "../src/typed.ts";

interface Times {
  now: string;
  moments: { text: string; zone?: string; is: string | null }[];
  ranges: { from: string | null; to: string | null; is: [string, string] | null }[];
}

const file = new URL("../../testdata/times.json", import.meta.url);
const times = JSON.parse(readFileSync(file, "utf8")) as Times;
const now = secondsOf(times.now);

/** Floats of seconds are good to a quarter of a microsecond. */
const NEAR_SECONDS = 1e-6;

function secondsOf(iso: string): number {
  const fraction = /\.\d+/.exec(iso)?.[0] ?? "";
  return Date.parse(iso.replace(fraction, "")) / 1000 + Number(fraction);
}

function assertNear(is: number, expected: number): void {
  assert.ok(Math.abs(is - expected) < NEAR_SECONDS, `${is} and not ${expected}`);
}

for (const { text, zone, is } of times.moments) {
  test(`moment ${JSON.stringify(text)} ${zone ?? ""}`, () => {
    process.env.TZ = zone ?? "Asia/Kolkata";
    const at = parseTime(text, zone === undefined ? "utc" : "local", now);
    if (is === null || at === null) assert.equal(at, is);
    else assertNear(at, secondsOf(is));
  });
}

// The same clocks by their name, in a browser of another zone.
for (const { text, zone, is } of times.moments.filter(({ zone }) => zone !== undefined)) {
  test(`moment ${JSON.stringify(text)} in ${zone} as the site's zone`, () => {
    process.env.TZ = "Asia/Kolkata";
    const at = parseTime(text, zone!, now);
    if (is === null || at === null) assert.equal(at, is);
    else assertNear(at, secondsOf(is));
  });
}

for (const { from, to, is } of times.ranges) {
  test(`range from ${from} to ${to}`, () => {
    if (is === null) return assert.throws(() => readRange(from, to, "utc", now), Refusal);
    const range = readRange(from, to, "utc", now);
    assertNear(range.from, secondsOf(is[0]));
    assertNear(range.to, secondsOf(is[1]));
  });
}

test("what is refused says why, and at which end", () => {
  const reason = (from: string | null, to: string | null) => {
    try {
      readRange(from, to, "utc", now);
    } catch (error) {
      assert.ok(error instanceof Refusal);
      return `${error.ends.join(" ")}: ${error.message}`;
    }
    return "taken";
  };
  assert.equal(reason("2026-13-01", "now"), "from: Not a time: 2026-13-01 has month 13.");
  assert.equal(reason("-1h", "2026-02-29"), "to: Not a time: 2026-02-29 has day 29.");
  assert.equal(reason("today", "yesterday"), "from to: Begins after it ends.");
  assert.equal(reason("now", "now"), "from to: Ends where it begins.");
  assert.match(reason("soon", "now"), /^from: Not a time: soon\. Write /);
  assert.match(reason("+1h", "now"), /^from: \+1h counts from the beginning/);
  assert.match(reason(null, "±1h"), /^to: ±1h goes around a moment/);
  assert.match(reason("-1900y", "now"), /^from: Not a time: years go from 1900/);
});
