// Journeys of those who ask the archiver to compute: what changed since the last good fill, and when it was like this.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { paste } from "./chromium.ts";

/** A page of its own for a journey, with what its scripts did wrong. */
export interface Walk {
  page: Page;
  /** What is pressed, clicked or opened; names that are typed into a field that has the focus belong to it. */
  act(what: string, how: () => Promise<unknown>): Promise<void>;
  actions: string[];
}

async function saved(page: Page, press: () => Promise<unknown>): Promise<string> {
  const waiting = page.waitForEvent("download");
  await press();
  return readFile((await (await waiting).path())!, "utf8");
}

/** J8. A list now against the last good fill: what changed comes first, and the file is the archiver's own. */
export async function snapshotJourney(base: string, { page, act, actions }: Walk): Promise<void> {
  const { names, good, changed } = JSON.parse(await readFile(process.env.PVARK_SNAPSHOT!, "utf8")) as {
    names: string[];
    good: string;
    changed: string[];
  };
  await act("open Snapshot", () => page.goto(`${base}?part=snapshot`));
  await page.getByText("Name PVs and a time A").waitFor();
  await act("paste the list", () => paste(page, "#snapshot .pv-list", names.join("\n")));
  await page.locator("#snapshot .told").getByText(`${names.length} PVs`).waitFor();
  await page.getByLabel("B, to compare with").fill(good);
  const diffed = page.waitForRequest((request) => request.url().includes("/api/v1/diff?"));
  await act("take", () => page.keyboard.press("Enter"));
  await diffed;
  const told = `${names.length} PVs: ${changed.length} changed, ${names.length - changed.length} did not.`;
  await page.locator("#snapshot .told").getByText(told).waitFor();
  const rows = await page
    .locator("#snapshot tbody tr[data-pv]")
    .evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset.pv!));
  assert.deepEqual(rows.slice(0, changed.length), changed, "the largest change first");
  const asking = page.waitForRequest((request) => request.url().includes("/api/v1/at?"));
  let file = "";
  await act("save CSV A", async () => {
    file = await saved(page, () => page.locator('[data-save="snapshot"]').click());
  });
  const { searchParams } = new URL((await asking).url());
  const url = `${base}api/v1/at?time=${searchParams.get("time")}&format=csv`;
  const answer = await page.request.post(url, { data: names, headers: { "X-Pvark": "1" } });
  assert.equal(file, await answer.text(), "the file is what /api/v1/at says");
  assert.equal(file.trim().split("\n").length, names.length + 1);
  assert.ok(actions.length <= 4, actions.join(", "));
}

/** J9. When was A > 3 while B = 1, over five years: each time as brute force finds it, and the plot of one. */
export async function whenJourney(base: string, { page, act }: Walk): Promise<void> {
  const { from, to, found } = JSON.parse(await readFile(process.env.PVARK_WHEN!, "utf8")) as {
    from: string;
    to: string;
    found: [string, string][];
  };
  await act("open Find when", () => page.goto(`${base}?part=when&from=${from}&to=${to}&zone=utc`));
  await page.getByLabel("PV 1", { exact: true }).fill("J9:A");
  await page.getByLabel("With what PV 1 is compared").fill("3");
  await act("another PV", () => page.getByRole("button", { name: "Another PV" }).click());
  await page.getByLabel("PV 2", { exact: true }).fill("J9:B");
  await page.getByLabel("How PV 2 is compared").selectOption("is");
  await page.getByLabel("With what PV 2 is compared").fill("1");
  await act("find", () => page.keyboard.press("Enter"));
  const said = page.locator("#when .told");
  await said.getByText("samples read").and(page.locator(":not(:has-text('searching'))")).waitFor();
  await said.getByText(`${found.length.toLocaleString("en")} times`).waitFor();
  console.log(`said: ${await said.textContent()}`);
  const file = await saved(page, () => page.getByRole("button", { name: "CSV" }).click());
  const rows = file.trim().split("\n").slice(1);
  assert.deepEqual(
    rows.map((row) => row.split(",").slice(0, 2)),
    found,
    "as brute force finds them",
  );
  const newest = found.at(-1)!;
  await act("open the newest", () => page.locator("#when tbody th a").first().click());
  await page.locator('#legend [data-pv="J9:B"]').waitFor();
  const cursors = new URL(page.url()).searchParams;
  assert.equal(Date.parse(cursors.get("at")!), Date.parse(newest[0]));
  assert.equal(Date.parse(cursors.get("b")!), Date.parse(newest[1]));
}
