// Journeys of who has no mouse: what the others do by it, done by Tab, arrows and the keys of the page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { Keyboard } from "./keyboard.ts";
import type { Walk } from "./questions.ts";

interface Tools {
  base: string;
  loaded(page: Page): Promise<void>;
  /** Where a trace at full strength reaches nearly to the top, as parts of the width. */
  reaching(page: Page): Promise<number[]>;
  gotoOld(page: Page, old: string): Promise<void>;
  /** The PV that has the outlier. */
  outlierPv: string;
}

/** The moment of the cursor, as a part of the plot's width; none without a cursor. */
function cursorPart(page: Page): Promise<number | null> {
  return page.evaluate(() => {
    const pill = document.querySelector<HTMLElement>(".cursor-pill")!;
    const over = document.querySelector<HTMLElement>("#plot .over")!;
    return pill.hidden ? null : (parseFloat(pill.style.left) - over.offsetLeft) / over.offsetWidth;
  });
}

/** Leads the cursor beside a place, by arrows. */
async function lead(page: Page, keyboard: Keyboard, part: number): Promise<void> {
  await keyboard.press("Shift+ArrowRight");
  for (let presses = 0; presses < 200; presses++) {
    const now = (await cursorPart(page))!;
    if (Math.abs(now - part) < 0.004) return;
    await keyboard.press(
      now < part ? "Shift+ArrowRight" : "Shift+ArrowLeft",
      Math.max(1, Math.floor(Math.abs(now - part) / 0.005)),
    );
  }
  assert.fail("the cursor does not come there");
}

/** J2. The outlier, between cursors to which the view is zoomed. */
export async function outlierByKeys(
  { page }: Walk,
  { base, loaded, reaching, outlierPv }: Tools,
): Promise<void> {
  const keyboard = new Keyboard(page);
  await page.goto(`${base}?pv=${outlierPv}&zone=utc`);
  await loaded(page);
  await keyboard.press("9");
  await page.locator("#made").filter({ hasText: "mean of" }).waitFor();
  await page.waitForTimeout(600);
  await loaded(page);
  let zooms = 0;
  let high = await reaching(page);
  for (; high.length < 12 && zooms < 5; zooms++) {
    const middle = (high[0]! + high.at(-1)!) / 2;
    await lead(page, keyboard, middle);
    await keyboard.press("Shift+ArrowLeft", 4);
    await keyboard.press("Enter");
    await keyboard.press("Shift+ArrowRight", 8);
    await keyboard.press("b");
    await keyboard.press("z");
    await page.waitForTimeout(400);
    await loaded(page);
    high = await reaching(page);
  }
  assert.equal(await page.locator("#made").innerText(), "every sample", `after ${zooms} zooms`);
  await keyboard.press("Shift+ArrowRight");
  // As many samples as may be in sight.
  for (let tries = 0; ; tries++) {
    assert.ok(tries < 400, "the cursor does not come to the outlier");
    // The panel follows with the next picture.
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    const value = await page.locator(`#legend [data-pv="${outlierPv}"] .value`).textContent();
    if (value!.startsWith("95")) break;
    const now = (await cursorPart(page)) ?? 0.5;
    await keyboard.press(now < high[0]! ? "Shift+ArrowRight" : "Shift+ArrowLeft");
  }
  const time = await page.locator(`#legend [data-pv="${outlierPv}"] .time`).textContent();
  assert.match(process.env.PVARK_OUTLIER!, new RegExp(`${time}Z$`), "exact to the nanosecond");
}

/** J7. */
export async function costsByKeys({ page }: Walk, { base }: Tools): Promise<void> {
  const keyboard = new Keyboard(page);
  await page.goto(`${base}manage`);
  await page.locator(".table-row[data-pv]").first().waitFor();
  await keyboard.use(".table-head .bytes button");
  await page.waitForFunction(
    () => (document.querySelector(".table-row[data-pv] .bytes")?.textContent ?? "") !== "",
  );
  const first = (await page.locator(".table-row[data-pv]").first().getAttribute("data-pv"))!;
  const band = async () => {
    const { sampling } = (await (
      await page.request.get(`${base}api/v1/pvs/${encodeURIComponent(first)}`)
    ).json()) as {
      sampling: { deadband: string | null };
    };
    return sampling.deadband;
  };
  const before = await band();
  await keyboard.reach(".rows-scroll");
  await keyboard.press("Space");
  await page.locator(".bulk b").getByText("1").waitFor();
  await keyboard.use('[data-verb="policy"]');
  const sheet = page.locator("#sheet-dialog");
  await sheet.locator("select").waitFor();
  await keyboard.choose("monitor");
  await keyboard.reach("#sheet-dialog input");
  await keyboard.write("1e9");
  await keyboard.use("#sheet-dialog button", "What would it have kept?");
  await sheet.getByText(/samples of the last day it would have kept/).waitFor();
  await keyboard.use("#sheet-dialog button", "Policy of 1 PV");
  await page.locator(".said-bar").getByText("1 PV is archived another way now.").waitFor();
  assert.equal(Number(await band()), 1e9);
  await keyboard.use(".undo-order");
  for (let tries = 0; (await band()) !== before; tries++) {
    assert.ok(tries < 100, "as it was");
    await page.waitForTimeout(100);
  }
}

/** J8. */
export async function snapshotByKeys({ page }: Walk, { base }: Tools): Promise<void> {
  const keyboard = new Keyboard(page);
  const { names, good, changed } = JSON.parse(await readFile(process.env.PVARK_SNAPSHOT!, "utf8")) as {
    names: string[];
    good: string;
    changed: string[];
  };
  await page.goto(`${base}?part=snapshot`);
  await page.getByText("Name PVs and a time A").waitFor();
  await keyboard.reach("#snapshot .pv-list");
  await keyboard.paste(names.join("\n"));
  await page.locator("#snapshot .told").getByText(`${names.length} PVs`).waitFor();
  await keyboard.reach("#snapshot input", "B, to compare with");
  await keyboard.write(good);
  await keyboard.press("Enter");
  const told = `${names.length} PVs: ${changed.length} changed`;
  await page.locator("#snapshot .told").getByText(told).waitFor();
  const waiting = page.waitForEvent("download");
  await keyboard.use('[data-save="snapshot"]');
  const file = await readFile((await (await waiting).path())!, "utf8");
  assert.equal(file.trim().split("\n").length, names.length + 1);
}

/** J9. */
export async function whenByKeys({ page }: Walk, { base }: Tools): Promise<void> {
  const keyboard = new Keyboard(page);
  const { from, to, found } = JSON.parse(await readFile(process.env.PVARK_WHEN!, "utf8")) as {
    from: string;
    to: string;
    found: [string, string][];
  };
  await page.goto(`${base}?part=when&from=${from}&to=${to}&zone=utc`);
  await page.locator("#when").waitFor();
  await keyboard.reach("#when input", "PV 1");
  await keyboard.type("J9:A");
  await keyboard.reach("#when input", "With what PV 1 is compared");
  await keyboard.write("3");
  await keyboard.use("#when button", "Another PV");
  // Its field has the focus.
  await keyboard.type("J9:B");
  assert.equal(await page.getByLabel("PV 2", { exact: true }).inputValue(), "J9:B");
  await keyboard.reach("#when select", "How PV 2 is compared");
  await keyboard.choose("is");
  await keyboard.reach("#when input", "With what PV 2 is compared");
  await keyboard.write("1");
  await keyboard.press("Enter");
  await page
    .locator("#when .told")
    .getByText(`${found.length.toLocaleString("en")} times`)
    .waitFor();
  await keyboard.use("#when tbody a");
  await page.locator('#legend [data-pv="J9:B"]').waitFor();
  assert.equal(Date.parse(new URL(page.url()).searchParams.get("at")!), Date.parse(found.at(-1)![0]));
}

/** J11. What the old pages were for, each task from the list of all PVs. */
export async function bookmarksByKeys({ page }: Walk, { gotoOld }: Tools): Promise<void> {
  const keyboard = new Keyboard(page);
  await gotoOld(page, "index.html");
  await page.locator(".table-row[data-pv]").first().waitFor();
  const said = (text: string) => page.locator(".said-bar").getByText(text).waitFor();
  const list = async (names: string) => {
    await keyboard.press("/");
    await keyboard.press("Control+a");
    await keyboard.paste(names);
    await page.locator(".bulk b").waitFor();
  };
  /** Opens the sheet of an order, whose first field or button has the focus. */
  const order = async (verb: string, button: string) => {
    await keyboard.use(`[data-verb="${verb}"]`);
    await page.locator("#sheet-dialog button").filter({ hasText: button }).waitFor();
  };
  await list("J11:A\nJ11:C\nJ11:NONE\n");
  await page.getByText("1 not archived: J11:NONE").waitFor();
  for (const [verb, button, told] of [
    ["pause", "Pause 2 PVs", "2 PVs are paused."],
    ["resume", "Resume 2 PVs", "2 PVs are resumed."],
  ] as const) {
    await list("J11:A\nJ11:C\n");
    await order(verb, button);
    await keyboard.press("Enter");
    await said(told);
  }
  await list("J11:A\n#\n");
  await order("policy", "Policy of 1 PV");
  await keyboard.choose("scan");
  await keyboard.reach("#sheet-dialog input[inputmode=decimal]");
  await keyboard.write("3");
  await keyboard.press("Enter");
  await page.locator('.table-row[data-pv="J11:A"] .how').getByText("every 3 s").waitFor();
  await list("J11:C\n#\n");
  await order("rename", "Rename");
  await keyboard.write("J11:AWAY");
  await keyboard.press("Enter");
  await said("1 PV is renamed.");
  await list("J11:AWAY\n#\n");
  await order("remove", "Remove 1 PV");
  await keyboard.press("Enter");
  await said("1 PV is removed.");
  await keyboard.use('[data-tab="add"]');
  await keyboard.reach(".add-names textarea");
  await keyboard.paste("J11:F\nJ11:G\n");
  await page.getByRole("button", { name: "Archive 2 PVs" }).waitFor();
  await keyboard.press("Enter");
  await page.getByText("All 2 have a first value.").waitFor();
  await keyboard.use('[data-tab="pvs"]');
  await list("J11:A\n#\n");
  await keyboard.use('[data-show="details"]');
  await page.locator("#details dd").getByText("f64").waitFor();
  await keyboard.press("Escape");
  await keyboard.use('[data-tab="reports"]');
  await page.getByText("J11:NEVER").waitFor();
  await keyboard.use("#manage button", "Top PVs by storage rate");
  await page.locator(".list th").filter({ hasText: /MB/i }).first().waitFor();
}

/** J12. A wall is made of what is plotted; then there is nothing to be pressed. */
export async function wallByKeys({ page }: Walk, { base, loaded }: Tools): Promise<void> {
  const keyboard = new Keyboard(page);
  await page.goto(`${base}?pv=J1:DCCT&pv=J1:RF2:FWD`);
  await loaded(page);
  await keyboard.use("#more");
  await keyboard.use("#more-wall");
  await page.locator(".wall-value").first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get("wall"), "1");
  await keyboard.press("Tab");
  assert.equal(
    await page.evaluate(() => document.querySelector("#wall")!.contains(document.activeElement)),
    false,
  );
}
