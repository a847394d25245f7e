// Looks at a live view while the archiver and its IOC go and come back. What happens is told by lines on standard input, one at a time;
// each is answered by a line once the page shows it.
//
//   PVARK_URL=http://127.0.0.1:17665/ PVARK_PV=NAME npm run gone

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { startChromium } from "./chromium.ts";

const { PVARK_URL: base, PVARK_PV: name } = process.env;
assert.ok(base && name, "set PVARK_URL to the address of a pvark and PVARK_PV to a PV that it archives");

/** How many canvas pixels of a part of the plotting area have the colour of the first PV, below the bar that says whose a gap is. */
function pixels(page: Page, fromPart: number, toPart: number): Promise<number> {
  const parts = { fromPart, toPart };
  return page.evaluate(({ fromPart, toPart }) => {
    const canvas = document.querySelector<HTMLCanvasElement>("#plot canvas")!;
    const over = document.querySelector<HTMLElement>("#plot .over")!;
    const colour = getComputedStyle(document.querySelector("#legend .swatch")!).getPropertyValue("--trace");
    const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const left = over.offsetLeft + over.clientWidth * fromPart;
    const width = over.clientWidth * (toPart - fromPart);
    const context = canvas.getContext("2d")!;
    const bar = 32; // the heading of the pane, and the bar at its upper edge
    const { data } = context.getImageData(left, over.offsetTop + bar, width, over.clientHeight - bar);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const isNear = wanted.every((value, channel) => Math.abs(value - data[i + channel]!) < 24);
      if (isNear && data[i + 3]! > 180) count++;
    }
    return count;
  }, parts);
}

/** The value goes on: its time changes twice. */
async function goesOn(page: Page): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const time = await page
      .locator("#legend .time")
      .first()
      .evaluate((cell) => cell.textContent ?? "");
    await page.waitForFunction((time) => {
      const cell = document.querySelector("#legend .time");
      return cell !== null && cell.textContent !== "" && cell.textContent !== time;
    }, time);
  }
}

const note = (page: Page, text: RegExp) =>
  page.locator("#legend .note").filter({ hasText: text }).waitFor({ state: "attached" });

const steps: Record<string, (page: Page) => Promise<void>> = {
  async "the archiver is gone"(page) {
    await page.getByText("No archiver since").waitFor();
    await note(page, /^not known since|does not answer/);
    // A quarter of what is shown has passed since its last answer.
    await page.waitForTimeout(8000);
    assert.equal(await pixels(page, 0.85, 1), 0, "nothing is drawn after the archiver's last answer");
    assert.ok((await pixels(page, 0, 0.5)) > 30, "what it said before is still there");
    assert.equal(await page.locator("#nothing").isVisible(), false);
    assert.doesNotMatch(await page.locator("body").innerText(), /\bconnected\b/);
  },
  async "the archiver is back"(page) {
    await page.getByText("Archiver connected").waitFor();
    await note(page, /^connected/);
    await goesOn(page);
    assert.ok((await pixels(page, 0.8, 0.98)) > 5, "it is drawn up to now again");
  },
  async "the IOC is gone"(page) {
    await page
      .locator("#counts")
      .filter({ hasText: /^\d+ of \d+ PVs are not connected/ })
      .waitFor({ state: "attached" });
    await note(page, /connection to the IOC lost|disconnected|searching/);
    await page.waitForTimeout(8000);
    assert.equal(await pixels(page, 0.85, 1), 0, "nothing is drawn while the IOC is gone");
    await page.locator("#legend .why").waitFor();
  },
  async "the IOC is back"(page) {
    await note(page, /^connected/);
    await goesOn(page);
    assert.ok((await pixels(page, 0.9, 0.99)) > 5, "it is drawn up to now again");
  },
};

const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(`${base}?pv=${encodeURIComponent(name)}&live=20`);
  await note(page, /^connected/);
  await goesOn(page);
  console.log("looking");
  for await (const line of createInterface({ input: process.stdin })) {
    const step = steps[line];
    assert.ok(step, `no such step: ${line}`);
    await step(page);
    console.log(`seen: ${line}`);
  }
  assert.deepEqual(faults, [], "no script may fail");
} finally {
  await browser.close();
}
