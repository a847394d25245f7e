// Notes and named views in headless Chromium: written from the plot and drawn on it, saved in folders, found, opened by short links.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, loaded, openForEach, page, server } from "./opened.ts";
import { somebody } from "./server.ts";

openForEach(30_000);

const HOUR = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const WAYS = { oidc: null, password: true };

/** Boxes of all flags above the plot. */
function flags(): Promise<{ text: string; left: number; right: number }[]> {
  return page.locator(".note-flag, .flag").evaluateAll((found) =>
    found.map((flag) => {
      const { left, right } = flag.getBoundingClientRect();
      return { text: flag.textContent ?? "", left, right };
    }),
  );
}

test("by keyboard alone a note is written on the cursor, drawn, read, changed, taken away and brought back", async () => {
  await page.goto(`${base}?pv=SR:CURRENT&${HOUR}&at=2026-11-20T10:30:00.250Z`);
  await loaded();
  await page.locator("#plot").focus();
  await page.keyboard.press("n");
  const dialog = page.locator("#note[open]");
  await dialog.getByText("New note").waitFor();
  assert.equal(await dialog.getByLabel("From").inputValue(), "2026-11-20 10:30:00.250");
  await page.keyboard.type("Trip, RF 2");
  await page.keyboard.press("Control+Enter");
  await page.locator(".note-flag").getByText("Trip, RF 2").waitFor();
  await page.locator("#events").getByText("Trip, RF 2").waitFor();
  await page.locator("#plot").focus();
  await page.keyboard.press("n");
  await dialog.getByText("it stands in every plot of that time").waitFor();
  await dialog.getByRole("button", { name: "Change" }).focus();
  await page.keyboard.press("Enter");
  await dialog.locator("textarea").fill("Trip of RF 2\nklystron changed");
  await dialog.getByLabel("SR:CURRENT").check();
  await page.keyboard.press("Control+Enter");
  await page.locator(".note-flag").getByText("Trip of RF 2", { exact: true }).waitFor();
  await page.locator(".read-note").click();
  await dialog.getByText("klystron changed").waitFor();
  await dialog.getByRole("button", { name: "Take away" }).click();
  await dialog.getByText("The note is taken away").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".note-flag").length === 0);
  await page.keyboard.press("Enter");
  await page.locator(".note-flag").getByText("Trip of RF 2").waitFor();
});

test("a note from A to B stands on that stretch, and in plots of its PVs alone", async () => {
  const ends = "at=2026-11-20T10:10:00Z&b=2026-11-20T10:20:00Z";
  await page.goto(`${base}?pv=SR:CURRENT&pv=LAB:TEMP1&${HOUR}&${ends}`);
  await loaded();
  await page.mouse.move(5, 5);
  await page.locator(".write-note").click();
  await page.locator("#note textarea").fill("pump 12 off");
  await page.locator("#note").getByLabel("LAB:TEMP1").check();
  await page.locator("#note").getByRole("button", { name: "Save" }).click();
  await page.locator(".note-flag").getByText("pump 12 off").waitFor();
  const [note] = (server.notes.find(new URLSearchParams()) as { notes: { from: string; to: string }[] })
    .notes;
  assert.deepEqual([note!.from, note!.to], ["2026-11-20T10:10:00Z", "2026-11-20T10:20:00Z"]);
  await page.goto(`${base}?pv=SR:CURRENT&${HOUR}`);
  await loaded();
  await page.waitForTimeout(1000);
  assert.equal(await page.locator(".note-flag").count(), 0);
});

test("no flag lies over another, however many notes stand side by side", async () => {
  for (let i = 0; i < 40; i++)
    server.notes.write(
      {
        text: `note ${i} of the morning shift`,
        from: `2026-11-20T10:${String(10 + i).padStart(2, "0")}:00Z`,
      },
      "oidc:ana",
    );
  await page.goto(`${base}?pv=SR:CURRENT&${HOUR}&at=2026-11-20T10:15:30Z&b=2026-11-20T10:50:00Z`);
  await loaded();
  await page.locator(".note-flag").nth(39).waitFor({ state: "attached" });
  for (const width of [360, 1024, 1400]) {
    await page.setViewportSize({ width, height: 850 });
    await page.waitForTimeout(300);
    const found = (await flags()).filter(({ text }) => text !== "").sort((a, b) => a.left - b.left);
    assert.ok(found.length >= 2, `${found.length} flags have a text at ${width}`);
    for (const [i, flag] of found.entries()) {
      const next = found[i + 1];
      assert.ok(!next || flag.right <= next.left + 0.5, `${flag.text} and ${next?.text} at ${width}`);
      assert.ok(flag.left >= -0.5 && flag.right <= width + 0.5, `${flag.text} at ${width}`);
    }
  }
});

test("a view is saved in a folder, told whose it would replace, found by its words, and opened", async () => {
  await page.goto(`${base}?pv=SR:CURRENT&pv=LAB:TEMP1&${HOUR}`);
  await loaded();
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Save as named view" }).click();
  await page.getByLabel("Name", { exact: true }).fill("operation/Trip of the morning");
  await page.keyboard.press("Enter");
  await page.locator("#share").getByText(`Saved. ${base}v/1 leads to it.`).waitFor();
  assert.equal(await page.locator("#share").getByLabel("Link").inputValue(), `${base}v/1`);
  await page.getByLabel("Name", { exact: true }).fill("operation/Trip of the mornin");
  await page.keyboard.type("g");
  await page.locator("#share").getByText("There is a view of this name").waitFor();
  await page.goto(base);
  await page.getByText("Nothing is plotted yet").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("morning trip");
  const option = page.locator("#found .memo");
  await option.getByText("operation/Trip of the morning").waitFor();
  await page.keyboard.press("Enter");
  await page.locator('#legend [data-pv="LAB:TEMP1"]').waitFor();
  assert.match(page.url(), /from=2026-11-20T10:00:00Z/);
  await page.keyboard.press("Control+z");
  await page.getByText("Nothing is plotted yet").waitFor();
});

test("what is told late of a name does not stand in place of what was saved under it", async () => {
  await page.goto(`${base}?pv=SR:CURRENT&${HOUR}`);
  await loaded();
  let release = () => undefined as void;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(
    (url) => url.pathname.endsWith("/api/v1/views"),
    async (route) => {
      if (route.request().method() === "GET") await held;
      await route.continue();
    },
  );
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Save as named view" }).click();
  const asked = page.waitForRequest((request) => new URL(request.url()).pathname.endsWith("/api/v1/views"));
  await page.getByLabel("Name", { exact: true }).fill("trip");
  await asked;
  await page.keyboard.press("Enter");
  const saved = page.locator("#share").getByText(`Saved. ${base}v/1 leads to it.`);
  await saved.waitFor();
  const answered = page.waitForResponse(
    (response) => response.request().method() === "GET" && response.url().includes("/api/v1/views"),
  );
  release();
  await (await answered).finished();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  assert.ok(await saved.isVisible());
});

test("named views stand in their folders, are renamed, taken away and brought back, by who may", async () => {
  server.me = somebody("ldap", "ana", "operate", WAYS);
  server.views.write({ name: "vacuum/sector 12", query: "pv=LAB:TEMP1", pvs: ["LAB:TEMP1"] }, "ldap:ana");
  server.views.write({ name: "vacuum/sector 13", query: "pv=LAB:TEMP2", pvs: ["LAB:TEMP2"] }, "ldap:bo");
  await page.goto(base);
  await page.locator("#more").click();
  await page.locator("#more-views").click();
  const dialog = page.locator("#views[open]");
  await dialog.locator("summary").getByText("vacuum").waitFor();
  const row = (name: string) => dialog.locator(`[data-view="${name}"]`);
  assert.equal(await row("vacuum/sector 13").getByRole("button", { name: "Take away" }).count(), 0);
  await row("vacuum/sector 12").getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel("Name, with folders").fill("pumps/sector 12");
  await page.keyboard.press("Enter");
  await row("pumps/sector 12").getByRole("button", { name: "Take away" }).click();
  await dialog.getByText("pumps/sector 12 is taken away.").waitFor();
  await page.keyboard.press("Enter");
  await row("pumps/sector 12").getByRole("button", { name: "Open pumps/sector 12" }).click();
  await page.locator('#legend [data-pv="LAB:TEMP1"]').waitFor();
});

test("a note that was found leads to its time and its PVs", async () => {
  const from = "2026-11-20T10:30:00Z";
  server.notes.write({ text: "Pump 12 replaced", pvs: ["LAB:TEMP2"], from }, "oidc:ana");
  await page.goto(`${base}?zone=utc`);
  await page.keyboard.press("/");
  await page.keyboard.type("pump replaced");
  await page.locator("#found .memo").getByText("note, 2026-11-20 10:30").waitFor();
  await page.keyboard.press("Enter");
  await page.locator('#legend [data-pv="LAB:TEMP2"]').waitFor();
  await page.locator(".note-flag").getByText("Pump 12 replaced").waitFor();
});

test("who may only read sees notes and views, and nothing that writes them", async () => {
  server.me = somebody("ldap", "ana", "read", WAYS);
  server.notes.write({ text: "Pump 12 replaced", from: "2026-11-20T10:30:00Z" }, "oidc:bo");
  await page.goto(`${base}?pv=SR:CURRENT&${HOUR}`);
  await loaded();
  await page.locator(".note-flag").click();
  await page.locator("#note[open]").getByText("Pump 12 replaced").waitFor();
  assert.equal(await page.locator("#note .actions").count(), 0);
  await page.keyboard.press("Escape");
  assert.ok(!(await page.locator(".write-note").isVisible()));
  await page.keyboard.press("x");
  await page.locator("#share[open]").waitFor();
  assert.ok(!(await page.getByRole("button", { name: "Save as named view" }).isVisible()));
});
