// The menus of the plot, by mouse, finger and keys, in headless Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { loaded } from "./loaded.ts";
import { base, browser, openForEach, page, server } from "./opened.ts";

openForEach(15_000);

const RANGE = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";
const GAP = "from=2026-11-20T10:44:50Z&to=2026-11-20T10:49:00Z&zone=utc";

const lines = (on: Page) => on.locator(".menu .menu-line").allTextContents();
const focused = (on: Page) => on.evaluate(() => document.activeElement?.textContent ?? "");
const menu = (on: Page) => on.locator('.menu [role="menu"]');

async function open(
  on: Page,
  query: string,
): Promise<{ x: number; y: number; width: number; height: number }> {
  await on.goto(`${base}?${query}`);
  await loaded(on);
  return (await on.locator("#plot .over").boundingBox())!;
}

test("a right click on the plot sets both cursors there, and zooms to what lies between", async () => {
  const box = await open(page, `pv=LAB:TEMP1&${RANGE}`);
  const at = async (part: number, entry: string) => {
    await page.mouse.click(box.x + box.width * part, box.y + 30, { button: "right" });
    await menu(page).waitFor();
    await page.getByRole("menuitem", { name: entry }).click();
    await menu(page).waitFor({ state: "detached" });
  };
  await at(0.25, "Cursor A here");
  await page.waitForURL(/at=2026-11-20T10:0[45]:/);
  await at(0.75, "Cursor B here");
  await page.waitForURL(/b=2026-11-20T10:1[45]:/);
  await at(0.5, "Zoom to A – B");
  await page.waitForURL(/from=2026-11-20T10:0[45]:.*to=2026-11-20T10:1[45]:/);
  assert.doesNotMatch(page.url(), /[?&](at|b)=/, "the cursors have done what they were for");
  await page.mouse.click(box.x + box.width / 2, box.y + 30, { button: "right" });
  await page.getByRole("menuitem", { name: "Back to the view before" }).click();
  await page.waitForURL(/from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z/);
});

test("by keys alone: arrows, letters, a menu within one, Escape, and the focus where it was", async () => {
  await open(page, `pv=LAB:TEMP1&pv=LAB:TEMP2&${RANGE}`);
  await page.locator('#legend [data-pv="LAB:TEMP2"] .name').focus();
  await page.keyboard.press("Shift+F10");
  await menu(page).waitFor();
  assert.equal(await menu(page).getAttribute("aria-label"), "LAB:TEMP2");
  assert.match(await focused(page), /all settings/);
  await page.keyboard.press("ArrowUp");
  assert.match(await focused(page), /Remove/, "from the first to the last");
  await page.keyboard.press("Home");
  await page.keyboard.type("li");
  assert.match(await focused(page), /^Line/);
  await page.keyboard.press("ArrowRight");
  assert.equal(await menu(page).getAttribute("aria-label"), "Line");
  assert.equal(await page.locator('.menu-line[aria-checked="true"]').count(), 1);
  await page.keyboard.press("ArrowLeft");
  assert.match(await focused(page), /^Line/, "back on the entry that led there");
  await page.keyboard.press("Enter");
  await page.keyboard.press("p");
  await page.keyboard.press("Enter");
  await page.waitForURL(/pv=LAB:TEMP2&set=points/);
  const row = () =>
    page.evaluate(() => document.activeElement?.closest<HTMLElement>("[data-pv]")?.dataset.pv);
  assert.equal(await row(), "LAB:TEMP2");
  await page.keyboard.press("m");
  await menu(page).waitFor();
  await page.keyboard.press("Escape");
  await menu(page).waitFor({ state: "detached" });
  assert.equal(await row(), "LAB:TEMP2", "Escape changes nothing");
  await page.keyboard.press("m");
  await page.keyboard.press("Tab");
  await menu(page).waitFor({ state: "detached" });
  await page.locator("#plot").focus();
  await page.keyboard.press("ContextMenu");
  await menu(page).waitFor();
  const texts = await lines(page);
  for (const entry of ["Cursor A here", "Copy the time", "Axes›", "Time axis›", "Snapshot at this time"])
    assert.ok(
      texts.some((text) => text.startsWith(entry)),
      `${entry} in ${texts.join(", ")}`,
    );
});

test("a row's menu plots its derivative and integral, lays another time over it, and takes it away", async () => {
  await open(page, `pv=LAB:TEMP1&${RANGE}`);
  const choose = async (...entries: string[]) => {
    await page.locator('#legend [data-pv="LAB:TEMP1"]').hover();
    await page.locator('#legend [data-pv="LAB:TEMP1"] .set').click();
    for (const name of entries) await page.getByRole("menuitem", { name }).click();
  };
  await choose("Plot its derivative");
  await page.waitForURL((url) => url.searchParams.getAll("pv").includes("= derivative(LAB:TEMP1)"));
  await choose("Plot its integral");
  await page.waitForURL((url) => url.searchParams.getAll("pv").includes("= integral(LAB:TEMP1)"));
  await choose("Another time laid over it", "A week");
  await page.waitForURL((url) => url.searchParams.getAll("pv").includes("LAB:TEMP1 @-1w"));
  await choose("Fixed limits");
  await page.locator("#settings[open]").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Axis from");
  await page.keyboard.press("Escape");
  await choose("Remove from the plot");
  await page.waitForURL((url) => !url.searchParams.getAll("pv").includes("LAB:TEMP1"));
});

test("an axis is made logarithmic, held as it is, and fitted again", async () => {
  const box = await open(page, `pv=LAB:TEMP1&pv=LAB:TEMP2&${RANGE}`);
  const choose = async (role: "menuitem" | "menuitemcheckbox", name: string) => {
    await page.mouse.click(box.x - 20, box.y + 80, { button: "right" });
    assert.match((await menu(page).getAttribute("aria-label"))!, /^Axis /);
    await page.getByRole(role, { name }).click();
  };
  await choose("menuitem", "Fixed as it is");
  await page.waitForURL(/pv=LAB:TEMP1&set=fix:[^&]*&pv=LAB:TEMP2&set=fix:/);
  await choose("menuitem", "Fit to the values");
  await page.waitForURL((url) => !url.search.includes("fix:"));
  await choose("menuitemcheckbox", "Logarithmic");
  await page.waitForURL(/log=/);
  await choose("menuitemcheckbox", "A pane for each PV");
  await page.waitForURL(/set=own&pv=LAB:TEMP2&set=own/);
  await page.locator("#legend .group-head").nth(1).waitFor();
});

test("all are normalised into one pane and back, and their rows keep their own numbers and units", async () => {
  const box = await open(page, `pv=SR:CURRENT&pv=LAB:TEMP1&${RANGE}`);
  const heads = page.locator("#legend .group-head");
  assert.equal(await heads.count(), 2);
  const row = () => page.locator('#legend [data-pv="LAB:TEMP1"]').innerText();
  const before = await row();
  const turn = async () => {
    await page.mouse.click(box.x + box.width / 2, box.y + 60, { button: "right" });
    await page.getByRole("menuitemcheckbox", { name: "Normalise all" }).click();
    await page.mouse.move(700, 20);
  };
  await turn();
  await page.waitForURL(/pv=SR:CURRENT&set=norm&pv=LAB:TEMP1&set=norm/);
  await page.waitForFunction(() => document.querySelectorAll("#legend .group-head").length === 1);
  assert.match((await heads.textContent())!, /normalised/);
  assert.equal(await row(), before, "the true values");
  await turn();
  await page.waitForURL((url) => !url.search.includes("norm"));
  assert.equal(await heads.count(), 2);
});

test("a gap says why it is and what to do, and leads to the reasons and to its own time", async () => {
  const box = await open(page, `pv=LAB:TEMP1&${GAP}`);
  const gap = server.pvs.find((pv) => pv.name === "LAB:TEMP1")!.gaps[0] as { from: number; to: number };
  const ends = Date.parse("2026-11-20T10:49:00Z") / 1000;
  const begins = Date.parse("2026-11-20T10:44:50Z") / 1000;
  const x = box.x + (((gap.from + gap.to) / 2 - begins) / (ends - begins)) * box.width;
  await page.mouse.click(x, box.y + 60, { button: "right" });
  await page.getByRole("menuitem", { name: "Gap of LAB:TEMP1" }).click();
  assert.match(
    (await page.locator(".menu-about").textContent())!,
    /archiver not running, .*why it stopped in its log/,
  );
  assert.equal(
    await page.getByRole("menuitem", { name: "Open the IOCs" }).getAttribute("href"),
    "manage?part=iocs",
  );
  await page.getByRole("menuitem", { name: "Zoom to it" }).click();
  await page.waitForURL((url) => !url.search.includes(GAP));
  const from = Date.parse(new URL(page.url()).searchParams.get("from")!) / 1000;
  assert.ok(from < gap.from && from > gap.from - (gap.to - gap.from), "with some of what is before it");
  await page.mouse.click(box.x + box.width / 2, box.y + 60, { button: "right" });
  await page.getByRole("menuitem", { name: "Gap of LAB:TEMP1" }).click();
  await page.getByRole("menuitem", { name: "Why?" }).click();
  await page.locator("#details #why").waitFor();
});

test("a note is read, and taken away and brought back, from its menu", async () => {
  await open(page, `pv=LAB:TEMP1&${RANGE}`);
  await page.locator("#plot").focus();
  await page.keyboard.press("m");
  await page.getByRole("menuitem", { name: "Note here" }).click();
  await page.locator("#note textarea").fill("vacuum valve");
  await page.keyboard.press("Control+Enter");
  await page.locator(".note-flag").waitFor();
  await page.locator(".note-flag").click({ button: "right" });
  assert.equal(await menu(page).getAttribute("aria-label"), "vacuum valve");
  assert.deepEqual(await lines(page), ["Read or change it …", "Delete it", "Copy a link to it"]);
  await page.getByRole("menuitem", { name: "Delete it" }).click();
  await page.locator(".note-flag").waitFor({ state: "detached" });
  await page.locator("#note").getByRole("button", { name: "Bring it back" }).click();
  await page.locator(".note-flag").waitFor();
});

test("what the plot was like at a moment is filled into the search, and not asked for yet", async () => {
  const box = await open(page, `pv=SR:MODE&pv=LAB:TEMP1&${RANGE}`);
  await page.mouse.click(box.x + box.width / 2, box.y + 60, { button: "right" });
  const link = page.getByRole("menuitem", { name: "When was it like this?" });
  const like = new URL((await link.getAttribute("href"))!, base).searchParams.get("like")!;
  assert.match(like, /LAB:TEMP1 [<>] [\d.]+/);
  assert.match(like, /SR:MODE = /);
  await link.click();
  await page.getByText("Filled in from the plot").waitFor();
  assert.equal(await page.locator(".clause").count(), 2);
});

test("a finger that is held opens the menu, at the foot of a phone, and the cursor stays", async () => {
  const context = await browser.newContext({
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  const phone = await context.newPage();
  phone.setDefaultTimeout(15_000);
  const faults: string[] = [];
  phone.on("pageerror", (error) => faults.push(error.message));
  const box = await open(phone, `pv=LAB:TEMP1&${RANGE}`);
  const hand = await context.newCDPSession(phone);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...at: { x: number; y: number }[]) =>
    hand.send("Input.dispatchTouchEvent", { type, touchPoints: at });
  const held = { x: box.x + box.width / 2, y: box.y + 60 };
  await touch("touchStart", held);
  await menu(phone).waitFor();
  await touch("touchEnd");
  const place = (await phone.locator(".menu").boundingBox())!;
  assert.ok(place.y + place.height > 800 && place.x >= 0 && place.x + place.width <= 390);
  for (const line of await phone.locator(".menu-line").all())
    assert.ok((await line.boundingBox())!.height >= 44, await line.innerText());
  assert.doesNotMatch(phone.url(), /at=/, "no tap besides");
  await phone.waitForTimeout(400);
  await phone.getByRole("menuitem", { name: "Cursor A here" }).tap();
  await phone.waitForURL(/at=2026-11-20T10:/);
  // One that moves pans.
  await touch("touchStart", held);
  for (let i = 1; i < 6; i++) await touch("touchMove", { x: held.x + i * 12, y: held.y });
  await phone.waitForTimeout(700);
  assert.equal(await menu(phone).count(), 0);
  await touch("touchEnd");
  // On a row.
  const row = (await phone.locator('#legend [data-pv="LAB:TEMP1"] .name').boundingBox())!;
  await touch("touchStart", { x: row.x + 5, y: row.y + 5 });
  await menu(phone).waitFor();
  await touch("touchEnd");
  assert.equal(await menu(phone).getAttribute("aria-label"), "LAB:TEMP1");
  await context.close();
  assert.deepEqual(faults, []);
});
