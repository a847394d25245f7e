// Journeys of those who ask the archiver to compute: what changed since the last good fill, when it was like this, and files of many PVs.

import assert from "node:assert/strict";
import { copyFile, readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { paste } from "./chromium.ts";

/** A page of its own for a journey, with what its scripts did wrong. */
export interface Walk {
  page: Page;
  /** What is pressed, clicked or opened; names that are typed into a field that has the focus belong to it. */
  act(what: string, how: () => Promise<unknown>): Promise<void>;
  actions: string[];
}

/** Points at what comes first in the chart of the drawer, once no other answer is to come. */
async function pointAtFirst(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('#analysis [aria-busy="true"]') === null);
  await page.locator("#analysis canvas").focus();
  await page.keyboard.press("ArrowRight");
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

/** Presses what Tab leads to, or what a mouse does. */
async function press(page: Page, selector: string, byKeys: boolean): Promise<void> {
  if (!byKeys) return page.locator(selector).click();
  for (let tabs = 0; tabs < 80; tabs++) {
    if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector))
      return page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${selector}`);
}

/** J10. Files of twenty PVs over a month: rows on the same times for a spreadsheet, and every sample; what they hold is looked at elsewhere. */
export async function exportJourney(base: string, walk: Walk, byKeys: boolean): Promise<void> {
  const { page, act, actions } = walk;
  const { query, folder } = JSON.parse(await readFile(process.env.PVARK_EXPORT!, "utf8")) as {
    query: string;
    folder: string;
  };
  const kind = byKeys ? "keys" : "mouse";
  await page.goto(base + query);
  await page.locator("#legend [data-pv]").nth(19).waitFor();
  const save = async (name: string, format: string, rows: string) => {
    const before = actions.length;
    await act("x: share and export", () => page.keyboard.press("x"));
    await act(format, () => press(page, `[data-choice="${format}"]`, byKeys));
    await act(rows, () => press(page, `[data-choice="${rows}"]`, byKeys));
    const told = page.locator(".export-plan b").getByText("of 20 PVs, about");
    await told.getByText(rows === "aligned" ? "rows" : "samples").waitFor();
    console.log(`said before: ${await told.textContent()}`);
    const waiting = page.waitForEvent("download");
    await act("Download", () => press(page, ".export button.primary", byKeys));
    const download = await waiting;
    assert.match(download.suggestedFilename(), rows === "raw" ? /-raw\./ : /-aligned\./);
    await copyFile((await download.path())!, `${folder}/${kind}-${name}`);
    assert.ok(actions.length - before <= 4, actions.join(", "));
    await page.keyboard.press("Escape");
  };
  await save("rows.xlsx", "xlsx", "aligned");
  await save("all.parquet.zip", "parquet", "raw");
  if (byKeys) return;
  await save("all.xlsx", "xlsx", "raw");
  await save("rows.parquet", "parquet", "aligned");
}

/** What belongs together at the trip, for how long which was how large, and the frequencies of one: as the archiver says them by its API. */
export async function relationsJourney(
  base: string,
  link: string,
  { page, act, actions }: Walk,
): Promise<void> {
  const query = new URLSearchParams(link.slice(1));
  const [x, y] = ["`J1:DCCT`", "`J1:RF2:FWD`"];
  const ask = async (path: string, asked: Record<string, string>) => {
    const range = { from: query.get("from")!, to: query.get("to")! };
    const answer = await page.request.get(
      `${base}api/v1/${path}?${new URLSearchParams({ ...range, ...asked })}`,
    );
    return (await answer.json()) as Record<string, unknown>;
  };
  const said = page.locator("#analysis .told");
  const pointed = page.locator("#analysis .pointed");
  await act("open the link", () => page.goto(base + link));
  await page.locator('#legend [data-pv="J1:RF2:FWD"]').waitFor();
  await act("w: the drawer", () => page.keyboard.press("w"));
  await said.getByText("pairs").waitFor();
  const by = /at each sample/.test((await said.textContent())!) ? "last" : "mean";
  const step = /means over (\d+) s/.exec((await said.textContent())!)?.[1];
  const pairs = (await ask("xy", { x, y, by, ...(step ? { step } : {}) })) as {
    count: number;
    correlation: number;
    pairs: { x: number; y: number }[];
  };
  console.log(`said: ${await said.textContent()}`);
  await said.getByText(`${pairs.count.toLocaleString("en")} pairs`).waitFor();
  await said.getByText(`correlation ${pairs.correlation.toFixed(3)}`).waitFor();
  await pointAtFirst(page);
  const short = (value: number) => String(Number(value.toPrecision(5)));
  await pointed.getByText(`X ${short(pairs.pairs[0]!.x)} mA, Y ${short(pairs.pairs[0]!.y)} kW`).waitFor();
  await act("Histogram", () => page.locator('#drawer-tabs [data-tab="histogram"]').click());
  await said.getByText("known for").waitFor();
  const heights = (await ask("histogram", { expression: x })) as { bins: { low: number; seconds: number }[] };
  await pointAtFirst(page);
  await pointed.getByText(short(heights.bins[0]!.low).replace("-", "−")).waitFor();
  console.log(`said: ${await said.textContent()}; ${await pointed.textContent()}`);
  await act("Spectrum", () => page.locator('#drawer-tabs [data-tab="fft"]').click());
  // The moment of the trip lies between the seconds: what would do is a press away.
  await page.locator("#analysis").getByText("The samples are not even").waitFor();
  const even = page.getByRole("button", { name: /^A point every/ });
  const told = await even.textContent();
  await act(told!, () => even.click());
  await said.getByText("strongest").waitFor();
  const { searchParams } = new URL(page.url());
  const spectrum = (await ask("fft", {
    ...{ expression: x, step: searchParams.get("step")!, resample: searchParams.get("fill")! },
  })) as { points: number; spectrum: { frequency: number; amplitude: number }[] };
  await said.getByText(`${spectrum.points.toLocaleString("en")} points`).waitFor();
  await pointAtFirst(page);
  await pointed.getByText(`${short(spectrum.spectrum[1]!.amplitude)} mA`).waitFor();
  console.log(`said: ${await said.textContent()}; ${await pointed.textContent()}`);
  assert.ok(actions.length <= 5, actions.join(", "));
}
