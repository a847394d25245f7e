// The table of samples below the plot in headless Chromium: it comes by pages, says whether it is whole, has gaps among its rows, and is read by keys.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, browser, openForEach, page, server, withoutClipboard } from "./opened.ts";
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

const marked = () => grid().locator('[data-row][aria-selected="true"]');
const copiedText = () => page.evaluate(() => navigator.clipboard.readText());

/** How much of the plot, over all its height, has the colour that marks it. */
async function bandWidth(): Promise<number> {
  return page.evaluate(() => {
    const [, glass] = document.querySelectorAll<HTMLCanvasElement>("#plot .panes canvas");
    const { width, height } = glass!;
    const row = glass!.getContext("2d")!.getImageData(0, Math.round(height / 2), width, 1).data;
    return (
      Array.from({ length: width }, (_, x) => row[4 * x + 3]!).filter((alpha) => alpha > 0).length / width
    );
  });
}

test("rows are marked by keys, shown in the plot as a band, copied with tabs, and both cursors set to their ends", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(`pv=LAB:TEMP1&pv=SR:MODE&drawer=samples&${SHORT}`);
  await told().getByText("all of the range").waitFor();
  await grid().locator('[data-row="0"] .value').getByText("degC").waitFor();
  assert.equal(await bandWidth(), 0);
  await grid().focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await marked().count(), 1);
  assert.equal(await bandWidth(), 0, "of one row there is no band");
  for (let i = 0; i < 4; i++) await page.keyboard.press("Shift+ArrowDown");
  assert.equal(await marked().count(), 5);
  await page.locator("#analysis .pointed").getByText("5 rows are marked.").waitFor();
  const [first, last] = [await cells(1), await cells(5)];
  const seconds = (text: string) => Number(text.slice(6));
  const part = (seconds(last.time!) - seconds(first.time!)) / 60;
  const width = await bandWidth();
  assert.ok(Math.abs(width - part) < 0.02 + 0.15 * part, `${width} of the plot is marked, not ${part}`);
  await page.keyboard.press("Control+c");
  await page.locator("#analysis .pointed").getByText("5 rows are copied.").waitFor();
  const lines = (await copiedText()).trimEnd().split("\n");
  assert.equal(lines[0], "time\tpv\tvalue\tunits\tseverity\tstatus\tgap_until\tgap_cause");
  assert.equal(lines.length, 6);
  const temperature = lines.find((line) => line.includes("LAB:TEMP1"))!.split("\t");
  assert.match(temperature[0]!, /^2026-11-20T10:00:[\d.]+Z$/);
  assert.match(temperature[2]!, /^2\d\.\d{3,}$/, "all digits");
  assert.equal(temperature[3], "degC");
  // Shift goes back as well; Space marks one beside the others; Enter sets both cursors.
  await page.keyboard.press("Shift+ArrowUp");
  assert.equal(await marked().count(), 4);
  for (let i = 0; i < 3; i++) await page.keyboard.press("Control+ArrowDown");
  await page.keyboard.press("Space");
  assert.deepEqual(await marked().evaluateAll((rows) => rows.map((row) => row.getAttribute("data-row"))), [
    "1",
    "2",
    "3",
    "4",
    "7",
  ]);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("b"));
  const params = new URL(page.url()).searchParams;
  const seven = await cells(7);
  assert.equal(params.get("at")!.slice(11, 19), first.time!.slice(0, 8));
  assert.equal(params.get("b")!.slice(11, 19), seven.time!.slice(0, 8));
  // Escape takes the marks away, and does not close the drawer.
  await page.keyboard.press("Escape");
  assert.equal(await marked().count(), 0);
  await page.waitForFunction(() => new URLSearchParams(location.search).get("drawer") === "samples");
  await page.keyboard.press("Control+a");
  assert.equal(
    await page.getByRole("button", { name: /^Copy \d+ rows$/ }).textContent(),
    `Copy ${Number(await grid().getAttribute("aria-rowcount")) - 1} rows`,
  );
  // Nothing stays marked in the plot without the table.
  await page.locator('#drawer-tabs [data-tab="close"]').click();
  await grid().waitFor({ state: "hidden" });
  assert.ok((await bandWidth()) < 0.02, "but dots at the cursor");
});

test("rows are marked by the mouse: a click one, Shift as far as there, Control one more", async () => {
  await open(`pv=LAB:TEMP1&drawer=samples&${SHORT}`);
  await told().getByText("all of the range").waitFor();
  const row = (index: number) => grid().locator(`[data-row="${index}"]`);
  const indices = () =>
    marked().evaluateAll((rows) => rows.map((row) => Number((row as HTMLElement).dataset.row)));
  await row(1).click();
  await row(4).click({ modifiers: ["Shift"] });
  assert.deepEqual(await indices(), [1, 2, 3, 4]);
  await row(2).click({ modifiers: ["ControlOrMeta"] });
  assert.deepEqual(await indices(), [1, 3, 4]);
  assert.equal(await page.evaluate(() => String(getSelection())), "", "rows are marked, not their letters");
  assert.ok((await bandWidth()) > 0);
  await row(3).click();
  assert.deepEqual(await indices(), [3]);
  assert.ok(!new URL(page.url()).searchParams.has("b"));
});

test("without a clipboard, as where the page came by http, rows are copied all the same", async () => {
  const read = await withoutClipboard();
  await open(`pv=LAB:TEMP1&drawer=samples&${SHORT}`);
  await told().getByText("all of the range").waitFor();
  await grid().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+c");
  await page.locator("#analysis .pointed").getByText("The row is copied.").waitFor();
  assert.match(await read(), /^time\tpv\tvalue\t.*\n2026-11-20T10:00:.*\tLAB:TEMP1\t/);
});

const OVER = "LAB:TEMP1 @-1d";

test("samples of another time stand where the plot has them, with the time at which they were taken", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(`pv=LAB:TEMP1&pv=${encodeURIComponent(OVER)}&drawer=samples&${SHORT}`);
  await told()
    .getByText(/^\d+ samples: all of the range$/)
    .waitFor();
  await grid().locator('[data-row="0"] .value').getByText("degC").waitFor();
  // Both have samples at the same seconds: they come in turn, each with its own day.
  const texts = await Promise.all([0, 1, 2, 3].map(cells));
  const days = texts.map(({ pv, time }) => `${pv}: ${time!.slice(0, 10)}`);
  assert.equal(days.filter((day) => day === "LAB:TEMP1: 2026-11-20").length, 2, days.join());
  assert.equal(days.filter((day) => day === "LAB:TEMP1, 1 day earlier: 2026-11-19").length, 2, days.join());
  const clocks = texts.map(({ time }) => time!.slice(11));
  assert.deepEqual(clocks, [...clocks].sort());
  // What is marked lies in the plot where its line does; copied it has its own time.
  await grid().focus();
  for (let i = 0; i < 6; i++) await page.keyboard.press("Shift+ArrowDown");
  assert.ok((await bandWidth()) < 0.5, "and not from day to day");
  await page.keyboard.press("Control+c");
  await page.locator("#analysis .pointed").getByText("7 rows are copied.").waitFor();
  const lines = (await copiedText()).trimEnd().split("\n").slice(1);
  for (const line of lines)
    assert.match(line, /^2026-11-20T[^\t]*\tLAB:TEMP1\t|^2026-11-19T[^\t]*\tLAB:TEMP1 @-1d\t/);
  // One alone is whole, and has its own file, of its own time.
  await page.getByLabel("Of", { exact: true }).selectOption(OVER);
  await told()
    .getByText(/^\d+ samples: all of the range$/)
    .waitFor();
  const csv = page.locator("#analysis").getByRole("link", { name: "CSV", exact: true });
  await page.waitForFunction(() =>
    document
      .querySelector('#analysis a[download=""]')!
      .getAttribute("href")!
      .includes("pv=LAB%3ATEMP1&from=2026-11-19T10:00:00Z&to=2026-11-19T10:01:00Z"),
  );
  assert.ok(await csv.isVisible());
  // The cursor goes to the place in the plot, not to the day before.
  await grid().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  assert.match(new URL(page.url()).searchParams.get("at")!, /^2026-11-20T10:00:/);
});

test("a gap of another time is told with its own times", async () => {
  const span = "from=2026-11-21T10:44:30Z&to=2026-11-21T10:49:00Z&zone=utc";
  await open(`pv=${encodeURIComponent(OVER)}&drawer=samples&${span}`);
  await told().getByText("all of the range").waitFor();
  await grid().evaluate((grid) => (grid.scrollTop = 10 * 24));
  const gap = grid().locator(".is-gap");
  await gap.first().waitFor();
  assert.equal(await gap.locator(".time").textContent(), "2026-11-20 10:45:00.000");
  assert.match(
    (await gap.locator(".gap").textContent())!,
    /^not recorded until 2026-11-20 10:48:00, for 3 min: /,
  );
});

test("by touch a row that is held is marked, then taps mark more, and one that is held all between", async () => {
  const context = await browser.newContext({
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const phone = await context.newPage();
  phone.setDefaultTimeout(20_000);
  const faults: string[] = [];
  phone.on("pageerror", (error) => faults.push(error.message));
  await phone.goto(`${base}?pv=LAB:TEMP1&drawer=samples&${SHORT}`);
  await phone.locator("#analysis .told").getByText("all of the range").waitFor();
  const finger = await context.newCDPSession(phone);
  const row = (index: number) => phone.locator(`.samples-grid [data-row="${index}"]`);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", x = 0, y = 0) =>
    finger.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x, y }] });
  // In one step: rows are drawn anew while a test looks for them.
  const middle = (index: number) =>
    phone.evaluate((index) => {
      const found = document.querySelector(`.samples-grid [data-row="${index}"]`)!;
      const { x, y, width, height } = found.getBoundingClientRect();
      return [x + width / 2, y + height / 2] as const;
    }, index);
  const hold = async (index: number) => {
    await touch("touchStart", ...(await middle(index)));
    await row(index).and(phone.locator(".is-active")).waitFor();
    await touch("touchEnd");
  };
  const marked = () =>
    phone
      .locator(".samples-grid .is-marked")
      .evaluateAll((rows) => rows.map((row) => Number((row as HTMLElement).dataset.row)));
  const said = phone.locator("#analysis .pointed");
  await hold(1);
  await said.getByText("1 row is marked.").waitFor();
  assert.deepEqual(await marked(), [1]);
  assert.ok(!new URL(phone.url()).searchParams.has("at"), "a row that is held leads nowhere");
  await row(3).tap();
  assert.deepEqual(await marked(), [1, 3]);
  await row(1).tap();
  assert.deepEqual(await marked(), [3]);
  await hold(5);
  assert.deepEqual(await marked(), [3, 4, 5]);
  await said.getByText("3 rows are marked.").waitFor();
  await phone.getByRole("button", { name: "Copy 3 rows" }).tap();
  await said.getByText("3 rows are copied.").waitFor();
  const text = await phone.evaluate(() => navigator.clipboard.readText());
  assert.equal(text.trimEnd().split("\n").length, 4);
  // A finger that moves scrolls, and marks nothing.
  const [x, y] = await middle(5);
  await touch("touchStart", x, y);
  for (let by = 10; by <= 60; by += 10) await touch("touchMove", x, y - by);
  await phone.waitForTimeout(700);
  await touch("touchEnd");
  assert.ok((await phone.locator(".samples-grid").evaluate((grid) => grid.scrollTop)) > 20);
  assert.deepEqual(
    (await marked()).filter((row) => ![3, 4, 5].includes(row)),
    [],
  );
  await phone.getByRole("button", { name: "Mark none" }).tap();
  assert.deepEqual(await marked(), []);
  // Then a tap leads the plot's cursor there, as it does without marks.
  await row(6).tap();
  await phone.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  await context.close();
  assert.deepEqual(faults, []);
});

const FORMULA = "= LAB:TEMP1 + 1";
const withFormula = `pv=LAB:TEMP1&pv=${encodeURIComponent(FORMULA)}&drawer=samples`;

test("formulas of the view are in the table, computed of every sample, a page at a time", async () => {
  await open(`${withFormula}&${SHORT}`);
  await told()
    .getByText(/^\d+ samples, \d+ values of formulas, computed of every sample: all of the range$/)
    .waitFor();
  const formulas = grid().locator("[data-row]").filter({ hasText: FORMULA });
  await formulas.first().waitFor();
  await formulas.first().locator(".value").getByText("degC").waitFor();
  const numberOf = async (text: string) =>
    Number.parseFloat(
      (await grid().locator("[data-row]").filter({ hasText: text }).first().locator(".value").textContent())!,
    );
  assert.ok((await numberOf(FORMULA)) > 20);
  // One alone has its own file.
  await page.getByLabel("Of", { exact: true }).selectOption(FORMULA);
  await told()
    .getByText(/^60 values of formulas/)
    .waitFor();
  const csv = page.locator("#analysis").getByRole("link", { name: "CSV", exact: true });
  assert.match(
    (await csv.getAttribute("href"))!,
    /^api\/v1\/formula\?expression=LAB%3ATEMP1%20%2B%201&from=/,
  );
  const text = await page.evaluate(async (url) => (await fetch(url!)).status, await csv.getAttribute("href"));
  assert.equal(text, 200);
  // A longer range comes by pages, each computed from the beginning, and no value twice.
  await open(`${withFormula}&of=${encodeURIComponent(FORMULA)}&${HOUR}`);
  await told().getByText("The first 500 values of formulas").waitFor();
  await grid().focus();
  for (let tries = 0; !(await told().textContent())!.includes("all of the range"); tries++) {
    assert.ok(tries < 60, "the range does not come to an end");
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.querySelector(".drawer-panel")!.ariaBusy === "false");
  }
  await told().getByText("3,600 values of formulas, computed of every sample: all of the range").waitFor();
  const froms = server.requests
    .filter((path) => /\/formula\?.*limit=\d+$/.test(path) && !path.endsWith("limit=1"))
    .map((path) => new URLSearchParams(path.slice(path.indexOf("?"))).get("from"));
  assert.equal(new Set(froms).size, 1, "an integral goes from the beginning of the range");
});

test("a formula for which too many samples would be read is told by means, and of what these are made", async () => {
  server.stepsRefused = true;
  await open(`${withFormula}&of=${encodeURIComponent(FORMULA)}&${HOUR}`);
  await told()
    .getByText(/= LAB:TEMP1 \+ 1 changes too often.*these are means of 7\.2 s, made of summaries only\.$/)
    .waitFor();
  assert.equal(await grid().locator('[data-row="0"] .status').textContent(), "mean of 7.2 s");
});

test("on a phone the alarm of a row is seen beside its time, however the table is scrolled", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&drawer=samples&${SHORT}`);
  await told().getByText("all of the range").waitFor();
  const beside = grid().locator('[data-row] .time .beside[data-severity="1"]').first();
  await beside.waitFor();
  // Rows are made anew while units come: what is looked at is looked at in one go.
  const places = () =>
    grid().evaluate((grid) => {
      const mark = grid.querySelector('.time .beside[data-severity="1"]')!.getBoundingClientRect();
      const table = grid.getBoundingClientRect();
      return { x: mark.x, isSeen: mark.left >= table.left && mark.right <= table.right };
    });
  const isSeen = async () => (await places()).isSeen;
  assert.equal(await beside.textContent(), "MINOR");
  assert.ok(await isSeen());
  const isCut = await beside.evaluate((mark) => {
    const cell = mark.parentElement!;
    return cell.scrollWidth > cell.clientWidth;
  });
  assert.ok(!isCut, "the whole word has room");
  const before = await places();
  const scrolled = await grid().evaluate((grid) => (grid.scrollLeft = grid.scrollWidth) && grid.scrollLeft);
  assert.ok(scrolled > 20, "there are columns to the right");
  assert.ok(await isSeen());
  const moved = before.x - (await places()).x;
  assert.ok(moved <= 8, `the first column stays, but for the edge of a row; it moved by ${moved}`);
  const colour = await beside.evaluate((mark) => getComputedStyle(mark, "::before").color);
  const minor = await page.evaluate(() => {
    const probe = document.createElement("i");
    probe.style.color = "var(--minor)";
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  });
  assert.equal(colour, minor);
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
  await open(`hidden=LAB:TEMP1&drawer=samples&${SHORT}`);
  const empty = page.locator("#analysis .drawer-empty");
  await empty.getByText("No row of the plot is shown that has samples.").waitFor();
  await open("pv=LAB:TEMP1&drawer=samples&from=2025-11-20T10:00:00Z&to=2025-11-20T11:00:00Z&zone=utc");
  await empty.getByText("Nothing was recorded from 2025-11-20 10:00:00").waitFor();
  await empty.getByText("LAB:TEMP1: first sample at 2026-01-01 00:00:00; nothing before.").waitFor();
  await empty.getByRole("button", { name: /^Show it/ }).click();
  await told()
    .getByText(/^The first [\d,]+ samples, up to /)
    .waitFor();
  assert.equal((await cells(0)).time, "2026-01-01 00:00:00.000");
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
