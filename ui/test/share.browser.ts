// Sharing a view: its link, the view as a program, its picture, and the plot alone within another page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { base, loaded, openForEach, page, server, withoutClipboard } from "./opened.ts";

openForEach(15_000);

const VIEW = "pv=LAB:TEMP1&pv=SR:CURRENT&from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";
const said = () => page.locator("#share .said");

async function openShare(query = VIEW): Promise<void> {
  await page.goto(`${base}?${query}`);
  await loaded();
  await page.keyboard.press("x");
  await page.locator("#share[open]").waitFor();
}

async function saved(name: string): Promise<Buffer> {
  const waiting = page.waitForEvent("download");
  await page.locator(`#share [data-save="${name}"]`).click();
  return readFile((await (await waiting).path())!);
}

test("without a clipboard links, programs and named views are copied all the same", async () => {
  const read = await withoutClipboard();
  await openShare();
  await page.getByRole("button", { name: "Copy the link" }).click();
  await said().getByText("Copied.").waitFor();
  assert.equal(await read(), `${base}?${VIEW}`);
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.waitForFunction(() =>
    document.querySelector<HTMLTextAreaElement>("#share textarea")!.value.startsWith("curl"),
  );
  assert.match(await read(), /^curl '/);
  server.views.write({ name: "lab/one", query: VIEW, pvs: ["LAB:TEMP1"] }, "anonymous");
  await page.keyboard.press("Escape");
  await page.locator("#more").click();
  await page.locator("#more-views").click();
  await page.locator('#views [data-view="lab/one"]').getByRole("button", { name: "Copy the link" }).click();
  await page.locator("#views .said").getByText("Copied.").waitFor();
  assert.match(await read(), /\/v\/\d+$/);
});

test("the view as Python and curl names its PVs and its range, and curl gets it", async () => {
  await openShare();
  const text = () => page.locator("#share textarea").inputValue();
  await page.locator('[data-copy="python"]').click();
  const python = await text();
  for (const part of [
    `Archive("${base}")`,
    '"LAB:TEMP1",',
    '"SR:CURRENT",',
    '"2026-11-20T10:00:00Z"',
    '"2026-11-20T10:20:00Z"',
  ])
    assert.ok(python.includes(part), `${part} in ${python}`);
  await page.locator('[data-copy="curl"]').click();
  const [, url] = /^curl '(.*)' > samples\.csv\n$/.exec(await text())!;
  const query = new URL(url!).searchParams;
  assert.deepEqual(query.getAll("pv"), ["LAB:TEMP1", "SR:CURRENT"]);
  assert.deepEqual(
    [query.get("from"), query.get("to"), query.get("format")],
    ["2026-11-20T10:00:00Z", "2026-11-20T10:20:00Z", "csv"],
  );
});

test("as a plot of Phoebus it is XML with an axis for each units, and this archive by the Appliance's protocol", async () => {
  await openShare();
  await page.locator('[data-copy="plt"]').click();
  const found = await page.evaluate(() => {
    const text = document.querySelector<HTMLTextAreaElement>("#share textarea")!.value;
    const plot = new DOMParser().parseFromString(text, "application/xml");
    const texts = (path: string) => [...plot.querySelectorAll(path)].map((one) => one.textContent);
    return {
      root: plot.documentElement.tagName,
      pvs: texts("pvlist > pv > name"),
      axes: texts("axes > axis > name"),
      of: texts("pvlist > pv > axis"),
      archives: texts("pv > archive > url"),
      start: texts("start"),
    };
  });
  assert.equal(found.root, "databrowser");
  assert.deepEqual(found.pvs, ["LAB:TEMP1", "SR:CURRENT"]);
  assert.equal(found.axes.length, 2);
  assert.deepEqual(found.of, ["0", "1"]);
  assert.ok(
    found.archives.every((url) => url === `${base.replace("http", "pbraw")}retrieval`),
    found.archives.join(),
  );
  assert.match(found.start[0]!, /^2026-11-20 \d\d:00:00\.000$/);
});

test("its picture is saved as PNG, twice as fine as it is seen, and as SVG that has its names", async () => {
  await openShare();
  const png = await saved("png");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  const seen = await page.locator("#drawing").evaluate((plot) => plot.clientWidth);
  const width = png.readUInt32BE(16);
  assert.ok(width > 1.8 * seen * 0.9 && width < 2.2 * seen, `${width} for ${seen}`);
  const svg = (await saved("svg")).toString();
  const texts = await page.evaluate((svg) => {
    const picture = new DOMParser().parseFromString(svg, "image/svg+xml");
    return [
      picture.documentElement.tagName,
      ...[...picture.querySelectorAll("text")].map((one) => one.textContent),
    ];
  }, svg);
  assert.equal(texts[0], "svg");
  assert.ok(
    texts.some((text) => text?.includes("degC")) && texts.some((text) => text?.includes("mA")),
    texts.join(),
  );
});

test("within another page the plot stands alone and follows now", async () => {
  await openShare();
  await page.getByLabel("Within another page").check();
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  const query = new URL(link).searchParams;
  assert.deepEqual([query.get("embed"), query.get("live"), query.get("from")], ["1", "1200", null]);
  await page.goto(link);
  await page.locator("#plot canvas").first().waitFor();
  await page.waitForFunction(() => document.querySelector("#view")!.getAttribute("aria-busy") === "false");
  for (const part of [".top", "#search", "#range"])
    assert.equal(await page.locator(part).first().isVisible(), false, part);
  const share = await page.locator("#drawing").evaluate((plot) => {
    const { width, height } = plot.getBoundingClientRect();
    return (width * height) / (innerWidth * innerHeight);
  });
  assert.ok(share > 0.6, `${share}`);
});
