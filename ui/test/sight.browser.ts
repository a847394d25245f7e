// Tab goes from stop to stop in the order in which they are seen, at every width.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page } from "./opened.ts";

openForEach(20_000);

const VIEW =
  "pv=LAB:TEMP1&pv=LAB:TEMP2&pv=BPM:WAVE&from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const WIDE = ["top", "outage", "left", "panel", "rows", "panel", "under"];
const NARROW = ["top", "outage", "left", "under", "panel", "rows", "tabs"];

interface Stop {
  name: string;
  part: string;
  box: { left: number; top: number; right: number; bottom: number };
}

/** Where the focus is, and in which part of the page. Runs in the page. */
function stop(): Stop | null {
  const at = document.activeElement!;
  if (at === document.body) return null;
  const box = at.getBoundingClientRect();
  // What scrolls brings each stop into sight: their places are those within it.
  let scrolled = 0;
  for (let parent = at.parentElement; parent; parent = parent.parentElement) scrolled += parent.scrollTop;
  const { left, right } = box;
  const [top, bottom] = [box.top + scrolled, box.bottom + scrolled];
  const around = at.closest(".top, .outage, .left, .panel, .under, .tabs")?.classList[0] ?? at.tagName;
  const part = at.closest(".panel .scroll") ? "rows" : around;
  return {
    name:
      at.id ||
      at.getAttribute("aria-label") ||
      `${at.tagName} ${at.className} ${at.textContent!.slice(0, 20)}`,
    part,
    box: { left, top, right, bottom },
  };
}

/** All stops of Tab, from the first on until it comes round. */
async function stops(): Promise<Stop[]> {
  const found: Stop[] = [];
  await page.locator("#home").focus();
  for (let tabs = 0; tabs < 150; tabs++) {
    const at = await page.evaluate(stop);
    if (at?.name === "home" && found.length > 0) return found;
    // Between the last stop and the first there is the window.
    if (at !== null) found.push(at);
    await page.keyboard.press("Tab");
  }
  assert.fail("Tab does not come round");
}

/** Whether one is read before another: it stands above it, or left of it in the same line. */
function isBefore({ box: a }: Stop, { box: b }: Stop): boolean {
  const common = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  const isSameLine = common > Math.min(a.bottom - a.top, b.bottom - b.top) / 2;
  return isSameLine ? a.right <= b.left + 1 : a.bottom <= b.top + 1;
}

for (const [width, height] of [
  [360, 740],
  [390, 844],
  [768, 1024],
  [1024, 700],
  [1400, 850],
  [2560, 1440],
] as const)
  test(`at ${width} Tab goes on in the order of what is seen`, async () => {
    // Opened at another width, from which the page has to follow.
    await page.setViewportSize({ width: width < 768 ? 1400 : 390, height: 850 });
    await page.goto(`${base}?${VIEW}&drawer=histogram`);
    await page.locator("#analysis .told").getByText("known for").waitFor();
    await page.locator("#events li").first().waitFor({ state: "attached" });
    await page.setViewportSize({ width, height });
    // What happened is told again once its moments are known: the focus must not lie on what goes then.
    await page.waitForFunction(
      () => {
        const { dataset, textContent } = document.querySelector<HTMLElement>("#events")!;
        const isSame = dataset.was === textContent;
        dataset.was = textContent!;
        return isSame;
      },
      null,
      { polling: 700 },
    );
    const all = await stops();
    const parts = all.map(({ part }) => part).filter((part, i, parts) => part !== parts[i - 1]);
    assert.deepEqual(
      parts,
      width < 768 ? NARROW : WIDE,
      all.map(({ part, name }) => `${part}: ${name}`).join("\n"),
    );
    all.slice(1).forEach((next, i) => {
      const last = all[i]!;
      assert.ok(
        last.part !== next.part || !isBefore(next, last),
        `${next.name} stands before ${last.name}, and Tab comes to it later`,
      );
    });
    if (width >= 768) return;
    // Parts stand one below the other.
    const tops = parts.map((part) =>
      Math.min(...all.filter((one) => one.part === part).map(({ box }) => box.top)),
    );
    assert.deepEqual(
      tops,
      [...tops].sort((a, b) => a - b),
    );
  });

test("what has the focus keeps it when the page becomes narrow, and when it becomes wide", async () => {
  await page.goto(`${base}?${VIEW}&drawer=histogram`);
  await page.locator("#analysis .told").getByText("known for").waitFor();
  for (const selector of ["#chip", "#analysis select", "#panel-add"])
    for (const width of [390, 1400]) {
      await page.locator(selector).first().focus();
      const had = await page.evaluate(() => document.activeElement!.outerHTML.slice(0, 60));
      await page.setViewportSize({ width, height: 850 });
      await page.waitForFunction(
        (isNarrow) => (document.querySelector("#under + #panel") !== null) === isNarrow,
        width < 768,
      );
      assert.equal(await page.evaluate(() => document.activeElement!.outerHTML.slice(0, 60)), had);
    }
});
