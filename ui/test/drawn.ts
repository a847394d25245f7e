// Runs in a browser: figures drawn by the page's own code, for goldens, and comparisons of one drawing with another, pixel by pixel.

import { drawBand } from "../src/bands.ts";
import type { Bins, Gap, Samples } from "../src/decode.ts";
import { drawTrace, frameOf, mapper } from "../src/draw.ts";
import { holesOf } from "../src/line.ts";
import { PLAIN, type Look } from "../src/look.ts";
import { layoutOf, type Layout } from "../src/panes.ts";
import { Plot, type Scene } from "../src/plot.ts";
import type { Range } from "../src/state.ts";
import { sideOf, withSide } from "../src/side.ts";
import { applyTheme } from "../src/style.ts";
import { newTrace, type History, type Trace } from "../src/trace.ts";
import { randomOf } from "./random.ts";

/** 2026-11-20T10:00:00Z. */
const BEGIN = 1_795_168_800;
const HOUR: Range = { from: BEGIN, to: BEGIN + 3600 };

type Row = [at: number, value: number | string, severity?: number];

function samplesOf(rows: Row[]): Samples {
  return {
    x: rows.map(([at]) => at),
    seconds: rows.map(([at]) => Math.floor(at)),
    nanos: rows.map(() => 0),
    y: rows.map(([, value]) => (typeof value === "number" ? value : NaN)),
    values: rows.map(([, value]) => value),
    severity: rows.map(([, , severity = 0]) => severity),
  };
}

/** What the archiver makes of samples: bins of a width, from a multiple of it on. */
function binsOf(rows: Row[], range: Range, width: number): Bins {
  const first = Math.floor(range.from / width);
  const count = Math.ceil(range.to / width) - first;
  const column = (value: (rows: Row[], i: number) => number) =>
    Float64Array.from({ length: count }, (_, i) => value(within[i]!, i));
  const within: Row[][] = Array.from({ length: count }, () => []);
  let before: Row | null = null;
  for (const row of rows) {
    const i = Math.floor(row[0] / width) - first;
    if (i < 0) before = row;
    else within[i]?.push(row);
  }
  const numbers = (rows: Row[]) => rows.map(([, y]) => y as number).filter((y) => !Number.isNaN(y));
  const least = (rows: Row[]) => numbers(rows).reduce((a, b) => Math.min(a, b), Infinity);
  const most = (rows: Row[]) => numbers(rows).reduce((a, b) => Math.max(a, b), -Infinity);
  const known = (rows: Row[], value: number) => (numbers(rows).length > 0 ? value : NaN);
  return {
    start: column((_, i) => (first + i) * width),
    end: column((_, i) => (first + i + 1) * width),
    count: column((rows) => rows.length),
    min: column((rows) => known(rows, least(rows))),
    max: column((rows) => known(rows, most(rows))),
    mean: column((rows) => known(rows, numbers(rows).reduce((a, b) => a + b, 0) / numbers(rows).length)),
    first: column((rows) => (rows[0]?.[1] as number | undefined) ?? NaN),
    last: column((rows) => (rows.at(-1)?.[1] as number | undefined) ?? NaN),
    severity: Uint8Array.from(within, (rows) => Math.max(0, ...rows.map(([, , severity = 0]) => severity))),
    before: before && { x: before[0], y: before[1] as number, severity: before[2] ?? 0, at: null },
  };
}

interface Wanted {
  units?: string;
  labels?: string[];
  kind?: Trace["kind"];
  look?: Partial<Look>;
  gaps?: [from: number, to: number][];
}

function traceOf(name: string, colour: number, what: Partial<History>, wanted: Wanted = {}): Trace {
  const trace = newTrace(name, colour);
  trace.kind = wanted.kind ?? "number";
  trace.metadata = { units: wanted.units ?? "mA", labels: wanted.labels ?? null };
  trace.look = { ...PLAIN, ...wanted.look };
  trace.state = "connected";
  trace.gaps = (wanted.gaps ?? []).map(([from, to]): Gap => ({
    ...{ from, to, cause: "disconnected", lost: 0, scope: "pv" },
  }));
  trace.holes = holesOf(trace.gaps);
  trace.history = {
    ...{ range: HOUR, bins: null, samples: null, truncated: false, live: false },
    ...{ settled: Infinity, generation: 0, earlier: 0 },
    ...what,
  };
  return trace;
}

/** A wave with a spike now and then, in so many steps of the hour; each third is a plateau. */
function wave(seed: number, count: number, from = BEGIN, seconds = 3600): Row[] {
  const random = randomOf(seed);
  let value = 10 * seed;
  return Array.from({ length: count }, (_, i): Row => {
    if (i % 3 !== 0) value += random() - 0.5;
    const spike = i % 97 === 50 ? 12 : 0;
    return [from + (i / count) * seconds, value + spike, spike > 0 ? 2 : i % 61 === 7 ? 1 : 0];
  });
}

const widths = { wide: 480, high: 220 };

interface Figure {
  traces: () => Trace[];
  log?: string[];
  lanes?: boolean;
  high?: number;
  /** What is known, and what comes live, while it is panned. */
  known?: (step: number) => number;
  comes?: (trace: Trace, step: number) => void;
}

/** Where a live figure begins to be panned. */
const NOW = BEGIN + 3300;

/** A figure for each thing that plots draw in a way of their own. */
export const FIGURES: Record<string, Figure> = {
  gap: {
    traces: () => {
      const gap: [number, number] = [BEGIN + 1200, BEGIN + 1800];
      const kept = (rows: Row[]) => rows.filter(([at]) => at < gap[0] || at >= gap[1]);
      const both: Wanted = { gaps: [gap] };
      return [
        traceOf("GAP:A", 0, { samples: samplesOf(kept(wave(1, 60))) }, both),
        traceOf(
          "GAP:B",
          1,
          { samples: samplesOf(wave(2, 30).filter(([at]) => at < BEGIN + 3000)) },
          { gaps: [[BEGIN + 3000, Infinity]] },
        ),
        traceOf("GAP:C", 2, { bins: binsOf(kept(wave(3, 3600)), HOUR, 10) }, both),
      ];
    },
  },
  enum: {
    high: 140,
    traces: () => {
      const random = randomOf(5);
      const labels = ["Off", "Standby", "Ramping", "Beam on", "Fault"];
      const states = Array.from({ length: 12 }, (_, i): Row => {
        const state = Math.floor(random() * 5);
        return [BEGIN + i * 300 + 40, state, state === 4 ? 2 : 0];
      });
      const fast = Array.from({ length: 4000 }, (_, i): Row => [
        BEGIN + i * 0.9,
        i > 1500 && i < 2500 ? Math.floor(random() * 5) : 3,
      ]);
      const texts: Row[] = [
        [BEGIN + 100, "Injecting"],
        [BEGIN + 1500, "Top-up at 300 mA"],
        [BEGIN + 3100, "Waiting"],
      ];
      const state: Wanted = { kind: "state", labels, units: "" };
      return [
        traceOf(
          "ENUM:MODE",
          0,
          { samples: samplesOf(states) },
          { ...state, gaps: [[BEGIN + 2000, BEGIN + 2300]] },
        ),
        traceOf("ENUM:FAST", 1, { bins: binsOf(fast, HOUR, 10) }, state),
        traceOf("TEXT:MESSAGE", 2, { samples: samplesOf(texts) }, { kind: "text", units: "" }),
      ];
    },
  },
  envelope: {
    traces: () => [
      traceOf("ENVELOPE:A", 0, { bins: binsOf(wave(1, 7200), HOUR, 10) }),
      traceOf("ENVELOPE:B", 9, { bins: binsOf(wave(2, 7200), HOUR, 10) }),
    ],
  },
  step: {
    traces: () => {
      const limits = traceOf(
        "STEP:LIMITS",
        0,
        { samples: samplesOf(wave(1, 24)) },
        { look: { limits: true } },
      );
      limits.metadata!.warning = { low: 8.5, high: 10.5 };
      return [
        limits,
        traceOf("STEP:LINE", 1, { samples: samplesOf(wave(1, 18)) }, { look: { line: "line", width: 3 } }),
        traceOf("STEP:POINTS", 2, { samples: samplesOf(wave(1, 40)) }, { look: { line: "points" } }),
        traceOf("STEP:HOLDS", 3, {
          samples: samplesOf([
            [BEGIN - 500, 12],
            [BEGIN + 900, NaN],
            [BEGIN + 1500, 9],
          ]),
        }),
      ];
    },
  },
  dashes: {
    traces: () => {
      const far: Row[] = [
        [BEGIN - 4e6, -60],
        [BEGIN + 1800, 2],
        [BEGIN + 5e6, 90],
      ];
      return [
        traceOf("DASHES:BINS", 8, { bins: binsOf(wave(1, 7200), HOUR, 10) }),
        traceOf("DASHES:DOTS", 17, { bins: binsOf(wave(2, 7200), HOUR, 10) }),
        traceOf("DASHES:SAMPLES", 9, { samples: samplesOf(wave(3, 40)) }),
        traceOf("DASHES:FAR", 10, { samples: samplesOf(far) }, { look: { line: "line" } }),
      ];
    },
  },
  live: {
    traces: () => {
      const [loaded, end] = [{ from: BEGIN, to: NOW - 300 }, NOW - 300];
      const history = (seed: number) => ({
        ...{ range: loaded, live: true },
        bins: binsOf(
          wave(seed, 7200).filter(([at]) => at < end),
          loaded,
          10,
        ),
      });
      const lost = traceOf("LIVE:LOST", 1, history(2));
      lost.state = "disconnected";
      lost.since = new Date((NOW - 100) * 1000).toISOString();
      const all = [traceOf("LIVE:A", 0, history(1)), lost, traceOf("LIVE:DASHED", 8, history(3))];
      for (const trace of all) trace.tail = samplesOf([[end + 1, 5]]);
      return all;
    },
    known: (step) => NOW + 7 * step,
    /** Samples come. */
    comes: (trace, step) => {
      if (trace.state === "disconnected") return;
      const more = samplesOf([[NOW + 7 * step - 2, 5 + (step % 3), step % 5 === 0 ? 2 : 0]]);
      for (const key of Object.keys(trace.tail) as (keyof Samples)[])
        (trace.tail[key] as unknown[]).push(...more[key]);
    },
  },
  log: {
    log: ["mbar"],
    traces: () => {
      const rows = wave(1, 3600).map(([at, y, severity]): Row => [
        at,
        10 ** ((y as number) / 2 - 12),
        severity,
      ]);
      return [
        traceOf("LOG:GAUGE", 0, { bins: binsOf(rows, HOUR, 10) }, { units: "mbar" }),
        traceOf(
          "LOG:PUMP",
          1,
          { samples: samplesOf(rows.filter((_, i) => i % 120 === 0)) },
          { units: "mbar" },
        ),
      ];
    },
  },
  normalised: {
    high: 220,
    traces: () => [
      traceOf("NORM:CURRENT", 0, { bins: binsOf(wave(1, 7200), HOUR, 10) }, { look: { norm: true } }),
      traceOf(
        "NORM:POWER",
        1,
        { samples: samplesOf(wave(2, 60).map(([at, y]): Row => [at, 1e6 + 1000 * Number(y)])) },
        { units: "kW", look: { norm: true } },
      ),
      traceOf(
        "NORM:FIXED",
        8,
        { samples: samplesOf([[BEGIN, 2] as Row, [BEGIN + 1800, 8] as Row]) },
        { units: "V", look: { norm: true, fix: [0, 10] } },
      ),
    ],
  },
  stacked: {
    high: 520,
    lanes: true,
    traces: () => [
      traceOf("STACK:CURRENT", 0, { bins: binsOf(wave(1, 7200), HOUR, 10) }),
      traceOf("STACK:POWER", 1, { bins: binsOf(wave(2, 7200), HOUR, 10) }, { units: "kW" }),
      traceOf(
        "STACK:RIGHT",
        8,
        { bins: binsOf(wave(3, 7200), HOUR, 10) },
        { units: "V", look: { axis: "right" } },
      ),
      traceOf("STACK:ORBIT", 16, { samples: samplesOf(wave(4, 50)) }, { units: "um" }),
      traceOf(
        "STACK:MODE",
        3,
        {
          samples: samplesOf([
            [BEGIN, 0],
            [BEGIN + 1000, 1],
            [BEGIN + 2000, 0],
          ]),
        },
        { kind: "state", labels: ["Off", "On"], units: "" },
      ),
    ],
  },
};

function sceneOf(traces: Trace[], range: Range, layout: Layout, more: Partial<Scene> = {}): Scene {
  return {
    ...{ range, traces, layout, known: BEGIN + 86_400, silent: false, zone: "utc" },
    ...{ palette: applyTheme("light"), pinned: null, second: null, lanes: false, pointed: null },
    ...{ notes: [], found: [], foundTold: "", moving: false, still: true },
    ...more,
  };
}

/** A plot of a size in a place of its own. */
function plotOf(
  high: number,
  again = () => undefined as unknown,
): { plot: Plot; paper: HTMLCanvasElement; root: HTMLElement } {
  const root = document.createElement("div");
  root.style.cssText = `position: absolute; top: 0; left: 0; width: ${widths.wide}px; height: ${high}px`;
  document.body.append(root);
  const nothing = () => undefined;
  const actions = { zoom: nothing, wheel: nothing, pan: nothing, pin: nothing, back: nothing };
  const plot = new Plot(root, { ...actions, cursor: nothing, note: nothing, reach: nothing, again });
  return { plot, paper: root.querySelector("canvas")!, root };
}

/** A figure as SVG; every letter is as wide as any, so that fonts make no difference. */
export function golden(name: string): string {
  const measure = CanvasRenderingContext2D.prototype.measureText;
  CanvasRenderingContext2D.prototype.measureText = (text: string) =>
    ({ width: 6 * text.length }) as TextMetrics;
  try {
    const { traces: make, log = [], lanes = false, high = widths.high } = FIGURES[name]!;
    const traces = make();
    const { plot, root } = plotOf(high);
    plot.show(sceneOf(traces, HOUR, layoutOf(traces, log, HOUR), { lanes }));
    const svg = plot.svg();
    root.remove();
    return svg;
  } finally {
    CanvasRenderingContext2D.prototype.measureText = measure;
  }
}

/** A browser smooths the edge of a line a little otherwise where it is cut. */
const APART = 64;

/** How far two drawings differ: pixels of which a channel differs by more than that. */
function differing(a: HTMLCanvasElement, b: HTMLCanvasElement): number {
  const of = (canvas: HTMLCanvasElement) =>
    canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
  const [one, other] = [of(a), of(b)];
  if (one.length !== other.length) return Infinity;
  let count = 0;
  for (let i = 0; i < one.length; i += 4) {
    // Transparent pixels have no colour.
    const alike = [0, 1, 2, 3].every(
      (channel) =>
        Math.abs(
          one[i + channel]! * (channel < 3 ? one[i + 3]! / 255 : 1) -
            other[i + channel]! * (channel < 3 ? other[i + 3]! / 255 : 1),
        ) <= APART,
    );
    if (!alike) count++;
  }
  return count;
}

/** So far a figure is panned at once, in pixels: over several tiles, too. */
const STRIDE = 300;

/** What is done to a figure at each of so many steps, besides panning it. */
const [LOADS, ZOOMS] = [4, 7];

/**
 * Pans a figure to and fro by whole pixels, as a mouse does, with loads in between that bring its new side and zooms that change its scale,
 * and compares what is there with the same range drawn afresh. The pixels that differ after each step.
 */
export function panned(name: string, seed: number, steps: number): number[] {
  const random = randomOf(seed);
  const figure = FIGURES[name]!;
  const { traces: make, log = [], lanes = false, high = widths.high } = figure;
  const traces = make();
  let isAsked = false;
  const moving = plotOf(high, () => (isAsked = true));
  let range = HOUR;
  let layout = layoutOf(traces, log, range);
  let step = 0;
  const show = (plot: Plot, isMoving: boolean) => {
    const known = figure.known?.(step);
    const more = known === undefined ? { lanes } : { lanes, known };
    plot.show(sceneOf(traces, range, layout, { ...more, moving: isMoving }));
  };
  show(moving.plot, false);
  const found: number[] = [];
  for (; step < steps; step++) {
    const isZoom = step % ZOOMS === ZOOMS - 1;
    if (isZoom) {
      // In again what was zoomed out, so that it does not leave its data.
      const factor =
        step % (2 * ZOOMS) === ZOOMS - 1 ? 10 ** (-2 * random()) : 3600 / (range.to - range.from);
      const middle = (range.from + range.to) / 2;
      const half = ((range.to - range.from) / 2) * factor;
      range = { from: middle - half, to: middle + half };
    } else {
      const pixel = (range.to - range.from) / moving.plot.area.width;
      const home = Math.sign(BEGIN + 1800 - (range.from + range.to) / 2);
      const by = Math.round((random() * 2 - 1 + 0.3 * home) * STRIDE) * pixel;
      range = { from: range.from + by, to: range.to + by };
    }
    if (step % LOADS === LOADS - 1) traces.forEach((trace, i) => load(trace, i + 1, range));
    for (const trace of traces) figure.comes?.(trace, step);
    layout = layoutOf(traces, log, range, isZoom ? null : layout);
    show(moving.plot, !isZoom || step % 2 === 0);
    // What a load has changed comes with later frames.
    for (let frames = 0; isAsked && frames < 100; frames++) {
      isAsked = false;
      show(moving.plot, true);
    }
    const fresh = plotOf(high);
    show(fresh.plot, false);
    found.push(differing(moving.paper, fresh.paper));
    fresh.root.remove();
  }
  moving.root.remove();
  return found;
}

/**
 * Lets a live figure go on by whole pixels while samples come, and compares what is there with the same range drawn afresh. The pixels that
 * differ after each step.
 */
export function goneOn(name: string, steps: number): number[] {
  const { traces: make, known, comes, high = widths.high } = FIGURES[name]!;
  const traces = make();
  const living = plotOf(high);
  let range = HOUR;
  const layout = layoutOf(traces, [], range);
  const show = (plot: Plot, step: number, still: boolean) =>
    plot.show(sceneOf(traces, range, layout, { known: known!(step), still }));
  show(living.plot, 0, false);
  const found: number[] = [];
  for (let step = 0; step < steps; step++) {
    const by = (step % 3) * ((range.to - range.from) / living.plot.area.width);
    range = { from: range.from + by, to: range.to + by };
    for (const trace of traces) comes!(trace, step);
    show(living.plot, step, false);
    const fresh = plotOf(high);
    show(fresh.plot, step, true);
    found.push(differing(living.paper, fresh.paper));
    fresh.root.remove();
  }
  living.root.remove();
  return found;
}

/** What a canvas is asked for: how many lines and rectangles in all, and how many lines at most in one path. */
interface Painted {
  all: number;
  longest: number;
}

/** What a live view of a fast signal takes of canvases: drawn afresh, and in its longest step while it goes on by a pixel each. */
export function takenByFast(): { afresh: Painted; goingOn: Painted } {
  const range = { from: NOW - 300, to: NOW };
  const random = randomOf(1);
  const rows = Array.from({ length: 3000 }, (_, i): Row => [range.from + i / 10, random()]);
  const trace = traceOf("FAST", 0, { samples: samplesOf(rows.slice(0, 1500)) });
  trace.tail = samplesOf(rows.slice(1500));
  const layout = layoutOf([trace], [], range);
  const { plot, root } = plotOf(widths.high);
  let step = 0;
  const painted = () => {
    const by = step * ((range.to - range.from) / plot.area.width);
    const now = { from: range.from + by, to: range.to + by };
    return paintedBy(() => plot.show(sceneOf([trace], now, layout, { known: now.to, still: false })));
  };
  plot.show(sceneOf([trace], HOUR, layout, { known: NOW }));
  const afresh = painted();
  let goingOn = { all: 0, longest: 0 };
  for (step = 1; step < 20; step++) {
    const more = samplesOf([[NOW + step / 2, random()]]);
    for (const key of Object.keys(trace.tail) as (keyof Samples)[])
      (trace.tail[key] as unknown[]).push(...more[key]);
    const { all, longest } = painted();
    goingOn = { all: Math.max(all, goingOn.all), longest: Math.max(longest, goingOn.longest) };
  }
  root.remove();
  return { afresh, goingOn };
}

function paintedBy(act: () => void): Painted {
  const own = CanvasRenderingContext2D.prototype;
  const { lineTo, fillRect, beginPath } = own;
  let [all, longest, path] = [0, 0, 0];
  own.lineTo = function (x, y) {
    [all, path] = [all + 1, path + 1];
    longest = Math.max(longest, path);
    lineTo.call(this, x, y);
  };
  own.fillRect = function (x, y, width, height) {
    all += 1;
    fillRect.call(this, x, y, width, height);
  };
  own.beginPath = function () {
    path = 0;
    beginPath.call(this);
  };
  try {
    act();
  } finally {
    Object.assign(own, { lineTo, fillRect, beginPath });
  }
  return { all, longest };
}

/** What a load brings of a trace that has bins: those of its missing side, as the page joins them, or others of the whole range. */
function load(trace: Trace, seed: number, range: Range): void {
  const { history } = trace;
  if (!history?.bins || history.live) return;
  const of = (part: Range, width: number) =>
    binsOf(wave(seed, 7200, part.from, part.to - part.from), part, width);
  const side = sideOf({ range: history.range, bins: history.bins, settled: Infinity }, range);
  const length = range.to - range.from;
  if (side) {
    const width = history.bins.end[0]! - history.bins.start[0]!;
    const bins = withSide(history.bins, side, of(side.range, width));
    if (bins) trace.history = { ...history, range, bins };
  } else if (Math.abs(length - (history.range.to - history.range.from)) > 1)
    trace.history = { ...history, range, bins: of(range, length / 360) };
}

/** A series as IOCs send them: bursts, silence, plateaus, spikes, NaN. */
function series(random: () => number, states: number | null): Row[] {
  const rows: Row[] = [];
  let at = BEGIN - 400;
  let value = 5;
  while (at < BEGIN + 4000) {
    at += random() < 0.15 ? random() * 400 : random() * random() * 8;
    const kind = random();
    if (kind < 0.5) value += random() - 0.5;
    const y =
      states !== null ? Math.floor(random() * states) : kind < 0.03 ? NaN : kind > 0.98 ? value + 4 : value;
    // Of times that are the same to a float of bins nothing can be said.
    rows.push([Math.round(at * 1e3) / 1e3, y]);
  }
  return rows;
}

interface Columns {
  /** The uppermost and lowest row with ink; none where there is none. */
  top: number[];
  bottom: number[];
}

const CHART = { left: 0, top: 0, width: 320, height: 120 };
/** Bins are up to a quarter wider than a pixel, and means are joined between their middles. */
const BESIDE = 2;
/** Less than this nobody sees: an envelope has more, also where it lies on two rows. */
const FAINT = 16;
/** The tip of a line is blunt, and fades. */
const LINE = 2;

/**
 * Draws a random series from its samples and from its bins at a random zoom; says in which columns one has ink where the other has none near by,
 * in words.
 */
export function binsAgainstSamples(seed: number): string[] {
  const random = randomOf(seed);
  const rows = series(random, null);
  const length = 20 * 10 ** (random() * 2.25);
  const from = BEGIN + random() * (3600 - length);
  const range = { from, to: from + length };
  const gap: [number, number] = [from + random() * length, 0];
  gap[1] = gap[0] + random() * length * 0.3;
  const gaps = random() < 0.5 ? [gap] : [];
  const recorded = rows.filter(([at]) => gaps.every(([a, b]) => at < a || at >= b));
  const width = (length / CHART.width) * (0.5 + 0.75 * random());
  const held = recorded.findLastIndex(([at]) => at < from);
  const samples = samplesOf(recorded.slice(Math.max(0, held)).filter(([at]) => at < range.to));
  const raw = traceOf("RAW", 0, { range, samples }, { gaps });
  const binned = traceOf("BINS", 0, { range, bins: binsOf(recorded, range, width) }, { gaps });
  const values = samples.y.filter(Number.isFinite);
  const reach: [number, number] = [Math.min(...values) - 1, Math.max(...values) + 1];
  const [a, b] = [columnsOf(raw, range, reach), columnsOf(binned, range, reach)];
  return [...lacking("samples", a, "bins", b), ...lacking("bins", b, "samples", a)];
}

function canvasOf(): CanvasRenderingContext2D {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [CHART.width, CHART.height];
  return canvas.getContext("2d", { willReadFrequently: true })!;
}

function columnsOf(trace: Trace, range: Range, reach: [number, number]): Columns {
  const context = canvasOf();
  const frame = frameOf(context, CHART, range, 1);
  const scale = { key: "", label: "", log: false, fixed: false, traces: [trace], range: reach };
  const look = {
    yOf: mapper(frame, scale),
    palette: applyTheme("light"),
    strong: false,
    dimmed: false,
    dotted: false,
  };
  drawTrace(frame, trace, { ...look, until: range.to });
  const { data } = context.getImageData(0, 0, CHART.width, CHART.height);
  const columns: Columns = { top: [], bottom: [] };
  for (let x = 0; x < CHART.width; x++) {
    let [top, bottom] = [Infinity, -Infinity];
    for (let y = 0; y < CHART.height; y++)
      if (data[(y * CHART.width + x) * 4 + 3]! > FAINT) [top, bottom] = [Math.min(top, y), y];
    columns.top.push(top);
    columns.bottom.push(bottom);
  }
  return columns;
}

/** Where one has ink that the other has not, up to what pixels and bins tell apart. */
function lacking(one: string, a: Columns, other: string, b: Columns): string[] {
  const found: string[] = [];
  // Bins at the edges reach beyond them.
  for (let x = BESIDE; x < CHART.width - BESIDE; x++) {
    if (a.top[x]! > a.bottom[x]!) continue;
    const [from, to] = [x - BESIDE, x + BESIDE + 1];
    const top = Math.min(...b.top.slice(from, to));
    const bottom = Math.max(...b.bottom.slice(from, to));
    if (a.top[x]! < top - LINE || a.bottom[x]! > bottom + LINE)
      found.push(`column ${x}: ${one} ${a.top[x]}..${a.bottom[x]}, ${other} ${top}..${bottom}`);
  }
  return found;
}

/** Where a straight line between two samples leaves the chart at its top, and enters it at its left, in pixels; both lie far outside. */
export function straightAcross(seconds: number, height: number): { top: number; left: number } {
  const range = { from: BEGIN, to: BEGIN + CHART.width };
  const rows: Row[] = [
    [BEGIN - seconds, 50 - height],
    [BEGIN + seconds, 50 + height],
  ];
  const trace = traceOf("FAR", 0, { range, samples: samplesOf(rows) }, { look: { line: "line" } });
  const { top, bottom } = columnsOf(trace, range, [0, 100]);
  return { top: top.findLastIndex((row) => row < Infinity), left: bottom[0]! };
}

/** The same for the states of an enum, by the colours of their bands. */
export function stateBinsAgainstSamples(seed: number): string[] {
  const random = randomOf(seed);
  const rows = series(random, 4);
  const length = 20 * 10 ** (random() * 2.25);
  const from = BEGIN + random() * (3600 - length);
  const range = { from, to: from + length };
  const width = (length / CHART.width) * (0.5 + 0.75 * random());
  const held = Math.max(
    0,
    rows.findLastIndex(([at]) => at < from),
  );
  const wanted: Wanted = { kind: "state", labels: ["Off", "Standby", "On", "Fault"], units: "" };
  const samples = samplesOf(rows.slice(held).filter(([at]) => at < range.to));
  const raw = traceOf("RAW", 0, { range, samples }, wanted);
  const binned = traceOf("BINS", 0, { range, bins: binsOf(rows, range, width) }, wanted);
  const [a, b] = [coloursOf(raw, range), coloursOf(binned, range)];
  const many = coloursOf(traceOf("MANY", 0, { range, bins: allStates(range) }, wanted), range)[
    CHART.width / 2
  ]!;
  const found: string[] = [];
  for (let x = BESIDE; x < CHART.width - BESIDE; x++) {
    const near = (colours: number[]) => new Set(colours.slice(x - BESIDE, x + BESIDE + 1));
    const [ofA, ofB] = [near(a), near(b)];
    if (ofA.size === 1 && b[x] !== a[x]) found.push(`column ${x}: one state by samples, another by bins`);
    if (ofB.size === 1 && b[x] !== many && a[x] !== b[x])
      found.push(`column ${x}: one state by bins, another by samples`);
  }
  return found;
}

/** A bin over all with several states. */
function allStates(range: Range): Bins {
  const rows = Array.from({ length: 8 }, (_, i): Row => [range.from + i * 1e-3, i % 4]);
  return binsOf(rows, range, (range.to - range.from) * 2);
}

function coloursOf(trace: Trace, range: Range): number[] {
  const context = canvasOf();
  const scene = sceneOf([trace], range, { panes: [], bands: [trace] });
  drawBand(frameOf(context, { ...CHART, height: 20 }, range, 1), trace, scene, false);
  const { data } = context.getImageData(0, 1, CHART.width, 1);
  return Array.from({ length: CHART.width }, (_, x) => {
    const [r, g, b] = data.subarray(x * 4, x * 4 + 3);
    return (r! << 16) | (g! << 8) | b!;
  });
}
