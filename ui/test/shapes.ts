// A table, an image and an array of a pvAccess server (tests/system/servers/p4p_types.py) on the page of a real pvark.
//
//   PVARK_URL=http://127.0.0.1:17665/ npm run shapes

import assert from "node:assert/strict";
import { startChromium } from "./chromium.ts";

const base = process.env.PVARK_URL;
assert.ok(base, "set PVARK_URL to the address of a pvark");
/** When all of it is stamped. */
const AT = 1_795_000_000;

const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  const [from, to, at] = [AT - 60, AT + 60, AT + 1].map((time) => new Date(time * 1000).toISOString());
  await page.goto(
    `${base}?pv=P:table&pv=P:image&pv=${encodeURIComponent("P:d:array")}&from=${from}&to=${to}&at=${at}&zone=utc`,
  );
  const table = page.locator('.waveform[aria-label="P:table"] .nt-table');
  await table.locator("td").last().waitFor();
  assert.deepEqual(await table.locator("thead th").allInnerTexts(), ["Row", "name", "value"]);
  assert.deepEqual(await table.locator("td").allInnerTexts(), ["a", "1.5", "b", "-2.5"]);
  assert.match(
    (await table.locator("canvas:visible").getAttribute("aria-label"))!,
    /^value of P:table, 2 rows/,
  );
  const image = page.locator('.waveform[aria-label="P:image"]');
  await image.getByText("4 × 3 pixels, 0 to 11").waitFor();
  await image.locator("canvas").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await image.locator(".pointed").getByText("[1, 1] = 5").waitFor();
  const array = page.locator('.waveform[aria-label="P:d:array"]');
  await array.getByRole("button", { name: "Over time" }).click();
  await array.getByText("The one waveform of this range.").waitFor();
  assert.deepEqual(faults, [], "no script may fail, and the browser may refuse nothing");
  console.log(`the table, the image and the array are shown at ${base}`);
} finally {
  await browser.close();
}
