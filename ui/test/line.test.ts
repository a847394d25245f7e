// What is joined, what holds, what breaks. Lines are written as `x:y` with `|` where the pen is lifted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { noSamples, type Bins, type Gap, type Samples } from "../src/decode.ts";
import {
  binLine,
  binsWithin,
  holesOf,
  isBroken,
  joined,
  sampleLine,
  samplesWithin,
  straightLine,
  type Line,
} from "../src/line.ts";

const NO_HOLES = holesOf([]);

function written(line: Line): string {
  return line.x.map((x, i) => (Number.isNaN(line.y[i]!) ? "|" : `${x}:${line.y[i]}`)).join(" ");
}

function samples(...rows: [number, number][]): Samples {
  const made = noSamples();
  for (const [x, y] of rows) {
    made.x.push(x);
    made.y.push(y);
  }
  return made;
}

function gap(from: number, to: number): Gap {
  return { from, to, cause: "disconnected", lost: 0, scope: "pv" };
}

/** Bins one second long from 0 on, each as its mean (first and last are the same); none where it is empty. */
function bins(means: (number | null)[], before: Bins["before"] = null): Bins {
  const column = Float64Array.from(means, (mean) => mean ?? NaN);
  return {
    start: Float64Array.from(means, (_, i) => i),
    end: Float64Array.from(means, (_, i) => i + 1),
    count: Float64Array.from(means, (mean) => (mean === null ? 0 : 1)),
    ...{ min: column, max: column, mean: column, first: column, last: column },
    severity: new Uint8Array(means.length),
    before,
  };
}

test("a sample holds until the next, the last one until now", () => {
  assert.equal(written(sampleLine(samples([1, 5], [3, 7]), NO_HOLES, 10)), "1:5 3:5 3:7 10:7");
});

test("nothing is drawn within a gap, and behind it the value holds again", () => {
  const line = sampleLine(samples([1, 5], [8, 7]), holesOf([gap(4, 6)]), 10);
  assert.equal(written(line), "1:5 4:5 | 6:5 8:5 8:7 10:7");
});

test("a value that never changes holds behind every gap", () => {
  const line = sampleLine(samples([1, 5]), holesOf([gap(2, 3), gap(4, 6)]), 10);
  assert.equal(written(line), "1:5 2:5 | 3:5 4:5 | 6:5 10:5");
});

test("a gap that lasts ends the line where it begins", () => {
  assert.equal(written(sampleLine(samples([1, 5]), holesOf([gap(4, Infinity)]), 10)), "1:5 4:5 |");
});

test("a sample within a gap is a point of its own", () => {
  const line = sampleLine(samples([1, 5], [5, 6], [9, 7]), holesOf([gap(4, 6)]), 10);
  assert.equal(written(line), "1:5 4:5 | 5:6 | 6:6 9:6 9:7 10:7");
});

test("a value that is no number ends the line, but not the value before it", () => {
  assert.equal(written(sampleLine(samples([1, 5], [3, NaN], [4, 6]), NO_HOLES, 5)), "1:5 3:5 | 4:6 5:6");
});

test("a sample from the future is drawn at its time and does not hold backwards", () => {
  assert.equal(written(sampleLine(samples([12, 5]), NO_HOLES, 10)), "12:5");
});

test("gaps that overlap or touch are one hole", () => {
  assert.deepEqual(holesOf([gap(5, 6), gap(1, 3), gap(2, 4), gap(4, 4.5)]), { from: [1, 5], to: [4.5, 6] });
  assert.equal(isBroken(holesOf([gap(1, 2), gap(5, 6)]), 3, 9), true);
  assert.equal(isBroken(holesOf([gap(1, 2), gap(5, 6)]), 6, 9), false);
});

test("means of neighbouring bins are joined and the last value holds until now", () => {
  assert.equal(written(binLine(bins([1, 2]), "mean", NO_HOLES, 0, 4)), "0.5:1 1.5:2 4:2");
});

test("a bin that reaches beyond now is drawn no further than now", () => {
  assert.equal(written(binLine(bins([1, 2]), "mean", NO_HOLES, 0, 1.25)), "0.5:1 1.25:2");
});

test("across empty bins the last value holds until the bin that ends it", () => {
  assert.equal(written(binLine(bins([1, null, null, 2]), "mean", NO_HOLES, 0, 3.5)), "0.5:1 3:1 3:2 3.5:2");
});

test("a gap among empty bins is left out of the line", () => {
  const line = binLine(bins([1, null, null, 2]), "mean", holesOf([gap(1.2, 2.5)]), 0, 3.5);
  assert.equal(written(line), "0.5:1 1.2:1 | 2.5:1 3:1 3:2 3.5:2");
});

test("a gap that reaches into a bin leaves its mean standing alone", () => {
  const line = binLine(bins([1, null, null, 2]), "mean", holesOf([gap(1.2, 3.1)]), 0, 3.5);
  assert.equal(written(line), "0.5:1 1.2:1 | 3.5:2");
});

test("a gap between two bins breaks their joint", () => {
  assert.equal(written(binLine(bins([1, 2]), "mean", holesOf([gap(0.8, 0.9)]), 0, 1.5)), "0.5:1 | 1.5:2");
});

test("the value before the range holds into it, but not while a gap lasts", () => {
  const before = { x: -5, y: 9, severity: 0, at: null };
  assert.equal(written(binLine(bins([null, 2], before), "mean", NO_HOLES, 0, 1.5)), "0:9 1:9 1:2 1.5:2");
  const line = binLine(bins([null, 2], before), "mean", holesOf([gap(-3, 0.5)]), 0, 1.5);
  assert.equal(written(line), "0.5:9 1:9 1:2 1.5:2");
});

test("live samples go on where the history ends, but not across a gap between", () => {
  const history = sampleLine(samples([1, 5]), NO_HOLES, 4);
  assert.equal(written(joined(history, sampleLine(samples([4, 6]), NO_HOLES, 5))), "1:5 4:5 4:6 5:6");
  const broken = sampleLine(samples([1, 5]), holesOf([gap(2, 3)]), 4);
  assert.equal(
    written(joined(broken, sampleLine(samples([4, 6]), NO_HOLES, 5))),
    "1:5 2:5 | 3:5 4:5 4:6 5:6",
  );
});

/** The points of a line within a part of the time, and where it goes in and out, written. */
function seen({ x, y }: Line, from: number, to: number): string {
  const found: string[] = [];
  for (let i = 0; i + 1 < x.length; i++) {
    if (Number.isNaN(y[i]!) || Number.isNaN(y[i + 1]!) || x[i + 1]! < from || x[i]! > to) continue;
    const at = (time: number) =>
      x[i] === x[i + 1] ? y[i]! : y[i]! + ((time - x[i]!) / (x[i + 1]! - x[i]!)) * (y[i + 1]! - y[i]!);
    const [a, b] = [Math.max(x[i]!, from), Math.min(x[i + 1]!, to)];
    found.push([a, at(a), b, x[i] === x[i + 1] ? y[i + 1]! : at(b)].map((n) => n.toFixed(6)).join(" "));
  }
  return found.join("\n");
}

test("a part of a line is as the whole line is there", () => {
  let state = 7;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  for (let round = 0; round < 400; round++) {
    const means = Array.from({ length: 40 }, () => (random() < 0.4 ? null : random() < 0.1 ? NaN : random()));
    const before = random() < 0.5 ? null : { x: -5, y: 9, severity: 0, at: null };
    const all = bins(means, before);
    // An empty bin has no number; what is none has a sample.
    means.forEach((mean, i) => (all.count[i] = mean === null ? 0 : 1));
    const holes = random() < 0.5 ? NO_HOLES : holesOf([gap(random() * 20, 20 + random() * 20)]);
    const from = random() * 44 - 2;
    const part = { from, to: from + random() * 12 };
    for (const style of ["mean", "steps"] as const) {
      const [whole, own] = [all, binsWithin(all, part)].map((bins) => binLine(bins, style, holes, 0, 42));
      assert.equal(seen(own!, part.from, part.to), seen(whole!, part.from, part.to), `${style} ${round}`);
    }
    const points = samples(
      ...means.flatMap((mean, i): [number, number][] => (mean === null ? [] : [[i, mean]])),
    );
    for (const line of [sampleLine, straightLine]) {
      const [whole, own] = [points, samplesWithin(points, part)].map((some) => line(some, holes, 42));
      assert.equal(seen(own!, part.from, part.to), seen(whole!, part.from, part.to), `${line.name} ${round}`);
    }
  }
});
