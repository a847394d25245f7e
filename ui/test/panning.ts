// What a frame takes while 20 PVs of a year are panned: by the page's own canvas, and by uPlot with the same bins. Drawn in the page's
// own code and in uPlot's, one after the other, in the same browser; no server has a part in it.
//
//   npm run panning

import { build } from "esbuild";
import { startChromium } from "./chromium.ts";

const here = new URL("..", import.meta.url).pathname;
const result = await build({
  stdin: {
    contents: `
      import uPlot from "uplot";
      import { Plot } from "./src/plot.ts";
      import { layoutOf } from "./src/panes.ts";
      import { newTrace } from "./src/trace.ts";
      import { applyTheme } from "./src/style.ts";
      Object.assign(window, { uPlot, Plot, layoutOf, newTrace, applyTheme });`,
    resolveDir: here,
    loader: "ts",
  },
  bundle: true,
  write: false,
  format: "iife",
  target: "chrome109",
  loader: { ".css": "empty" },
});
const tokens = await (await import("node:fs/promises")).readFile(`${here}src/tokens.css`, "utf8");

const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  await page.setContent(
    `<style>${tokens} #plot, #other { position: absolute; inset: 0; } .panes, .over, canvas { position: absolute }</style><div id="plot"></div><div id="other"></div>`,
  );
  await page.addScriptTag({ content: result.outputFiles[0]!.text });
  const told = await page.evaluate(async () => {
    /* eslint-disable @typescript-eslint/no-explicit-any */
    const { Plot, layoutOf, newTrace, applyTheme, uPlot } = window as any;
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
      const bins = {
        start,
        end,
        count,
        min,
        max,
        mean,
        first: mean,
        last: mean,
        severity: new Uint8Array(BINS),
        before: null,
      };
      const range = { from: begin, to: begin + YEAR };
      trace.kind = "number";
      trace.metadata = { units: ["mA", "kW", "um", "mbar"][k % 4] };
      trace.history = {
        range,
        bins,
        samples: null,
        truncated: false,
        live: false,
        settled: begin + YEAR,
        generation: 0,
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
      times.sort((a, b) => a - b);
      return { median: times[FRAMES >> 1]!, p95: times[Math.floor(FRAMES * 0.95)]! };
    };
    const nothing = () => undefined;
    const actions = {
      zoom: nothing,
      wheel: nothing,
      pan: nothing,
      pin: nothing,
      back: nothing,
      reach: nothing,
      cursor: nothing,
    };
    const plot = new Plot(document.querySelector("#plot"), actions);
    const ours = await measure((from) => {
      const range = { from, to: from + 0.8 * YEAR };
      const layout = layoutOf(traces, [], range);
      plot.show({
        range,
        traces,
        layout,
        palette,
        known: begin + 2 * YEAR,
        silent: false,
        zone: "utc",
        pinned: null,
        second: null,
        lanes: false,
        pointed: null,
      });
    });
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
      for (const chart of charts) {
        chart.setScale("x", { min: from, max: from + 0.8 * YEAR });
      }
    });
    await frame();
    return { ours, theirs };
  });
  const text = ({ median, p95 }: { median: number; p95: number }) =>
    `median ${median.toFixed(1)} ms, 95 % within ${p95.toFixed(1)} ms`;
  console.log(`our canvas, one for all panes: ${text(told.ours)} a frame`);
  console.log(`uPlot, one chart a pane:       ${text(told.theirs)} a frame`);
} finally {
  await browser.close();
}
