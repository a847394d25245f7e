// What the page of a real archiver takes: first plots, zooms, pans, a live view and a wall that stand for long, each figure beside its bar.
//
//   PVARK_URL=http://127.0.0.1:17665/ PVARK_PACE=figures npm run pace     plots of the archive that `pvark-lab history` makes
//   … PVARK_PACE=live PVARK_LIVE="A B C" MINUTES=60                       a live view of these PVs
//   … PVARK_PACE=wall PVARK_LIVE="A B C" MINUTES=60                       a wall of them
//   PVARK_PACE=day MINUTES=14.4 npm run pace                              a wall whose clock goes 100 times as fast, against the test server
//
// What is counted is processor time of the page's main thread; the wall's time stands beside it. With PVARK_PACE_STRICT=1 a bar that is
// missed fails; else one that other work of the machine cannot have missed: of requests and of memory.

import assert from "node:assert/strict";
import type { Browser, CDPSession, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";
import { dragToAndFro } from "./drag.ts";
import { loaded } from "./loaded.ts";
import { HOUR, yearPvs } from "./pvs.ts";
import { TestServer } from "./server.ts";

const DESK = { width: 1400, height: 850 };
const WALL = { width: 3840, height: 2160 };
/** The year that `pvark-lab history` has: 365 days until 2026 begins. */
const [FROM, TO] = ["2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"];
const TWENTY = Array.from({ length: 20 }, (_, i) => `H:${String(i).padStart(2, "0")}`);
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const MOVES = 300;
const MINUTES = Number(process.env.MINUTES ?? 60);
/** Heaps are compared with that of then, or of a sixth of the time where that is less. */
const SETTLED_MINUTES = Math.min(10, MINUTES / 6);
/** Of less than that a heap says nothing: what is in sight is still coming. */
const HEAP_TIMES = MINUTES >= 14 ? 1.1 : undefined;
/** Nothing more comes into sight once heaps are compared. */
const SIGHT_SECONDS = Math.max(5, Math.round(SETTLED_MINUTES * 30));
const SPEED = 100;
const isStrict = process.env.PVARK_PACE_STRICT === "1";
const base = process.env.PVARK_URL ?? "";
const live = (process.env.PVARK_LIVE ?? "").split(" ").filter(Boolean);

const missed: string[] = [];

/** A figure beside its bar, as the lab prints them. */
function tell(
  what: string,
  value: number,
  unit: string,
  most?: number,
  hangsOn: "load" | "page" = "load",
): void {
  const isMissed = most !== undefined && !(value <= most);
  const verdict = most === undefined ? "" : `${isMissed ? "MISSED" : "reached"} (at most ${most})`;
  const digits = value < 10 ? 2 : 0;
  console.log(
    `${what.padEnd(62)} ${value.toFixed(digits).padStart(9)} ${unit.padEnd(20)} ${verdict}`.trimEnd(),
  );
  if (isMissed && (isStrict || hangsOn === "page")) missed.push(what);
}

const PARTS: Record<string, (browser: Browser) => Promise<void>> = {
  figures,
  live: liveView,
  wall: (browser) =>
    standing(browser, "wall of an hour", `${base}?${named(live)}&wall=1&live=${SIGHT_SECONDS}&theme=dark`),
  day: fastDay,
};

function named(pvs: string[]): string {
  return pvs.map((pv) => `pv=${encodeURIComponent(pv)}`).join("&");
}

/** A page of its own with its thread's clock. It begins at the archiver, so that no process takes the place of another later. */
class Watched {
  private constructor(
    readonly page: Page,
    private session: CDPSession,
  ) {}

  static async open(browser: Browser, url: string, viewport: { width: number; height: number }) {
    const context = await browser.newContext({ viewport, timezoneId: "UTC" });
    const page = await context.newPage();
    page.on("pageerror", (error) => missed.push(`a script failed: ${error.message}`));
    await page.goto(`${url}api/v1/me`);
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    return new Watched(page, session);
  }

  /** Processor time of the page's main thread until now, in milliseconds. */
  async taken(): Promise<number> {
    const { metrics } = await this.session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")!.value * 1000;
  }

  /** What scripts hold once nothing is left to be cleared away, and what the browser keeps for them, in megabytes. */
  async heap(): Promise<{ used: number; total: number }> {
    const { totalSize } = await this.session.send("Runtime.getHeapUsage");
    await this.session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await this.session.send("Runtime.getHeapUsage");
    return { used: usedSize / 1e6, total: totalSize / 1e6 };
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

interface Taken {
  cpu: number;
  wall: number;
}

/** What it takes from an act until the plot has what it is to show, on the screen. */
async function taken(watched: Watched, act: () => Promise<unknown>): Promise<Taken> {
  const { page } = watched;
  const [cpu, began] = [await watched.taken(), performance.now()];
  await act();
  await loaded(page);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const wall = performance.now() - began;
  return { cpu: (await watched.taken()) - cpu, wall };
}

function middle(all: number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]!;
}

function tellTaken(what: string, all: Taken[], most: number): void {
  tell(what, middle(all.map(({ cpu }) => cpu)), "ms of processor", most);
  tell("  by the wall", middle(all.map(({ wall }) => wall)), "ms");
}

/** Plots of long times. */
async function figures(browser: Browser): Promise<void> {
  const year = `${base}?${named(["H:YEAR"])}&from=${FROM}&to=${TO}&zone=utc`;
  const twenty = `${base}?${named(TWENTY)}&from=${FROM}&to=${TO}&zone=utc`;
  const [first, zooms, all]: Taken[][] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    const one = await Watched.open(browser, base, DESK);
    first!.push(await taken(one, () => one.page.goto(year)));
    await quiet(one.page);
    zooms!.push(
      await taken(one, async () => {
        // An archiver that answers within a frame leaves no time in which the page says that it waits.
        const answer = one.page.waitForResponse((of) => new URL(of.url()).pathname.endsWith("/api/v1/view"));
        await one.page.keyboard.press("+");
        await (await answer).finished();
      }),
    );
    await one.close();
    const many = await Watched.open(browser, base, DESK);
    all!.push(await taken(many, () => many.page.goto(twenty)));
    await many.close();
  }
  tellTaken("first plot of a year of 10 Hz", first!, 300);
  tellTaken("zoom in it", zooms!, 100);
  tellTaken("first plot of 20 PVs, a year each", all!, 1000);
  const pan = await Watched.open(browser, base, DESK);
  await pan.page.goto(twenty);
  await loaded(pan.page);
  await quiet(pan.page);
  let asked = 0;
  pan.page.on("request", () => asked++);
  const [cpu, began] = [await pan.taken(), performance.now()];
  await dragToAndFro(pan.page, MOVES);
  const [spent, millis] = [(await pan.taken()) - cpu, performance.now() - began];
  tell("a frame while the 20 are panned, in the mean", spent / MOVES, "ms of processor", 16);
  tell("  requests meanwhile", asked / (millis / 1000), "a second", 3, "page");
  await pan.close();
}

/** Until a page asks for nothing more: what happened when, and the strip below, come when all else is there. */
async function quiet(page: Page): Promise<void> {
  let asked = 0;
  const count = () => asked++;
  page.on("request", count);
  for (let before = -1; before !== asked; await page.waitForTimeout(1000)) before = asked;
  page.off("request", count);
}

/** A plot that follows some PVs. */
function liveView(browser: Browser): Promise<void> {
  return standing(browser, `live view of ${live.length} PVs`, `${base}?${named(live)}&live=${SIGHT_SECONDS}`);
}

/** A page that is left alone for as long as wanted. */
async function standing(browser: Browser, what: string, url: string): Promise<void> {
  const isWall = url.includes("wall=1");
  const watched = await Watched.open(browser, new URL("/", url).href, isWall ? WALL : DESK);
  await watched.page.goto(url);
  await watched.page
    .locator(isWall ? ".wall-value" : "#legend [data-pv] .value")
    .first()
    .waitFor();
  await watched.page.evaluate(() => ((window as { mark?: number }).mark = 1));
  // What comes first is not what it takes from then on.
  await watched.page.waitForTimeout(Math.min(20_000, MINUTES * 10_000));
  const [cpu, began] = [await watched.taken(), performance.now()];
  const until = (minutes: number) => began + minutes * 60_000 - performance.now();
  await watched.page.waitForTimeout(Math.max(0, until(SETTLED_MINUTES)));
  const early = await watched.heap();
  await watched.page.waitForTimeout(Math.max(0, until(MINUTES)));
  const [spent, millis] = [(await watched.taken()) - cpu, performance.now() - began];
  const late = await watched.heap();
  const minutes = (millis / 60_000).toFixed(1);
  tell(`${what}, ${minutes} min`, (spent / millis) * 100, "% of a core", isWall ? undefined : 5);
  tell("  memory of its scripts", late.total, "MB", 200, "page");
  tell("  of it in use after garbage was collected", late.used, "MB");
  tell(
    `  in use, beside that after ${SETTLED_MINUTES.toFixed(1)} min (${early.used.toFixed(2)} MB)`,
    late.used / early.used,
    "times",
    HEAP_TIMES,
    "page",
  );
  const mark = await watched.page.evaluate(() => (window as { mark?: number }).mark);
  tell("  loaded anew meanwhile", mark === 1 ? 0 : 1, "times", 0, "page");
  await watched.close();
}

/** A wall whose clock, like its archiver's, goes a hundred times as fast: 14.4 minutes are a day. */
async function fastDay(browser: Browser): Promise<void> {
  const server = new TestServer(new URL("../dist", import.meta.url).pathname);
  server.pvs = yearPvs(6).map((pv) => ({ ...pv, period: 10, first: HOUR - 7 * 86_400 }));
  const url = await server.start();
  const since = server.hurry(SPEED);
  const watched = await Watched.open(browser, url, WALL);
  await watched.page.addInitScript(hurry, { since, speed: SPEED });
  await watched.page.goto(
    `${url}?${named(server.pvs.map(({ name }) => name))}&wall=1&live=${SIGHT_SECONDS * SPEED}&theme=dark`,
  );
  await watched.page.locator(".wall-value").first().waitFor();
  const clock = () => watched.page.evaluate(() => Date.now());
  const [first, began] = [await clock(), performance.now()];
  const until = (minutes: number) => began + minutes * 60_000 - performance.now();
  // Ten minutes of its own clock are six seconds, when it has hardly begun.
  await watched.page.waitForTimeout(Math.max(0, until(SETTLED_MINUTES)));
  const early = await watched.heap();
  await watched.page.waitForTimeout(Math.max(0, until(MINUTES)));
  const late = await watched.heap();
  const hours = ((await clock()) - first) / 3_600_000;
  assert.ok(hours > (MINUTES / 60) * SPEED * 0.9, `its clock went on by ${hours} h only`);
  // An answer that took a second by the machine's clock took minutes by that of the page, which then says that the archiver is silent.
  await watched.page.waitForFunction(() =>
    /^\d\d:\d\d:\d\d$/.test(document.querySelector(".wall-clock")!.textContent!),
  );
  console.log(
    `a wall of ${server.pvs.length} PVs, ${hours.toFixed(1)} h of its clock at ${SPEED} times its speed:`,
  );
  tell("  memory of its scripts", late.total, "MB", 200, "page");
  tell(
    `  in use, beside that after ${SETTLED_MINUTES.toFixed(1)} min (${early.used.toFixed(2)} MB)`,
    late.used / early.used,
    "times",
    HEAP_TIMES,
    "page",
  );
  tell("  requests", server.requests.length / (MINUTES * 60), "a second");
  await watched.close();
  await server.stop();
}

/** Runs in the page before it: all of its clocks go faster from a moment on, and so do its timers. */
function hurry({ since, speed }: { since: number; speed: number }): void {
  const [now, steady] = [Date.now.bind(Date), performance.now.bind(performance)];
  const opened = steady();
  const quick = () => since + (now() - since) * speed;
  const Real = Date;
  class QuickDate extends Real {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(quick());
      else super(...(given as [number]));
    }
    static override now(): number {
      return quick();
    }
  }
  globalThis.Date = QuickDate as DateConstructor;
  performance.now = () => opened + (steady() - opened) * speed;
  const wait = globalThis.setTimeout.bind(globalThis);
  const again = globalThis.setInterval.bind(globalThis);
  // Frames come no faster, and some of them pass between two ticks; nor do answers, for which it is waited for seconds.
  const shorter = (millis = 0) => Math.max(millis >= 4000 ? 1000 : millis >= 100 ? 60 : 4, millis / speed);
  globalThis.setTimeout = ((act: () => void, millis?: number, ...more: []) =>
    wait(act, shorter(millis), ...more)) as typeof setTimeout;
  globalThis.setInterval = ((act: () => void, millis?: number, ...more: []) =>
    again(act, shorter(millis), ...more)) as typeof setInterval;
}

const browser = await startChromium();
try {
  for (const part of (process.env.PVARK_PACE ?? "figures").split(" ")) {
    const run = PARTS[part];
    assert.ok(run, `there is no part ${part}: say ${Object.keys(PARTS).join(", ")}`);
    assert.ok(part === "day" || base, "set PVARK_URL to the address of a pvark");
    assert.ok(
      !["live", "wall"].includes(part) || live.length > 0,
      "set PVARK_LIVE to names of PVs that change",
    );
    await run(browser);
  }
} finally {
  await browser.close();
}
assert.deepEqual(missed, [], "each of these is beyond its bar");
