// Another time laid over a plot by a moment: typed, or one that comes again and that somebody has given a name.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page } from "./opened.ts";
import { loaded } from "./loaded.ts";

openForEach(15_000);

const RANGE = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";
const rows = () => new URL(page.url()).searchParams.getAll("pv");

async function openOver(name: string): Promise<void> {
  await page.locator(`#legend [data-pv="${name}"] .name`).focus();
  await page.keyboard.press("M");
  await page.locator("#settings[open]").waitFor();
}

test("a moment that is typed lies where the range begins, or at cursor A; its samples keep their own times", async () => {
  await page.goto(`${base}?pv=LAB:TEMP1&${RANGE}&drawer=samples`);
  await loaded(page);
  const field = page.getByLabel("How much earlier, or which moment");
  await openOver("LAB:TEMP1");
  await field.fill("2026-11-20 11:00");
  await field.press("Enter");
  await page.getByText("Write a length as 3d").waitFor();
  await field.fill("2026-11-20 09:00");
  await field.press("Enter");
  const first = "LAB:TEMP1 @2026-11-20T09:00:00Z/2026-11-20T10:00:00Z";
  await page.waitForURL((url) => url.searchParams.getAll("pv").includes(first));
  await page.locator(`#legend [data-pv="${first}"]`).getByText("2026-11-20 09:00:00 UTC laid over").waitFor();
  await page.locator(".samples-grid").getByText("09:00:").first().waitFor();
  // At the cursor.
  await page.goto(`${base}?pv=LAB:TEMP1&${RANGE}&at=2026-11-20T10:10:00Z`);
  await loaded(page);
  await openOver("LAB:TEMP1");
  await field.fill("2026-11-20 08:30:15");
  await field.press("Enter");
  await page.waitForURL((url) =>
    / @\S+T08:30:15Z\/2026-11-20T10:10:00Z/.test(url.searchParams.getAll("pv").join("|")),
  );
});

test("the last time of a search that somebody has saved among the moments is laid at this one", async () => {
  const expression = "SR:MODE = 1";
  await page.goto(
    `${base}?part=when&q=${encodeURIComponent(expression)}&from=2026-11-20T09:00:00Z&to=2026-11-20T10:20:00Z&zone=utc`,
  );
  await page.locator("#when tbody tr").first().waitFor();
  await page.getByRole("button", { name: "named view" }).click();
  await page.locator(".view-save input").first().fill("moments/last mode 1");
  await page.locator(".view-save").getByRole("button", { name: "Save" }).click();
  await page.locator(".view-save").getByText("/v/").waitFor();
  const begins = await page
    .locator("#when tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => Date.parse((row as HTMLElement).dataset.from!) / 1000).sort((a, b) => b - a),
    );
  await page.goto(`${base}?pv=LAB:TEMP1&${RANGE}`);
  await loaded(page);
  await openOver("LAB:TEMP1");
  await page.getByRole("button", { name: "last mode 1" }).click();
  await page.waitForURL((url) => url.searchParams.getAll("pv").length === 2);
  const laid = / @(\S+)\/(\S+)$/
    .exec(rows()[1]!)!
    .slice(1)
    .map((text) => Date.parse(text) / 1000);
  const from = Date.parse("2026-11-20T10:00:00Z") / 1000;
  const expected = begins[0]! > from ? [begins[1], begins[0]] : [begins[0], from];
  assert.deepEqual(laid, expected);
});
