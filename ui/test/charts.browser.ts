// What the drawer draws, in headless Chromium: figures beside those that were looked at once, and colours of times beside their ground.
//
//   npm run goldens    writes the figures anew; look at them before they are committed

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";
import type * as charts from "./charts.ts";
import { openDrawing } from "./drawing.ts";
import { isAsItWas } from "./golden.ts";

/** WCAG 2.2, of what is no text. */
const CONTRAST_LEAST = 3;

let browser: Browser;
let page: Page;

before(async () => {
  browser = await startChromium();
  const more = `import * as charts from "./test/charts.ts"; import { timeColour } from "./src/charts.ts"; Object.assign(window, { charts, timeColour });`;
  page = await openDrawing(browser, { width: 800, height: 600 }, more);
});

after(() => browser.close());

type Drawn = { charts: typeof charts; timeColour(part: number, isDark: boolean): string };

for (const name of [
  "chart-xy",
  "chart-xy-dark",
  "chart-histogram",
  "chart-spectrum",
  "chart-spectrum-log",
  "chart-spectrum-band",
])
  test(`the figure "${name}" is drawn as it was`, async () => {
    const svg = await page.evaluate((name) => (window as unknown as Drawn).charts.chart(name), name);
    await isAsItWas(name, svg);
  });

test("a peak of one point among thousands is drawn to its height", async () => {
  const { drawn, wanted } = await page.evaluate(() => (window as unknown as Drawn).charts.highest());
  assert.ok(Math.abs(drawn - wanted) <= 2, `drawn up to ${drawn}, it is at ${wanted}`);
});

for (const [theme, isDark] of [
  ["light", false],
  ["dark", true],
] as const)
  test(`the colours of times are seen on the ground of the ${theme} theme, and rise in lightness`, async () => {
    const found = await page.evaluate((isDark) => {
      const { timeColour } = window as unknown as Drawn;
      document.documentElement.dataset.theme = isDark ? "dark" : "light";
      const ground = getComputedStyle(document.documentElement).getPropertyValue("--bg").trim();
      return { ground, colours: Array.from({ length: 21 }, (_, i) => timeColour(i / 20, isDark)) };
    }, isDark);
    const light = found.colours.map(luminance);
    const ground = luminance(found.ground);
    for (const [i, value] of light.entries()) {
      const [high, low] = [Math.max(value, ground), Math.min(value, ground)];
      const contrast = (high + 0.05) / (low + 0.05);
      assert.ok(contrast >= CONTRAST_LEAST, `${found.colours[i]} on ${found.ground}: ${contrast.toFixed(2)}`);
      if (i > 0) assert.ok(value > light[i - 1]!, `${found.colours[i]} is no lighter than the one before`);
    }
  });

/** As WCAG reckons it. */
function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}
