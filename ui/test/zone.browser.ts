// The site's zone beside UTC and the browser's, in headless Chromium: chosen, typed in, and the same for whoever gets the link elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { loaded } from "./loaded.ts";
import { base, browser, openForEach, page, server } from "./opened.ts";

openForEach(15_000);

const RANGE = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z";
const SITE = "America/New_York";

test("the site's zone is offered by its name, and a link in it says the same in any other", async () => {
  server.zone = SITE;
  await page.goto(`${base}?pv=LAB:TEMP1&${RANGE}`);
  await loaded(page);
  const zone = page.locator("#zone");
  await page.waitForFunction(() => document.querySelectorAll("#zone option").length === 3);
  assert.deepEqual((await zone.locator("option").allTextContents()).slice(1), ["UTC", "America/New York"]);
  await zone.selectOption(SITE);
  await page.waitForURL(/zone=America\/New_York/);
  assert.equal(await page.inputValue("#from"), "2026-11-20 05:00:00");
  // What is typed is read in it, a day from the first moment of one.
  await page.fill("#from", "2026-06-01");
  await page.fill("#to", "+1d");
  await page.keyboard.press("Enter");
  await page.waitForURL(/from=2026-06-01T04:00:00Z&to=2026-06-02T04:00:00Z/);
  // The site's archiver is not asked in Tokyo: the link says it.
  server.zone = null;
  const context = await browser.newContext({ timezoneId: "Asia/Tokyo" });
  const other = await context.newPage();
  await other.goto(page.url());
  await loaded(other);
  assert.equal(await other.inputValue("#from"), "2026-06-01 00:00:00");
  assert.equal(await other.inputValue("#to"), "2026-06-02 00:00:00");
  assert.equal(await other.inputValue("#zone"), SITE);
  assert.match(
    await other.locator("#from").evaluate((field) => (field as HTMLInputElement).value),
    /00:00:00$/,
  );
  await context.close();
});

test("u goes through the zones, and one that there is not is named", async () => {
  server.zone = SITE;
  await page.goto(`${base}?pv=LAB:TEMP1&${RANGE}&zone=Europe/Lund`);
  await loaded(page);
  assert.match(
    (await page.locator("#remarks").textContent())!,
    /zone=Europe\/Lund is left out.*knows no such zone/,
  );
  await page.locator("#plot").focus();
  for (const wanted of [/zone=utc/, /zone=America\/New_York/]) {
    await page.keyboard.press("u");
    await page.waitForURL(wanted);
  }
  await page.keyboard.press("u");
  await page.waitForURL((url) => !url.search.includes("zone="));
});
