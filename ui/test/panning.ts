// What a frame takes while 20 PVs of a year are panned: first the whole page against the test server, dragged by a mouse, as processor time of
// the browser's main thread and of all its threads; then the plot alone beside uPlot with the same bins.
//
//   npm run panning                    the page as it was built
//   PVARK_PAGE=FOLDER npm run panning  another build of it, such as one of before a change

import { startChromium } from "./chromium.ts";
import { dragToAndFro } from "./drag.ts";
import { openDrawing } from "./drawing.ts";
import { HOUR, yearPvs } from "./pvs.ts";
import { TestServer } from "./server.ts";

const YEAR = 365 * 86_400;
const MOVES = 300;

const dist = process.env.PVARK_PAGE ?? new URL("../dist", import.meta.url).pathname;
const browser = await startChromium();
try {
  await wholePage();
  if (!process.env.PARTS) await plotAlone();
} finally {
  await browser.close();
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args: { data?: { type?: string } };
}

/** A drag to and fro over the plot of a page, each move with its frame. */
async function wholePage(): Promise<void> {
  const server = new TestServer(dist);
  server.pvs = yearPvs(20);
  const base = await server.start();
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  const [from, to] = [HOUR - YEAR, HOUR].map((at) => new Date(at * 1000).toISOString());
  const names = server.pvs.map(({ name }) => `pv=${name}`).join("&");
  await page.goto(`${base}?${names}&from=${from}&to=${to}&zone=utc`);
  await page.waitForFunction(() => document.querySelector("#view")!.getAttribute("aria-busy") === "false");
  // What happened when, and the strip below, are asked for when all else is there.
  for (let before = -1; before !== server.requests.length; await page.waitForTimeout(1000))
    before = server.requests.length;
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "__metadata"] });
  server.requests = [];
  const began = Date.now();
  await dragToAndFro(page, MOVES);
  const seconds = (Date.now() - began) / 1000;
  const asked = server.requests.filter((path) => path.startsWith("/api/"));
  const events = (JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] })
    .traceEvents;
  await server.stop();
  await page.close();
  console.log(
    `the whole page, a drag of ${MOVES} moves in ${seconds.toFixed(1)} s (${server.pvs.length} PVs × 1 year):`,
  );
  tell(events);
  const each = (asked.length / seconds).toFixed(1);
  const kinds = new Map<string, number>();
  for (const path of asked.map((path) => path.replace(/\?.*/, "")))
    kinds.set(path, (kinds.get(path) ?? 0) + 1);
  const parts = [...kinds].map(([path, count]) => `${count} × ${path}`).join(", ");
  console.log(`  requests meanwhile: ${asked.length}, ${each} a second${parts ? ` (${parts})` : ""}`);
}

/** Frames of the page's main thread in which the mouse had moved: all that the thread did since the frame before. */
function tell(events: TraceEvent[]): void {
  const fired = events.filter(({ name, ph }) => name === "FireAnimationFrame" && ph === "X");
  const counts = new Map<string, number>();
  for (const { pid, tid } of fired) counts.set(`${pid} ${tid}`, (counts.get(`${pid} ${tid}`) ?? 0) + 1);
  const main = [...counts].sort((a, b) => b[1] - a[1])[0]![0];
  const isMain = (event: TraceEvent) => `${event.pid} ${event.tid}` === main;
  const tasks = events
    .filter(({ ph, name }) => ph === "X" && name.endsWith("RunTask"))
    .sort((a, b) => a.ts - b.ts);
  const mine = tasks.filter(isMain);
  const hasClock = mine.some(({ tdur }) => tdur !== undefined);
  const costOf = ({ tdur, dur }: TraceEvent) => (hasClock ? (tdur ?? 0) : (dur ?? 0)) / 1000;
  const endOf = ({ ts, dur }: TraceEvent) => ts + (dur ?? 0);
  const holds = (task: TraceEvent, event: TraceEvent) => event.ts >= task.ts && event.ts <= endOf(task);
  const drawn = fired.filter(isMain);
  const moves = events.filter(
    (event) => isMain(event) && event.name === "EventDispatch" && event.args.data?.type === "pointermove",
  );
  const frames: number[] = [];
  const scripts: number[] = [];
  const tasksOf: { cost: number; tasks: TraceEvent[] }[] = [];
  let since: TraceEvent[] = [];
  for (const task of mine) {
    since.push(task);
    const own = drawn.filter((event) => holds(task, event));
    if (own.length === 0) continue;
    if (moves.some((move) => since.some((task) => holds(task, move)))) {
      frames.push(since.reduce((sum, task) => sum + costOf(task), 0));
      tasksOf.push({ cost: frames.at(-1)!, tasks: since });
      scripts.push(own.reduce((sum, event) => sum + costOf(event), 0));
    }
    since = [];
  }
  const others = tasks.filter((task) => !isMain(task)).reduce((sum, task) => sum + costOf(task), 0);
  const what = hasClock ? "processor time" : "wall time, for want of processor time in the trace";
  console.log(`  main thread, ${what} a frame: ${spread(frames)}; ${frames.length} frames`);
  console.log(`  of these the page's own drawing:  ${spread(scripts)}`);
  console.log(`  all other threads of the browser: mean ${(others / frames.length).toFixed(1)} ms a frame`);
  if (!process.env.PARTS) return;
  const sorted = tasksOf.sort((a, b) => b.cost - a.cost);
  const slow = Math.ceil(sorted.length / 20);
  for (const [what, some] of [
    ["of the slowest twentieth of the frames", sorted.slice(0, slow)],
    ["of the others", sorted.slice(slow)],
  ] as const) {
    const parts = some.flatMap(({ tasks }) => tasks);
    const [from, to] = [Math.min(...parts.map(({ ts }) => ts)), Math.max(...parts.map(endOf))];
    const near = events.filter((event) => isMain(event) && event.ts >= from && event.ts <= to);
    console.log(`  ${what}, in milliseconds a frame:`);
    tellParts(
      near.filter((event) => parts.some((task) => holds(task, event))),
      some.length,
    );
  }
}

/** What the main thread did, by name, in milliseconds a frame. */
function tellParts(events: TraceEvent[], frames: number): void {
  const sums = new Map<string, number>();
  for (const { name, tdur } of events) sums.set(name, (sums.get(name) ?? 0) + (tdur ?? 0) / 1000);
  const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 12);
  for (const [name, sum] of most) console.log(`    ${(sum / frames).toFixed(2)} ${name}`);
}

function spread(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
  return `median ${at(0.5).toFixed(1)} ms, 95 % within ${at(0.95).toFixed(1)} ms, most ${at(1).toFixed(1)} ms`;
}

/** The plot alone, and uPlot with the same bins. */
async function plotAlone(): Promise<void> {
  const page = await openDrawing(
    browser,
    { width: 1400, height: 850 },
    `import uPlot from "uplot"; Object.assign(window, { uPlot });`,
  );
  const told = await page.evaluate(async () => {
    /* eslint-disable @typescript-eslint/no-explicit-any */
    const { Plot, layoutOf, newTrace, applyTheme, uPlot, sceneOf } = window as any;
    const [PVS, BINS, FRAMES, YEAR] = [20, 2000, 120, 365 * 86_400];
    const begin = 1.76e9;
    const palette = applyTheme("light");
    const traces = Array.from({ length: PVS }, (_, k) => {
      const trace = newTrace(`PV${k}`, k);
      const start = Float64Array.from({ length: BINS }, (_, i) => begin + (i / BINS) * YEAR);
      const end = start.map((x) => x + YEAR / BINS);
      const mean = start.map((_, i) => k + Math.sin(i / 50 + k) + 0.1 * Math.sin(i * 7));
      const [min, max] = [mean.map((y) => y - 0.3), mean.map((y, i) => y + 0.3 + (i % 400 === 0 ? 3 : 0))];
      const count = new Float64Array(BINS).fill(1000);
      const severity = new Uint8Array(BINS);
      const bins = { start, end, count, min, max, mean, first: mean, last: mean, severity, before: null };
      const range = { from: begin, to: begin + YEAR };
      trace.kind = "number";
      trace.metadata = { units: ["mA", "kW", "um", "mbar"][k % 4] };
      trace.history = {
        ...{ range, bins, samples: null, truncated: false, live: false },
        ...{ settled: begin + YEAR, generation: 0, earlier: 0 },
      };
      return trace;
    });
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const measure = async (draw: (from: number) => void) => {
      const times: number[] = [];
      for (let i = 0; i < FRAMES; i++) {
        await frame();
        const before = performance.now();
        draw(begin + (i / FRAMES) * 0.2 * YEAR);
        // uPlot draws in a microtask.
        await Promise.resolve();
        await Promise.resolve();
        times.push(performance.now() - before);
      }
      return times;
    };
    const plot = new Plot(document.querySelector("#plot"), { again: () => undefined });
    const ours = async (moving: boolean) =>
      measure((from) => {
        const range = { from, to: from + 0.8 * YEAR };
        plot.show(
          sceneOf({ range, traces, layout: layoutOf(traces, [], range), palette, moving, still: true }),
        );
      });
    const [panned, whole] = [await ours(true), await ours(false)];
    document.querySelector("#plot")!.remove();
    // The same four panes of five PVs each, with bands of minimum to maximum under the means.
    const charts = [0, 1, 2, 3].map((pane) => {
      const own = traces.filter((_: unknown, k: number) => k % 4 === pane);
      const series: any[] = [{}];
      const bands: any[] = [];
      const data: any[] = [own[0].history.bins.start];
      for (const trace of own) {
        const { bins } = trace.history;
        const { stroke } = palette.trace(trace.colour);
        const at = data.length;
        data.push(bins.max, bins.min, bins.mean);
        series.push(
          { stroke: "transparent", points: { show: false } },
          { stroke: "transparent", points: { show: false } },
          { stroke, width: 1.5, points: { show: false } },
        );
        bands.push({ series: [at, at + 1], fill: `${stroke}38` });
      }
      const root = document.createElement("div");
      document.querySelector("#other")!.append(root);
      return new uPlot({ width: 1096, height: 190, series, bands, legend: { show: false } }, data, root);
    });
    const theirs = await measure((from) => {
      for (const chart of charts) chart.setScale("x", { min: from, max: from + 0.8 * YEAR });
    });
    return { panned, whole, theirs };
  });
  console.log("the plot alone, by the wall:");
  console.log(`  our canvas, panned:              ${spread(told.panned)}`);
  console.log(`  our canvas, all drawn each time: ${spread(told.whole)}`);
  console.log(`  uPlot, one chart a pane:         ${spread(told.theirs)}`);
  await page.close();
}
