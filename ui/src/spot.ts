// What stands at a place of the plot: a line, an axis, a band, a gap, a note, or the moment alone.

import { BAND, LANE } from "./bands.ts";
import type { Gap } from "./decode.ts";
import { frameOf, mapper } from "./draw.ts";
import type { NoteMark } from "./notes.ts";
import { reachFor, type ValueScale } from "./panes.ts";
import { drawnAt, type Place, type Scene } from "./plot.ts";
import { readingAt } from "./reading.ts";
import { gapsAt, type Trace } from "./trace.ts";

export interface Spot {
  kind: "pane" | "axis" | "times";
  at: number;
  trace: Trace | null;
  scale: ValueScale | null;
  gap: { trace: Trace; gap: Gap } | null;
  note: NoteMark | null;
}

/** A line is meant from so many pixels, a note from so many. */
const LINE_PIXELS = 7;
const NOTE_PIXELS = 6;

/** At a place in the plot's own pixels. */
export function spotAt(scene: Scene, place: Place, x: number, y: number): Spot {
  const { from, to } = scene.range;
  const perPixel = (to - from) / place.width;
  const at = Math.min(Math.max(from + (x - place.left) * perPixel, from), to);
  const spot: Spot = { kind: "pane", at, trace: null, scale: null, gap: null, note: null };
  if (y >= place.bottom) return { ...spot, kind: "times" };
  const pane = place.panes.find(({ top, height }) => y >= top - 20 && y <= top + height + 8);
  if (pane && (x < place.left || x > place.left + place.width)) {
    const scale = pane.pane.scales[x < place.left ? 0 : 1] ?? pane.pane.scales[0]!;
    return { ...spot, kind: "axis", scale };
  }
  const found =
    place.bands.find(({ top }) => y >= top && y < top + BAND) ??
    place.lanes.find(({ top }) => y >= top && y < top + LANE);
  const trace = found?.trace ?? (pane ? lineAt(scene, place, pane, at, y) : null);
  const paned = pane?.pane.scales.flatMap(({ traces }) => traces) ?? [];
  const near = [...(trace ? [trace] : []), ...paned];
  const lacking = (near.length > 0 ? near : scene.traces.filter(({ hidden }) => !hidden)).find(
    (trace) => gapsAt(trace, at).length > 0,
  );
  return {
    ...spot,
    trace,
    gap: lacking ? { trace: lacking, gap: gapsAt(lacking, at)[0]! } : null,
    note: scene.notes.find(({ from }) => Math.abs(from - at) <= perPixel * NOTE_PIXELS) ?? null,
  };
}

/** The trace whose line or envelope is nearest there; none if none is near. */
function lineAt(
  scene: Scene,
  place: Place,
  { pane, top, height }: Place["panes"][0],
  at: number,
  y: number,
): Trace | null {
  const context = document.createElement("canvas").getContext("2d")!;
  const frame = frameOf(context, { left: place.left, width: place.width, top, height }, scene.range, 1);
  let [best, least] = [null as Trace | null, LINE_PIXELS];
  for (const scale of pane.scales) {
    for (const trace of scale.traces) {
      const yOf = mapper(frame, reachFor(scale, trace));
      const value = drawnAt(trace, at, scene.known);
      if (value === null) continue;
      const { min, max } = readingAt(trace, at);
      const [high, low] = Number.isFinite(min) ? [yOf(max), yOf(min)] : [yOf(value), yOf(value)];
      const away = Math.max(high - y, y - low, 0) + Math.abs(yOf(value) - y) / 1000;
      if (away < least) [best, least] = [trace, away];
    }
  }
  return best;
}
