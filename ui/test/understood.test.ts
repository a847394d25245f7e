// How typed times are said to be read: one line, of ranges that follow now and of fixed ones, and of what is refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readSpan } from "../src/state.ts";
import { Refusal } from "../src/typed.ts";
import type { Zone } from "../src/time.ts";
import { refusalText, spanText } from "../src/understood.ts";

// In Berlin clocks go from 3:00 back to 2:00 on 25 October 2026.
process.env.TZ = "Europe/Berlin";

const NOW = Date.parse("2026-11-25T09:00:00.123Z") / 1000;

function said(from: string, to: string, zone: Zone = "utc"): string {
  try {
    return spanText(readSpan(from, to, zone, NOW), zone, NOW);
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return refusalText(error);
  }
}

test("a range that follows now ends at now, and its day of the week is said", () => {
  assert.equal(said("2026-11-24 08:00", "now"), "Tue 2026-11-24 08:00:00 – now, 25 h · UTC");
  assert.equal(said("-90 min", "now", "local"), "Wed 2026-11-25 08:30:00 – now, 1 h 30 min · UTC+01:00");
});

test("the end has its day only where it is another one", () => {
  assert.equal(said("2026-11-20 08:00", "+1h"), "Fri 2026-11-20 08:00:00 – 09:00:00, 1 h · UTC");
  const next = "Fri 2026-11-20 08:00:00 – Sat 2026-11-21 09:30:00, 25 h 30 min · UTC";
  assert.equal(said("2026-11-20 08:00", "2026-11-21 09:30"), next);
});

test("a day has the hours that it has", () => {
  const day = "Sun 2026-10-25 00:00:00 – Mon 2026-10-26 00:00:00, 25 h · UTC+01:00";
  assert.equal(said("2026-10-25", "2026-10-26", "local"), day);
});

test("parts of a second are said where they are meant", () => {
  const short = "Fri 2026-11-20 08:00:00.250 – 08:00:00.750, 500 ms · UTC";
  assert.equal(said("2026-11-20 08:00:00.25", "2026-11-20 08:00:00.75"), short);
});

test("what is refused is said with the field at fault", () => {
  assert.equal(said("2026-13-01", "now"), "From: Not a time: 2026-13-01 has month 13.");
  assert.equal(said("-1h", "8:60"), "To: Not a time: 8:60 has minute 60.");
  assert.equal(said("today", "yesterday"), "Begins after it ends.");
});
