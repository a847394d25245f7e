// Waveforms over time, tables and images in headless Chromium against the test server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, loaded, openForEach, page, sent, server } from "./opened.ts";
import { spikedPv, structurePvs } from "./pvs.ts";

const SPAN = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";

openForEach(20_000);

/** How many pixels of a canvas have just this colour. */
function pixelsOf(selector: string, colour: number[]): Promise<number> {
  return page.locator(selector).evaluate((canvas: HTMLCanvasElement, [red, green, blue]) => {
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) found += 1;
    return found;
  }, colour);
}

const LOWEST = [68, 1, 84];
const told = () => page.locator(".heat-told");

async function overTime(query: string): Promise<void> {
  await page.goto(`${base}?${query}`);
  await loaded();
  await page.getByRole("button", { name: "Over time" }).click();
}

test("an element that stood out in one of 3,600 waveforms is seen, and found by zooming in", async () => {
  server.pvs.push(spikedPv());
  await overTime(`pv=BPM:SPIKED&${SPAN}`);
  await told().getByText("3,420 waveforms in bins of 30 s, 4 neighbouring elements in a row").waitFor();
  const lowest = await pixelsOf(".heat", LOWEST);
  assert.ok(lowest > 4 && lowest < 100, `the spike alone has the colour of the lowest number: ${lowest}`);
  await page.getByLabel("What of the waveforms of a bin is shown").selectOption("mean");
  const asked = sent.filter((request) => request.includes("/bins?"));
  assert.equal(asked.length, 3, "an hour in bins of 30 s is asked for in three parts, once");
  const box = (await page.locator(".heat").boundingBox())!;
  const x = 58 + (box.width - 58 - 64) * (1005 / 3600);
  await page.getByLabel("What of the waveforms of a bin is shown").selectOption("min");
  // Between its margins 600 elements lie from below upwards.
  const y = 8 + (box.height - 30) * (1 - 127.5 / 600);
  await page.mouse.move(box.x + x, box.y + y);
  await page.getByText("[124–127] = -95 um, 2026-11-20 10:16:30 to 10:17:00").waitFor();
  await page.mouse.dblclick(box.x + x, box.y + y);
  await told().getByText("Each of 30 waveforms.").waitFor();
  assert.equal(await page.getByLabel("What of the waveforms of a bin is shown").isVisible(), false);
  const near = (await page.locator(".heat").boundingBox())!;
  // The frame of 10:16:40 is a third of the way.
  const third = 58 + (near.width - 58 - 64) * (10.5 / 30);
  await page.mouse.move(near.x + third, near.y + y);
  await page.getByText("[127] = -95 um, 2026-11-20 10:16:40.000").waitFor();
});

test("a range that moves on asks for its new part alone", async () => {
  await overTime(`pv=BPM:WAVE&${SPAN}`);
  await told().getByText("None is left out.").waitFor();
  const before = sent.length;
  await page.locator("#plot").focus();
  await page.keyboard.press("ArrowRight");
  const asked = () => sent.slice(before).filter((request) => request.includes("BPM%3AWAVE/bins?"));
  await page.waitForFunction(() => location.search.includes("from=2026-11-20T10:15"));
  const deadline = Date.now() + 10_000;
  while (asked().length === 0) {
    assert.ok(Date.now() < deadline, "the new part is asked for");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const from = new URL(`http://x${asked()[0]!}`).searchParams.get("from")!;
  assert.ok(from >= "2026-11-20T10:59:00", `what was there is not asked for again: ${from}`);
  await told().getByText("None is left out.").waitFor();
});

/** How high something is. */
async function heightOf(selector: string): Promise<number> {
  return (await page.locator(selector).boundingBox())?.height ?? 0;
}

const isPlotless = () => page.locator("body.is-plotless").waitFor();

test("where a table stands alone there is no empty plot, and it has the height", async () => {
  server.pvs.push(...structurePvs());
  await page.goto(`${base}?pv=SR:ORBIT&${SPAN}&at=2026-11-20T10:10:00Z`);
  await loaded();
  await page.locator(".nt-table").getByText("Rows 0 to 199 of 480").waitFor();
  await isPlotless();
  assert.equal(await page.locator("#plot").isVisible(), false);
  assert.ok((await heightOf("#drawing")) === 0, "the plot takes no room");
  const work = await heightOf(".work");
  assert.ok((await heightOf("#under")) > work - 2, "what is below has it all");
  assert.ok((await heightOf(".nt-scroll")) > 0.55 * work, "so that most of the rows are seen");
  assert.equal(await page.getByRole("button", { name: "Fold the waveforms ( w )" }).count(), 0);
  assert.equal(await page.locator('#drawer-tabs [data-tab="close"]').isVisible(), false);
  assert.equal(await page.locator("#drawing[aria-label]").count(), 0, "an empty part is no landmark");

  // Something that can be drawn brings it back, folds the table, and goes again with undo.
  const search = new URL(page.url()).search;
  await page.keyboard.press("/");
  await page.locator("#search").fill("SR:CURRENT");
  await page.keyboard.press("Enter");
  await page.locator("body:not(.is-plotless)").waitFor();
  await loaded();
  assert.ok((await heightOf("#plot")) > 0.5 * work, "the plot has its room again");
  assert.equal(await page.locator("#drawing").getAttribute("aria-label"), "Plot");
  assert.equal(await page.locator(".nt-table").isVisible(), false);
  await page.locator("#plot").focus();
  await page.keyboard.press("Control+z");
  await isPlotless();
  assert.equal(new URL(page.url()).search, search, "the address is what it was");
  assert.equal(
    await page.evaluate(() => document.activeElement!.id),
    "under",
    "the focus has gone with the height",
  );
  await page.keyboard.press("Control+y");
  await page.locator("body:not(.is-plotless)").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement!.id), "plot");
  // Hidden it draws nothing either.
  await page.locator('[data-pv="SR:CURRENT"] .swatch').click();
  await isPlotless();
});

test("without a plot the keys lead through the samples and the range", async () => {
  await page.goto(`${base}?pv=BPM:WAVE&${SPAN}&at=2026-11-20T10:10:00Z`);
  await loaded();
  await isPlotless();
  const moment = page.locator(".waveform .moment");
  await moment.getByText("10:10:00.000000000").waitFor();
  assert.ok((await heightOf(".wave-chart")) > 400, "a waveform alone is as high as there is room");
  await page.locator("body").press("Shift+ArrowRight");
  await moment.getByText("10:10:01.000000000").waitFor();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  await moment.getByText("10:09:59.000000000").waitFor();
  // Of steps that follow quickly the address tells once the last has rested.
  await page.waitForFunction(() => location.search.includes("at=2026-11-20T10:09:59Z"));
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => location.search.includes("from=2026-11-20T10:15"));
  // There is nothing else to be shown in its place.
  await page.keyboard.press("w");
  assert.equal(await page.locator(".wave-chart").isVisible(), true);
  await page.keyboard.press("m");
  await page.getByRole("menu").getByText("Zoom out").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement!.id), "under");
  await page.keyboard.press("x");
  await page.locator("#share").getByText("Copy the link").first().waitFor();
  assert.equal(
    await page.locator('[data-save="png"]').count(),
    0,
    "there is no plot of which there could be a picture",
  );
});

test("a drawer has the height too, and gives it back to the table", async () => {
  server.pvs.push(...structurePvs());
  await page.goto(`${base}?pv=SR:ORBIT&${SPAN}&drawer=samples`);
  await isPlotless();
  await page.locator("#analysis .sample-row").first().waitFor();
  assert.ok((await heightOf("#analysis")) > 0.8 * (await heightOf(".work")));
  await page.locator('#drawer-tabs [data-tab="samples"]').focus();
  await page.keyboard.press("Escape");
  await page.locator(".nt-table").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement!.id), "under");
  assert.ok(!page.url().includes("drawer="), page.url());
});

test("a name that nobody has makes no empty plot beside an image, and alone says what it is", async () => {
  server.pvs.push(...structurePvs());
  await page.goto(`${base}?pv=CAM:BEAM&pv=NO:SUCH&${SPAN}`);
  await page.locator(".nt-picture canvas").waitFor();
  await isPlotless();
  await page.locator('[data-pv="NO:SUCH"]').getByText("not in this archive").waitFor();
  await page.goto(`${base}?pv=NO:SUCH&${SPAN}`);
  await page.locator("#nothing").getByText("not in this archive").waitFor();
  assert.equal(await page.locator("#plot").isVisible(), true);
});

test("a range that was followed is followed again by its button, with no plot in which it could stand", async () => {
  await page.goto(`${base}?pv=BPM:WAVE&live=600&zone=utc`);
  await loaded();
  await isPlotless();
  await page.locator("body").press("ArrowLeft");
  const back = page.locator("#back-to-now");
  await back.waitFor();
  const [button, under] = [(await back.boundingBox())!, (await page.locator("#under").boundingBox())!];
  assert.ok(button.y > 0 && button.y + button.height <= under.y + 1, "it covers nothing");
  await back.click();
  await page.waitForFunction(() => location.search.includes("live=600"));
});

test("on a phone what stands alone has the room above the values", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${base}?pv=BPM:WAVE&${SPAN}&at=2026-11-20T10:10:00Z`);
  await loaded();
  await isPlotless();
  await page.locator(".wave-chart").waitFor();
  const [chart, panel] = [
    (await page.locator(".wave-chart").boundingBox())!,
    (await page.locator("#panel").boundingBox())!,
  ];
  assert.ok(chart.height > 300 && chart.y + chart.height < panel.y, `${chart.height} above ${panel.y}`);
});

test("a table is shown with its labels, and its columns are plotted against each other", async () => {
  server.pvs.push(...structurePvs());
  await page.goto(`${base}?pv=SR:ORBIT&${SPAN}&at=2026-11-20T10:10:00Z`);
  await loaded();
  const table = page.locator(".nt-table");
  await table.getByText("Rows 0 to 199 of 480").waitFor();
  assert.deepEqual(await table.locator("thead th").allInnerTexts(), ["Row", "Position", "X", "Y", "Monitor"]);
  assert.deepEqual(await table.locator("tbody tr").nth(2).locator("th, td").allInnerTexts(), [
    ...["2", "2.2", "6.583", "-7.263", "BPM3"],
  ]);
  await table.getByRole("button", { name: "The next rows" }).click();
  await table.getByText("Rows 200 to 399 of 480").waitFor();
  assert.equal(await table.locator("tbody th").first().innerText(), "200");
  await table.getByRole("button", { name: "X", exact: true }).click();
  const chart = table.locator("canvas:visible");
  assert.match((await chart.getAttribute("aria-label"))!, /^X of SR:ORBIT, 480 rows/);
  await table.getByLabel("against").selectOption({ label: "Position" });
  assert.match((await chart.getAttribute("aria-label"))!, /^X against Position of SR:ORBIT/);
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.locator(".waveform .pointed").getByText("[1] Position = 1.1 X = 6.951").waitFor();
  // What was chosen stays at another moment, to which the slider goes.
  const moment = page.locator(".waveform .moment");
  assert.equal(await moment.innerText(), "2026-11-20 10:10:00.000000000");
  const cell = () => table.locator("tbody tr").first().locator("td").nth(1).innerText();
  const had = await cell();
  await page.getByLabel("Which moment of the range").fill("500");
  await moment.getByText("10:30:00.000000000").waitFor();
  assert.match((await chart.getAttribute("aria-label"))!, /^X against Position of SR:ORBIT/);
  assert.notEqual(await cell(), had);
});

test("an image is shown in colours or grey, its pixels are read, and who compresses is told", async () => {
  server.pvs.push(...structurePvs());
  await page.goto(`${base}?pv=CAM:BEAM&pv=CAM:COLOUR&pv=CAM:PACKED&${SPAN}&at=2026-11-20T10:10:00Z`);
  await loaded();
  const beam = page.locator('.waveform[aria-label="CAM:BEAM"]');
  await beam.getByText("200 × 150 pixels, 0 to").waitFor();
  const canvas = beam.locator("canvas");
  assert.deepEqual(await canvas.evaluate((c: HTMLCanvasElement) => [c.width, c.height]), [200, 150]);
  await canvas.focus();
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("ArrowDown");
  await beam
    .locator(".pointed")
    .getByText(/^\[10, 1\] = \d+$/)
    .waitFor();
  await beam.getByLabel("In colours or in grey").selectOption("grey");
  const isGrey = () =>
    canvas.evaluate((c: HTMLCanvasElement) => {
      const { data } = c.getContext("2d")!.getImageData(0, 0, c.width, c.height);
      return data.every((value, i) => i % 4 === 3 || value === data[i - (i % 4)]);
    });
  assert.equal(await isGrey(), true);
  await beam.getByLabel("Numbers from here up have the brightest colour").fill("0.5");
  await beam.getByLabel("Numbers from here up have the brightest colour").press("Enter");
  assert.ok((await pixelsOf('.waveform[aria-label="CAM:BEAM"] canvas', [255, 255, 255])) > 20_000);
  await beam.getByRole("button", { name: "Fit" }).click();
  assert.ok((await pixelsOf('.waveform[aria-label="CAM:BEAM"] canvas', [255, 255, 255])) < 100);
  const colour = page.locator('.waveform[aria-label="CAM:COLOUR"]');
  await colour.getByText("60 × 40 pixels in red, green and blue, 0 to 236").waitFor();
  assert.equal(await pixelsOf('.waveform[aria-label="CAM:COLOUR"] canvas', [40, 60, 128]), 1);
  await page
    .locator('.waveform[aria-label="CAM:PACKED"]')
    .getByText("This image is compressed with jpeg, 4,711 bytes: it is kept as it came")
    .waitFor();
});
