// The drawer below the plot in headless Chromium: two rows against each other, histogram and spectrum; by keys, in the address, and where there is nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page, sent, server } from "./opened.ts";
import { SIZES, settledOverlaps } from "./overlaps.ts";

openForEach(20_000);

const HOUR = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const CALM = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";
const told = () => page.locator("#analysis .told");
const pointed = () => page.locator("#analysis .pointed");
const empty = () => page.locator("#analysis .drawer-empty");
const chart = () => page.locator("#analysis canvas");
const params = () => new URL(page.url()).searchParams;

async function open(query: string): Promise<void> {
  await page.goto(`${base}?${query}`);
  await page.locator("#legend [data-pv]").first().waitFor();
}

/** So many colours there are on the chart. */
function colours(): Promise<number> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>("#analysis canvas")!;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

test("w opens two rows against each other, with the time as colour; arrows go from pair to pair, Enter leads the plot there", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&${CALM}`);
  await page.keyboard.press("w");
  await told()
    .getByText(/^[\d,]+ pairs, .*; correlation .*; dashed: Y = /)
    .waitFor();
  assert.equal(params().get("drawer"), "xy");
  assert.ok((await colours()) > 20, "times have colours");
  await chart().focus();
  await page.keyboard.press("ArrowRight");
  await pointed()
    .getByText(/^2026-11-20 10:00:0\d\.\d+: X .* degC, Y .* degC$/)
    .waitFor();
  const first = await pointed().textContent();
  await page.keyboard.press("Shift+ArrowRight");
  assert.notEqual(await pointed().textContent(), first);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  assert.equal(params().get("at")!.slice(0, 16), "2026-11-20T10:00");
  // Undone like any change of the view, and closed by its key.
  await page.locator("#plot").focus();
  await page.keyboard.press("w");
  await page.locator("#analysis").waitFor({ state: "hidden" });
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("drawer"));
});

test("what is chosen stands in the address, and comes back with it; undo takes it back", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&pv=SR:LIFETIME&${CALM}`);
  await page.locator("#more").click();
  await page.locator("#more-drawer").click();
  await told().getByText("pairs").waitFor();
  await page.getByLabel("Y", { exact: true }).selectOption("SR:LIFETIME");
  await page.getByLabel("Pairs").selectOption("mean");
  await page.getByLabel("Seconds from one to the next").fill("30");
  await page.keyboard.press("Enter");
  await told().getByText("40 pairs, means over 30 s").waitFor();
  assert.deepEqual(
    ["drawer", "x", "y", "by", "step"].map((key) => params().get(key)),
    ["xy", null, "SR:LIFETIME", "mean", "30"],
  );
  await page.reload();
  await told().getByText("40 pairs, means over 30 s").waitFor();
  assert.equal(await page.getByLabel("Y", { exact: true }).inputValue(), "SR:LIFETIME");
  const asked = server.requests.filter((request) => request.startsWith("/api/v1/xy?")).at(-1)!;
  assert.match(asked, /by=mean&step=30/);
  await page.getByRole("button", { name: "Swap X and Y" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("x") === "SR:LIFETIME");
  await page.goBack();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("x") === null);
  const label = "SR:LIFETIME against LAB:TEMP1";
  await page.locator(`#analysis canvas[aria-label^="${label}"]`).waitFor();
  const csv = await page.locator("#analysis").getByRole("link", { name: "CSV" }).getAttribute("href");
  assert.match(csv!, /^api\/v1\/xy\?x=%60LAB%3ATEMP1%60&y=%60SR%3ALIFETIME%60&.*&format=csv$/);
});

test("what is chosen before the choice before it is drawn takes nothing of that back", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&pv=SR:LIFETIME&drawer=xy&${CALM}`);
  await told().getByText("pairs").waitFor();
  await page.evaluate(() => {
    const choose = (label: string, value: string) => {
      const select = [...document.querySelectorAll("select")].find(
        (one) => one.getAttribute("aria-label") === label,
      )!;
      select.value = value;
      select.dispatchEvent(new Event("change"));
    };
    choose("Y", "SR:LIFETIME");
    choose("Pairs", "mean");
  });
  await page.waitForFunction(() => new URLSearchParams(location.search).get("by") === "mean");
  assert.equal(params().get("y"), "SR:LIFETIME");
});

test("a histogram tells for how long, or how often, what was not recorded, and of each bar", async () => {
  await open(`pv=LAB:TEMP1&drawer=histogram&${HOUR}`);
  await told().getByText("known for 57 min; not recorded for 3 min").waitFor();
  await chart().focus();
  await page.keyboard.press("ArrowRight");
  await pointed()
    .getByText(/ … .* degC: .*, [\d.]+ %$/)
    .waitFor();
  await page.getByLabel("Bars are").selectOption("count");
  await told().getByText("3,420 samples").waitFor();
  await page.getByLabel("Bars", { exact: true }).selectOption("10");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("bins") === "10");
  await page.waitForFunction(() => document.querySelector(".drawer-panel")!.ariaBusy === "false");
  await chart().focus();
  for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowRight");
  await pointed().getByText(" %").waitFor();
});

test("the tab that is open, and its entry in the menu, keep what is chosen", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&drawer=histogram&of=LAB:TEMP2&bins=10&${HOUR}`);
  await told().getByText("known for").waitFor();
  const kept = async (after: string) => {
    // What was pressed is answered by a picture later.
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const chosen = ["drawer", "of", "bins"].map((key) => params().get(key));
    assert.deepEqual(chosen, ["histogram", "LAB:TEMP2", "10"], after);
    assert.equal(await page.getByLabel("Bars", { exact: true }).inputValue(), "10", after);
  };
  const tab = page.locator('#drawer-tabs [data-tab="histogram"]');
  await tab.click();
  await kept("the tab by the mouse");
  await tab.focus();
  await page.keyboard.press("Enter");
  await kept("the tab by a key");
  await page.locator("#more").click();
  await page.locator("#more-drawer").click();
  await kept("the entry of the menu");
  // Another tab has its own choices, and the same row.
  await page.locator('#drawer-tabs [data-tab="fft"]').click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("drawer") === "fft");
  assert.deepEqual([params().get("of"), params().get("bins")], ["LAB:TEMP2", null]);
});

/** Drags over a part of the chart, from one corner to the other. */
async function drag([x0, y0]: [number, number], [x1, y1]: [number, number]): Promise<void> {
  const { x, y, width, height } = (await chart().boundingBox())!;
  await page.mouse.move(x + x0 * width, y + y0 * height);
  await page.mouse.down();
  await page.mouse.move(x + x1 * width, y + y1 * height, { steps: 4 });
  await page.mouse.up();
}

/** The two numbers that a part of the address has, once it has them. */
async function span(key: string): Promise<[number, number]> {
  await page.waitForFunction((key) => new URLSearchParams(location.search).has(key), key);
  const [low, high] = params().get(key)!.split(",").map(Number);
  assert.ok(low! < high!, params().get(key)!);
  return [low!, high!];
}

const gone = (key: string) =>
  page.waitForFunction((key) => !new URLSearchParams(location.search).has(key), key);

test("a drag over pairs zooms both axes, keys zoom about the pair, and Escape or a double click shows all again", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&drawer=xy&${CALM}`);
  await told().getByText("pairs").waitFor();
  assert.equal(await told().getByText("in sight").count(), 0);
  await drag([0.4, 0.3], [0.7, 0.6]);
  const [x, y] = [await span("xin"), await span("yin")];
  await told().getByText("in sight").waitFor();
  const seen = Number(/([\d,]+) in sight/.exec((await told().textContent())!)![1]!.replace(",", ""));
  const all = Number(/^([\d,]+) pairs/.exec((await told().textContent())!)![1]!.replace(",", ""));
  assert.ok(seen > 0 && seen < all, `${seen} of ${all}`);
  // It comes back with the address, and an arrow leads to a pair in sight.
  await page.reload();
  await told()
    .getByText(`${seen.toLocaleString("en")} in sight`)
    .waitFor();
  await chart().focus();
  await page.keyboard.press("ArrowRight");
  await pointed().getByText("X ").waitFor();
  const [, px, py] = /X ([\d.]+) degC, Y ([\d.]+) degC/.exec((await pointed().textContent())!)!;
  assert.ok(Number(px) >= x[0] && Number(px) <= x[1], `${px} in ${x.join()}`);
  assert.ok(Number(py) >= y[0] && Number(py) <= y[1], `${py} in ${y.join()}`);
  await page.keyboard.press("+");
  await page.waitForFunction((was) => new URLSearchParams(location.search).get("xin") !== was, x.join(","));
  const nearer = await span("xin");
  assert.ok(nearer[1] - nearer[0] < 0.6 * (x[1] - x[0]), "plus zooms");
  assert.ok(nearer[0] <= Number(px) && nearer[1] >= Number(px), "about the pair");
  await page.keyboard.press("Escape");
  await gone("xin");
  assert.equal(params().get("yin"), null);
  assert.ok(await page.locator("#analysis").isVisible(), "the drawer stays");
  await page.keyboard.press("+");
  await span("yin");
  await page.keyboard.press("-");
  await page.keyboard.press("-");
  await gone("yin");
  await drag([0.4, 0.3], [0.7, 0.6]);
  await span("xin");
  const cursor = params().get("at");
  // On a pair, which a click would lead the cursor to.
  const box = (await chart().boundingBox())!;
  const at = { x: 0, y: 0 };
  await page.mouse.move(box.x + 2, box.y + 2);
  for (let i = 0; (await pointed().textContent()) === ""; i++) {
    assert.ok(i < 400, "the mouse finds no pair");
    [at.x, at.y] = [box.x + ((i % 20) / 20) * box.width, box.y + (Math.floor(i / 20) / 20) * box.height];
    await page.mouse.move(at.x, at.y);
  }
  await page.mouse.dblclick(at.x, at.y);
  await gone("xin");
  // Longer than a click waits for the second one.
  await page.waitForTimeout(400);
  assert.equal(params().get("at"), cursor, "a double click sets no cursor");
  // By a drag along one axis the other keeps what it shows; another row has other values.
  await drag([0.4, 0.5], [0.7, 0.501]);
  await span("xin");
  assert.equal(params().get("yin"), null);
  await page.getByRole("button", { name: "All pairs" }).click();
  await gone("xin");
  assert.equal(await page.evaluate(() => document.activeElement!.tagName), "CANVAS");
  await page.keyboard.press("Escape");
  await page.locator("#analysis").waitFor({ state: "hidden" });
});

test("a drag over bars asks for those values alone, says what lies beside them, and is undone", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&drawer=histogram&bins=20&${HOUR}`);
  await told().getByText("known for 57 min").waitFor();
  await drag([0.4, 0.5], [0.6, 0.5]);
  const [low, high] = await span("within");
  await told().getByText("below: ").waitFor();
  await told().getByText("above: ").waitFor();
  await told().getByText("known for 57 min").waitFor();
  const asked = server.requests.filter((request) => request.startsWith("/api/v1/histogram?")).at(-1)!;
  assert.ok(asked.includes(`&bins=20&weight=time&low=${low}&high=${high}`), asked);
  await page.reload();
  await told().getByText("below: ").waitFor();
  await page.locator('.drawer-panel[aria-busy="false"]').waitFor();
  await chart().focus();
  await page.keyboard.press("ArrowRight");
  const [, first] = /^([−\d.]+) … /.exec((await pointed().textContent())!)!;
  assert.ok(Math.abs(Number(first) - low) < 1e-3, `${first}, not ${low}`);
  await page.keyboard.press("-");
  await page.waitForFunction(
    (was) => new URLSearchParams(location.search).get("within") !== was,
    `${low},${high}`,
  );
  await page.keyboard.press("Escape");
  await gone("within");
  await page.keyboard.press("+");
  await span("within");
  await page.getByRole("button", { name: "All values" }).click();
  await gone("within");
  // What was chosen of one row says nothing of another.
  await drag([0.4, 0.5], [0.6, 0.5]);
  await span("within");
  await page.getByLabel("Of", { exact: true }).selectOption("LAB:TEMP2");
  await gone("within");
});

test("a spectrum names the strongest frequencies, and is zoomed by dragging, keys and the address", async () => {
  await open(`pv=SR:LIFETIME&drawer=fft&${CALM}`);
  await told()
    .getByText(/^512 points, one every 2\.34 s; strongest 0\.000833\d+ Hz \(every 20 min\): /)
    .waitFor();
  const box = (await chart().boundingBox())!;
  await page.mouse.move(box.x + 100, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 60, { steps: 3 });
  await page.mouse.up();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("band"));
  const [low, high] = params().get("band")!.split(",").map(Number);
  assert.ok(low! > 0 && high! > low! && high! < 0.2133, `${low} to ${high}`);
  await page.reload();
  await told().getByText("512 points").waitFor();
  await page.getByRole("button", { name: "All frequencies" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("band"));
  await chart().focus();
  await page.keyboard.press("Shift+ArrowRight");
  await pointed()
    .getByText(/^0\.000833\d+ Hz \(every 20 min\)/)
    .waitFor();
  await page.keyboard.press("+");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("band"));
  await page.getByLabel("Window").selectOption("hann");
  await page.getByLabel("Shown", { exact: true }).selectOption("density");
  await page.waitForFunction(() => location.search.includes("window=hann&output=density"));
  await told().getByText("512 points").waitFor();
});

test("what a spectrum cannot be made of is said as the archiver says it, with what would do as a press", async () => {
  server.isUneven = true;
  await open(`pv=LAB:TEMP1&drawer=fft&${CALM}`);
  await empty().getByText("The samples are not even: 900 samples lie 4 s apart").waitFor();
  assert.equal(await chart().isVisible(), false);
  await empty().getByRole("button", { name: "A point every 4 s" }).click();
  await told().getByText("512 points").waitFor();
  assert.deepEqual([params().get("fill"), params().get("step")], ["previous", "4"]);
  // In a gap nobody knows: the longest stretch without one is a press away.
  await page.goto(`${base}?pv=LAB:TEMP1&drawer=fft&fill=previous&step=4&${HOUR}`);
  await empty().getByText("The value is not known at 2026-11-20T10:45").waitFor();
  await empty().getByRole("button", { name: "Show 2026-11-20 10:00:00 to 2026-11-20 10:45:00" }).click();
  await told().getByText("512 points").waitFor();
  assert.equal(params().get("to"), "2026-11-20T10:45:00Z");
});

test("where there is too little each says what to do next", async () => {
  await open(`pv=LAB:TEMP1&pv=SR:MESSAGE&drawer=xy&${CALM}`);
  await empty().getByText("Two rows with numbers are put against each other: there is one.").waitFor();
  await empty().getByRole("button", { name: "Find another PV" }).click();
  assert.equal(await page.evaluate(() => document.activeElement!.id), "search");
  await page.keyboard.type("LAB:TEMP2");
  await page.locator('#found [data-pv="LAB:TEMP2"]').waitFor();
  await page.keyboard.press("Enter");
  await told().getByText("pairs").waitFor();
  await page.getByLabel("Pairs").selectOption("pulse");
  await empty().getByText("No pair from 2026-11-20 10:00:00 to 2026-11-20 10:20:00").waitFor();
  await empty().getByRole("button", { name: "Show what both held" }).click();
  await told().getByText("at each sample of X").waitFor();
  // Before the archive began.
  await page.goto(
    `${base}?pv=LAB:TEMP1&drawer=histogram&from=2025-11-20T10:00:00Z&to=2025-11-20T11:00:00Z&zone=utc`,
  );
  await empty().getByText("Nothing was recorded from 2025-11-20 10:00:00").waitFor();
  await empty().getByRole("button", { name: "Look at ten times as much" }).click();
  await page.waitForFunction(
    () => new URLSearchParams(location.search).get("from") === "2025-11-20T01:00:00Z",
  );
});

test("an archiver that is gone is told of, and what is shown comes by itself when it is back", async () => {
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&${CALM}`);
  for (const name of ["LAB:TEMP1", "LAB:TEMP2"])
    await page
      .locator(`#legend [data-pv="${name}"] .note`)
      .getByText("connected")
      .waitFor({ state: "attached" });
  server.down = true;
  await page.keyboard.press("w");
  await empty().getByText("The archiver does not answer.").waitFor();
  server.down = false;
  await told().getByText("pairs").waitFor();
});

test("beside waveforms the drawer has one tab at a time", async () => {
  await open(`pv=LAB:TEMP1&pv=BPM:WAVE&${HOUR}&at=2026-11-20T10:10:00Z`);
  await page.locator(".unfold:visible").first().waitFor();
  await page.locator("#plot").focus();
  await page.keyboard.press("w");
  await page.locator("#waveforms canvas").first().waitFor();
  await page.locator('#drawer-tabs [data-tab="histogram"]').click();
  await told().getByText("known for").waitFor();
  assert.equal(await page.locator("#waveforms").isVisible(), false);
  await page.locator('#drawer-tabs [data-tab="waveforms"]').click();
  await page.locator("#waveforms canvas").first().waitFor();
  assert.equal(await page.locator("#analysis").isVisible(), false);
  await page.getByRole("button", { name: "Close the drawer" }).click();
  await page.locator(".unfold:visible").first().waitFor();
});

test("at every width nothing lies over anything else, and the plot stays", async () => {
  for (const drawer of ["xy", "histogram", "fft"]) {
    await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&pv=SR:MODE&drawer=${drawer}&${CALM}`);
    await page.locator('.drawer-panel[aria-busy="false"]').waitFor();
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      const found = await settledOverlaps(page);
      const { over, beyond, plot } = found;
      assert.deepEqual(over, [], `${drawer} at ${width}: boxes that lie over each other`);
      assert.deepEqual(beyond, [], `${drawer} at ${width}: what reaches beyond the window`);
      assert.ok(plot.height >= 60, `${drawer} at ${width}: the plot is ${plot.height} high`);
      const chart = (await page.locator("#analysis canvas").boundingBox())!;
      assert.ok(chart.height >= 110 && chart.width > 300, `${drawer} at ${width}: ${JSON.stringify(chart)}`);
    }
  }
});

test("a live range is computed anew now and then, not with every picture, and not at all once the drawer is closed", async () => {
  const count = (path: string) => sent.filter((one) => one.startsWith(path)).length;
  const asked = () => count("/api/v1/histogram?");
  const polls = () => count("/api/v1/status");
  const patience = { timeout: 120_000 };
  const began = performance.now();
  await open("pv=LAB:TEMP1&live=60&drawer=histogram");
  await told().getByText("known for").waitFor(patience);
  while (asked() < 3) await page.waitForRequest(/\/api\/v1\/histogram\?/, patience);
  // At most at each ten seconds, and once at first. The archiver's clock may be guessed some seconds wrong.
  const most = Math.floor((performance.now() - began + 3000) / 10_000) + 1;
  assert.ok(asked() <= most, `${asked()} requests, expected at most ${most}`);
  await page.locator("#plot").focus();
  await page.keyboard.press("w");
  await page.locator("#analysis").waitFor({ state: "hidden" });
  const before = asked();
  // The page asks how the archiver fares every five seconds: as long as three of these nothing is computed.
  const rest = polls() + 3;
  while (polls() < rest) await page.waitForRequest(/\/api\/v1\/status$/, patience);
  assert.equal(asked(), before);
});
