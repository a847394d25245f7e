// A look at a real pvark through its own page: finds a PV, plots it, waits until new samples are drawn.
//
//   PVARK_URL=http://127.0.0.1:17665/ PVARK_PV=NAME [PVARK_SHOT=shot.png] npm run e2e

import assert from "node:assert/strict";
import { startChromium } from "./chromium.ts";

const base = process.env.PVARK_URL;
const name = process.env.PVARK_PV;
assert.ok(base && name, "set PVARK_URL to the address of a pvark and PVARK_PV to a PV that it archives");

const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  // What the browser refuses to load or run by the archiver's rules is told here.
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });

  await page.goto(base);
  await page.getByText("Archiver connected").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(name);
  await page.locator(`#found [data-pv="${name}"]`).click();
  const row = page.locator(`#legend [data-pv="${name}"]`);
  await row.locator(".time").filter({ hasText: /\d/ }).waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  await page.selectOption("#length", "300");

  // Live: the time of the newest value goes on twice, so that the stream brought it and not a load alone.
  for (let i = 0; i < 2; i++) {
    const time = await row.locator(".time").evaluate((cell) => cell.textContent ?? "");
    await page.waitForFunction(
      ({ name, time }) => {
        const cell = document.querySelector(`#legend [data-pv="${CSS.escape(name)}"] .time`);
        return cell !== null && cell.textContent !== "" && cell.textContent !== time;
      },
      { name, time },
    );
  }
  const drawn = await page.evaluate((name) => {
    const canvas = document.querySelector<HTMLCanvasElement>("#plot canvas")!;
    const swatch = document.querySelector(`#legend [data-pv="${CSS.escape(name)}"] .swatch`)!;
    const colour = getComputedStyle(swatch).getPropertyValue("--trace");
    const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const { width, height } = canvas;
    const image = canvas.getContext("2d")!.getImageData(0, 0, width, height).data;
    let count = 0;
    for (let i = 0; i < image.length; i += 4) {
      if (wanted.every((value, channel) => Math.abs(value - image[i + channel]!) < 24)) count++;
    }
    return count;
  }, name);
  assert.ok(drawn > 100, `only ${drawn} pixels of the plot have the colour of ${name}`);
  await page.locator("#chip").click();
  await page
    .locator("#overview[open]")
    .getByText(/now .* a second/)
    .waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(faults, [], "no script may fail, and the browser may refuse nothing");
  if (process.env.PVARK_SHOT) await page.screenshot({ path: process.env.PVARK_SHOT });
  console.log(`${name} is found, drawn and followed live at ${base}`);
} finally {
  await browser.close();
}
