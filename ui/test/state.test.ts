// The view and its URL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PLAIN } from "../src/look.ts";
import {
  FIRST_VIEW,
  fromQuery,
  panned,
  rangeOf,
  toQuery,
  zoomed,
  RANGE_SECONDS_MIN,
  type View,
} from "../src/state.ts";

const FROM = Date.parse("2026-11-20T10:00:00Z") / 1000;

const FULL: View = {
  pvs: [
    {
      name: "SR:CURRENT",
      hidden: false,
      look: { ...PLAIN, axis: "right", colour: 4, fix: [0, 350], log: true },
    },
    { name: "SYS{A}:x y&z=1.VAL", hidden: true },
    { name: "R:Ω/%2", hidden: false },
  ],
  span: { kind: "fixed", range: { from: FROM, to: FROM + 0.001_5 } },
  zone: "utc",
  theme: "dark",
  log: ["mbar", ""],
  pinned: FROM + 0.001,
  second: FROM + 0.0015,
  lanes: true,
  folded: true,
  drawer: { tab: "xy", choices: { x: "SYS{A}:x y&z=1.VAL", by: "mean", step: "0.5" } },
  found: "SR:A+B > 3 & x",
  frame: "embed",
};

test("a view comes back from its URL, whatever the names contain", () => {
  assert.deepEqual(fromQuery(toQuery(FULL), FROM), FULL);
  const live: View = { ...FULL, span: { kind: "live", seconds: 300 }, pinned: null };
  assert.deepEqual(fromQuery(toQuery(live), FROM), live);
});

test("the URL of the first view is empty, and names can be read in it", () => {
  assert.equal(toQuery(FIRST_VIEW), "");
  assert.equal(toQuery({ ...FIRST_VIEW, pvs: [{ name: "SR:A{B}", hidden: false }] }), "pv=SR:A{B}");
});

test("what a URL says wrongly is left out, the rest is kept", () => {
  const view = fromQuery("pv=A&pv=A&pv=&from=soon&to=2026-11-20T10:00:00Z&zone=mars&live=-5&at=x", FROM);
  assert.deepEqual(view, { ...FIRST_VIEW, pvs: [{ name: "A", hidden: false }] });
  assert.deepEqual(
    fromQuery("from=2026-11-20T11:00:00Z&to=2026-11-20T10:00:00Z", FROM).span,
    FIRST_VIEW.span,
  );
});

test("times of a URL may be relative to now, and a range that ends at now follows it", () => {
  const span = (query: string) => fromQuery(query, FROM).span;
  const eight: View["span"] = { kind: "live", seconds: 8 * 3600 };
  assert.deepEqual(span("from=-8h"), eight);
  assert.deepEqual(span("from=-8h&to=now"), eight);
  assert.deepEqual(span("from=2026-11-20T02:00:00Z"), eight);
  assert.deepEqual(span("to=now"), { kind: "live", seconds: 3600 });
  const range = (from: number, to: number) => ({
    kind: "fixed",
    range: { from: FROM + from, to: FROM + to },
  });
  assert.deepEqual(span("from=-8h&to=-1h"), range(-8 * 3600, -3600));
  assert.deepEqual(span("from=2026-11-20T10:00&to=+1h"), range(0, 3600));
  assert.deepEqual(span("from=2026-11-20+08:00&to=2026-11-20T10:00:00+01:00"), range(-7200, -3600));
  assert.equal(fromQuery("at=-1h", FROM).pinned, FROM - 3600);
});

test("zooming keeps the moment under the mouse where it is", () => {
  const range = zoomed({ from: 100, to: 200 }, 125, 0.5);
  assert.deepEqual(range, { from: 112.5, to: 162.5 });
  assert.equal((125 - range.from) / 50, 0.25);
});

test("no range becomes shorter than floats can tell apart", () => {
  const range = zoomed({ from: FROM, to: FROM + 0.002 }, FROM + 0.001, 0.001);
  assert.ok(Math.abs(range.to - range.from - RANGE_SECONDS_MIN) < 1e-6);
});

test("panning moves by a part of the range, and a live range ends at now", () => {
  assert.deepEqual(panned({ from: 0, to: 40 }, -0.25), { from: -10, to: 30 });
  assert.deepEqual(rangeOf(FIRST_VIEW, 10_000), { from: 6400, to: 10_000 });
});

test("what is set stands behind the PV that it is set for, and what is wrong of it is left out", () => {
  const { pvs } = fromQuery("set=log&pv=A&set=right,points&pv=B&set=nonsense&hidden=C&set=log", FROM);
  assert.deepEqual(pvs, [
    { name: "A", hidden: false, look: { ...PLAIN, axis: "right", line: "points" } },
    { name: "B", hidden: false },
    { name: "C", hidden: true, look: { ...PLAIN, log: true } },
  ]);
});
