// Bins as they come: what the archiver writes is read to the last bit, and what is cut off or is something else is told.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { NoArrow, readArrow } from "../src/arrow.ts";
import { withGaps } from "../src/side.ts";
import { inAnswers } from "../src/view.ts";
import { arrowOf, type ViewBins } from "./arrow.ts";

function binsOf(rows: number, seed: number): ViewBins {
  const column = (k: number) =>
    Array.from({ length: rows }, (_, i) => Math.sin(i * 7 + k + seed) * 10 ** ((i % 9) - 4));
  const start = Array.from({ length: rows }, (_, i) => 1_780_000_000 + i * 0.25);
  return {
    ...{
      start,
      end: start.map((at) => at + 0.25),
      count: start.map((_, i) => (i * 12_345_678_901) % 2 ** 50),
    },
    ...{ min: column(1), max: column(2), mean: column(3), first: column(4), last: column(5) },
    severity: start.map((_, i) => i % 5),
  };
}

const bufferOf = (bytes: Uint8Array) =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;

test("all columns of all PVs come as they were written, and what is said of them", () => {
  const pvs = [binsOf(1, 0), binsOf(997, 1), binsOf(0, 2), binsOf(2000, 3)];
  const facts = { width: "0.25", pvs: '[{"pv":"µ:A"}]' };
  const { metadata, batches } = readArrow(bufferOf(arrowOf(facts, pvs)));
  assert.deepEqual(Object.fromEntries(metadata), facts);
  assert.equal(batches.length, pvs.length);
  pvs.forEach((pv, number) => {
    for (const key of Object.keys(pv) as (keyof ViewBins)[]) {
      const came = [...batches[number]!.get(key)!];
      assert.equal(came.length, pv.count.length);
      came.forEach((value, i) =>
        key === "start" || key === "end"
          ? assert.ok(Math.abs(value - pv[key][i]!) < 1e-6, `${key} ${i}: ${value}`)
          : assert.equal(value, pv[key][i], `${key} ${i}`),
      );
    }
    assert.ok(batches[number]!.get("pv")!.every((value) => value === number));
  });
});

test("a stream that is cut off anywhere is told, and never read on", () => {
  const bytes = arrowOf({ pvs: "[]" }, [binsOf(9, 1), binsOf(3, 2)]);
  for (let length = 0; length < bytes.length; length++)
    assert.throws(
      () => readArrow(bufferOf(bytes.subarray(0, length))),
      NoArrow,
      `${length} of ${bytes.length} bytes`,
    );
});

test("whatever stands in it, reading ends, with columns or with what is wrong", () => {
  const good = arrowOf({ pvs: "[]" }, [binsOf(20, 1)]);
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 3000; round++) {
    const bytes = Uint8Array.from(good);
    for (let n = 0; n <= random(4); n++) bytes[random(bytes.length)] = random(256);
    try {
      for (const batch of readArrow(bufferOf(bytes)).batches)
        for (const column of batch.values()) assert.ok(column.length <= bytes.length);
    } catch (error) {
      assert.ok(error instanceof NoArrow, String(error));
    }
  }
});

test("a gap that reaches across the seam of two answers is one", () => {
  const gap = (from: number, to: number, cause = "disconnected") => ({
    from,
    to,
    cause,
    lost: 0,
    scope: "pv",
  });
  const had = [gap(0, 5), gap(20, 30), gap(90, 110)];
  const added = [gap(90, 110), gap(120, 130)];
  const range = { from: 10, to: 140 };
  assert.deepEqual(withGaps(had, added, range), [gap(20, 30), gap(90, 110), gap(120, 130)]);
  assert.deepEqual(
    withGaps([gap(90, Infinity)], [gap(90, Infinity, "paused")], range).length,
    2,
    "two causes are two gaps",
  );
});

test("no answer is asked for more PVs or bins than it can have", () => {
  const names = Array.from({ length: 120 }, (_, i) => i);
  for (const bins of [100, 2000, 16_000, 600_000]) {
    const parts = inAnswers(names, bins);
    assert.deepEqual(parts.flat(), names);
    assert.ok(
      parts.every((part) => part.length === 1 || (part.length <= 50 && part.length * (bins + 2) <= 500_000)),
    );
  }
});

test("what the archiver wrote once as both is the same from both", async () => {
  const file = (name: string) => readFile(new URL(`../test/${name}`, import.meta.url));
  const { metadata, batches } = readArrow(bufferOf(await file("view.arrow")));
  type Columns = Record<string, (number | null)[]>;
  const json = JSON.parse(String(await file("view.json"))) as { width: number; pvs: { bins: Columns }[] };
  assert.equal(Number(metadata.get("width")), json.width);
  assert.equal(batches.length, json.pvs.length);
  json.pvs.forEach(({ bins }, number) => {
    for (const name of ["count", "start", "end", "min", "max", "mean", "first", "last", "severity"])
      bins[name]!.forEach((value, i) => {
        if (value !== null) assert.equal(batches[number]!.get(name)![i], value, `${name} ${i} of ${number}`);
      });
  });
  assert.ok(
    json.pvs.some(({ bins }) => bins.count!.includes(0)),
    "one of the bins is empty",
  );
});
