// Finding PVs in headless Chromium: by words of all that is known of them, many at once, and those that one comes back to.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, browser, openForEach, page, server } from "./opened.ts";
import { mixedPvs } from "./pvs.ts";

openForEach(15_000);

const found = () => page.locator("#found li[data-pv]");
const foundNames = () => found().evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.pv!));
const marked = () =>
  page.locator("#found .is-marked").evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.pv!));
const plotted = () => new URL(page.url()).searchParams.getAll("pv");

async function find(text: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.locator(`#found[data-match="${text}"] .foot`).waitFor();
}

test("words in any order find by names, descriptions and units, and what fits is underlined", async () => {
  await page.goto(base);
  await find("water degc 2");
  await page.locator('#found [data-pv="LAB:TEMP2"]').waitFor();
  assert.deepEqual(await foundNames(), ["LAB:TEMP2"]);
  const option = page.locator('#found [data-pv="LAB:TEMP2"]');
  assert.equal(await option.locator(".description").innerText(), "Cooling water, loop 2");
  assert.deepEqual(await option.locator(".description u").allInnerTexts(), ["water", "2"]);
  assert.deepEqual(await option.locator(".pv u").allInnerTexts(), ["2"]);
  assert.ok(server.requests.some((path) => path.startsWith("/api/v1/pvs?words=water%20degc%202")));
  // A glob is one of names.
  await page.keyboard.press("Control+a");
  await page.keyboard.type("lab:temp?");
  await page.locator('#found[data-match="lab:temp?"] .foot').waitFor();
  assert.equal(await found().count(), 3);
  assert.equal(await page.locator("#found u").count(), 0);
});

test("by keyboard several are marked, counted and plotted by one Enter", async () => {
  await page.goto(base);
  await find("lab");
  const names = await foundNames();
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowDown");
  assert.deepEqual(await marked(), names.slice(0, 3));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+Enter");
  assert.deepEqual(await marked(), [...names.slice(0, 3), names[4]]);
  await page.locator("#found .found-count").getByText("4 marked").waitFor();
  assert.equal(await page.locator("#found .plot-marked").innerText(), "Plot 4");
  // What is marked stays while one looks for more.
  await page.keyboard.press("Control+a");
  await page.keyboard.type("lifetime");
  await page.locator('#found[data-match="lifetime"] .foot').waitFor();
  await page.keyboard.press("Control+Enter");
  assert.equal(await page.locator("#found .plot-marked").innerText(), "Plot 5");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 5);
  assert.deepEqual(plotted(), [...names.slice(0, 3), names[4], "SR:LIFETIME"]);
  assert.equal(await page.locator("#found").isVisible(), false);
});

test("by mouse Shift marks all between, a tick one, and a button plots them", async () => {
  await page.goto(base);
  await find("lab");
  const names = await foundNames();
  await found().nth(0).locator(".tick").click();
  await found()
    .nth(2)
    .click({ modifiers: ["Shift"] });
  assert.deepEqual(await marked(), names.slice(0, 3));
  await found().nth(1).locator(".tick").click();
  assert.deepEqual(await marked(), [names[0], names[2]]);
  assert.deepEqual(plotted(), [], "nothing is plotted before that is said");
  await page.locator("#found .plot-marked").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 2);
  assert.deepEqual(plotted(), [names[0], names[2]]);
});

test("all that is found is plotted at once; more than fifty only after that was said, and in part if one likes", async () => {
  await page.goto(base);
  await find("lab:temp");
  // The last of the list, which one comes to by going up.
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 3);
  server.pvs.push(...mixedPvs(70).filter((pv) => !server.pvs.some(({ name }) => name === pv.name)));
  await page.goto(base);
  await find("~.");
  const total = server.pvs.length;
  await page.locator("#found .memo").getByText(`Plot all ${total}`).click();
  await page.locator("#found").getByText(`${total} PVs in one plot are hard to tell apart`).waitFor();
  assert.deepEqual(plotted(), []);
  assert.deepEqual(
    await page
      .locator("#found [role=option]")
      .allInnerTexts()
      .then((all) => all.map((text) => text.replace(/^\+\s*/, ""))),
    ["Plot the first 50", `Plot all ${total}`],
  );
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 50);
});

test("Shift Enter plots it in a pane of its own", async () => {
  await page.goto(`${base}?pv=LAB:TEMP1&from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z`);
  await page.locator('#legend [data-pv="LAB:TEMP1"]').waitFor();
  await find("lab:temp2");
  await page.keyboard.press("Shift+Enter");
  await page.waitForURL(/pv=LAB:TEMP2&set=own/);
});

test("what is starred, then what was plotted of late, stands first where nothing is typed, also after a reload", async () => {
  await page.goto(base);
  await find("gauge");
  await page.keyboard.press("Control+d");
  await page.locator('#found [data-pv="VAC:GAUGE1"] .star').getByText("★").waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("lab:raw");
  await page.locator('#found[data-match="lab:raw"] .foot').waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/pv=LAB:RAW/);
  await page.goto(base);
  await page.keyboard.press("/");
  await page.locator("#found .found-head").getByText("Starred").waitFor();
  assert.deepEqual((await foundNames()).slice(0, 2), ["VAC:GAUGE1", "LAB:RAW"]);
  const heads = await page.locator("#found .found-head").allInnerTexts();
  assert.deepEqual(heads.slice(0, 3), ["Starred", "Plotted of late", "All"]);
  const names = await foundNames();
  assert.equal(new Set(names).size, names.length, "none stands there twice");
  // A press takes the star away.
  await page.locator('#found [data-pv="VAC:GAUGE1"] .star').click();
  await page.locator('#found [data-pv="VAC:GAUGE1"] .star').getByText("☆").waitFor();
  assert.deepEqual(plotted(), []);
  await page.reload();
  await page.keyboard.press("/");
  await page.locator("#found .found-head").getByText("Plotted of late").waitFor();
  assert.equal(await page.locator("#found .found-head").getByText("Starred").count(), 0);
});

test("a wrong name gets those that may have been meant, and Enter looks for one of them", async () => {
  await page.goto(base);
  await find("lab:temq1");
  await page.locator("#found .found-head").getByText("Did you mean").waitFor();
  const hint = page.locator("#found").getByText("No archived PV matches “lab:temq1”");
  const box = await hint.boundingBox();
  const popup = await page.locator("#found").boundingBox();
  assert.ok(box!.x + box!.width <= popup!.x + popup!.width, "all of it stands within the list");
  await page.keyboard.press("Enter");
  await page.locator('#found[data-match="LAB:TEMP1"] [data-pv="LAB:TEMP1"]').waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/pv=LAB:TEMP1/);
});

test("on a phone fingers mark several and plot them, and nothing lies beyond the window", async () => {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  const phone = await context.newPage();
  phone.setDefaultTimeout(15_000);
  await phone.goto(base);
  await phone.locator("#tab-find").tap();
  await phone.fill("#search", "water");
  await phone.locator('#found[data-match="water"] .foot').waitFor();
  for (const name of ["LAB:TEMP1", "LAB:TEMP3"]) {
    const tick = phone.locator(`#found [data-pv="${name}"] .tick`);
    const { width, height } = (await tick.boundingBox())!;
    assert.ok(width >= 24 && height >= 24, `${width} × ${height}`);
    await tick.tap();
  }
  assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  await phone.locator("#found .plot-marked").tap();
  await phone.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 2);
  await context.close();
});

const item = (name: string) => page.locator(`#name-tree [role=treeitem][data-name="${name}"]`);
const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).dataset.name);
const expanded = (name: string) => item(name).getAttribute("aria-expanded");

test("by keyboard the tree is opened from the find, walked, and what is marked in it plotted", async () => {
  await page.goto(base);
  await page.keyboard.press("/");
  await page.locator("#found .foot").waitFor();
  await page.keyboard.press("ArrowUp");
  assert.match(await page.locator('#found [aria-selected="true"]').innerText(), /All names as a tree/);
  await page.keyboard.press("Enter");
  await item("LAB:").waitFor();
  // Levels are asked for when they are opened, and only then.
  const asked = () => server.requests.filter((path) => path.startsWith("/api/v1/tree"));
  assert.equal(asked().length, 1);
  const roots = await page.locator("#name-tree [role=treeitem]").evaluateAll((all) => all.length);
  assert.ok(roots > 2);
  await page.keyboard.press("Home");
  await page.keyboard.press("l");
  assert.equal(await focused(), "LAB:");
  await page.keyboard.press("ArrowRight");
  await item("LAB:TEMP1").waitFor();
  assert.deepEqual([await expanded("LAB:"), asked().length], ["true", 2]);
  assert.match((await item("LAB:").getAttribute("aria-label"))!, /^LAB: \d+ names$/);
  await page.keyboard.press("t");
  assert.equal(await focused(), "LAB:TEMP1");
  await page.keyboard.press("Space");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowDown");
  await page.locator("#name-tree").getByText("3 PVs marked.").waitFor();
  assert.equal(await item("LAB:TEMP2").getAttribute("aria-selected"), "true");
  await page.keyboard.press("Space");
  await page.locator("#name-tree").getByText("2 PVs marked.").waitFor();
  // Closed and opened again nothing is asked for, and what is marked stays so.
  await page.keyboard.press("ArrowLeft");
  assert.equal(await focused(), "LAB:");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await expanded("LAB:"), "false");
  assert.equal(await item("LAB:TEMP1").isVisible(), false);
  await page.keyboard.press("ArrowRight");
  assert.equal(asked().length, 2);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 2);
  assert.deepEqual(plotted(), ["LAB:TEMP1", "LAB:TEMP2"]);
  assert.equal(await page.locator("#name-tree").isVisible(), false);
});

test("a branch is marked as a whole by its tick, and opened by its name; of too many that is said", async () => {
  await page.goto(base);
  await page.locator("#more").click();
  await page.locator("#more-tree").click();
  await item("SR:").waitFor();
  await item("SR:").locator(".tick").first().click();
  const many = server.pvs.filter(({ name }) => name.startsWith("SR:")).length;
  await page.locator("#name-tree .actions").getByText(`${many} PVs marked.`).waitFor();
  assert.equal(await expanded("SR:"), "false");
  await item("SR:").locator(".pv").first().click();
  await item("SR:CURRENT").waitFor();
  assert.equal(await item("SR:CURRENT").getAttribute("aria-selected"), "true");
  await item("SR:CURRENT").locator(".pv").click();
  assert.equal(await item("SR:").getAttribute("aria-selected"), "false", "one of it is not marked any more");
  await page
    .locator("#name-tree .actions")
    .getByText(`${many - 1} PVs marked.`)
    .waitFor();
  await page.locator("#name-tree .primary").click();
  await page.waitForFunction((n) => new URLSearchParams(location.search).getAll("pv").length === n, many - 1);
  server.pvs.push(...mixedPvs(300).map((pv, i) => ({ ...pv, name: `MANY:${String(i).padStart(3, "0")}` })));
  await page.locator("#more").click();
  await page.locator("#more-tree").click();
  await item("MANY:").locator(".tick").click();
  await page.locator("#name-tree .said").getByText("MANY: has 300 PVs: open it").waitFor();
  assert.equal(await item("MANY:").getAttribute("aria-selected"), "false");
  await item("MANY:").locator(".pv").click();
  await item("MANY:000").waitFor();
  assert.equal(await page.locator("#name-tree [data-name^='MANY:0']").count(), 100);
  // The level comes in parts.
  await page.locator("#name-tree .tree-more").getByText("More behind the first 200").click();
  await item("MANY:299").waitFor();
  assert.equal(await focused(), "MANY:200");
});

test("a level that does not come is said, and asked for again", async () => {
  await page.goto(base);
  await page.locator("#more").click();
  await page.locator("#more-tree").click();
  await item("SR:").waitFor();
  server.down = true;
  await item("SR:").locator(".pv").click();
  await page.locator("#name-tree .said").getByText("does not answer").waitFor();
  assert.equal(await expanded("SR:"), "false");
  server.down = false;
  await item("SR:").locator(".pv").click();
  await item("SR:CURRENT").waitFor();
});
