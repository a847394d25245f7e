// What lies over what on the page: looked for in the page itself, by the boxes of what can be seen.

import type { Page } from "playwright-core";

/** Windows of a phone up to a wall, in which nothing may lie over anything else. */
export const SIZES = [
  [360, 740],
  [390, 844],
  [768, 1024],
  [1024, 700],
  [1400, 850],
  [3840, 2160],
] as const;

export interface Found {
  over: string[];
  plot: { width: number; height: number };
  beyond: string[];
}

/** What lies over what, what reaches beyond the window, and how large the plotting area is. Runs in the page. */
export function overlaps(): Found {
  type Box = { what: string; element: Element; left: number; top: number; right: number; bottom: number };
  const PARTS =
    ".top > *, .top button, .top input, .top select, #problems, #plot, #plot .over, .time-axis, #overview-strip, #nothing, .panel, " +
    ".panel > header > *, .panel .scroll, .panel footer > *, .group-head, .row, .row .name, .row .value, .row .why, .row .severity, " +
    ".events button, .waveform, .waveform header > *, #drawer-tabs, #analysis, .tabs > *";
  const nameOf = (element: Element) => {
    const row = element.closest("[data-pv]")?.getAttribute("data-pv") ?? "";
    const own = element.id || element.className || element.textContent!.slice(0, 20);
    return `${element.tagName.toLowerCase()} ${row} ${own}`.trim();
  };
  /** What of an element is to be seen: ancestors that scroll cut it. */
  const boxOf = (element: Element): Box => {
    let { left, top, right, bottom } = element.getBoundingClientRect();
    for (let parent = element.parentElement; parent; parent = parent.parentElement) {
      if (getComputedStyle(parent).overflow === "visible") continue;
      const cut = parent.getBoundingClientRect();
      left = Math.max(left, cut.left);
      top = Math.max(top, cut.top);
      right = Math.min(right, cut.left + parent.clientLeft + parent.clientWidth);
      bottom = Math.min(bottom, cut.top + parent.clientTop + parent.clientHeight);
    }
    return { what: nameOf(element), element, left, top, right, bottom };
  };
  const isSeen = (box: Box) => box.right - box.left > 1 && box.bottom - box.top > 1;
  const boxes = [...document.querySelectorAll(PARTS)]
    .filter((element) => element.checkVisibility() && !element.classList.contains("unseen"))
    .map(boxOf)
    .filter(isSeen);
  const over: string[] = [];
  boxes.forEach((a, i) => {
    for (const b of boxes.slice(i + 1)) {
      if (a.element.contains(b.element) || b.element.contains(a.element)) continue;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 1 && height > 1)
        over.push(`${a.what} / ${b.what}: ${width.toFixed()} x ${height.toFixed()}`);
    }
  });
  const beyond = boxes
    .filter((box) => box.left < -1 || box.right > innerWidth + 1)
    .map((box) => `${box.what}: ${box.left.toFixed()} to ${box.right.toFixed()}`);
  if (document.documentElement.scrollWidth > innerWidth) beyond.push("the page scrolls sideways");
  const view = document.querySelector("#view")!;
  if (view.scrollWidth > view.clientWidth)
    beyond.push(`the view scrolls sideways by ${view.scrollWidth - view.clientWidth}`);
  const rows = document.querySelector(".panel .scroll")!;
  if (rows.scrollWidth > rows.clientWidth)
    beyond.push(`the panel scrolls sideways by ${rows.scrollWidth - rows.clientWidth}`);
  const waves = document.querySelector("#waveforms")!;
  if (waves.scrollWidth > waves.clientWidth)
    beyond.push(`the waveforms scroll sideways by ${waves.scrollWidth - waves.clientWidth}`);
  const { width, height } = document.querySelector("#plot .over")!.getBoundingClientRect();
  return { over, beyond, plot: { width, height } };
}

/** The same once it has come to rest: what follows a resize is laid out and drawn some pictures later. */
export async function settledOverlaps(page: Page): Promise<Found> {
  let found = await page.evaluate(overlaps);
  for (let looks = 0; looks < 20 && found.over.length + found.beyond.length > 0; looks++) {
    await page.waitForTimeout(100);
    found = await page.evaluate(overlaps);
  }
  return found;
}
