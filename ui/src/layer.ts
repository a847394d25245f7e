// The parts of the panes that move with the time axis: gaps, traces and alarms. While the view is panned, or goes on with the time, they lie in
// tiles that are only shifted, so a frame draws no more than the tiles that come into sight, and those to which samples come. While somebody
// pans, what can wait is drawn over several frames: the tile that comes next, and what a load has changed of those that are there.
//
//   tiles    ┊ −1 ┊  0 ┊  1 ┊  2 ┊  3 ┊  4 ┊    counted in whole canvas pixels from a moment, so that lines stay as sharp as they were
//   view       ├──────────────────┤
//   panned          ├──────────────────┤        tile 3 is drawn, and 4 begun; −1 stays for whoever comes back

import { drawRug } from "./bands.ts";
import type { Bins } from "./decode.ts";
import { clipped, dashesFrom, drawTrace, frameOf, hatch, isDotted, mapper, type Frame } from "./draw.ts";
import type { Holes } from "./line.ts";
import { reachFor, type Pane } from "./panes.ts";
import type { Scene } from "./plot.ts";
import { keptRows } from "./side.ts";
import { lastAtOrBefore } from "./rows.ts";
import type { Range } from "./state.ts";
import { knownUntil, type History, type Trace } from "./trace.ts";

/** A pane and the strip of alarms below it, in canvas pixels. */
export interface Box {
  pane: Pane;
  top: number;
  height: number;
  rugTop: number;
  rugHeight: number;
}

/** Where all panes stand, in canvas pixels. */
interface Area {
  left: number;
  width: number;
  /** Of the whole canvas. */
  down: number;
}

/** What a trace was drawn from. */
interface DrawnTrace {
  history: History | null;
  holes: Holes;
  isDashed: boolean;
}

interface Tile {
  canvas: HTMLCanvasElement;
  /** None for those that were not drawn yet. */
  panes: (Drawn | undefined)[];
}

/** What a pane is to look like in a frame, apart from how far it reaches in each tile. */
interface Look {
  key: string;
  traces: DrawnTrace[];
  /** The moments of each trace at which its drawing changes or ends. */
  ends: { tail: number[]; until: number; open: number }[];
  /** The first of these: of tiles that end before it there is nothing to be told. */
  firstEnd: number;
}

/** What all tiles of a frame are drawn from. */
interface Wanted {
  scene: Scene;
  boxes: Box[];
  /** Of each box: told once for all tiles. */
  looks: Look[];
  ratio: number;
  dotted: Set<Trace>;
  /** How wide a tile is, in canvas pixels. */
  wide: number;
  /** How many more traces may be drawn in this frame of what can wait. */
  left: number;
}

/** What a pane looks like in a tile. */
interface Drawn {
  /** All that is not in the data. */
  key: string;
  /** How far they reach. */
  reach: string;
  traces: DrawnTrace[];
}

/** How wide a tile is, in CSS pixels. */
const TILE = 128;
/** Of what can wait a frame draws one pane, or panes of so many traces. */
const TRACES_A_FRAME = 4;
/** Keep this many times as many tiles as are in sight. */
const KEPT_TIMES = 3;
/** The panes may differ in width by this part of a pixel. */
const BESIDE = 0.05;
/** Dots and caps reach beyond what they stand for. */
const MARGIN = 8;
/** Bins are drawn with regard to those beside them. */
const NEIGHBOURS = 2;
/** With fewer unchanged bins than this nothing is kept. */
const KEPT_LEAST = 16;

export class Layer {
  /** A part of what is in sight shows what was loaded before: it is to be shown again. */
  isLate = false;
  private tiles = new Map<number, Tile>();
  private spare: HTMLCanvasElement[] = [];
  /** What all tiles have in common: where the first one begins, and the form of the panes. */
  private from = 0;
  private perSecond = 0;
  private form = "";
  /** Where the view was in the frame before. */
  private before = 0;

  /** Brings what is in sight up to date and puts it onto the plot. */
  show(onto: CanvasRenderingContext2D, scene: Scene, area: Area, boxes: Box[], ratio: number): void {
    this.isLate = false;
    if (boxes.length === 0) return;
    const { moved, first, last, wanted, begin } = this.seen(onto, scene, area, boxes, ratio);
    const { wide } = wanted;
    const left = Math.round(area.left);
    onto.save();
    onto.beginPath();
    onto.rect(area.left, 0, area.width, area.down);
    onto.clip();
    for (let n = first; n <= last; n++) {
      const tile = this.tileAt(n, wide, area.down);
      if (!this.renew(tile, begin(n), wanted, true)) this.isLate = true;
      onto.drawImage(tile.canvas, left - moved + n * wide, 0);
    }
    onto.restore();
    const next = moved > this.before ? last + 1 : first - 1;
    if (scene.moving && moved !== this.before && wanted.left > 0)
      this.renew(this.tileAt(next, wide, area.down), begin(next), wanted, false);
    this.before = moved;
    this.forget((first + last) / 2, KEPT_TIMES * (last - first + 1));
  }

  /** Draws a pane of a tile of what is in sight, for whoever pans it next; says whether there are more. */
  prepare(onto: CanvasRenderingContext2D, scene: Scene, area: Area, boxes: Box[], ratio: number): boolean {
    if (boxes.length === 0) return false;
    const { first, last, wanted, begin } = this.seen(onto, scene, area, boxes, ratio);
    wanted.left = 1;
    for (let n = first; n <= last; n++)
      if (!this.renew(this.tileAt(n, wanted.wide, area.down), begin(n), wanted, false)) return true;
    return false;
  }

  /** Which tiles are in sight, and what they are to show. */
  private seen(onto: CanvasRenderingContext2D, scene: Scene, area: Area, boxes: Box[], ratio: number) {
    const wide = Math.round(TILE * ratio);
    const moved = this.place(scene, area, boxes, ratio);
    const left = Math.round(area.left);
    const right = Math.ceil(area.left + area.width);
    const [first, last] = [Math.floor(moved / wide), Math.floor((moved + right - left) / wide)];
    const dotted = new Set(
      boxes.flatMap(({ pane, top, height }) => {
        const frame = frameOf(onto, { ...area, top, height }, scene.range, ratio);
        const traces = pane.scales.flatMap((scale) => scale.traces);
        return traces.filter((trace) => isDotted(frame, trace));
      }),
    );
    const looks = boxes.map(({ pane }) => lookOf(pane, scene, dotted));
    const wanted: Wanted = {
      scene,
      boxes,
      looks,
      ratio,
      dotted,
      wide,
      left: scene.moving ? TRACES_A_FRAME : Infinity,
    };
    // The plot may begin within a pixel.
    const begin = (n: number) => this.from + (n * wide - (area.left - left)) / this.perSecond;
    return { moved, first, last, wanted, begin };
  }

  /** How far the view has moved from the beginning of the first tile; there are none where nothing can be kept. */
  private place({ range }: Scene, area: Area, boxes: Box[], ratio: number): number {
    const perSecond = area.width / (range.to - range.from);
    const places = boxes.map(({ top, height }) => `${top} ${height}`);
    const form = [area.left, area.width, area.down, ratio, ...places].join(" ");
    const isLike =
      form === this.form &&
      Math.abs(this.perSecond / perSecond - 1) * area.width < BESIDE &&
      this.perSecond > 0;
    if (isLike) return Math.round((range.from - this.from) * perSecond);
    const isSized = form === this.form;
    for (const { canvas } of this.tiles.values()) if (isSized) this.spare.push(canvas);
    if (!isSized) this.spare = [];
    this.tiles.clear();
    [this.form, this.from, this.perSecond, this.before] = [form, range.from, perSecond, 0];
    return 0;
  }

  private tileAt(n: number, wide: number, down: number): Tile {
    const had = this.tiles.get(n);
    if (had) return had;
    const canvas = this.spare.pop() ?? document.createElement("canvas");
    if (canvas.width !== wide || canvas.height !== down) [canvas.width, canvas.height] = [wide, down];
    const tile = { canvas, panes: [] };
    this.tiles.set(n, tile);
    return tile;
  }

  /** The farthest from the middle are given up. */
  private forget(middle: number, most: number): void {
    if (this.tiles.size <= most) return;
    const far = [...this.tiles.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const n of far.slice(0, this.tiles.size - most)) {
      this.spare.push(this.tiles.get(n)!.canvas);
      this.tiles.delete(n);
    }
  }

  /**
   * Draws what a tile lacks, except what can wait where the frame has drawn enough: that says whether nothing is lacking. What is in sight
   * must not be empty, nor have other axes than it is to have; it may show for a while what was loaded before.
   */
  private renew({ canvas, panes }: Tile, from: number, wanted: Wanted, isInSight: boolean): boolean {
    const { scene, boxes, looks, ratio, dotted, wide } = wanted;
    const context = canvas.getContext("2d")!;
    const range = { from, to: from + wide / this.perSecond };
    const frame = (top: number, height: number) =>
      frameOf(context, { left: 0, width: wide, top, height }, range, ratio, this.perSecond);
    panes.length = boxes.length;
    let isWhole = true;
    boxes.forEach(({ pane, top, height, rugTop, rugHeight }, i) => {
      const place = frame(top, height);
      const { key, traces } = looks[i]!;
      const now = { key, traces, reach: reachOf(place, looks[i]!) };
      const had = panes[i];
      if (!isStill(had, now, place)) {
        const canWait = !isInSight || had?.key === now.key;
        if (canWait && wanted.left <= 0) return void (isWhole = false);
        const [first, last] = [Math.floor(top), Math.ceil(rugTop + rugHeight)];
        context.clearRect(0, first, wide, last - first);
        drawMoving(place, frame(rugTop, rugHeight), pane, scene, dotted);
        wanted.left -= now.traces.length;
      }
      panes[i] = now;
    });
    return isWhole;
  }
}

/** Whether a tile already shows a pane as it is now. */
function isStill(before: Drawn | undefined, now: Drawn, frame: Frame): boolean {
  return (
    before?.key === now.key &&
    before.reach === now.reach &&
    now.traces.every(({ history, holes, isDashed }, i) => {
      const had = before.traces[i]!;
      if (had.holes === holes && had.history === history) return true;
      const from = isDashed ? dashesFrom(frame) : frame.drawn.from;
      const { to } = frame.drawn;
      if (had.holes !== holes && !isSameHoles(had.holes, holes, { from, to })) return false;
      if (had.history === history) return true;
      const kept = history && had.history && keptOf(had.history, history);
      return kept ? kept.from <= from && kept.to >= to : false;
    })
  );
}

const keeping = new WeakMap<History, WeakMap<History, Range | "nothing">>();

/** The times in which nothing changed by a load that moved the bins of a PV on; none if there are none. */
function keptOf(before: History, now: History): Range | null {
  const known = keeping.get(now) ?? new WeakMap<History, Range | "nothing">();
  keeping.set(now, known);
  let kept = known.get(before);
  if (kept === undefined) {
    kept = (before.bins && now.bins && sameBins(before.bins, now.bins)) ?? "nothing";
    known.set(before, kept);
  }
  return kept === "nothing" ? null : kept;
}

/** From where to where bins are drawn alike. */
export function sameBins(a: Bins, b: Bins): Range | null {
  if (a.start.length === 0 || b.start.length === 0) return null;
  const half = (a.end[0]! - a.start[0]!) / 2;
  const i = Math.max(0, lastAtOrBefore(a.start, b.start[0]! + half));
  const j = Math.max(0, lastAtOrBefore(b.start, a.start[0]! + half));
  // Of rows that were taken over nothing need be looked at.
  let same = keptRows(a, b);
  while (isSameBin(a, i + same, b, j + same)) same++;
  // What an empty bin at an edge holds is from beyond it.
  let [first, last] = [i, i + same - 1];
  while (first <= last && a.count[first] === 0) first++;
  while (last >= first && a.count[last] === 0) last--;
  if (last - first < KEPT_LEAST) return null;
  return { from: a.start[first + NEIGHBOURS]!, to: a.end[last - NEIGHBOURS]! };
}

const COLUMNS = ["start", "end", "count", "min", "max", "mean", "first", "last", "severity"] as const;

function isSameBin(a: Bins, i: number, b: Bins, j: number): boolean {
  if (i >= a.start.length || j >= b.start.length) return false;
  for (const column of COLUMNS) if (!Object.is(a[column][i], b[column][j])) return false;
  return true;
}

function isSameHoles(a: Holes, b: Holes, { from, to }: Range): boolean {
  const within = (holes: Holes) =>
    holes.from.flatMap((begin, i) => (begin < to && holes.to[i]! > from ? [begin, holes.to[i]!] : []));
  const [of, other] = [within(a), within(b)];
  return of.length === other.length && of.every((at, i) => at === other[i]);
}

/** Everything that decides how a pane looks in all tiles. */
function lookOf(pane: Pane, scene: Scene, dotted: Set<Trace>): Look {
  const { palette, known, pointed } = scene;
  const parts: (string | number | boolean)[] = [palette.hatch, palette.track];
  const traces: DrawnTrace[] = [];
  const ends: Look["ends"] = [];
  for (const scale of pane.scales) {
    parts.push(scale.range[0], scale.range[1], scale.log);
    for (const trace of scale.traces) {
      const { name, tail, holes, history, look, colour } = trace;
      const isOpen = holes.to.length > 0 && holes.to[holes.to.length - 1]! > known;
      const { stroke, dash } = palette.trace(colour);
      const span = scale.spans?.get(trace);
      if (span) parts.push(span.range[0], span.range[1], span.log);
      parts.push(name, stroke, dash.length, look.width ?? 0, look.line ?? "");
      parts.push(dotted.has(trace), trace === pointed ? 2 : pointed ? 1 : 0);
      traces.push({ history, holes, isDashed: dash.length > 0 });
      ends.push({
        ...{ tail: tail.x, until: knownUntil(trace, known), open: isOpen ? known : Infinity },
      });
    }
  }
  const firstEnd = ends.reduce(
    (first, { tail, until, open }) => Math.min(first, tail[0] ?? Infinity, until, open),
    Infinity,
  );
  return { key: parts.join(" "), traces, ends, firstEnd };
}

/** How far what is drawn reaches in a tile; what lies beyond its right edge makes no difference. */
function reachOf(frame: Frame, { ends, firstEnd }: Look): string {
  const edge = (at: number) => {
    const x = (at - frame.range.from) * frame.scale;
    return x > frame.width + MARGIN * frame.ratio ? "" : Math.round(x);
  };
  if (edge(firstEnd) === "") return "";
  return ends
    .flatMap(({ tail, until, open }) => {
      const live = edge(tail[0] ?? Infinity);
      return [live, live === "" ? "" : rowsIn(tail, frame.drawn.to), edge(until), edge(open)];
    })
    .join(" ");
}

/** How many live samples there are until a moment, and the first one behind it, to which a line leads. */
function rowsIn(tail: number[], to: number): number {
  return Math.min(lastAtOrBefore(tail, to) + 2, tail.length);
}

/** Gaps, traces and alarms of a pane, as far as its frames are to be drawn. */
export function drawMoving(
  frame: Frame,
  rug: Frame,
  pane: Pane,
  scene: Scene,
  dots: Set<Trace> | null = null,
): void {
  const { palette, pointed, known } = scene;
  clipped(frame, () => {
    drawGaps(frame, pane, scene);
    for (const scale of pane.scales) {
      for (const trace of scale.traces) {
        const yOf = mapper(frame, reachFor(scale, trace));
        const strong = trace === pointed;
        const dimmed = pointed !== null && !strong;
        const dotted = dots?.has(trace) ?? isDotted(frame, trace);
        drawTrace(frame, trace, { yOf, palette, until: knownUntil(trace, known), strong, dimmed, dotted });
      }
    }
  });
  const traces = pane.scales.flatMap((scale) => scale.traces).filter(({ source }) => source.kind === "pv");
  drawRug(rug, traces, scene);
}

/** Hatched where nobody recorded, with an edge in the colour of each PV concerned. */
function drawGaps(frame: Frame, pane: Pane, scene: Scene): void {
  const { context, ratio, drawn } = frame;
  const traces = pane.scales.flatMap((scale) => scale.traces);
  traces.forEach((trace, nth) => {
    trace.holes.from.forEach((from, i) => {
      const to = Math.min(trace.holes.to[i]!, scene.known);
      if (from > drawn.to || to < drawn.from) return;
      // What several PVs lack is hatched once.
      const isHatched = traces
        .slice(0, nth)
        .some(({ holes }) =>
          holes.from.some((f, j) => f <= from && Math.min(holes.to[j]!, scene.known) >= to),
        );
      if (!isHatched) hatch(frame, from, to, scene.palette.hatch);
      const [begin, end] = [frame.xOf(from), Math.max(frame.xOf(to), frame.xOf(from) + 2 * ratio)];
      const [x0, x1] = [Math.max(begin, frame.left), Math.min(end, frame.left + frame.width)];
      if (x1 <= x0) return;
      context.fillStyle = scene.palette.trace(trace.colour).stroke;
      context.fillRect(x0, frame.top + nth * 3 * ratio, x1 - x0, 3 * ratio);
    });
  });
}
