// axe-core finds nothing to say against the page, in any of the states in which an operator sees it, in both themes.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";
import { TestServer } from "./server.ts";
import { STATES } from "./states.ts";

const DIST = new URL("../dist", import.meta.url).pathname;
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

let browser: Browser;

before(async () => {
  browser = await startChromium();
});

after(() => browser.close());

/** What is wrong, by rule, with the elements concerned. */
async function violations(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: AXE });
  const results = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<AxeResults> } };
    return axe.run();
  });
  return results.violations.flatMap(({ id, help, nodes }) =>
    nodes
      .slice(0, 5)
      .map((node) => `${id} (${help}): ${node.html.slice(0, 120)} ${node.failureSummary ?? ""}`),
  );
}

for (const state of STATES) {
  test(`axe finds nothing in ${state.name}, in light or dark`, async () => {
    const server = new TestServer(DIST);
    const base = await server.start();
    // The page's own policy lets no script of elsewhere in, which axe is.
    const page = await browser.newPage({
      viewport: { width: state.width, height: state.height },
      bypassCSP: true,
    });
    page.setDefaultTimeout(30_000);
    try {
      await page.emulateMedia({ colorScheme: "light" });
      await state.show(page, server, base);
      assert.deepEqual(await violations(page), [], "light");
      await page.emulateMedia({ colorScheme: "dark" });
      await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
      assert.deepEqual(await violations(page), [], "dark");
    } finally {
      await page.close();
      await server.stop();
    }
  });
}
