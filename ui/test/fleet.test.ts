// What is worked out of the archiver's lists: orders of the table, IOCs that were lost, turns of a wall, dead bands, lists of names.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pv, Status } from "../src/api.ts";
import { kept, readBand } from "../src/deadband.ts";
import { noSamples } from "../src/decode.ts";
import { momentOf } from "../src/exact.ts";
import { colourAt, extent } from "../src/heat.ts";
import { adviceOf, grouped, type KnownIoc } from "../src/iocs.ts";
import { inParts, PATTERN_MAX, patternOf } from "../src/list.ts";
import { beginOfWeek, daysLeft, growthOf } from "../src/manage_storage.ts";
import { askedOrder, costOf, halfOf, inOrder, rateText } from "../src/pv_order.ts";
import { Renewal } from "../src/renewal.ts";
import { SvgContext } from "../src/svg.ts";
import { apart, inTurn, TILES_MAX, TURN_SECONDS, type TileOf } from "../src/wall.ts";

function pv(name: string, more: Partial<Pv> = {}): Pv {
  const plain = { protocol: "ca", method: "monitor", period: null, state: "connected" as const };
  return { name, ...plain, since: null, type: "f64", units: null, last: null, ...more };
}

const names = (pvs: Pv[]) => pvs.map(({ name }) => name).join(" ");

test("the table stands by any column, equal rows by name, and what is not known at the end either way", () => {
  const costs = new Map([
    ["A", { rate: 1, bytes: 10 }],
    ["B", { rate: 5, bytes: 10 }],
    ["C", { rate: 3 }],
  ]);
  const pvs = [pv("C"), pv("A"), pv("D"), pv("B")];
  assert.equal(names(inOrder(pvs, { key: "rate", falls: true }, costs)), "B C A D");
  assert.equal(names(inOrder(pvs, { key: "rate", falls: false }, costs)), "A C B D");
  assert.equal(names(inOrder(pvs, { key: "bytes", falls: true }, costs)), "A B C D");
  const since = [pv("NEW", { since: "2026-11-02T00:00:00Z" }), pv("OLD", { since: "2026-11-01T00:00:00Z" })];
  assert.equal(names(inOrder(since, { key: "since", falls: false }, costs)), "NEW OLD");
  assert.equal(names(inOrder(since, { key: "since", falls: true }, costs)), "OLD NEW");
});

test("of an IOC it is said what to do, by its circuit, its beacons and what is lost", () => {
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  const plain: KnownIoc = {
    ...{ address: "192.0.2.1:5064", protocols: ["ca"], pvs: 3, connected: 3, disconnected: 0, searching: 0 },
    ...{ paused: 0, rate: 1, circuits: 1, since: at(0), circuits_lost: 0, restarts: 0, restarted: null },
    last_beacon: at(990),
  };
  const told = (more: Partial<KnownIoc>) => adviceOf({ ...plain, ...more }, 1000);
  assert.equal(told({}), "well");
  assert.equal(told({ disconnected: 3, circuits: 0, last_beacon: at(900) }), "silent");
  assert.equal(told({ disconnected: 3, circuits: 0, last_beacon: null }), "silent");
  assert.equal(told({ disconnected: 3, circuits: 0 }), "restarting");
  assert.equal(told({ disconnected: 1 }), "moved");
  assert.equal(told({ restarts: 3 }), "flapping");
  assert.equal(told({ last_beacon: at(900) }), "unheard");
  assert.equal(told({ protocols: ["pva"], last_beacon: null }), "well");
});

test("half of the bytes is made by the fewest PVs, the costliest first", () => {
  const costs = new Map([
    ...([
      ["A", { bytes: 10 }],
      ["B", { bytes: 40 }],
      ["C", { bytes: 25 }],
    ] as const),
    ...([
      ["D", { rate: 9 }],
      ["E", { bytes: 25 }],
      ["F", { bytes: 0 }],
    ] as const),
  ]);
  assert.deepEqual(halfOf(costs), { names: ["B", "C"], bytes: 65, all: 100, pvs: 4 });
  assert.deepEqual(halfOf(new Map()), { names: [], bytes: 0, all: 0, pvs: 0 });
});

test("a disk is full when what comes a day has filled what is free, told by the last full weeks", () => {
  assert.equal(new Date(beginOfWeek("2026-W47") * 1000).toISOString(), "2026-11-16T00:00:00.000Z");
  assert.equal(new Date(beginOfWeek("2026-W01") * 1000).toISOString(), "2025-12-29T00:00:00.000Z");
  const week = (week: string, state: string, bytes: number) => ({
    week,
    state,
    bytes,
    segments: 1,
    samples: 1,
  });
  const told = (...weeks: ReturnType<typeof week>[]) =>
    growthOf({ store: { weeks } as unknown as Status["store"] }, beginOfWeek("2026-W47") + 2 * 86_400);
  const full = told(
    week("2026-W45", "sealed", 7e6),
    week("2026-W46", "sealing", 21e6),
    week("2026-W47", "open", 9e9),
  );
  assert.deepEqual(full, { bytesADay: 2e6, from: "2026-W45", to: "2026-W46", isOpen: false });
  const gap = told(week("2026-W44", "sealed", 7e6), week("2026-W46", "sealed", 14e6));
  assert.equal(gap!.bytesADay, 1e6, "a week without samples is a week");
  assert.deepEqual(told(week("2026-W47", "open", 4e6)), {
    ...{ bytesADay: 2e6, from: "2026-W47", to: "2026-W47", isOpen: true },
  });
  assert.equal(told(), null);
  assert.equal(daysLeft(10e6, full), 5);
  assert.equal(daysLeft(null, full), null);
  assert.equal(daysLeft(10e6, null), null);
});

test("rates have as many digits as are read", () => {
  assert.deepEqual([102.04, 0.5, 0.001, 0].map(rateText), ["102.0 Hz", "0.50 Hz", "< 0.01 Hz", "0 Hz"]);
});

test("PVs of one host that went together are one outage, those of another time another", () => {
  const row = (pvName: string, hostName: string, at: number) => ({
    ...{ pvName, hostName, noConnectionAsOfEpochSecs: String(at) },
  });
  const groups = grouped([
    row("A", "h1", 100),
    row("B", "h2", 101),
    row("C", "h1", 102),
    row("D", "h1", 500),
  ]);
  const told = groups.map(({ host, since, pvs }) => `${host} ${since} ${pvs.join(",")}`);
  assert.deepEqual(told, ["h1 100 A,C", "h1 500 D", "h2 101 B"]);
});

test("more tiles than a wall has take turns, but never one in major alarm", () => {
  const tiles: TileOf[] = Array.from({ length: 10 }, (_, i) => ({ key: String(i), scales: [], traces: [] }));
  const seen = new Set<string>();
  for (let turn = 0; turn < 3; turn++) {
    const shown = inTurn(tiles, turn * TURN_SECONDS, ({ key }) => key === "9");
    assert.ok(shown.length <= TILES_MAX && shown.some(({ key }) => key === "9"));
    for (const { key } of shown) seen.add(key);
  }
  assert.equal(seen.size, 10, "each has its turn");
  assert.equal(inTurn(tiles.slice(0, 6), 0, () => false).length, 6);
});

test("a dead band keeps what moves further, each change of alarm, and the first of an hour", () => {
  const y = [0, 0.4, 0.5, 0.6, 0.9, 1.2, 1.2];
  const samples = { x: [0, 1, 2, 3, 4, 5, 3600], y, severity: [0, 0, 0, 0, 1, 1, 1] };
  // 0, 0.6 (beyond 0.5), 0.9 (alarm), 1.2 stays out, the first of the next hour.
  assert.equal(kept(samples, { size: 0.5, isPercent: false }), 4);
  assert.equal(
    kept({ x: [0, 1, 2], y: [100, 104, 106], severity: [0, 0, 0] }, { size: 5, isPercent: true }),
    2,
  );
  assert.deepEqual(readBand(" 5% "), { size: 5, isPercent: true });
  assert.equal(readBand("five"), null);
});

test("lists of names go in parts that the archiver takes, and fit nothing else", () => {
  const list = Array.from({ length: 500 }, (_, i) => `SR-RF:CAV${i}:PHASE(A)`);
  const parts = inParts(list);
  assert.deepEqual(parts.flat(), list);
  for (const part of parts) assert.ok(patternOf(part).length <= PATTERN_MAX);
  const fits = new RegExp(patternOf(["A.B(C)"]).slice(1));
  assert.ok(fits.test("A.B(C)") && !fits.test("AxB(C)") && !fits.test("XA.B(C)"));
});

test("an event that is known from its bin gets the moment of its sample, not of what held before", () => {
  const samples = noSamples();
  samples.x.push(9, 10.25, 10.5);
  samples.seconds.push(9, 10, 10);
  samples.nanos.push(0, 250_000_000, 500_000_000);
  samples.values.push(1, 2, 3);
  samples.severity.push(2, 0, 2);
  const alarm = { at: 10, within: 11, pv: "A", kind: "alarm" as const, severity: 2, text: "MAJOR" };
  assert.equal(momentOf(samples, alarm, String), 10.5);
  assert.equal(momentOf(samples, { ...alarm, kind: "state", text: "2" }, String), 10.25);
  assert.equal(momentOf(samples, { ...alarm, severity: 3 }, String), null);
});

test("a newer page is loaded at a full hour, once the archiver was restarted as another program", async () => {
  let page = "assets/app-AAAA.js";
  let loads = 0;
  const renewal = new Renewal(
    "http://x/assets/app-AAAA.js",
    () => Promise.resolve(page),
    () => loads++,
  );
  await renewal.take({ started: "1" }, 3000);
  await renewal.take({ started: "1" }, 3601);
  await renewal.take({ started: "2" }, 3700);
  assert.equal(loads, 0, "not in the middle of an hour");
  await renewal.take({ started: "2" }, 7201);
  assert.equal(loads, 0, "the page is the same");
  page = "assets/app-BBBB.js";
  await renewal.take({ started: "3" }, 7300);
  await renewal.take({ started: "3" }, 10_801);
  assert.equal(loads, 1);
});

test("colours of a heat map go from the lowest to the highest element", () => {
  assert.deepEqual(extent([{ at: 0, to: 1, length: 3, each: 1, numbers: [3, NaN, -1] }]), [-1, 3]);
  assert.deepEqual(colourAt(-1), colourAt(0));
  const lightness = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const [red, green, blue] = colourAt(part);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
  assert.deepEqual(
    [...lightness].sort((a, b) => a - b),
    lightness,
    "lighter is higher",
  );
});

test("the archiver sorts by times where we say how long ago they are, and not by values", () => {
  assert.deepEqual(askedOrder({ key: "bytes", falls: true }), { by: "bytes_per_day", order: "desc" });
  assert.deepEqual(askedOrder({ key: "rate", falls: false }), { by: "rate", order: "asc" });
  assert.deepEqual(askedOrder({ key: "since", falls: true }), { by: "since", order: "asc" });
  assert.deepEqual(askedOrder({ key: "last", falls: false }), { by: "last", order: "desc" });
  assert.equal(askedOrder({ key: "value", falls: true }), null);
});

test("a row is told at the figures by which the archiver put it there", () => {
  const pv = { name: "A", rate: 3, bytes_per_day: null } as Pv;
  assert.deepEqual(costOf(pv, new Map([["A", { rate: 1, bytes: 2 }]])), { rate: 3, bytes: 2 });
});

test("what is drawn for SVG is clipped, shifted and escaped", () => {
  const ruler = { font: "", measureText: (text: string) => ({ width: text.length * 6 }) };
  const svg = new SvgContext(ruler as unknown as CanvasRenderingContext2D);
  svg.save();
  svg.beginPath();
  svg.rect(0, 0, 10, 10);
  svg.clip();
  svg.beginPath();
  svg.moveTo(1, 2);
  svg.lineTo(3, 4);
  svg.stroke();
  svg.restore();
  svg.translate(0, 100);
  svg.fillText("a < b & c", 1, 2);
  const file = svg.file(20, 30);
  assert.match(file, /<clipPath id="c0"><path d="M0 0L10 0L10 10L0 10Z"\/><\/clipPath>/);
  assert.match(file, /<g clip-path="url\(#c0\)"><path d="M1 2L3 4"/);
  assert.match(file, /<text x="1" y="102"[^>]*>a &lt; b &amp; c<\/text>/);
});

test("words with which all titles of a tile end stand once behind them", () => {
  assert.deepEqual(apart(["RF 1 forward", "RF 2 forward"]), [["RF 1", "RF 2"], "forward"]);
  assert.deepEqual(apart(["BPM 7, horizontal", "BPM 31, horizontal"]), [["BPM 7", "BPM 31"], "horizontal"]);
  assert.deepEqual(apart(["Pump 1", "Pump 2"]), [["Pump 1", "Pump 2"], ""]);
  assert.deepEqual(apart(["SR:A", "SR:A"]), [["SR:A", "SR:A"], ""], "of each something is left");
  assert.deepEqual(apart(["Beam current"]), [["Beam current"], ""]);
});
