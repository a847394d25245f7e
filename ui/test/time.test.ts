// Times in and out of text. The local zone is Kolkata's: half an hour off the full hours that lazy code relies on.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fieldsOf,
  formatInstant,
  formatTime,
  instantOf,
  iso,
  isoOf,
  momentOf,
  shiftNanos,
  zoneName,
  zoneOf,
} from "../src/time.ts";
import { parseTime } from "../src/typed.ts";
import { agoText } from "../src/understood.ts";

process.env.TZ = "Asia/Kolkata";

const NOON = Date.parse("2026-11-20T12:00:00Z") / 1000;

test("an exact moment keeps its nanoseconds in text and in a URL", () => {
  const instant = { seconds: NOON, nanos: 317_861_794 };
  assert.equal(isoOf(instant), "2026-11-20T12:00:00.317861794Z");
  assert.equal(formatInstant(instant, "utc", 9), "2026-11-20 12:00:00.317861794");
  assert.equal(formatInstant(instant, "local", 3), "2026-11-20 17:30:00.317");
});

test("the neighbours of a moment are one nanosecond away, across seconds too", () => {
  assert.deepEqual(shiftNanos({ seconds: 5, nanos: 500 }, 1), { seconds: 5, nanos: 501 });
  assert.deepEqual(shiftNanos({ seconds: 5, nanos: 0 }, -1), { seconds: 4, nanos: 999_999_999 });
  assert.deepEqual(shiftNanos({ seconds: 5, nanos: 999_999_999 }, 1), { seconds: 6, nanos: 0 });
});

test("a float of seconds is rounded to microseconds, never to 60 seconds or beyond", () => {
  assert.equal(iso(NOON + 0.25), "2026-11-20T12:00:00.25Z");
  assert.deepEqual(instantOf(NOON + 0.9999999), { seconds: NOON + 1, nanos: 0 });
  assert.equal(iso(-0.5), "1969-12-31T23:59:59.5Z");
});

test("typed times are read in the zone that is shown", () => {
  assert.equal(parseTime("2026-11-20 12:00", "utc", 0), NOON);
  assert.equal(parseTime("2026-11-20 17:30", "local", 0), NOON);
  assert.equal(parseTime("2026-11-20T12:00:00.5Z", "local", 0), NOON + 0.5);
  assert.equal(parseTime("2026-11-20 13:00:00+01:00", "local", 0), NOON);
  assert.equal(parseTime("2026-11-20", "utc", 0), NOON - 12 * 3600);
  assert.equal(parseTime("11:59:59", "utc", NOON), NOON - 1);
});

test("times before now are read in the words in which the page writes them", () => {
  assert.equal(parseTime("now", "utc", NOON), NOON);
  assert.equal(parseTime("-2 h", "utc", NOON), NOON - 7200);
  for (const seconds of [0.001, 0.25, 0.5, 45, 200, 3600, 93_600, 365 * 86_400, 800 * 86_400]) {
    assert.equal(parseTime(agoText(seconds), "utc", NOON), NOON - seconds, agoText(seconds));
  }
});

test("what is no time is refused", () => {
  for (const text of ["", "soon", "25:00", "2026-13-01", "2026-11-20 12:60", "-2 fortnights", "12"]) {
    assert.equal(parseTime(text, "utc", NOON), null, text);
  }
});

test("a printed time can be typed again", () => {
  for (const zone of ["utc", "local"] as const) {
    assert.equal(parseTime(formatTime(NOON + 1.5, zone, 3), zone, 0), NOON + 1.5);
  }
});

test("zones are named by their distance from UTC", () => {
  assert.equal(zoneName(NOON, "utc"), "UTC");
  assert.equal(zoneName(NOON, "local"), "UTC+05:30");
});

test("clocks of a zone by its name are those of a browser that is there, over summers and winters", () => {
  for (const name of ["Europe/Stockholm", "America/St_Johns", "Australia/Lord_Howe", "Asia/Tokyo"]) {
    process.env.TZ = name;
    for (let at = 1_700_000_000; at < 1_800_000_000; at += 2_000_003) {
      assert.deepEqual(fieldsOf(at, name), fieldsOf(at, "local"), `${name} ${at}`);
      assert.equal(zoneName(at, name), zoneName(at, "local"));
      const fields = fieldsOf(at, name);
      assert.equal(momentOf(fields, name), momentOf(fields, "local"), `${name} ${at}`);
    }
    // The hours that come twice, and those that do not come.
    for (let hour = 0; hour < 48; hour++)
      for (const [month, day] of [
        [3, 29],
        [10, 25],
        [4, 5],
        [11, 1],
      ] as const) {
        const fields = { year: 2026, month, day, hour, minute: 20, second: 0 };
        assert.equal(momentOf(fields, name), momentOf(fields, "local"), `${name} ${JSON.stringify(fields)}`);
      }
  }
});

test("an address names a zone that there is, or none", () => {
  assert.deepEqual(["utc", "UTC", "Europe/Stockholm", "Europe/Lund", "+02:00", "", null].map(zoneOf), [
    "utc",
    "utc",
    "Europe/Stockholm",
    "local",
    "local",
    "local",
    "local",
  ]);
});
