// A day of a storage ring in headless Chromium: twenty PVs in stacked panes, and a trip on a wall.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { base, loaded, openForEach, page, server } from "./opened.ts";
import { ringPvs } from "./ring.ts";

openForEach(20_000);

test("twenty PVs are told apart without a dash, low panes have numbers, and the overview shows a week around their day", async () => {
  const pvs = ringPvs(Date.parse("2026-11-19T00:00:00Z") / 1000);
  server.pvs.push(...pvs);
  const names = pvs.map(({ name }) => `pv=${encodeURIComponent(name)}`).join("&");
  await page.goto(`${base}?${names}&from=2026-11-19T00:00:00Z&to=2026-11-20T00:00:00Z&zone=utc&log=mbar`);
  await loaded();
  const looks = await page.locator("#legend .rows").evaluateAll((panes) =>
    panes.map((rows) =>
      [...rows.querySelectorAll(".swatch")].map((swatch) => {
        const style = getComputedStyle(swatch);
        return `${style.getPropertyValue("--trace")} ${style.getPropertyValue("--border")}`;
      }),
    ),
  );
  assert.deepEqual(
    looks.map((pane) => pane.length),
    [1, 4, 8, 3, 2, 2],
  );
  for (const pane of looks) {
    assert.equal(new Set(pane).size, pane.length, `each has its own: ${pane.join(", ")}`);
    assert.ok(
      pane.every((look) => look.endsWith("solid")),
      pane.join(", "),
    );
  }
  await page.locator("#overview-strip").getByText("7 d, drag to move").waitFor();
  await page.keyboard.press("x");
  const waiting = page.waitForEvent("download");
  await page.locator('[data-save="svg"]').click();
  const svg = await readFile((await (await waiting).path())!, "utf8");
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
  const behind = texts.slice(0, texts.indexOf("kW") + 1);
  for (const label of ["20", "40", "60"])
    assert.ok(behind.includes(label), `${label} beside the pane of the cavities, among ${behind.join(", ")}`);
});

test("on a wall a trip is read: what tiles share stands once, no label is cut, and the worst alarm has its PV's own words", async () => {
  const now = Math.floor(Date.now() / 1000);
  const gap = { from: now - 73, to: null, cause: "disconnected", lost: 0, scope: "pv" as const };
  server.pvs = ringPvs(now - 107 - 18 * 3600 - 50 * 60).map((pv) =>
    pv.name === "SR-VA-IP12:P" ? { ...pv, state: "disconnected", gaps: [gap] } : pv,
  );
  const names = ["DI-DCCT:I", "RF-CAV1:FWD", "RF-CAV2:FWD", "VA-IP12:P"].map((name) => `pv=SR-${name}`);
  await page.setViewportSize({ width: 1920, height: 1080 });
  await page.goto(`${base}?${names.join("&")}&log=mbar&wall=1&zone=utc`);
  await page.locator(".wall-sentence").getByText("not recorded since").waitFor();
  await page.locator(".wall-value").nth(2).waitFor();
  const tile = (n: number) => page.locator(".wall-tile").nth(n);
  assert.deepEqual(await tile(1).locator(".wall-heads > span").allInnerTexts(), ["RF 1", "RF 2", "forward"]);
  assert.deepEqual(await tile(1).locator(".wall-value small").allInnerTexts(), ["kW"]);
  assert.equal(await page.locator(".wall-worst b").innerText(), "Beam current MAJOR");
  assert.match(
    await page.locator(".wall-foot").innerText(),
    /has not answered since .*: 1 PV is not recorded\.$/,
  );
  /** How many of the last columns of a tile's plot are empty. */
  const free = await tile(2)
    .locator("canvas")
    .evaluate((element) => {
      const canvas = element as HTMLCanvasElement;
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, width, height);
      const isEmpty = (x: number) =>
        Array.from({ length: height }, (_, y) => data[4 * (y * width + x) + 3]).every((alpha) => alpha === 0);
      let columns = 0;
      while (columns < width && isEmpty(width - 1 - columns)) columns += 1;
      return columns;
    });
  assert.ok(free >= 2, `1e−10 has ${free} columns beside it`);
});
