// What a phone shows, in headless Chromium with fingers for a mouse: news that leave room for the plot, and PVs that are found.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { loaded } from "./loaded.ts";
import { base, browser, openForEach, server } from "./opened.ts";
import { vacuumPvs } from "./ring.ts";

const SPAN = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";

openForEach(15_000);

async function onPhone(width: number, act: (phone: Page) => Promise<void>): Promise<void> {
  const viewport = { width, height: 844 };
  const context = await browser.newContext({ viewport, hasTouch: true, isMobile: true });
  const phone = await context.newPage();
  phone.setDefaultTimeout(15_000);
  await act(phone);
  await context.close();
}

for (const width of [360, 390])
  test(`the bar of a lost IOC takes no more than 72 px of ${width}, and says which, since when and how many`, async () => {
    const [offline] = server.pvs.filter(({ name }) => name === "LAB:OFFLINE");
    const many = Array.from({ length: 5006 }, (_, i) => ({ ...offline!, name: `SR-VA:${i}` }));
    server.pvs.push(...many);
    await onPhone(width, async (phone) => {
      await phone.goto(`${base}?pv=SR:CURRENT&${SPAN}`);
      await loaded(phone);
      const bar = phone.locator("#outage");
      await bar.waitFor();
      assert.match(
        await bar.locator("p").innerText(),
        /127\.0\.0\.1:5064 lost at \d\d:\d\d:\d\d \(10 min \d+ s\): 5,007 PVs not recorded$/,
      );
      const box = (await bar.boundingBox())!;
      assert.ok(box.height <= 72, `${box.height} px`);
      assert.equal(await bar.evaluate((bar) => bar.scrollWidth - bar.clientWidth), 0);
      for (const press of await bar.locator("button, a").all()) {
        const { height, width } = (await press.boundingBox())!;
        assert.ok(height >= 40 && width >= 36, `${width} × ${height}: fingers press it`);
      }
    });
  });

test("on a phone PVs are found in a list as high as the window, whose last value and its time are there, and plotted by a thumb", async () => {
  server.pvs.push(...vacuumPvs(Math.floor(Date.now() / 1000) - 107));
  await onPhone(390, async (phone) => {
    await phone.goto(`${base}?pv=SR:CURRENT&${SPAN}`);
    await loaded(phone);
    await phone.locator("#tab-find").tap();
    await phone.fill("#search", "va 12");
    await phone.locator('#found[data-match="va 12"] [data-pv]').nth(13).waitFor();
    const list = (await phone.locator("#found").boundingBox())!;
    const tabs = (await phone.locator("#tabs").boundingBox())!;
    assert.deepEqual([list.x, list.width], [0, 390]);
    assert.ok(list.height > 700, `${list.height} px`);
    assert.ok(list.y + list.height <= tabs.y + 1, "the tabs stay");
    const lost = phone.locator('#found [data-pv="SR-VA-IP12:P"]');
    assert.match(await lost.locator(".old").innerText(), /^(\d{4}-\d\d-\d\d )?\d\d:\d\d$/);
    const well = phone.locator('#found [data-pv="BO-VA-IP12:P"]');
    assert.equal(await well.locator(".old").innerText(), "", "what is recorded now is not old");
    const [name, described, value] = await Promise.all(
      [".pv", ".description", ".last"].map((part) => lost.locator(part).boundingBox()),
    );
    assert.ok(described!.y >= name!.y + name!.height - 1, "the description stands below the name");
    assert.ok(value!.x >= name!.x + name!.width - 1, "the value beside it");
    for (const name of ["SR-VA-IP12:P", "SR-VA-GV12:STATE"]) {
      const tick = phone.locator(`#found [data-pv="${name}"] .tick`);
      const box = (await tick.boundingBox())!;
      assert.ok(box.width >= 40 && box.height >= 40, `${box.width} × ${box.height}`);
      await tick.tap();
    }
    const plot = phone.locator("#found .plot-marked");
    assert.equal(await plot.innerText(), "Plot 2");
    const box = (await plot.boundingBox())!;
    assert.ok(box.width > 200 && box.height >= 40, `${box.width} × ${box.height}`);
    assert.ok(box.y + box.height <= list.y + list.height, "it is in sight");
    assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    await phone.getByRole("button", { name: "All 14" }).tap();
    await phone.waitForFunction(() => new URLSearchParams(location.search).getAll("pv").length === 15);
  });
});
