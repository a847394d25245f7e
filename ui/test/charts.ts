// Runs in a browser: the charts of the drawer, drawn by the page's own code as figures for goldens.

import { drawHistogram, drawPairs, drawSpectrum } from "../src/charts.ts";
import type { Histogram, Pairs, Spectrum } from "../src/relations.ts";
import { applyTheme } from "../src/style.ts";
import { SvgContext } from "../src/svg.ts";
import { randomOf } from "./random.ts";

const SIZE = { width: 420, height: 240 };
const BEGIN = 1_795_168_800;

/** A loop that drifts, with two pairs that lie aside and one of which nothing is known. */
function loop(): Pairs {
  const random = randomOf(3);
  const time = Float64Array.from({ length: 240 }, (_, i) => BEGIN + i * 15);
  const x = time.map((_, i) => 300 + 12 * Math.sin(i / 19) + random());
  const y = time.map((_, i) => 21 + 0.9 * Math.sin(i / 19 - 0.7) + i / 200 + random() / 5);
  [x[50], y[120], y[180]] = [330, NaN, 18];
  return {
    ...{ time, x, y, units: { x: "mA", y: "degC" }, unpaired: 3, until: null, damage: 0 },
    ...{ correlation: 0.61, slope: 0.047, intercept: 7.5 },
  };
}

function heights(): Histogram {
  const none = { seconds: 0, count: null };
  const bins = Array.from({ length: 40 }, (_, i) => {
    const seconds = i === 39 ? 3 : Math.round(2400 * Math.exp(-(((i - 14) / 5) ** 2)));
    return { low: 295 + i / 4, high: 295 + (i + 1) / 4, seconds, count: null };
  });
  return {
    ...{ units: "mA", bins, below: none, above: none, infinite: none, minus_infinite: none, nan: none },
    ...{ gaps: { seconds: 0 }, before: { seconds: 0 }, damage: [] },
  };
}

/** Noise with two lines in it, of more points than there are pixels. */
function lines(): Spectrum {
  const random = randomOf(9);
  const points = 8192;
  const frequency = Float64Array.from({ length: points / 2 + 1 }, (_, k) => k / (0.1 * points));
  const strength = frequency.map((hertz, k) => {
    const line = k === 410 ? 2 : k === 2458 ? 0.3 : 0;
    return k === 0 ? 0 : line + (0.002 + 0.01 / (1 + hertz * 20)) * (0.2 + random());
  });
  return { frequency, strength, units: "um", points, step: 0.1, damage: 0 };
}

type Draw = (context: CanvasRenderingContext2D) => void;

const FIGURES: Record<string, () => Draw> = {
  "chart-xy": () => pairs("light", 100),
  "chart-xy-dark": () => pairs("dark", null),
  "chart-histogram": () => (context) => {
    const palette = applyTheme("light");
    const look = { title: "SR:CURRENT, mA", stroke: palette.trace(0).stroke, samples: "samples" };
    drawHistogram(context, SIZE, heights(), { ...look, isCount: false, marked: 12, palette });
  },
  "chart-spectrum": () => spectrum({ logX: false, logY: true, band: null, marked: 410 }),
  "chart-spectrum-log": () => spectrum({ logX: true, logY: true, band: null, marked: null }),
  "chart-spectrum-band": () => spectrum({ logX: false, logY: false, band: [0.45, 0.55], marked: null }),
};

function pairs(theme: "light" | "dark", marked: number | null): Draw {
  return (context) => {
    const titles = { x: "SR:CURRENT, mA", y: "LAB:TEMP1, degC" };
    const times = { from: BEGIN, to: BEGIN + 3600, first: "10:00:00", last: "11:00:00" };
    drawPairs(context, SIZE, loop(), { titles, times, marked, palette: applyTheme(theme), x: null, y: null });
  };
}

function spectrum(look: {
  logX: boolean;
  logY: boolean;
  band: [number, number] | null;
  marked: number | null;
}): Draw {
  return (context) => {
    const palette = applyTheme("light");
    const titles = { x: "Hz", y: "SR:BPM:X: amplitude, um" };
    drawSpectrum(context, SIZE, lines(), { ...look, titles, stroke: palette.trace(1).stroke, palette });
  };
}

export const NAMES = Object.keys(FIGURES);

export function chart(name: string): string {
  const context = new SvgContext(document.createElement("canvas").getContext("2d")!);
  // It has what of a canvas the charts use.
  FIGURES[name]!()(context as unknown as CanvasRenderingContext2D);
  return context.file(SIZE.width, SIZE.height);
}

/** Whether a line through a spectrum reaches each of its peaks, at a width at which many points share a pixel. */
export function highest(): { drawn: number; wanted: number } {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SIZE.width, SIZE.height];
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const palette = applyTheme("light");
  const found = lines();
  const look = { logX: false, logY: false, band: null, marked: null, titles: { x: "", y: "" } };
  const place = drawSpectrum(context, SIZE, found, { ...look, stroke: "#ff0000", palette });
  const { data } = context.getImageData(0, 0, SIZE.width, SIZE.height);
  let drawn = Infinity;
  for (let at = 0; at < data.length; at += 4)
    if (data[at]! > 200 && data[at + 1]! < 80 && data[at + 3]! > 100)
      drawn = Math.min(drawn, Math.floor(at / 4 / SIZE.width));
  return { drawn, wanted: place.yOf(2) };
}
