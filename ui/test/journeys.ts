// What people come to the page for, done in the page of a real pvark, step by step as they would; each says how many actions it took.
//
//   PVARK_URL=http://127.0.0.1:17665/ JOURNEYS="trip trip-keys" [PVARK_SHOTS=folder] npm run journeys
//
// tests/system/test_journeys.py has the archive for them. What happens outside of the page is asked for by a line on standard output,
// `do: kill the IOC`, and answered by a line on standard input once it has happened.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import {
  bookmarksByKeys,
  costsByKeys,
  outlierByKeys,
  snapshotByKeys,
  wallByKeys,
  whenByKeys,
} from "./by_keys.ts";
import { paste, startChromium } from "./chromium.ts";
import { Keyboard } from "./keyboard.ts";
import { loaded } from "./loaded.ts";
import { nodesJourney } from "./nodes.ts";
import { overlaps } from "./overlaps.ts";
import { exportJourney, relationsJourney, snapshotJourney, whenJourney, type Walk } from "./questions.ts";

const base = process.env.PVARK_URL!;
const shots = process.env.PVARK_SHOTS;
assert.ok(base, "set PVARK_URL to the address of a pvark");

const DESK = { viewport: { width: 1400, height: 850 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has something done to the IOC or to the archiver, and waits until it is done. */
async function outside(what: string): Promise<void> {
  console.log(`do: ${what}`);
  assert.equal((await input.next()).value, "done", what);
}

type Journey = (walk: Walk, browser: Browser) => Promise<void>;

const cell = (page: Page, pv: string, name: string) =>
  page
    .locator(`#legend [data-pv="${pv}"] .${name}`)
    .evaluate((element) => (element.textContent ?? "").trim());

async function noOverlap(page: Page): Promise<void> {
  const { over, beyond } = await page.evaluate(overlaps);
  assert.deepEqual(over, [], "no text lies over another");
  assert.deepEqual(beyond, [], "nothing lies beyond the window");
}

async function shot(page: Page, name: string): Promise<void> {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

/** Where pixels of a trace at full strength are: parts of the plotting area's width, with the highest of each. */
function solid(page: Page, pv: string): Promise<{ part: number; top: number }[]> {
  return page.evaluate((pv) => {
    const canvas = document.querySelector<HTMLCanvasElement>("#plot canvas")!;
    const over = document.querySelector<HTMLElement>("#plot .over")!;
    const swatch = document.querySelector(`#legend [data-pv="${CSS.escape(pv)}"] .swatch`)!;
    const colour = getComputedStyle(swatch).getPropertyValue("--trace");
    const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const ratio = canvas.width / canvas.clientWidth;
    const [left, top] = [over.offsetLeft * ratio, (over.offsetTop + 24) * ratio];
    const [width, height] = [
      Math.round(over.clientWidth * ratio),
      Math.round((over.clientHeight - 24) * ratio),
    ];
    const { data } = canvas.getContext("2d")!.getImageData(left, top, width, height);
    const found: { part: number; top: number }[] = [];
    for (let x = 0; x < width; x++)
      for (let y = 0; y < height; y++) {
        const at = (y * width + x) * 4;
        if (data[at + 3]! < 180) continue;
        if (!wanted.every((value, k) => Math.abs(value - data[at + k]!) < 24)) continue;
        found.push({ part: (x + 0.5) / width, top: y / height });
        break;
      }
    return found;
  }, pv);
}

const at = (page: Page) => new URL(page.url()).searchParams.get("at");

/** J1. The trip, from a mail's link to its cause and the values at it. */
const LINK = process.env.PVARK_TRIP ?? "";
const FIRST_MAJOR = "J1:RF2:FWD";

async function seesTrip({ page, actions }: Walk): Promise<void> {
  await page.waitForFunction(() => document.querySelector("#moment")!.textContent!.includes("03:12:06.912"));
  assert.match(at(page) ?? "", /T03:12:06\.912Z$/);
  await page.waitForFunction(() =>
    /^0\.09/.test(document.querySelector('[data-pv="J1:RF2:FWD"] .value')!.textContent!),
  );
  assert.equal(await cell(page, FIRST_MAJOR, "severity"), "MAJOR");
  // The beam was still there. Each row has the mean of its bin until the exact value has come.
  await page.waitForFunction(() =>
    /^299\./.test(document.querySelector('[data-pv="J1:DCCT"] .value')!.textContent!),
  );
  assert.ok(actions.length <= 4, actions.join(", "));
  await noOverlap(page);
}

const trip: Journey = async (walk) => {
  const { page, act } = walk;
  await act("open the link", () => page.goto(base + LINK));
  await loaded(page);
  const line = page
    .locator("#events li button")
    .filter({ hasText: FIRST_MAJOR })
    .filter({ hasText: "MAJOR" });
  await act("the first major alarm", () => line.first().click());
  await seesTrip(walk);
  await shot(page, "trip");
};

const tripKeys: Journey = async (walk) => {
  const { page, act } = walk;
  await act("open the link", () => page.goto(base + LINK));
  await loaded(page);
  await page.locator("#events li button").filter({ hasText: "03:12:06.912" }).waitFor();
  await act("e: the next event", () => page.keyboard.press("e"));
  await seesTrip(walk);
};

const tripTouch: Journey = async (walk) => {
  const { page, act } = walk;
  await act("open the link", () => page.goto(base + LINK));
  await loaded(page);
  await act("Events", () => page.locator("#tab-events").tap());
  const line = page
    .locator("#events li button")
    .filter({ hasText: FIRST_MAJOR })
    .filter({ hasText: "MAJOR" });
  await act("the first major alarm", () => line.first().tap());
  await seesTrip(walk);
  await shot(page, "trip-phone");
};

/** J2. One value of 95 among some near 20, in a year at 0.1 Hz or in ten at 1 Hz. */
const OUTLIER = process.env.PVARK_OUTLIER ?? "";
const OUTLIER_PV = process.env.PVARK_OUTLIER_PV ?? "J2:YEAR";

/** Where the line or a bin reaches nearly to the top, at full strength. */
async function reaching(page: Page): Promise<number[]> {
  const high = (await solid(page, OUTLIER_PV)).filter(({ top }) => top < 0.15).map(({ part }) => part);
  assert.ok(high.length >= 1, "the outlier is seen");
  return high;
}

const outlier: Journey = async ({ page, act, actions }) => {
  await page.goto(`${base}?pv=${OUTLIER_PV}&zone=utc`);
  await loaded(page);
  await act("9: all", () => page.keyboard.press("9"));
  await page.locator("#made").filter({ hasText: "mean of" }).waitFor();
  await page.waitForTimeout(600);
  await loaded(page);
  await shot(page, "outlier-all");
  let high = await reaching(page);
  assert.ok(high.length <= 6, `${high.length} columns of a year reach the top at full strength`);
  const box = (await page.locator("#plot .over").boundingBox())!;
  let zooms = 0;
  // Where every sample is drawn, one holds for many pixels at last.
  while (high.length < 12 && zooms < 5) {
    const x = box.x + ((high[0]! + high.at(-1)!) / 2) * box.width;
    await act("drag about it", async () => {
      await page.mouse.move(Math.max(box.x, x - 8), box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(Math.min(box.x + box.width, x + 8), box.y + box.height / 2, { steps: 4 });
      await page.mouse.up();
    });
    await page.mouse.move(5, 5);
    zooms += 1;
    await page.waitForTimeout(400);
    await loaded(page);
    high = await reaching(page);
  }
  assert.equal(await page.locator("#made").innerText(), "every sample", `after ${zooms} zooms`);
  console.log(`${zooms} zooms`);
  const middle = high[Math.floor(high.length / 2)]!;
  await act("click at it", () => page.mouse.click(box.x + middle * box.width, box.y + box.height / 2));
  await page.waitForFunction(
    (pv) => /^95/.test(document.querySelector(`[data-pv="${pv}"] .value`)!.textContent!),
    OUTLIER_PV,
  );
  const time = await cell(page, OUTLIER_PV, "time");
  assert.match(OUTLIER, new RegExp(`${time}Z$`), "exact to the nanosecond");
  await shot(page, "outlier");
  assert.ok(actions.length <= 7, actions.join(", "));
};

/** J3. A day by its typed date; the link means the same to somebody elsewhere. */
async function typesDay(page: Page): Promise<void> {
  await page.keyboard.press("Control+a");
  await page.keyboard.type("2026-06-01");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("+1d");
}

function isDay(url: string): void {
  const { searchParams } = new URL(url);
  // The zone of the one who types is Paris', two hours ahead in June.
  assert.equal(searchParams.get("from"), "2026-05-31T22:00:00Z");
  assert.equal(searchParams.get("to"), "2026-06-01T22:00:00Z");
}

async function elsewhere(browser: Browser, url: string): Promise<void> {
  const context = await browser.newContext({ ...DESK, timezoneId: "America/New_York" });
  await usePage(context);
  const other = await context.newPage();
  await other.goto(url);
  await loaded(other);
  assert.equal(await other.inputValue("#from"), "2026-05-31 18:00:00");
  assert.equal(await other.inputValue("#to"), "2026-06-01 18:00:00");
  await context.close();
}

const day: Journey = async ({ page, act }, browser) => {
  await page.goto(`${base}?pv=J2:YEAR`);
  await loaded(page);
  await act("into the field", () => page.locator("#from").click());
  await act("type", () => typesDay(page));
  await act("Go", () => page.locator("#go").click());
  await page.waitForURL(/from=/);
  isDay(page.url());
  await loaded(page);
  await elsewhere(browser, page.url());
  for (const [from, to] of TYPED) {
    await page.fill("#from", from);
    await page.fill("#to", to);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#range-refusal")!.textContent === "");
  }
  await page.fill("#from", "2026-13-01");
  await page.keyboard.press("Enter");
  await page.getByText("has month 13").waitFor();
  assert.equal(await page.getAttribute("#from", "aria-invalid"), "true");
  await page.fill("#from", "2026-06-02");
  await page.fill("#to", "2026-06-01");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Swap them?" }).click();
};

/** A line each of the grammar of times. */
const TYPED: [string, string][] = [
  ["2026-06-01 08:30", "+1h"],
  ["2026-06-01T08:30:15.250Z", "2026-06-01 12:00+02:00"],
  ["8:00", "now"],
  ["yesterday", "today"],
  ["mon", "+1d"],
  ["-8h", "now"],
  ["-2w", "-1w"],
  ["-1mo", "now"],
  ["±10min", "2026-06-01 08:30"],
  ["1780000000.5", "+20min"],
  ["-1h", "2026-06-01"],
];

const dayKeys: Journey = async ({ page }, browser) => {
  await page.goto(`${base}?pv=J2:YEAR`);
  await loaded(page);
  for (let tabs = 0; tabs < 12; tabs++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement?.id)) === "from") break;
  }
  assert.equal(await page.evaluate(() => document.activeElement?.id), "from", "Tab leads there");
  await typesDay(page);
  await page.keyboard.press("Enter");
  await page.waitForURL(/from=/);
  isDay(page.url());
  await elsewhere(browser, page.url());
};

const dayTouch: Journey = async ({ page }, browser) => {
  await page.goto(`${base}?pv=J2:YEAR`);
  await loaded(page);
  await page.locator("#range-open").tap();
  await page.locator("#from").tap();
  await typesDay(page);
  await page.locator("#go").tap();
  await page.waitForURL(/from=/);
  isDay(page.url());
  await elsewhere(browser, page.url());
};

/** J4. Thousands of names with comments, some wrong, some known. */
const addMany: Journey = async ({ page, act }) => {
  const text = await readFile(process.env.PVARK_NAMES!, "utf8");
  await page.goto(`${base}manage?part=add`);
  await page.locator(".add-names textarea").waitFor();
  await act("paste", () => paste(page, ".add-names textarea", text));
  await page.locator(".figure b").getByText("4,977", { exact: true }).waitFor();
  const figures = await page.locator(".figure b").allInnerTexts();
  assert.deepEqual(figures, ["4,977", "20", "3"]);
  assert.equal(await page.locator(".add-outcome tbody").first().locator("tr").count(), 3, "each is named");
  await shot(page, "add-check");
  const began = Date.now();
  await act("Archive 4,977", () => page.getByRole("button", { name: "Archive 4,977 PVs" }).click());
  await page.getByText("All 4,977 have a first value.").waitFor({ timeout: 60_000 });
  const seconds = (Date.now() - began) / 1000;
  console.log(`all first values after ${seconds.toFixed(1)} s`);
  assert.ok(seconds <= Number(process.env.PVARK_FIRSTS_MAX ?? 10), `${seconds} s`);
  await act("Undo", () => page.locator(".undo-add").click());
  await page.getByText("4,977 PVs are taken out again").waitFor();
  await page.locator('[data-tab="pvs"] b').getByText("20", { exact: true }).waitFor();
};

const addManyKeys: Journey = async ({ page }) => {
  const keyboard = new Keyboard(page);
  await page.goto(`${base}manage`);
  await page.locator(".table-row[data-pv]").first().waitFor();
  await keyboard.use('[data-tab="add"]');
  await keyboard.reach(".add-names textarea");
  await keyboard.paste("J4:EXTRA:1\nJ4:EXTRA:2\n");
  await page.getByRole("button", { name: "Archive 2 PVs" }).waitFor();
  // The button has the focus.
  await page.keyboard.press("Enter");
  await page.getByText("2 PVs are asked for").waitFor();
  await keyboard.use(".undo-add");
  await page.getByText("2 PVs are taken out again").waitFor();
};

/** J5. An IOC is killed, then the archiver; both come back. Who has no finger on a screen has a keyboard here. */
function gone(isTouch: boolean): Journey {
  return async ({ page, act }) => {
    const pv = "J4:0007";
    await page.goto(`${base}?pv=${pv}&live=30`);
    await loaded(page);
    await page.waitForFunction(
      (pv) => /\d/.test(document.querySelector(`[data-pv="${pv}"] .value`)!.textContent!),
      pv,
    );
    const note = (text: RegExp) =>
      page
        .locator(`#legend [data-pv="${pv}"] .note`)
        .filter({ hasText: text })
        .waitFor({ state: "attached" });
    await note(/^connected/);
    const killed = Date.now();
    await outside("kill the IOC");
    const bar = page.locator("#outage");
    // On a phone it is said in fewer words.
    const named = /127\.0\.0\.1:\d+ (has not answered since|lost at) .*: 5,000 PVs (are )?not recorded/;
    await bar.locator("b:visible").filter({ hasText: named }).waitFor();
    const seconds = (Date.now() - killed) / 1000;
    console.log(`the IOC is named after ${seconds.toFixed(1)} s`);
    assert.ok(seconds <= Number(process.env.PVARK_NAMED_MAX ?? 5), `${seconds} s`);
    await note(/connection to the IOC lost|disconnected/);
    await page.waitForTimeout(6000);
    const late = (await solid(page, pv)).filter(({ part }) => part > 0.87);
    assert.deepEqual(late, [], "nothing is drawn that nobody recorded");
    await shot(page, isTouch ? "gone-phone" : "gone");
    const show = bar.getByRole("link", { name: "Show it" });
    const keyboard = new Keyboard(page);
    await act("Show it", () => (isTouch ? show.tap() : keyboard.use("#outage a")));
    await page.locator("th button").filter({ hasText: "127.0.0.1" }).first().waitFor();
    await page.locator(".ioc-side h2").filter({ hasText: "127.0.0.1" }).waitFor();
    await page.locator(".happened li").first().waitFor();
    await shot(page, isTouch ? "iocs-phone" : "iocs");
    await page.goto(`${base}?pv=${pv}&live=30`);
    await loaded(page);
    await outside("start the IOC");
    await note(/^connected/);
    await bar.waitFor({ state: "hidden" });
    await outside("kill the archiver");
    await page.getByText("No archiver since").waitFor();
    await page.waitForTimeout(4000);
    const silent = (await solid(page, pv)).filter(({ part }) => part > 0.95);
    assert.deepEqual(silent, [], "nothing is drawn behind the archiver's last word");
    await outside("start the archiver");
    await page.getByText("Archiver connected").waitFor({ state: "attached" });
    await note(/^connected/);
    await page.waitForFunction(
      (pv) => {
        const time = document.querySelector(`[data-pv="${pv}"] .time`)!.textContent!;
        const seen = (window as { seen?: string }).seen;
        (window as { seen?: string }).seen ??= time;
        return seen !== undefined && time !== "" && time !== seen;
      },
      pv,
      { polling: 300 },
    );
  };
}

/** J6. Forty PVs of all kinds. */
const forty: Journey = async ({ page }) => {
  const names = (process.env.PVARK_FORTY ?? "").split(" ");
  assert.equal(names.length, 40);
  await page.goto(`${base}?${names.map((name) => `pv=${name}`).join("&")}&live=60`);
  await loaded(page);
  await page.waitForTimeout(500);
  const share = await page.evaluate(() => {
    const { width, height } = document.querySelector("#drawing")!.getBoundingClientRect();
    return (width * height) / (innerWidth * innerHeight);
  });
  console.log(`the plot has ${(share * 100).toFixed(0)} % of the window`);
  await shot(page, "forty");
  assert.ok(share >= 0.6, `${share}`);
  await noOverlap(page);
  // Folded groups are opened, so that every PV has a row.
  const keyboard = new Keyboard(page);
  const folded = page.locator('.group-head [aria-expanded="false"]');
  while ((await folded.count()) > 0) await keyboard.use('.group-head [aria-expanded="false"]');
  const looks = await page.locator("#legend [data-pv] .swatch").evaluateAll((swatches) =>
    swatches.map((swatch) => {
      const style = getComputedStyle(swatch);
      return `${style.getPropertyValue("--trace")} ${style.getPropertyValue("--border")}`;
    }),
  );
  assert.equal(looks.length, 40, "each has its row");
  assert.equal(new Set(looks).size, 40, "each has a look of its own");
};

/** J7. Which PVs cost most, and what saves half of it. */
const costs: Journey = async ({ page, act }) => {
  await page.goto(`${base}manage`);
  await page.locator(".table-row[data-pv]").first().waitFor();
  await act("sort by bytes", () => page.locator(".table-head .bytes button").click());
  await page.waitForFunction(() => document.querySelector(".table-row[data-pv] .bytes")!.textContent !== "");
  const first = await page.locator(".table-row[data-pv]").first().getAttribute("data-pv");
  const shown = await page.locator(".table-row[data-pv] .bytes").first().innerText();
  const report = (await (await page.request.get(`${base}mgmt/bpl/getStorageRateReport?limit=1`)).json()) as {
    pvName: string;
    storageRate_MBperday: string;
  }[];
  assert.equal(first, report[0]!.pvName, "the costliest of the archiver's own report is first");
  const bytes = Number(report[0]!.storageRate_MBperday) * 1024 ** 2;
  const told = parseFloat(shown) * { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 }[shown.split(" ")[1] as "kB"];
  assert.ok(Math.abs(told / bytes - 1) < 0.2, `${shown} against ${bytes}`);
  await act("mark the first", () => page.locator(".table-row[data-pv]").first().click());
  const settings = async () =>
    (
      (await (await page.request.get(`${base}api/v1/pvs/${encodeURIComponent(first!)}`)).json()) as {
        sampling: { deadband: string | null };
      }
    ).sampling.deadband;
  const before = await settings();
  await act("Policy", () => page.locator('[data-verb="policy"]').click());
  const sheet = page.locator("#sheet-dialog");
  await sheet.locator("select").selectOption("monitor");
  await sheet.getByLabel("Dead band, as 0.5 or 5%").fill("1e9");
  await act("what would it have kept", () =>
    sheet.getByRole("button", { name: "What would it have kept?" }).click(),
  );
  await sheet.getByText(/samples of the last day it would have kept .*: \d+ % less/).waitFor();
  await shot(page, "costs");
  await act("apply", () => sheet.getByRole("button", { name: "Policy of 1 PV" }).click());
  await page.locator(".said-bar").getByText("1 PV is archived another way now.").waitFor();
  assert.ok(Number(await settings()) === 1e9, String(await settings()));
  await act("Undo", () => page.locator(".undo-order").click());
  for (let tries = 0; (await settings()) !== before; tries++) {
    assert.ok(tries < 100, "as it was");
    await page.waitForTimeout(100);
  }
  await half(page, act);
  await page.goto(`${base}manage?part=policies`);
  await page
    .locator(".plan-part")
    .getByText(/^(PV changes|PVs change|Nothing: every PV is recorded as the file says\.)$/)
    .waitFor();
};

/** The fewest PVs that take half of the bytes are marked, with the figures of the store; a dead band for them is applied and taken back. */
async function half(page: Page, act: Walk["act"]): Promise<void> {
  type Row = { pvName: string; storageRate_MBperday: string };
  const report = async () =>
    (await (await page.request.get(`${base}mgmt/bpl/getStorageRateReport?limit=20000`)).json()) as Row[];
  await page.goto(`${base}manage`);
  await page.locator(".table-row[data-pv]").first().waitFor();
  await act("what makes half", () => page.getByRole("button", { name: "What makes half?" }).click());
  const told = await page
    .locator(".half-told")
    .filter({ hasText: /take|Nothing/ })
    .innerText();
  const rows = (await report())
    .map((row) => ({ name: row.pvName, bytes: Number(row.storageRate_MBperday) * 1024 ** 2 }))
    .filter((row) => row.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  const all = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const names: string[] = [];
  for (let sum = 0; sum < all / 2; sum += rows[names.length - 1]!.bytes) names.push(rows[names.length]!.name);
  const [, count, pvs] = /^([\d,]+) PVs? of ([\d,]+) take/.exec(told) ?? [];
  assert.deepEqual([Number(count), Number(pvs)], [names.length, rows.length], told);
  const size = (text: string, unit: string) =>
    Number(text) * { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 }[unit as "kB"]!;
  const [, part, unit, whole, wholeUnit] = /take ([\d.]+) (\w+) of ([\d.]+) (\w+) a day/.exec(told) ?? [];
  const taken = rows.slice(0, names.length).reduce((sum, { bytes }) => sum + bytes, 0);
  for (const [shown, store] of [
    [size(part!, unit!), taken],
    [size(whole!, wholeUnit!), all],
  ] as const)
    assert.ok(Math.abs(shown / store - 1) < 0.05, `${told}: ${shown} against ${store} of the store`);
  await page.locator(".bulk b").getByText(`${count} of ${count} marked`).waitFor();
  await act("Policy", () => page.locator('[data-verb="policy"]').click());
  const sheet = page.locator("#sheet-dialog");
  await sheet.locator("select").selectOption("monitor");
  await sheet.getByLabel("Dead band, as 0.5 or 5%").fill("1e9");
  await act("what would it have kept", () =>
    sheet.getByRole("button", { name: "What would it have kept?" }).click(),
  );
  await sheet.getByText(/samples of the last day it would have kept .*: \d+ % less/).waitFor();
  await act("apply", () => sheet.getByRole("button", { name: /^Policy of/ }).click());
  await page.locator(".said-bar").getByText("archived another way now.").waitFor();
  const bands = () =>
    Promise.all(
      names.map(async (name) => {
        const path = `${base}api/v1/pvs/${encodeURIComponent(name)}`;
        const { sampling } = (await (await page.request.get(path)).json()) as {
          sampling: { deadband: string | null };
        };
        return Number(sampling.deadband) === 1e9;
      }),
    );
  assert.ok((await bands()).every(Boolean), "each of them has the dead band");
  await act("Undo", () => page.locator(".undo-order").click());
  for (let tries = 0; (await bands()).some(Boolean); tries++) {
    assert.ok(tries < 100, "as they were");
    await page.waitForTimeout(100);
  }
}

/** Opens an address of the Appliance's pages, which leads to one of ours. */
async function gotoOld(page: Page, old: string): Promise<void> {
  const url = `${base}mgmt/ui/${old}`;
  if (!process.env.PVARK_PAGE) return void (await page.goto(url));
  // A page from a folder stands for the program's only where nothing leads to it.
  const { location } = (await page.request.get(url, { maxRedirects: 0 })).headers();
  await page.goto(new URL(location!, base).href);
}

/** J11. From the bookmark of the Archiver Appliance to what its pages were for. */
const bookmarks: Journey = async ({ page }) => {
  const list = "J11:A\nJ11:B\nJ11:NONE\n";
  const counted: string[] = [];
  /** Each begins at the old address, and has its own actions. */
  const task = async (
    name: string,
    what: ((page: Page) => Promise<unknown>)[],
    seen: () => Promise<unknown>,
  ) => {
    await gotoOld(page, "index.html");
    await page.getByText("You came from the Archiver Appliance").waitFor();
    await page.locator(".table-row[data-pv]").first().waitFor();
    for (const one of what) await one(page);
    await seen();
    assert.ok(what.length <= 3, `${name} takes ${what.length} actions`);
    counted.push(`${name} ${what.length}`);
  };
  const said = (text: string) => page.locator(".said-bar").getByText(text).waitFor();
  const pasteList = (text: string) => () => paste(page, ".tools input", text);
  const press = (verb: string) => async () => {
    await page.locator(".bulk b").waitFor();
    await page.locator(`[data-verb="${verb}"]`).click();
  };
  const confirm = (name: string) => () => page.locator("#sheet-dialog").getByRole("button", { name }).click();
  await task("status of a list", [pasteList(list)], async () => {
    await page.locator('.table-row[data-pv="J11:A"] .state').getByText("connected").waitFor();
    await page.getByText("1 not archived: J11:NONE").waitFor();
  });
  await shot(page, "list");
  await task("pause", [pasteList("J11:A\nJ11:B\n"), press("pause"), confirm("Pause 2 PVs")], () =>
    said("2 PVs are paused."),
  );
  await task("resume", [pasteList("J11:A\nJ11:B\n"), press("resume"), confirm("Resume 2 PVs")], () =>
    said("2 PVs are resumed."),
  );
  await task(
    "change the sampling period",
    [
      pasteList("J11:A\n#\n"),
      press("policy"),
      async () => {
        await page.locator("#sheet-dialog select").selectOption("scan");
        await page.locator("#sheet-dialog").getByLabel("Seconds").fill("2");
        await page.keyboard.press("Enter");
      },
    ],
    () => page.locator('.table-row[data-pv="J11:A"] .how').getByText("every 2 s").waitFor(),
  );
  await task(
    "rename",
    [
      pasteList("J11:B\n#\n"),
      press("rename"),
      async () => {
        await page.locator("#sheet-dialog").getByLabel("New name").fill("J11:GONE");
        await page.keyboard.press("Enter");
      },
    ],
    () => said("1 PV is renamed."),
  );
  await task("delete", [pasteList("J11:GONE\n#\n"), press("remove"), confirm("Remove 1 PV")], () =>
    said("1 PV is removed."),
  );
  await task(
    "add a list",
    [
      () => page.locator('[data-tab="add"]').click(),
      () => paste(page, ".add-names textarea", "J11:D\nJ11:E\n"),
      () => page.getByRole("button", { name: "Archive 2 PVs" }).click(),
    ],
    () => page.getByText("All 2 have a first value.").waitFor(),
  );
  await task("never connected", [() => page.locator('[data-tab="reports"]').click()], () =>
    page.getByText("J11:NEVER").waitFor(),
  );
  await task(
    "storage report",
    [
      () => page.locator('[data-tab="reports"]').click(),
      () => page.getByRole("button", { name: "Top PVs by storage rate" }).click(),
    ],
    () =>
      page
        .locator(".list th")
        .filter({ hasText: /MBperday|MB/i })
        .first()
        .waitFor(),
  );
  await task(
    "type info",
    [pasteList("J11:A\n#\n"), () => page.locator('[data-show="details"]').click()],
    () => page.locator("#details dd").getByText("f64").waitFor(),
  );
  console.log(counted.join(", "));
  for (const [old, part] of [
    ["reports.html", "reports"],
    ["storage.html", "storage"],
    ["integration.html", "policies"],
  ] as const) {
    await gotoOld(page, old);
    await page.locator(`[data-tab="${part}"][aria-current="page"]`).waitFor();
  }
};

/** J12. The wall: it is read from five metres, and goes on by itself. */
const wall: Journey = async ({ page }) => {
  await page.setViewportSize({ width: 3840, height: 2160 });
  const names = ["J1:DCCT", "J1:RF2:FWD", "J1:BPM7:X", "J1:IP12:P", "J6:BI"];
  await page.goto(`${base}?${names.map((name) => `pv=${name}`).join("&")}&wall=1&live=120&theme=dark`);
  await page.locator(".wall-value").first().waitFor();
  await page.waitForTimeout(1500);
  await shot(page, "wall");
  const least = await page.evaluate(() => {
    let least = Infinity;
    const walker = document.createTreeWalker(document.querySelector("#wall")!, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement!;
      if (!node.textContent!.trim() || !parent.checkVisibility() || parent.closest(".unseen")) continue;
      least = Math.min(least, parseFloat(getComputedStyle(parent).fontSize));
    }
    return least;
  });
  console.log(`the smallest text has ${least.toFixed(0)} px`);
  assert.ok(least >= 24, `${least}`);
  assert.equal(await page.locator("#wall button, #wall a, #wall input").count(), 0, "there are no controls");
  await page.evaluate(() => ((window as { mark?: number }).mark = 1));
  const rounds = Number(process.env.PVARK_RESTARTS ?? 1);
  for (let i = 0; i < rounds; i++) {
    await outside("kill the archiver");
    await page.getByText("The archiver is silent since").waitFor();
    assert.equal(await page.locator(".wall-clock").innerText(), "–:–:–");
    await shot(page, "wall-silent");
    await outside("start the archiver");
    await page.locator(".wall-foot").waitFor({ state: "hidden" });
    await page.waitForFunction(() =>
      /^\d\d:\d\d:\d\d$/.test(document.querySelector(".wall-clock")!.textContent!),
    );
    await outside("restart the IOC");
    const value = () => page.locator(".wall-tile .wall-value").first().innerText();
    await page.locator(".wall-tile .wall-value").first().waitFor();
    const before = await value();
    for (let tries = 0; (await value()) === before; tries++) {
      assert.ok(tries < 300, "values go on");
      await page.waitForTimeout(100);
    }
  }
  assert.equal(
    await page.evaluate(() => (window as { mark?: number }).mark),
    1,
    "nobody had to load it again",
  );
};

const TOOLS = { base, loaded, reaching, gotoOld, outlierPv: OUTLIER_PV };

const JOURNEYS: Record<string, { run: Journey; context?: object }> = {
  trip: { run: trip },
  "trip-keys": { run: tripKeys },
  "trip-touch": { run: tripTouch, context: PHONE },
  outlier: { run: outlier },
  "outlier-keys": { run: (walk) => outlierByKeys(walk, TOOLS) },
  day: { run: day, context: { timezoneId: "Europe/Paris" } },
  "day-keys": { run: dayKeys, context: { timezoneId: "Europe/Paris" } },
  "day-touch": { run: dayTouch, context: { ...PHONE, timezoneId: "Europe/Paris" } },
  "add-many": { run: addMany },
  "add-many-keys": { run: addManyKeys },
  gone: { run: gone(false) },
  "gone-touch": { run: gone(true), context: PHONE },
  forty: { run: forty },
  costs: { run: costs },
  "costs-keys": { run: (walk) => costsByKeys(walk, TOOLS) },
  bookmarks: { run: bookmarks },
  "bookmarks-keys": { run: (walk) => bookmarksByKeys(walk, TOOLS) },
  snapshot: { run: (walk) => snapshotJourney(base, walk) },
  "snapshot-keys": { run: (walk) => snapshotByKeys(walk, TOOLS) },
  "when-keys": { run: (walk) => whenByKeys(walk, TOOLS) },
  when: { run: (walk) => whenJourney(base, walk), context: { timezoneId: "Europe/Paris" } },
  relations: { run: (walk) => relationsJourney(base, LINK, walk) },
  export: { run: (walk) => exportJourney(base, walk, false) },
  "export-keys": { run: (walk) => exportJourney(base, walk, true) },
  nodes: {
    run: (walk) =>
      nodesJourney({ base, loaded, outside, shot, solid }, process.env.PVARK_NODES_PV ?? "", walk),
  },
  wall: { run: wall },
  "wall-keys": { run: (walk) => wallByKeys(walk, TOOLS) },
};

/** With PVARK_PAGE the page comes from that folder in place of the program's own: what has just been built. */
async function usePage(context: Awaited<ReturnType<Browser["newContext"]>>): Promise<void> {
  const folder = process.env.PVARK_PAGE;
  if (!folder) return;
  await context.route(
    (url) => url.href.startsWith(base) && /^\/(manage|login|assets\/.*)?$/.test(url.pathname),
    async (route) => {
      const { pathname } = new URL(route.request().url());
      const file = pathname.startsWith("/assets/") ? pathname : "/index.html";
      await route.fulfill({ path: `${folder}${file}` });
    },
  );
}

const browser = await startChromium();
try {
  for (const name of (process.env.JOURNEYS ?? Object.keys(JOURNEYS).join(" ")).split(" ")) {
    const journey = JOURNEYS[name];
    assert.ok(journey, `there is no journey ${name}`);
    const context = await browser.newContext({ ...DESK, ...journey.context });
    await usePage(context);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    const actions: string[] = [];
    const act: Walk["act"] = async (what, how) => {
      actions.push(what);
      await how();
    };
    const began = performance.now();
    try {
      await journey.run({ page, act, actions }, browser);
    } catch (error) {
      await shot(page, `${name}-failed`);
      throw error;
    }
    assert.deepEqual(faults, [], "no script may fail");
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`passed: ${name}, ${actions.length} actions, ${seconds} s`);
    await context.close();
  }
} finally {
  await browser.close();
}
process.exit(0);
