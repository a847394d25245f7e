// What mouse and fingers do on the plotting area, in headless Chromium, as the address says it afterwards.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { loaded } from "./loaded.ts";
import { base, browser, openForEach, page } from "./opened.ts";

openForEach(15_000);

const VIEW = "pv=LAB:TEMP1&from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";
const LENGTH = 1200;

async function open(on: Page): Promise<{ x: number; y: number; width: number; height: number }> {
  await on.goto(`${base}?${VIEW}`);
  await loaded(on);
  return (await on.locator("#plot .over").boundingBox())!;
}

/** Beginning and length of what is shown, in seconds, once the address says another view. */
async function shown(on: Page, since = VIEW): Promise<{ from: number; length: number }> {
  await on.waitForURL((url) => !url.search.includes(since));
  // The address is written where a drag begins, and again where it rests.
  for (let before = ""; before !== on.url(); await on.waitForTimeout(600)) before = on.url();
  const { searchParams } = new URL(on.url());
  const [from, to] = ["from", "to"].map((end) => Date.parse(searchParams.get(end)!) / 1000);
  return { from: from! - Date.parse("2026-11-20T10:00:00Z") / 1000, length: to! - from! };
}

const near = (is: number, wanted: number, by: number) =>
  assert.ok(Math.abs(is - wanted) <= by, `${is} and not ${wanted}`);

test("with Alt a drag chooses the height of the axis, and a double click goes back", async () => {
  const box = await open(page);
  const drag = async (to: number) => {
    await page.keyboard.down("Alt");
    await page.mouse.move(box.x + box.width / 2, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + to, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Alt");
  };
  await drag(200);
  await page.waitForURL(/set=fix:/);
  const [, low, high] = /fix:([\d.]+)\.\.([\d.]+)/.exec(decodeURIComponent(page.url()))!;
  assert.ok(Number(low) < Number(high) && Number(high) - Number(low) < 2, `${low} to ${high}`);
  assert.match(page.url(), /from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z/, "the range of time stays");
  // Clicks before this one were part of the drag.
  await page.waitForTimeout(800);
  await page.mouse.dblclick(box.x + box.width / 3, box.y + 60);
  await page.waitForURL((url) => !url.search.includes("fix:"));
});

test("with Shift a drag pans, and the wheel zooms about the pointer", async () => {
  const box = await open(page);
  const middle = [box.x + box.width / 2, box.y + box.height / 2] as const;
  await page.keyboard.down("Shift");
  await page.mouse.move(...middle);
  await page.mouse.down();
  await page.mouse.move(middle[0] - box.width / 4, middle[1], { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const panned = await shown(page);
  near(panned.length, LENGTH, 0.01);
  near(panned.from, LENGTH / 4, 10);
  await open(page);
  await page.mouse.move(box.x + box.width * 0.25, middle[1]);
  await page.mouse.wheel(0, -100);
  const zoomed = await shown(page);
  near(zoomed.length, 0.8 * LENGTH, 1);
  near(zoomed.from, 0.25 * LENGTH * 0.2, 3);
});

// Chromium has left touches without an answer, and nothing else ends the wait for one.
const A_MINUTE = { timeout: 60_000 };

test("one finger pans, two pinch, a tap sets the cursor, and two taps go back", A_MINUTE, async () => {
  const context = await browser.newContext({
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  const phone = await context.newPage();
  phone.setDefaultTimeout(15_000);
  const faults: string[] = [];
  phone.on("pageerror", (error) => faults.push(error.message));
  const box = await open(phone);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const hand = await context.newCDPSession(phone);
  const fingers = (type: "touchStart" | "touchMove" | "touchEnd", ...at: number[]) =>
    hand.send("Input.dispatchTouchEvent", { type, touchPoints: at.map((x, id) => ({ x, y, id })) });
  // To the right: earlier.
  await fingers("touchStart", x);
  for (let i = 1; i <= 6; i++) await fingers("touchMove", x + (i * box.width) / 24);
  await fingers("touchEnd");
  const panned = await shown(phone);
  near(panned.length, LENGTH, 0.01);
  near(panned.from, -LENGTH / 4, 25);
  // Two that part to twice their distance show half as much, about what lies between them.
  await open(phone);
  await fingers("touchStart", x - 40);
  await fingers("touchStart", x - 40, x + 40);
  for (let i = 1; i <= 4; i++) await fingers("touchMove", x - 40 - 10 * i, x + 40 + 10 * i);
  await fingers("touchEnd");
  const pinched = await shown(phone);
  near(pinched.length, LENGTH / 2, 20);
  near(pinched.from + pinched.length / 2, LENGTH / 2, 25);
  assert.equal(await phone.evaluate(() => visualViewport!.scale), 1, "the page itself does not zoom");
  await phone.touchscreen.tap(x, y);
  await phone.waitForURL(/at=2026-11-20T10:/);
  // A tap that follows much later is another.
  await phone.waitForTimeout(500);
  await phone.touchscreen.tap(x, y);
  await phone.touchscreen.tap(x, y);
  await phone.waitForURL((url) => url.search.includes(VIEW));
  // It goes with the browser: closed by itself behind touches, it has hung.
  assert.deepEqual(faults, []);
});
