// What plots draw, in headless Chromium: figures beside those that were looked at once, panned pictures beside fresh ones, bins beside samples.
//
//   npm run goldens    writes the figures anew; look at them before they are committed

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";
import { openDrawing } from "./drawing.ts";
import { isAsItWas } from "./golden.ts";
import type * as drawn from "./drawn.ts";

const ROUNDS = 60;
const STEPS = 29;
/** Of 170,000 pixels: where tiles meet. */
const SMOOTHED_MAX = 6;

let browser: Browser;
let page: Page;

before(async () => {
  browser = await startChromium();
  const more = `import * as drawn from "./test/drawn.ts"; Object.assign(window, { drawn });`;
  page = await openDrawing(browser, { width: 800, height: 600 }, more);
});

after(() => browser.close());

type Drawn = { drawn: typeof drawn };

for (const name of ["gap", "enum", "envelope", "step", "log", "normalised", "stacked"])
  test(`the figure "${name}" is drawn as it was`, async () => {
    const svg = await page.evaluate((name) => (window as unknown as Drawn).drawn.golden(name), name);
    await isAsItWas(name, svg);
  });

for (const name of ["gap", "envelope", "step", "log", "normalised", "stacked", "dashes", "live"])
  test(`the figure "${name}" panned and zoomed to and fro has the pixels of the same range drawn afresh`, async () => {
    for (const seed of [7, 8, 9]) {
      const found = await page.evaluate(
        ({ name, seed, STEPS }) => (window as unknown as Drawn).drawn.panned(name, seed, STEPS),
        { name, seed, STEPS },
      );
      const most = Math.max(...found);
      assert.ok(most <= SMOOTHED_MAX, `pixels that differ, step by step, of ${seed}: ${found.join(", ")}`);
    }
  });

test("a live view that goes on while samples come has the pixels of the same range drawn afresh", async () => {
  const found = await page.evaluate(
    (steps) => (window as unknown as Drawn).drawn.goneOn("live", steps),
    3 * STEPS,
  );
  assert.ok(Math.max(...found) <= SMOOTHED_MAX, `pixels that differ, step by step: ${found.join(", ")}`);
});

test("a live view of a fast signal is not drawn anew for each pixel, nor in one path of many lines", async () => {
  const { afresh, goingOn } = await page.evaluate(() => (window as unknown as Drawn).drawn.takenByFast());
  const told = JSON.stringify({ afresh, goingOn });
  assert.ok(afresh.all > 400, `it is drawn: ${told}`);
  assert.ok(goingOn.all > 50 && goingOn.all < afresh.all / 2, `what is in sight already is shifted: ${told}`);
  // A canvas takes for a path about the square of its lines, and there are 6000 of these.
  assert.ok(afresh.longest < 300, `near steps are filled one by one: ${told}`);
});

test("a line to a sample far away keeps its slope", async () => {
  const across = (seconds: number, height: number) =>
    page.evaluate(
      ({ seconds, height }) => (window as unknown as Drawn).drawn.straightAcross(seconds, height),
      { seconds, height },
    );
  // 320 s are as many pixels. From 50 of 100 in the middle of the height it climbs as far as it gets within them.
  const flat = await across(3.2e7, 0);
  assert.ok(flat.top === 319 && Math.abs(flat.left - 60) <= 2, JSON.stringify(flat));
  const steep = await across(3.2e7, 5e7);
  assert.ok(Math.abs(steep.top - 32) <= 3, JSON.stringify(steep));
  const gentle = await across(3.2e6, 2.5e5);
  assert.ok(gentle.top === 319 && Math.abs(gentle.left - 60) <= 3, JSON.stringify(gentle));
});

test("bins and samples of a random series have ink in the same columns, at any zoom", async () => {
  const wrong = await page.evaluate((rounds) => {
    const { binsAgainstSamples } = (window as unknown as Drawn).drawn;
    const all = Array.from({ length: rounds }, (_, seed) => ({ seed, found: binsAgainstSamples(seed) }));
    return all
      .filter(({ found }) => found.length > 0)
      .map(({ seed, found }) => ({ seed, found: found.slice(0, 3) }));
  }, ROUNDS);
  assert.deepEqual(wrong, []);
});

test("bins and samples of an enum have the same states in the same columns, at any zoom", async () => {
  const wrong = await page.evaluate((rounds) => {
    const { stateBinsAgainstSamples } = (window as unknown as Drawn).drawn;
    const all = Array.from({ length: rounds }, (_, seed) => ({ seed, found: stateBinsAgainstSamples(seed) }));
    return all
      .filter(({ found }) => found.length > 0)
      .map(({ seed, found }) => ({ seed, found: found.slice(0, 3) }));
  }, ROUNDS);
  assert.deepEqual(wrong, []);
});
