// Snapshots and searches in a browser: by mouse and by keyboard, what is saved, stopped and refused.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, beforeEach, afterEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium, paste } from "./chromium.ts";
import { TestServer } from "./server.ts";

const DIST = new URL("../dist", import.meta.url).pathname;
const A = "2026-11-20T10:33:01.500Z";
const B = "2026-11-20T09:00:00Z";

let browser: Browser;
let server: TestServer;
let base: string;
let page: Page;
let faults: string[];

before(async () => {
  browser = await startChromium();
});

after(async () => {
  await browser.close();
});

beforeEach(async () => {
  server = new TestServer(DIST);
  base = await server.start();
  page = await browser.newPage({ viewport: { width: 1400, height: 850 }, acceptDownloads: true });
  page.setDefaultTimeout(20_000);
  faults = [];
  page.on("pageerror", (error) => faults.push(error.stack ?? error.message));
});

afterEach(async () => {
  await page.close();
  await server.stop();
  assert.deepEqual(faults, [], "no script may fail");
});

const rows = () =>
  page
    .locator("#snapshot tbody tr[data-pv]")
    .evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset.pv));

test("what changed between two times comes first, with values, bars and alarms", async () => {
  await page.goto(`${base}?part=snapshot&match=SR:&a=${A}&b=${B}&zone=utc&tol=0&show=all`);
  const first = page.locator("#snapshot tbody tr").first();
  await first.waitFor();
  // A spike of SR:CURRENT was at 10:33:01.1, a state never moves by a number, and comes before.
  const current = page.locator('#snapshot tr[data-pv="SR:CURRENT"]');
  assert.match((await current.textContent())!, /not recorded|−|\+/);
  assert.ok(await page.locator("#snapshot .score-bar i").count());
  const said = await page.locator("#snapshot .told").textContent();
  assert.match(said!, /^5 PVs: \d changed, \d did not/);
  // The last alarm of the mode stands in words.
  assert.equal(await page.locator('#snapshot tr[data-pv="SR:MODE"] td.number').count(), 3);
  await page.getByRole("button", { name: "PV", exact: true }).click();
  assert.deepEqual(await rows(), [...(await rows())].sort());
});

test("a pasted list is compared whole, its file is the archiver's, and unknown names are told", async () => {
  await page.goto(`${base}?part=snapshot&a=${A}&b=${B}&zone=utc`);
  await page.getByText("Name PVs and a time A").waitFor();
  await paste(page, "#snapshot .pv-list", "LAB:TEMP1\nLAB:TEMP2 # near the door\nNO:SUCH\nSR:SHUTTER\n");
  await page.getByText("1 not archived: NO:SUCH").waitFor();
  await page.getByRole("button", { name: /^All/ }).click();
  assert.deepEqual([...(await rows())].sort(), ["LAB:TEMP1", "LAB:TEMP2", "SR:SHUTTER"]);
  const waiting = page.waitForEvent("download");
  await page.locator('[data-save="snapshot"]').click();
  const saved = await readFile((await (await waiting).path())!, "utf8");
  const names = JSON.stringify(["LAB:TEMP1", "LAB:TEMP2", "NO:SUCH", "SR:SHUTTER"]);
  const asked = await fetch(`${base}api/v1/at?time=2026-11-20T10:33:01.500000Z&format=csv`, {
    method: "POST",
    body: names,
  });
  assert.equal(saved, await asked.text());
  // The address is the whole of it.
  await page.reload();
  await page.locator('#snapshot tr[data-pv="LAB:TEMP2"]').waitFor();
  assert.match(page.url(), /pv=LAB:TEMP1&pv=LAB:TEMP2/);
  assert.match((await page.locator("#snapshot .files a").getAttribute("href"))!, /pv=LAB%3ATEMP1.*&at=.*&b=/);
});

test("a PV that nobody recorded at A stands for itself, and Why? tells of that moment", async () => {
  await page.goto(`${base}?part=snapshot&match=SR:CURRENT&a=2026-11-20T10:25:00Z&b=${B}&zone=utc`);
  await page.getByRole("rowheader", { name: "Not recorded at A" }).waitFor();
  await page.locator("#snapshot .is-lacking").getByText("not recorded").waitFor();
  await page.getByRole("button", { name: "Why?" }).click();
  await page.locator("#details").getByText("The connection to the IOC was lost.").first().waitFor();
});

test("without B it is what was; times that are none, lists that are none and refusals are told", async () => {
  await page.goto(`${base}?part=snapshot&match=LAB:TEMP&a=${A}&zone=utc`);
  await page.locator('#snapshot tr[data-pv="LAB:TEMP3"]').waitFor();
  assert.equal(await page.locator("#snapshot .score-bar").count(), 0);
  const [a, b] = [page.getByLabel("A", { exact: true }), page.getByLabel("B, to compare with")];
  await a.fill("tomorow");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("A is no time").waitFor();
  await a.fill("now");
  await b.fill("25:00");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("B is no time").waitFor();
  await b.fill("");
  await page.locator("#snapshot .pv-list").fill("NOTHING:FITS");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("No PV fits.").waitFor();
  server.down = true;
  await page.locator("#snapshot .pv-list").fill("LAB:");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("the archiver does not answer").waitFor();
});

test("a list that somebody saved under a name is chosen, and the link names it; one that is not there is told", async () => {
  const pvs = ["LAB:TEMP1", "LAB:TEMP3"];
  server.views.write({ name: "lab/temperatures", query: "pv=LAB:TEMP1", pvs }, "oidc:ana");
  server.views.write({ name: "moments/last fill", query: "part=when", pvs: [] }, "oidc:ana");
  await page.goto(`${base}?part=snapshot&a=${A}&zone=utc`);
  const named = page.getByLabel("A named list");
  await named.waitFor();
  assert.deepEqual(await named.locator("option").allInnerTexts(), [
    "or a named list",
    "lab/temperatures, 2 PVs",
  ]);
  await named.focus();
  await page.keyboard.press("ArrowDown");
  await page.locator('#snapshot tr[data-pv="LAB:TEMP3"]').waitFor();
  assert.deepEqual([...(await rows())].sort(), pvs);
  assert.match(page.url(), /[?&]list=lab\/temperatures(&|$)/);
  assert.ok(!page.url().includes("pv="));
  // Somebody adds to it: whoever opens the link has it as it is now.
  server.views.write({ name: "lab/temperatures", query: "", pvs: [...pvs, "LAB:TEMP2"] }, "oidc:ana");
  await page.reload();
  await page.locator('#snapshot tr[data-pv="LAB:TEMP2"]').waitFor();
  assert.equal(await named.inputValue(), "lab/temperatures");
  await page.locator("#snapshot .pv-list").fill("SR:");
  assert.equal(await named.inputValue(), "", "what is typed is no named list");
  await page.keyboard.press("Enter");
  await page.locator('#snapshot tr[data-pv="SR:CURRENT"]').waitFor();
  assert.ok(!page.url().includes("list="));
  await page.goto(`${base}?part=snapshot&list=lab/pressures&a=${A}&zone=utc`);
  await page.getByRole("alert").getByText("No view with PVs has the name lab/pressures.").waitFor();
});

const HOUR = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";

test("fields make the condition, times are found, and one is opened in the plot", async () => {
  await page.goto(`${base}?part=when&${HOUR}`);
  await page.getByLabel("PV 1", { exact: true }).fill("LAB:TEMP1");
  await page.getByLabel("With what PV 1 is compared").fill("23.3");
  await page.getByRole("button", { name: "Another PV" }).click();
  await page.getByLabel("PV 2", { exact: true }).fill("SR:MODE");
  await page.getByLabel("How PV 2 is compared").focus();
  for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowDown");
  await page.getByLabel("With what PV 2 is compared").fill("3");
  assert.equal(await page.inputValue(".when-expression"), "LAB:TEMP1 > 23.3 while SR:MODE = 3");
  await page.keyboard.press("Enter");
  await page.locator("#when .told").getByText("hatched").waitFor();
  const found = page.locator("#when tbody tr");
  const count = await found.count();
  assert.ok(count > 0);
  assert.match(
    (await page.locator("#when .told b").textContent())!,
    new RegExp(count === 1 ? "^Once" : `^${count} times`),
  );
  assert.equal(await page.locator(".year-strip").count(), 1);
  const from = await found.first().getAttribute("data-from");
  // What is found last stands first.
  await page.locator("#when tbody th a").first().click();
  await page.locator('#legend [data-pv="SR:MODE"]').waitFor();
  assert.match(
    page.url(),
    new RegExp(`pv=LAB:?(%3A)?TEMP1&pv=SR.*at=${from!.slice(0, 19).replace(/:/g, "(:|%3A)")}`),
  );
});

test("all times that were found are marked in the plot to which one leads, there and in its overview, until that is taken back", async () => {
  const condition = "LAB:TEMP1 > 23.3 while SR:MODE = 3";
  await page.goto(`${base}?part=when&q=${encodeURIComponent(condition)}&${HOUR}`);
  await page.locator("#when tbody th a").first().click();
  const strip = page.locator("#overview-strip");
  await strip.getByText(/; blue: LAB:TEMP1 > 23\.3 while SR:MODE = 3, \d+ times$/).waitFor();
  const asked = server.requests.filter((path) => path.startsWith("/api/v1/when"));
  const of = (path: string, key: string) => Date.parse(new URL(path, base).searchParams.get(key)!);
  const length = of(asked.at(-1)!, "to") - of(asked.at(-1)!, "from");
  assert.ok(length >= 10 * 3_600_000, "it is searched over the span of the overview");
  /** How many columns at the foot of the strip, and above the panes of the plot, have the accent's colour. */
  const marks = () =>
    page.evaluate(() => {
      const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
      const rgb = [1, 3, 5].map((at) => parseInt(accent.slice(at, at + 2), 16));
      const count = (canvas: HTMLCanvasElement, y: number) => {
        const ratio = canvas.width / canvas.clientWidth;
        const { data } = canvas.getContext("2d")!.getImageData(0, y * ratio, canvas.width, 1);
        let found = 0;
        for (let i = 0; i < data.length; i += 4)
          if (rgb.every((part, k) => Math.abs(data[i + k]! - part) < 3) && data[i + 3] === 255) found += 1;
        return found;
      };
      const strip = document.querySelector<HTMLCanvasElement>("#overview-strip canvas")!;
      return [count(strip, strip.clientHeight - 2), count(document.querySelector("#plot canvas")!, 20)];
    });
  const [inStrip, inPlot] = await marks();
  assert.ok(inStrip! > 10 && inPlot! > 10, `${inStrip} columns of the strip, ${inPlot} of the plot`);
  assert.match(page.url(), /found=LAB(:|%3A)TEMP1%20%3E%2023\.3%20while%20SR(:|%3A)MODE%20%3D%203/);
  const unmark = strip.getByRole("button", { name: "Without these marks" });
  await unmark.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !location.search.includes("found="));
  await strip.getByText(/drag to move$/).waitFor();
  assert.deepEqual(await marks(), [0, 0]);
  await page.goBack();
  await unmark.waitFor();
});

test("a strip of less than a month has its times below it, and divisions where they stand", async () => {
  await page.goto(`${base}?part=when&q=LAB:TEMP1%20%3E%2023.3&${HOUR}`);
  await page.locator("#when tbody tr").first().waitFor();
  const texts = await page.locator(".months span").allInnerTexts();
  assert.deepEqual(texts.slice(0, 2), ["2026-11-20 10:00", "10:10"]);
});

test("a search shows how far it is, is stopped, and the archiver stops with it", async () => {
  server.searchMillis = 400;
  await page.goto(`${base}?part=when&q=SR:CURRENT%20%3E%20400&${HOUR}`);
  await page.locator("#when .told").getByText("searching, so far up to 2026-11-20").waitFor();
  assert.ok(server.isSearching);
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator("#when .told").getByText("stopped: it was looked up to").waitFor();
  await page.getByRole("button", { name: "Find", exact: true }).waitFor();
  for (let tries = 0; server.isSearching; tries++) {
    assert.ok(tries < 100, "the archiver goes on searching");
    await page.waitForTimeout(50);
  }
});

test("an expression is taken as it is written; what is wrong with it is told", async () => {
  await page.goto(`${base}?part=when&q=NO:SUCH%20-%202%20%3E%201&${HOUR}`);
  await page.getByRole("alert").getByText('no PV of this archive is called "NO:SUCH"').waitFor();
  assert.equal(await page.locator("#when .clauses").isVisible(), false);
  await page.locator(".when-expression").fill("");
  assert.equal(await page.locator("#when .clauses").isVisible(), true);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Name a PV").waitFor();
  await page.getByLabel("between").fill("11:00 tomorrow");
  await page.locator(".when-expression").fill("SR:CURRENT > 1");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() =>
    (document.querySelector("#when .is-error")?.textContent ?? "").includes("11:00 tomorrow"),
  );
});

test("the plot leads there with its PVs, its cursor and its zone", async () => {
  await page.goto(`${base}?pv=LAB:TEMP1&pv=SR:MODE&${HOUR}&at=2026-11-20T10:20:00Z`);
  await page.locator('#legend [data-pv="LAB:TEMP1"]').waitFor();
  await page.locator("#nav-snapshot").click();
  await page.locator('#snapshot tr[data-pv="LAB:TEMP1"]').waitFor();
  assert.equal(await page.getByLabel("A", { exact: true }).inputValue(), "2026-11-20 10:20:00.000");
  await page.goBack();
  await page.locator("#more").click();
  await page.locator("#more-when").click();
  assert.equal(await page.getByLabel("PV 2", { exact: true }).inputValue(), "SR:MODE");
});

test("a list that is too long for an address is compared all the same, and that is said", async () => {
  const like = server.pvs.find((pv) => pv.name === "LAB:TEMP1")!;
  const names = Array.from({ length: 400 }, (_, i) => `LAB:A-LONG-NAME-OF-A-THERMOMETER:${i}`);
  server.pvs.push(...names.map((name) => ({ ...like, name })));
  await page.goto(`${base}?part=snapshot&a=${A}&zone=utc`);
  await page.getByText("Name PVs and a time A").waitFor();
  await paste(page, "#snapshot .pv-list", names.join("\n"));
  await page.getByText("too long for an address").waitFor();
  assert.equal((await rows()).length, 400);
  assert.ok(page.url().length < 1000);
});
