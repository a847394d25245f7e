// No part of the page lies over another: with one PV and with forty of all kinds, from a phone to a wall, in both themes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";
import { overlaps } from "./overlaps.ts";
import { mixedPvs } from "./pvs.ts";
import { somebody, TestServer } from "./server.ts";

const DIST = new URL("../dist", import.meta.url).pathname;
const SPAN = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const COUNTS = [1, 2, 5, 6, 10, 14, 20, 33, 40];
const SCREENS: [number, number][] = [
  [360, 740],
  [768, 1024],
  [1024, 700],
  [1400, 850],
  [3840, 2160],
];

let browser: Browser;
let server: TestServer;
let base: string;

before(async () => {
  browser = await startChromium();
  server = new TestServer(DIST);
  server.pvs.push(...mixedPvs(40));
  base = await server.start();
});

after(async () => {
  await browser.close();
  await server.stop();
});

async function open(page: Page, count: number): Promise<void> {
  const pvs = mixedPvs(count).map((pv) => `pv=${encodeURIComponent(pv.name)}`);
  await page.goto(`${base}?${pvs.join("&")}&${SPAN}`);
  await page.waitForFunction((count) => {
    const notes = [...document.querySelectorAll("#legend [data-pv] .note")];
    const isBusy = document.querySelector("#view")!.getAttribute("aria-busy") !== "false";
    return (
      !isBusy && notes.length === count && notes.every((note) => !note.textContent!.startsWith("loading"))
    );
  }, count);
}

/** Two pictures later everything that follows a resize is laid out and drawn. */
async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector("#view")!.getAttribute("aria-busy") === "false");
  await page.evaluate(async () => {
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  });
}

const NOBODY_ASKED = new TestServer(DIST).me;
const WAYS = { oidc: "idp.lab.example", password: true };
/** As whom the page is looked at: as it is without rights, and with names short and long. */
const LOOKERS = [
  NOBODY_ASKED,
  somebody("anonymous", "", "read", WAYS),
  somebody("oidc", "anastasia.papadopoulou@lab.example", "operate", WAYS),
];

for (const [count, me] of [
  ...COUNTS.map((count) => [count, NOBODY_ASKED] as const),
  [5, LOOKERS[2]!] as const,
]) {
  test(`with ${count} PVs nothing lies over anything else, as ${me.who}`, async () => {
    server.me = me;
    const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
    page.setDefaultTimeout(60_000);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.stack ?? error.message));
    await open(page, count);
    for (const [width, height] of SCREENS) {
      await page.setViewportSize({ width, height });
      // Colours move nothing: that is looked at where there is least room, and where most is shown.
      for (const theme of width === 360 || width === 1400
        ? (["light", "dark"] as const)
        : (["light"] as const)) {
        await page.emulateMedia({ colorScheme: theme });
        await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, theme);
        await settled(page);
        const where = `${count} PVs at ${width}, ${theme}`;
        const { over, beyond, plot } = await page.evaluate(overlaps);
        assert.deepEqual(over.slice(0, 12), [], `${where}: boxes that lie over each other`);
        assert.deepEqual(beyond.slice(0, 12), [], `${where}: what reaches beyond the window`);
        assert.ok(plot.height >= 100, `${where}: the plotting area is ${plot.height} high`);
        assert.ok(plot.width >= width * 0.4, `${where}: the plotting area is ${plot.width} wide`);
      }
    }
    await page.close();
    assert.deepEqual(faults, [], "no script may fail");
  });
}

for (const me of LOOKERS)
  test(`the header is one line from 768 px on, as ${me.who}`, async () => {
    server.me = me;
    const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
    await open(page, 2);
    for (const width of [3840, 1500, 1400, 1300, 1279, 1200, 1100, 1024, 1000, 900, 768]) {
      await page.setViewportSize({ width, height: 800 });
      const { lines, beyond } = await page.evaluate(() => {
        const parts = [
          ...document.querySelectorAll(".top > :not(.unseen, .popup, .space), #range > *"),
        ].filter((part) => part.checkVisibility() && part.getBoundingClientRect().height > 0);
        const middles = parts.map((part) => {
          const { top, height } = part.getBoundingClientRect();
          return Math.round((top + height / 2) / 20);
        });
        const beyond = parts
          .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
          .map((part) => part.id || part.className);
        return { lines: new Set(middles).size, beyond };
      });
      assert.equal(lines, 1, `lines of the header at ${width}`);
      assert.deepEqual(beyond, [], `what reaches beyond the window at ${width}`);
    }
    await page.close();
  });

test("at 1400 × 850 panes and axes have 60 % of the window, with forty PVs too", async () => {
  server.me = NOBODY_ASKED;
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  page.setDefaultTimeout(60_000);
  for (const count of [2, 40]) {
    await open(page, count);
    const part = await page.evaluate(() => {
      const { width, height } = document.querySelector("#plot")!.getBoundingClientRect();
      return (width * height) / (innerWidth * innerHeight);
    });
    assert.ok(part >= 0.6, `${(part * 100).toFixed(0)} % with ${count} PVs`);
  }
  await page.close();
});

test("what opens below a field stays within the window", async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  await open(page, 2);
  for (const width of [360, 768, 1024]) {
    await page.setViewportSize({ width, height: 740 });
    if (width < 768) await page.locator("#tab-find").click();
    else if (width < 1200) await page.locator("#find-open").click();
    await page.fill("#search", "lab");
    await page.locator('#found [data-pv="LAB:TEMP1"]').waitFor();
    const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.equal(await sideways(), 0, `the results at ${width}`);
    // The list lies over what is below it until it is closed.
    await page.keyboard.press("Escape");
    if (width < 768) await page.locator("#range-open").click();
    await page.fill("#to", "2026-11-19 09:30");
    await page.locator("#swap").waitFor();
    assert.equal(await sideways(), 0, `the line below the times at ${width}`);
    await page.keyboard.press("Escape");
  }
  await page.close();
});

/** What of the panel and the header is cut off: less of it is to be seen than there is. Runs in the page. */
function cutOff(): string[] {
  const PARTS =
    ".row :is(.name, .value, .second, .severity, .note, .why), .events button > *, .group-head span, #moment, #panel-foot > *";
  const seen = [...document.querySelectorAll<HTMLElement>(PARTS)].filter(
    (part) => part.checkVisibility() && part.clientWidth > 1,
  );
  const cut = seen
    .filter((part) => {
      const { left, right } = part.getBoundingClientRect();
      const around = part.closest(".panel")!.getBoundingClientRect();
      return part.scrollWidth > part.clientWidth + 1 || left < around.left - 1 || right > around.right + 1;
    })
    .map((part) => `${part.className || part.id}: ${part.textContent}`);
  const pen = document.createElement("canvas").getContext("2d")!;
  // Behind the text of a list stands its arrow.
  const arrow = 18;
  for (const field of document.querySelectorAll<HTMLSelectElement | HTMLInputElement>(
    "#zone, #length, #from, #to",
  )) {
    if (!field.checkVisibility()) continue;
    const style = getComputedStyle(field);
    pen.font = style.font;
    const text = field instanceof HTMLSelectElement ? field.selectedOptions[0]!.text : field.value;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const needed = pen.measureText(text).width + (field instanceof HTMLSelectElement ? arrow : 0);
    if (needed > room + 1) cut.push(`${field.id}: ${text} needs ${needed.toFixed()}, has ${room.toFixed()}`);
  }
  return cut;
}

test("what is said of PVs and of what happened can be read whole, and so can times and their zone", async () => {
  server.me = NOBODY_ASKED;
  const page = await browser.newPage({
    viewport: { width: 1400, height: 850 },
    timezoneId: "Asia/Kathmandu",
  });
  page.setDefaultTimeout(60_000);
  const pvs = [
    ...mixedPvs(6).map(({ name }) => name),
    "LAB:OFFLINE",
    "LAB:NEVER",
    "NO:SUCH:PV:IN-THIS_ARCHIVE",
  ];
  const query = pvs.map((name) => `pv=${encodeURIComponent(name)}`).join("&");
  for (const span of ["live=3600", SPAN.replace("&zone=utc", "")]) {
    await page.goto(`${base}?${query}&${span}`);
    await page.locator(".events li").first().waitFor();
    for (const [width, height] of SCREENS) {
      await page.setViewportSize({ width, height });
      await settled(page);
      assert.deepEqual(await page.evaluate(cutOff), [], `cut off at ${width}, ${span}`);
    }
  }
  await page.close();
});

for (const [what, query] of [
  ["a snapshot", "part=snapshot&match=*&a=2026-11-20T10:33:01.5Z&b=2026-11-20T09:00:00Z&tol=0"],
  [
    "a search",
    "part=when&q=SR-C02-VA{Gauge:CCG-12}Pressure-I_RBV%20%3E%201%20while%20SR:MODE%20=%203&from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z",
  ],
] as const)
  test(`${what} stays within the window at every width`, async () => {
    server.me = NOBODY_ASKED;
    const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
    page.setDefaultTimeout(60_000);
    await page.goto(`${base}?${query}&zone=utc`);
    await page
      .locator(":is(#snapshot, #when) .told")
      .getByText(/PVs:|samples read/)
      .waitFor();
    for (const [width, height] of SCREENS) {
      await page.setViewportSize({ width, height });
      await settled(page);
      const beyond = await page.evaluate(() => {
        const shown = document.querySelector<HTMLElement>(":is(#snapshot, #when):not([hidden])")!;
        const parts = [...shown.querySelectorAll<HTMLElement>("input, select, button, canvas, .told")].filter(
          (part) => part.checkVisibility() && !part.closest(".snapshot-table"),
        );
        const out = parts.filter((part) => part.getBoundingClientRect().right > innerWidth + 1);
        const sideways =
          document.documentElement.scrollWidth - innerWidth + shown.scrollWidth - shown.clientWidth;
        return [
          ...out.map((part) => part.className || part.textContent),
          ...(sideways > 0 ? [`${sideways} px`] : []),
        ];
      });
      assert.deepEqual(beyond, [], `at ${width}`);
    }
    await page.close();
  });

test("on a phone, touched by fingers, the header has one line for its buttons and one for the times", async () => {
  server.me = NOBODY_ASKED;
  for (const width of [360, 390]) {
    const context = await browser.newContext({
      viewport: { width, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await open(page, 5);
    await page.locator("#chip").getByText("PVs").waitFor();
    const tops = await page
      .locator("#home, #chip, #undo, #share-open, #more")
      .evaluateAll((all) =>
        all.map((one) => one.getBoundingClientRect()).map(({ top, height }) => top + height / 2),
      );
    assert.ok(Math.max(...tops) - Math.min(...tops) < 4, `at ${width}: ${tops.join(", ")}`);
    const { beyond } = await page.evaluate(overlaps);
    assert.deepEqual(beyond, []);
    await context.close();
  }
});
