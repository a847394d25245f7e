// Why? in headless Chromium: from one PV to the next, and out of the page as a text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, loaded, openForEach, page, server, withoutClipboard } from "./opened.ts";

const SPAN = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";

openForEach(15_000);

const title = () => page.locator("#details-title").innerText();

async function openWhy(pvs: string[]): Promise<void> {
  const formula = encodeURIComponent("= LAB:TEMP1 - LAB:TEMP2");
  const rows = pvs.map((pv) => `pv=${pv === "formula" ? formula : pv}`).join("&");
  await page.goto(`${base}?${rows}&${SPAN}`);
  await loaded();
  await page.locator(`#legend [data-pv="${pvs[0]}"] .why`).click();
  await page.locator("#why li").first().waitFor();
}

test("by keyboard Why? goes on with the next PV of which something is missing, and comes round", async () => {
  // Nothing is missing of what is there for the first time behind the gaps.
  server.pvs.find(({ name }) => name === "LAB:TEMP1")!.gaps = [];
  await openWhy(["SR:CURRENT", "formula", "LAB:TEMP1", "SR:LIFETIME"]);
  const next = page.getByRole("button", { name: "Next PV" });
  assert.equal(await next.getAttribute("title"), "Go on with SR:LIFETIME");
  await next.focus();
  await page.keyboard.press("Enter");
  await page.locator("#why").getByText("Not complete: 3 min of 1 h is missing.").waitFor();
  assert.equal(await title(), "SR:LIFETIME");
  assert.ok(await next.evaluate((button) => button === document.activeElement), "it keeps the focus");
  await page.keyboard.press("Enter");
  await page.locator("#why").getByText("Not complete: 13 min of 1 h is missing.").waitFor();
  assert.equal(await title(), "SR:CURRENT");
});

test("an answer about a PV that somebody has gone on from is not told of the next", async () => {
  await openWhy(["SR:CURRENT", "SR:LIFETIME"]);
  let free = () => undefined as void;
  const held = new Promise<void>((resolve) => (free = resolve));
  await page.route("**/api/v1/pvs/SR%3ALIFETIME", async (route) => {
    await held;
    await route.continue();
  });
  const next = page.getByRole("button", { name: "Next PV" });
  await next.click();
  await page.locator("#details-title").getByText("SR:LIFETIME").waitFor();
  await next.click();
  await page.locator("#why").getByText("Not complete: 13 min of 1 h is missing.").waitFor();
  const answered = page.waitForResponse(/pvs\/SR%3ALIFETIME$/);
  free();
  await answered;
  // What follows an answer has been done by then.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  assert.equal(await title(), "SR:CURRENT");
  await page.locator("#why").getByText("Not complete: 13 min of 1 h is missing.").waitFor();
});

test("of a single PV there is no next", async () => {
  await openWhy(["SR:CURRENT"]);
  assert.equal(await page.getByRole("button", { name: "Next PV" }).count(), 0);
});

test("what Why? tells is copied as a text, with the zone of its times and a link, without a clipboard, too", async () => {
  const read = await withoutClipboard();
  await openWhy(["SR:CURRENT", "SR:LIFETIME"]);
  await page.getByRole("button", { name: "Copy as text" }).click();
  await page.locator("#why").getByText("Copied.").waitFor();
  const lines = (await read()).split("\n");
  assert.deepEqual(
    lines.filter((line) => !line.startsWith("Now:")),
    [
      "SR:CURRENT, times in UTC",
      "Why? 2026-11-20 10:00:00 – 11:00:00",
      "Not complete: 13 min of 1 h is missing.",
      "Not everything was recorded.",
      "What became of each update: stored 28,200, not recorded 13 min",
      "",
      "By cause",
      "- 2026-11-20 10:20:00 – 10:30:00 (10 min): The connection to the IOC was lost.",
      "- 2026-11-20 10:45:00 – 10:48:00 (3 min): The archiver was not running.",
      "",
      "How sure",
      "Received 1,234 = stored 1,234. No pulse ids or counter prove more.",
      "",
      "What to do",
      "Look at its IOC and the network between: pvark reconnects by itself.",
      "Nobody recorded while the archiver was not running; see why it stopped in its log.",
      "",
      `${base}?pv=SR%3ACURRENT&from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z`,
      "",
    ],
  );
});
