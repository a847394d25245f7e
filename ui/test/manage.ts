// An operator's changes in the page of a real pvark: a PV is added, paused and resumed, under each of the names by which it is reached.
//
//   PVARK_URLS="http://127.0.0.1:17665/ http://localhost:17665/" PVARK_PV=NAME npm run manage

import assert from "node:assert/strict";
import { startChromium } from "./chromium.ts";

const urls = (process.env.PVARK_URLS ?? "").split(" ").filter(Boolean);
const name = process.env.PVARK_PV;
assert.ok(
  urls.length > 0 && name,
  "set PVARK_URLS to addresses of a pvark and PVARK_PV to what is to be added",
);

const browser = await startChromium("MAP archiver.test 127.0.0.1");
try {
  for (const [i, url] of urls.entries()) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
    page.setDefaultTimeout(30_000);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    const pv = `${name}:${i}`;
    await page.goto(url);
    await page.getByText("Archiver connected").waitFor();
    await page.locator("#more").click();
    await page.locator("#archive").click();
    await page.fill("#add-names", pv);
    await page.locator("#add-form button[type=submit]").click();
    await page.getByText(`${pv} is asked for; waits for an IOC`).waitFor();
    await page.getByRole("button", { name: "Plot it" }).click();
    await page.locator(`#legend [data-pv="${pv}"] .name`).click();
    await page.getByRole("button", { name: "Pause archiving" }).click();
    await page.getByRole("button", { name: "Resume archiving" }).click();
    await page.getByRole("button", { name: "Pause archiving" }).waitFor();
    assert.deepEqual(faults, [], "nothing may fail, and the browser may refuse nothing");
    await page.close();
    console.log(`${pv} is added, paused and resumed at ${url}`);
  }
} finally {
  await browser.close();
}
