// Formulas as rows of the plot, the same PV at another time, and the numbers between two cursors, in headless Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, loaded, openForEach, page, server } from "./opened.ts";

openForEach(30_000);

const HOUR = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";

const cell = (pv: string, name: string) =>
  page
    .locator(`#legend [data-pv="${pv}"] .${name}`)
    .evaluate((element) => Number((element.textContent ?? "").trim().replace("−", "-").replace("e−", "e-")));

test("a formula is typed where a PV is typed, and drawn with the units of its result", async () => {
  await page.goto(`${base}?pv=LAB:TEMP1&pv=LAB:TEMP2&${HOUR}&at=2026-11-20T10:30:00Z`);
  await loaded();
  await page.keyboard.press("/");
  await page.keyboard.type("LAB:TEMP1 - 2*LAB:TEMP2");
  await page.locator("#found .memo").getByText("= LAB:TEMP1 - 2*LAB:TEMP2").waitFor();
  await page.keyboard.press("Enter");
  const name = "= LAB:TEMP1 - 2*LAB:TEMP2";
  await page.locator(`#legend [data-pv="${name}"]`).waitFor();
  await loaded();
  const [a, b, c] = await Promise.all([
    cell("LAB:TEMP1", "value"),
    cell("LAB:TEMP2", "value"),
    cell(name, "value"),
  ]);
  assert.ok(Math.abs(c - (a - 2 * b)) < 0.05, `${a} - 2*${b} = ${c}`);
  assert.equal(await page.locator(`#legend [data-pv="${name}"] .units`).innerText(), "degC");
  await page.reload();
  await page.locator(`#legend [data-pv="${name}"]`).waitFor();
  const asked = server.requests.filter(
    (request) => /bins|samples|gaps|live/.test(request) && request.includes("%3D"),
  );
  assert.deepEqual(asked, [], "a formula is never asked for as if it were a PV");
});

test("a formula that is refused says where and why, and plots nothing", async () => {
  await page.goto(`${base}?pv=LAB:TEMP1&${HOUR}`);
  await loaded();
  await page.keyboard.press("/");
  await page.keyboard.type("LAB:TEMP1 - LAB:NONE");
  await page
    .locator("#found")
    .getByText('no PV of this archive is called "LAB:NONE", at character 13')
    .waitFor();
  assert.equal(await page.locator(".refused-formula mark").innerText(), "L");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300);
  assert.equal(await page.locator("#legend [data-pv]").count(), 1);
  await page.fill("#search", "LAB:TEMP1 - ");
  await page.fill("#search", "= LAB:TEMP1 -");
  await page.locator("#found").getByText("the end was found, at character 12").waitFor();
});

test("over a long range a formula is drawn by its means first, then with what these hide", async () => {
  await page.goto(
    `${base}?pv=${encodeURIComponent("= SR:CURRENT * 2")}&zone=utc&from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z`,
  );
  await loaded();
  const asked = server.requests.filter((request) => request.includes("/formula"));
  assert.ok(
    asked.some((request) => /bins=\d+$/.test(request)),
    "means",
  );
  assert.ok(asked.at(-1)!.includes("extremes=true"), "then extremes");
});

test("a drag that goes on leaves a formula as it is, and has it computed where it ends", async () => {
  const names = ["SR:CURRENT", "= SR:CURRENT * 2"].map((name) => `pv=${encodeURIComponent(name)}`).join("&");
  await page.goto(`${base}?${names}&zone=utc&from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z`);
  await loaded();
  const box = (await page.locator("#plot .over").boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + 60];
  const asked = (what: string) => server.requests.filter((request) => request.includes(what)).length;
  server.requests = [];
  await page.mouse.move(x, y);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  // Until the edge of the PV has been asked for.
  const began = Date.now();
  for (let i = 1; asked("/view") < 2; i++) {
    assert.ok(Date.now() - began < 20_000, "a drag that goes on asks for its edge");
    await page.mouse.move(x + 100 * Math.sin(i / 20), y);
  }
  assert.equal(asked("/formula"), 0, "of the formula nothing was asked for");
  assert.ok(await page.locator('#legend [data-pv^="="] .value').first().textContent(), "it is still there");
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await loaded();
  for (let tries = 0; asked("/formula") === 0; tries++) {
    assert.ok(tries < 100, "it is computed where the drag ends");
    await page.waitForTimeout(100);
  }
});

test("the same PV of a day before lies over it, with its own times", async () => {
  const range = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:02:00Z&zone=utc";
  await page.goto(`${base}?pv=LAB:TEMP1&${range}&at=2026-11-20T10:01:00Z`);
  await loaded();
  await page.locator("#panel-set").click();
  await page.locator('[data-over="1d"]').click();
  const row = page.locator('#legend [data-pv="LAB:TEMP1 @-1d"]');
  await row.getByText("LAB:TEMP1, 1 day earlier").waitFor();
  await loaded();
  const time = await row.locator(".time").evaluate((element) => element.textContent);
  assert.match(time!, /^2026-11-19 10:0/, "the sample says when it was taken");
  const asked = server.requests.filter((request) => request.includes("from=2026-11-19T10:00:00Z"));
  assert.ok(asked.length > 0, "it is asked for by its own times");
  await page.reload();
  await row.waitFor();
});

test("between A and B stand the numbers that the archiver computes", async () => {
  const ends = "at=2026-11-20T10:10:00Z&b=2026-11-20T10:20:00Z";
  await page.goto(
    `${base}?pv=LAB:TEMP1&pv=SR:MODE&pv=${encodeURIComponent("= LAB:TEMP1 * 10")}&${HOUR}&${ends}`,
  );
  await loaded();
  await page.mouse.move(5, 5);
  const one = page.locator('#between [data-of="LAB:TEMP1"]');
  await one.getByText("integral").waitFor();
  assert.equal(await page.locator("#between li").count(), 2, "a state has no mean");
  const number = async (of: string, term: string) => {
    const texts = await page.locator(`#between [data-of="${of}"] :is(dt, dd)`).allInnerTexts();
    return parseFloat(texts[texts.indexOf(term) + 1]!.replace("−", "-"));
  };
  await page.locator('#between [data-of="= LAB:TEMP1 * 10"]').getByText("integral").waitFor();
  const [mean, integral, ten] = [
    await number("LAB:TEMP1", "mean"),
    await number("LAB:TEMP1", "integral"),
    await number("= LAB:TEMP1 * 10", "mean"),
  ];
  assert.ok(Math.abs(integral - mean * 600) < 20, `${integral} is ${mean} times 600 s`);
  assert.ok(Math.abs(ten - mean * 10) < 1, `${ten} is ten times ${mean}`);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector<HTMLElement>("#between")!.hidden);
});
