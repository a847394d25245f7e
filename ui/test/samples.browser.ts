// The table of samples below the plot in headless Chromium: it comes by pages, says whether it is whole, has gaps among its rows, and is read by keys.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page, server } from "./opened.ts";
import { SIZES, settledOverlaps } from "./overlaps.ts";

openForEach(20_000);

const HOUR = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const SHORT = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:01:00Z&zone=utc";
const told = () => page.locator("#analysis .told");
const grid = () => page.locator(".samples-grid");
const rows = () => grid().locator("[data-row]");
const active = () => grid().locator(".is-active");
const asked = () => server.requests.filter((path) => /\/samples\?.*limit=500$/.test(path));

async function open(query: string): Promise<void> {
  await page.goto(`${base}?${query}`);
  await page.locator("#legend [data-pv]").first().waitFor();
}

/** The texts of the cells of a row, by their columns. */
async function cells(row: number): Promise<Record<string, string>> {
  return grid()
    .locator(`[data-row="${row}"]`)
    .evaluate((row) =>
      Object.fromEntries([...row.children].map((cell) => [cell.classList[0]!, cell.textContent!])),
    );
}

test("a short range is whole, its samples in the order of time, with units, severity and status", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&${SHORT}`);
  await page.locator("#plot").focus();
  await page.keyboard.press("w");
  await page.locator('#drawer-tabs [data-tab="samples"]').click();
  await told()
    .getByText(/^[\d,]+ samples: all of the range$/)
    .waitFor();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("drawer") === "samples");
  const count = Number(/^([\d,]+)/.exec((await told().textContent())!)![1]!.replace(",", ""));
  assert.equal(await grid().getAttribute("aria-rowcount"), String(count + 1));
  // Units may come later than the samples.
  await grid().locator('[data-row="0"] .value').getByText("degC").waitFor();
  const first = await cells(0);
  assert.match(first.time!, /^10:00:0\d\.\d{3}$/);
  assert.match(first.value!, /^2[234]\.\d+ degC$/);
  const texts = await Promise.all([0, 1, 2, 3].map(cells));
  assert.deepEqual(
    texts.map(({ time }) => time),
    texts.map(({ time }) => time).sort(),
  );
  assert.deepEqual([...new Set(texts.map(({ pv }) => pv))].sort(), ["LAB:TEMP1", "LAB:TEMP2"]);
  const alarmed = grid().locator('[data-row]:has(.severity[data-severity="1"])').first();
  assert.equal(await alarmed.locator(".severity").textContent(), "MINOR");
  assert.match((await alarmed.locator(".status").textContent())!, /^HIGH \(4\)$/);
  // One of them alone.
  await page.getByLabel("Of", { exact: true }).selectOption("LAB:TEMP2");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("of") === "LAB:TEMP2");
  await told()
    .getByText(`${count / 2} samples: all of the range`)
    .waitFor();
  assert.equal(await grid().locator(".pv").first().isVisible(), false);
});

test("a long range comes by pages as one scrolls, says that there are more, and only what is in sight is drawn", async () => {
  await open(`pv=LAB:TEMP1&drawer=samples&${HOUR}`);
  await told()
    .getByText(/^The first [\d,]+ samples, up to 10:\d\d:\d\d\. There are more/)
    .waitFor();
  const pages = asked().length;
  assert.ok(pages <= 2, `${pages} pages for what is in sight`);
  assert.ok((await rows().count()) < 40, "rows out of sight are not drawn");
  await grid().focus();
  const times: string[] = [];
  for (let tries = 0; !(await told().textContent())!.includes("all of the range"); tries++) {
    assert.ok(tries < 60, "the range does not come to an end");
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.querySelector(".drawer-panel")!.ariaBusy === "false");
    times.push((await active().locator(".time").textContent())!);
  }
  assert.deepEqual(times, [...times].sort(), "each page goes on where the one before ended");
  await told().getByText("1,710 samples: all of the range").waitFor();
  assert.ok(asked().length > pages, "further pages were asked for");
  // No sample is there twice, and none is left out: each page begins with the last stamp of the one before.
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await page.locator("#analysis .pointed").getByText("1,711 rows are copied.").waitFor();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n").slice(1);
  const stamps = lines.map((line) => line.slice(0, line.indexOf(",")));
  assert.equal(new Set(stamps).size, 1711, "1,710 samples and a gap, each at its own time");
  assert.deepEqual(stamps, [...stamps].sort());
});

test("a gap is a row where it begins, with its end and its cause", async () => {
  await open(`pv=LAB:TEMP1&drawer=samples&from=2026-11-20T10:44:30Z&to=2026-11-20T10:49:00Z&zone=utc`);
  const gap = grid().locator(".is-gap");
  await told().getByText("all of the range").waitFor();
  await grid().evaluate((grid) => (grid.scrollTop = 10 * 24));
  await gap.first().waitFor();
  assert.equal(await gap.count(), 1);
  assert.equal(await gap.locator(".time").textContent(), "10:45:00.000");
  assert.match((await gap.locator(".gap").textContent())!, /^not recorded until 10:48:00, for 3 min: /);
  const index = Number(await gap.getAttribute("data-row"));
  assert.ok((await cells(index - 1)).time! < "10:45:00.000");
  assert.ok((await cells(index + 1)).time! >= "10:48:00");
});

test("arrows go from row to row, Enter leads the plot there, and rows are copied as CSV", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(`pv=LAB:TEMP1&pv=SR:MODE&drawer=samples&${SHORT}`);
  await told().getByText("all of the range").waitFor();
  await grid().focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
  assert.equal(await active().getAttribute("data-row"), "3");
  assert.equal(await grid().getAttribute("aria-activedescendant"), "sample-3");
  const { time } = await cells(3);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  assert.equal(new URL(page.url()).searchParams.get("at")!.slice(11, 19), time!.slice(0, 8));
  await grid().locator(".is-at").waitFor();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.keyboard.press("Control+c");
  await page.locator("#analysis .pointed").getByText("The row is copied.").waitFor();
  assert.equal((await copied()).split("\n").length, 3);
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await page.locator("#analysis .pointed").getByText("rows are copied.").waitFor();
  const lines = (await copied()).trim().split("\n");
  assert.equal(lines[0], "time,pv,value,severity,status,gap_until,gap_cause");
  assert.equal(String(lines.length), await grid().getAttribute("aria-rowcount"));
  assert.match(lines[1]!, /^2026-11-20T10:00:[\d.]+Z,[A-Z:1]+,[\d.]+,[0-3],\d+,,$/);
  const csv = await page.locator("#analysis").getByRole("link", { name: "CSV" }).getAttribute("href");
  assert.match(csv!, /^api\/v1\/samples\?pv=LAB%3ATEMP1&pv=SR%3AMODE&from=.*&format=csv$/);
});

test("a live table stays as it was until it is asked for anew", async () => {
  await open("pv=LAB:TEMP1&live=60&drawer=samples");
  await told().getByText("; as of ").waitFor();
  const before = asked().length;
  const text = await told().textContent();
  await page.waitForTimeout(3000);
  assert.equal(asked().length, before);
  assert.equal(await told().textContent(), text);
  await page.locator("#analysis").getByRole("button", { name: "Ask again" }).click();
  await page.waitForFunction((text) => document.querySelector("#analysis .told")!.textContent !== text, text);
  assert.ok(asked().length > before);
});

test("where there are no samples, no PV, or no archiver, that is said and what to do", async () => {
  await open(
    `pv==LAB:TEMP1 + 1&drawer=samples&${SHORT}`.replace("==LAB:TEMP1 + 1", "=%3D%20LAB:TEMP1%20%2B%201"),
  );
  const empty = page.locator("#analysis .drawer-empty");
  await empty.getByText("No row of the plot has samples of its own.").waitFor();
  await open("pv=LAB:TEMP1&drawer=samples&from=2025-11-20T10:00:00Z&to=2025-11-20T11:00:00Z&zone=utc");
  await empty.getByText("Nothing was recorded from 2025-11-20 10:00:00").waitFor();
  await open(`pv=LAB:TEMP1&drawer=histogram&${SHORT}`);
  await told().getByText("known for").waitFor();
  server.down = true;
  await page.locator('#drawer-tabs [data-tab="samples"]').click();
  await empty.getByText("the archiver does not answer").waitFor();
  server.down = false;
  await told().getByText("all of the range").waitFor();
});

test("where the next page does not come the rows stay, that is said, and they go on by themselves", async () => {
  await open(`pv=LAB:TEMP1&drawer=samples&${HOUR}`);
  await told().getByText("There are more").waitFor();
  await page.locator('.drawer-panel[aria-busy="false"]').waitFor();
  server.down = true;
  const before = asked().length;
  await grid().focus();
  await page.keyboard.press("End");
  await told().getByText("The archiver does not answer.").waitFor();
  assert.ok((await rows().count()) > 3, "the rows stay");
  assert.ok(await page.locator("#analysis").getByRole("button", { name: "Ask again" }).isVisible());
  await page.waitForTimeout(1500);
  // A browser asks once more by each line that it had open, which are six at most.
  assert.ok(
    asked().length - before <= 7,
    `nobody is asked over and over, but ${asked().length - before} times`,
  );
  server.down = false;
  await told().getByText("The first 999 samples, ").waitFor();
  await told().getByText("does not answer").waitFor({ state: "detached" });
});

test("at every width nothing lies over anything else, and the table has rows", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&pv=SR:MODE&drawer=samples&${SHORT}`);
  await told().getByText("all of the range").waitFor();
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    const found = await settledOverlaps(page);
    assert.deepEqual(found.over, [], `at ${width}: boxes that lie over each other`);
    assert.deepEqual(found.beyond, [], `at ${width}: what reaches beyond the window`);
    assert.ok((await rows().count()) >= 3, `rows at ${width}`);
  }
});
