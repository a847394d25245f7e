// Files of the whole view in headless Chromium: what one comes to is told before, how far it is, then it is saved; others are kept and removed.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { base, openForEach, page, server } from "./opened.ts";
import { somebody } from "./server.ts";

openForEach(20_000);

const VIEW = "pv=SR:CURRENT&pv=LAB:TEMP1&from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const plan = () => page.locator(".export-plan");
const file = () => page.locator(".export-files li").first();
const go = () => page.locator(".export button.primary");

async function open(view = VIEW): Promise<void> {
  await page.goto(`${base}?${view}`);
  await page.locator('#legend [data-pv="SR:CURRENT"]').waitFor();
  if (view.includes("NO:SUCH")) await page.locator('#legend .is-unknown[data-pv="NO:SUCH"]').waitFor();
  await page.keyboard.press("x");
  await page.locator("#share[open]").waitFor();
}

/** Tab leads there, in order, as it does for who has no mouse. */
async function reach(selector: string): Promise<void> {
  for (let tabs = 0; tabs < 60; tabs++) {
    if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${selector}`);
}

test("by keyboard alone a file is chosen, its size told before, made and saved", async () => {
  await open();
  await plan().getByText("About 72,000 samples of 2 PVs, about 1.15 MB").waitFor();
  await plan().getByText("Exports may still take 19.0 GB").waitFor();
  for (const choice of ["xlsx", "aligned"]) {
    await reach(`[data-choice="${choice}"]`);
    await page.keyboard.press("Enter");
    await page.locator(`[data-choice="${choice}"][aria-pressed="true"]`).waitFor();
  }
  await reach(".of-aligned input");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("1");
  await plan().getByText("3,600 rows of 2 PVs, about 57.6 kB").waitFor();
  const waiting = page.waitForEvent("download");
  await page.keyboard.press("Enter");
  const download = await waiting;
  assert.equal(download.suggestedFilename(), "pvark-20261120T100000Z-20261120T110000Z-aligned.xlsx");
  const content = await readFile((await download.path())!, "utf8");
  assert.equal(content, "aligned SR:CURRENT LAB:TEMP1 2026-11-20T10:00:00Z 2026-11-20T11:00:00Z\n");
  await file().getByText("57.6 kB; 2 gaps in the range; kept for").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#share[open]").waitFor({ state: "detached" });
});

test("how far a file is stands there, whoever opens the dialog again; it is cancelled and removed", async () => {
  server.exports.seconds = 60;
  await open();
  await page.getByRole("button", { name: "Download CSV" }).click();
  await file().locator("progress").waitFor();
  await file().getByText("0 of 2 PVs, 1.15 MB so far").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("x");
  await file().locator("progress").waitFor();
  server.exports.seconds = 0.2;
  await page.getByRole("button", { name: /^Cancel pvark-/ }).click();
  await file().waitFor({ state: "detached" });
  assert.match(
    await page.evaluate(() => document.activeElement!.textContent!),
    /^Download/,
    "the focus is kept",
  );
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  await waiting;
  await page.getByRole("button", { name: /^Remove pvark-/ }).click();
  await file().waitFor({ state: "detached" });
});

test("two presses order one file", async () => {
  server.exports.seconds = 60;
  await open();
  await go().dblclick();
  await file().locator("progress").waitFor();
  assert.equal(await page.locator(".export-files li").count(), 1);
});

test("what cannot be made says why, and what breaks off", async () => {
  await open();
  await page.locator('[data-choice="aligned"]').click();
  await page.locator(".of-aligned input").fill("0");
  await plan().getByText("Rows need a time between them").waitFor();
  assert.ok(await go().isDisabled());
  server.exports.refused = {
    code: "too_large",
    message: "it would have 400 GB",
    hint: "ask for a shorter range",
  };
  await page.locator('[data-choice="raw"]').click();
  await plan().getByText("it would have 400 GB (ask for a shorter range)").waitFor();
  assert.ok(await go().isDisabled());
  server.exports.refused = null;
  server.exports.breaks = true;
  await page.locator('[data-choice="mat"]').click();
  await page.getByRole("button", { name: "Download MAT" }).click();
  await file().getByText("the disk for exports is full (remove a file below)").waitFor();
});

test("while the archiver is gone that is told, and the file is followed again when it is back", async () => {
  server.exports.seconds = 4;
  await open();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  await file().locator("progress").waitFor();
  server.down = true;
  await page.locator(".export .said").getByText("the archiver does not answer").waitFor();
  server.down = false;
  await waiting;
  await page.locator(".export .said").waitFor({ state: "hidden" });
});

test("rows that no file has are counted, and whose a file is among several is said", async () => {
  server.exports.owner = "ldap:bo";
  server.exports.seconds = 60;
  await open(`${VIEW}&hidden=LAB:TEMP2&pv=NO:SUCH`);
  await page.getByText("2 rows of the view are in no file").waitFor();
  await page.locator("#share").getByText("Data of the whole view: 2 PVs, 1 h").waitFor();
  await page.getByRole("button", { name: "Download CSV" }).click();
  await file().locator("progress").waitFor();
  server.exports.owner = "anonymous";
  await page.getByRole("button", { name: "Download CSV" }).click();
  await page.locator(".export-files li").nth(1).getByText("ordered by ldap:bo").waitFor();
  assert.equal(await page.locator(".export-files li").first().getByText("ordered by").count(), 0);
});

test("an archiver that makes no files says so in place of the choice, and who may only read exports too", async () => {
  server.exports.isNowhere = true;
  await open();
  await page.locator(".export-files").getByText("this archiver makes no exports").waitFor();
  assert.equal(await page.locator(".export").isVisible(), false);
  server.exports.isNowhere = false;
  server.me = somebody("ldap", "ana", "read", { oidc: null, password: true });
  await open();
  await plan().getByText("About 72,000 samples").waitFor();
});
