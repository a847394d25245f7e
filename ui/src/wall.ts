// The wall: tiles to be read from five metres, a clock, the worst alarm, and no controls. It goes on by itself for weeks.

import { logLabels, percents, timeLabels, timeTicks, valueLabels, valueTicks } from "./axis.ts";
import { drawBand, drawRug } from "./bands.ts";
import { formatNumber, formatValue, severityName } from "./decode.ts";
import { h, setText } from "./dom.ts";
import { clipped, drawTrace, frameOf, hatch, isDotted, mapper, type Frame } from "./draw.ts";
import { reachFor, type ValueScale } from "./panes.ts";
import type { Scene } from "./plot.ts";
import { readingAt } from "./reading.ts";
import { formatDuration, formatTime, zoneName } from "./time.ts";
import { gapsAt, knownUntil, runsOf, unitsOf, type Trace } from "./trace.ts";
import { wallWords as words } from "./words/wall.ts";

/** More tiles take turns. */
export const TILES_MAX = 6;
export const TURN_SECONDS = 30;

/** Sizes are those of a wall of 3840 × 2160; on any other they are in proportion. */
const [WIDE, HIGH] = [3840, 2160];
/** Against burn-in the tiles move by so many of its pixels an hour, and back. */
const SHIFT = 2;
const SHIFTS = 5;

/** What a tile shows: the axes of a pane, or one PV that is no line. */
export interface TileOf {
  key: string;
  scales: ValueScale[];
  traces: Trace[];
}

interface Tile {
  element: HTMLElement;
  heads: HTMLElement;
  alarm: HTMLElement;
  values: HTMLElement;
  canvas: HTMLCanvasElement;
}

/** What stands at its foot: what the archiver has to say. */
export interface WallNews {
  sentence: string | null;
}

export class Wall {
  private clock = h("div", { class: "wall-clock" });
  private date = h("div");
  private second = h("div");
  private worst = h("div", { class: "wall-worst", hidden: true }, h("i"), h("b"), h("span"));
  private grid = h("div", { class: "wall-tiles" });
  private foot = h("div", { class: "wall-foot", role: "status", hidden: true });
  private tiles = new Map<string, Tile>();

  constructor(
    private root: HTMLElement,
    private news: () => WallNews,
  ) {
    root.append(
      h("h1", { class: "unseen" }, words.title),
      h("header", {}, this.clock, h("div", { class: "wall-date" }, this.date, this.second), this.worst),
      this.grid,
      this.foot,
    );
  }

  /** How many bins are worth asking for: those of the widest plot. */
  get pixels(): number {
    const canvas = this.grid.querySelector("canvas");
    const width = (canvas?.clientWidth ?? this.root.clientWidth / 2) * devicePixelRatio;
    return Math.max(200, Math.min(Math.round(width), 4000));
  }

  show(scene: Scene, now: number): void {
    const unit = Math.min(this.root.clientWidth / WIDE, this.root.clientHeight / HIGH);
    this.root.style.setProperty("--u", `${unit}px`);
    this.showClock(scene, now);
    this.showWorst(scene, now);
    const all = tilesOf(scene);
    const shown = inTurn(all, now, (tile) => worstOf(tile.traces, scene) === 2);
    this.arrange(shown);
    const hours = Math.floor(now / 3600);
    const step = Math.abs((hours % (2 * SHIFTS)) - SHIFTS);
    this.grid.style.transform = `translate(${step * SHIFT * unit}px, ${((hours >> 1) % SHIFTS) * SHIFT * unit}px)`;
    for (const tile of shown) this.fill(this.tiles.get(tile.key)!, tile, scene, unit);
    const { sentence } = this.news();
    const told = scene.silent
      ? words.silent(formatTime(scene.known, scene.zone, 0).slice(11))
      : (sentence ?? "");
    this.foot.hidden = told === "";
    setText(this.foot, told);
  }

  private showClock({ zone, silent }: Scene, now: number): void {
    setText(this.clock, silent ? words.noClock : formatTime(now, zone, 0).slice(11));
    const day = new Date(now * 1000).toLocaleDateString("en-GB", {
      ...{ weekday: "short", day: "numeric", month: "long" },
      ...(zone === "local" ? {} : { timeZone: zone }),
    });
    setText(this.date, day);
    const isUtc = zoneName(now, zone) === "UTC";
    setText(this.second, silent ? "" : isUtc ? words.utc : words.inUtc(formatTime(now, "utc", 0).slice(11)));
  }

  /** The PV that is worst off, for how long, and how many are beside it. */
  private showWorst(scene: Scene, now: number): void {
    const shown = scene.traces.filter((trace) => !trace.hidden);
    const alarms = shown
      .map((trace) => ({ trace, severity: severityOf(trace, scene) }))
      .filter(({ severity }) => severity > 0)
      .sort((a, b) => rank(b.severity) - rank(a.severity));
    this.worst.hidden = alarms.length === 0 || scene.silent;
    const first = alarms[0];
    if (!first) return;
    const [mark, head, rest] = this.worst.children as unknown as HTMLElement[];
    mark!.dataset.severity = String(first.severity);
    setText(mark!, "\u200b");
    setText(head!, `${titleOf(first.trace)} ${severityName(first.severity)}`);
    const since = runsOf(first.trace, scene.known).findLast((run) => run.severity !== first.severity)?.to;
    const parts = since === undefined ? [] : [formatDuration(Math.max(0, Math.floor(now - since)))];
    for (const severity of [2, 3, 1]) {
      const count = alarms.filter((one) => one.severity === severity && one !== first).length;
      if (count > 0) parts.push(words.more(count, severityName(severity).toLowerCase()));
    }
    setText(rest!, parts.join(", "));
  }

  /** Tiles keep their places while the same are shown. */
  private arrange(shown: TileOf[]): void {
    const keys = shown.map(({ key }) => key);
    const order = keys.join("\n");
    if (this.grid.dataset.order === order) return;
    this.grid.dataset.order = order;
    for (const key of this.tiles.keys()) if (!keys.includes(key)) this.tiles.delete(key);
    this.grid.replaceChildren(
      ...shown.map(({ key }) => {
        const tile = this.tiles.get(key) ?? newTile();
        this.tiles.set(key, tile);
        return tile.element;
      }),
    );
    const count = shown.length;
    const columns = count <= 1 ? 1 : count <= 4 ? 2 : 3;
    this.grid.style.setProperty("--columns", String(columns));
    this.grid.style.setProperty("--rows", String(Math.max(1, Math.ceil(count / columns))));
  }

  private fill(tile: Tile, { scales, traces }: TileOf, scene: Scene, unit: number): void {
    const { palette } = scene;
    const isOne = traces.length === 1;
    const [titles, shared] = apart(traces.map(titleOf));
    const heads = traces.map((trace, i) => {
      const swatch = h("i", { class: "wall-swatch", hidden: isOne });
      swatch.style.background = palette.trace(trace.colour).stroke;
      return h("span", {}, swatch, titles[i]!);
    });
    renew(tile.heads, [...heads, ...(shared === "" ? [] : [h("span", {}, shared)])]);
    const worst = worstOf(traces, scene);
    tile.alarm.hidden = worst === 0 || scene.silent;
    tile.alarm.dataset.severity = String(worst);
    setText(tile.alarm, worst === 0 ? "" : severityName(worst));
    renew(
      tile.values,
      traces.map((trace, i) => valueOf(trace, scene, isOne, traces[i + 1])),
    );
    fit(tile.values);
    tile.canvas.hidden = scales.length === 0 && traces.every((trace) => trace.kind === "unknown");
    drawTile(tile.canvas, scales, traces, scene, unit);
  }
}

function newTile(): Tile {
  const [heads, alarm] = [h("div", { class: "wall-heads" }), h("b", { class: "wall-alarm", hidden: true })];
  const [values, canvas] = [h("div", { class: "wall-values" }), h("canvas")];
  const element = h(
    "section",
    { class: "wall-tile" },
    h("header", {}, heads, alarm),
    values,
    h("div", { class: "wall-plot" }, canvas),
  );
  return { element, heads, alarm, values, canvas };
}

/** Takes over new elements only where they say something else, so that a page that stands for weeks makes no rubbish. */
function renew(parent: HTMLElement, children: HTMLElement[]): void {
  const text = children.map((child) => child.outerHTML).join("");
  if (parent.dataset.told === text) return;
  parent.dataset.told = text;
  parent.replaceChildren(...children);
}

/** Figures that are too long for their tile are smaller, but never so small that they are not to be read. */
function fit(values: HTMLElement): void {
  const told = `${values.dataset.told} ${values.clientWidth}`;
  if (values.dataset.fit === told) return;
  values.dataset.fit = told;
  values.style.setProperty("--fit", "1");
  const part = values.clientWidth / values.scrollWidth;
  if (part < 1) values.style.setProperty("--fit", String(Math.max(0.45, part * 0.98)));
}

/** Panes are tiles, and so is each state and text. */
export function tilesOf({ layout }: Scene): TileOf[] {
  const ofPanes = layout.panes.map((pane) => {
    const traces = pane.scales.flatMap((scale) => scale.traces);
    return { key: traces.map(({ name }) => name).join(" "), scales: pane.scales, traces };
  });
  return [...ofPanes, ...layout.bands.map((trace) => ({ key: trace.name, scales: [], traces: [trace] }))];
}

/** The tiles of this half minute. One that is in major alarm stays. */
export function inTurn(all: TileOf[], now: number, isMajor: (tile: TileOf) => boolean): TileOf[] {
  if (all.length <= TILES_MAX) return all;
  const kept = all.filter(isMajor).slice(0, TILES_MAX);
  const rest = all.filter((tile) => !kept.includes(tile));
  const room = TILES_MAX - kept.length;
  if (room === 0) return kept;
  const turns = Math.ceil(rest.length / room);
  const turn = Math.floor(now / TURN_SECONDS) % turns;
  const chosen = new Set([...kept, ...rest.slice(turn * room, (turn + 1) * room)]);
  return all.filter((tile) => chosen.has(tile));
}

/** What people call it. */
function titleOf(trace: Trace): string {
  return trace.metadata?.description || trace.name;
}

/** Titles without the words with which all of them end, and these words: they stand once behind all. */
export function apart(titles: string[]): [string[], string] {
  const words = titles.map((title) => title.split(" "));
  const most = Math.min(...words.map(({ length }) => length)) - 1;
  let shared = 0;
  const end = (of: string[]) => of.at(-1 - shared);
  while (titles.length > 1 && shared < most && words.every((of) => end(of) === end(words[0]!))) shared += 1;
  const own = words.map((of) =>
    of
      .slice(0, of.length - shared)
      .join(" ")
      .replace(/[,;:]$/, ""),
  );
  return [own, words[0]?.slice(words[0].length - shared).join(" ") ?? ""];
}

function rank(severity: number): number {
  return severity === 4 ? 0.5 : severity === 3 ? 1.5 : severity;
}

function severityOf(trace: Trace, scene: Scene): number {
  const reading = readingAt(trace, scene.known);
  return reading.gaps.length > 0 ? 0 : reading.severity;
}

function worstOf(traces: Trace[], scene: Scene): number {
  return traces.map((trace) => severityOf(trace, scene)).reduce((a, b) => (rank(b) > rank(a) ? b : a), 0);
}

/** The value in large figures, or why there is none; its units unless the one beside it has the same. */
function valueOf(trace: Trace, scene: Scene, isOne: boolean, next?: Trace): HTMLElement {
  const at = (time: number) => formatTime(time, scene.zone, 0).slice(11);
  const sentence = (text: string) => h("span", { class: "wall-sentence" }, text);
  if (trace.unknown || trace.error) return sentence(trace.unknown ? words.unknown : words.refused);
  const gap = gapsAt(trace, scene.known)[0];
  if (gap) return sentence(words.notRecorded(at(gap.from)));
  const reading = readingAt(trace, scene.known);
  if (trace.state === "disconnected" && trace.since)
    return sentence(words.notRecorded(at(Date.parse(trace.since) / 1000)));
  if (reading.value === undefined) return sentence(trace.history ? words.nothing : "…");
  if (trace.kind === "array" || trace.kind === "structure") return sentence(words.noNumber);
  const text =
    trace.kind === "number" && typeof reading.value === "number"
      ? formatNumber(reading.value, trace.metadata?.precision ?? null).replaceAll("-", "−")
      : formatValue(reading.value, trace.kind, trace.metadata);
  const isSame = next && unitsOf(next) === unitsOf(trace) && hasValue(next, scene);
  const units = isSame ? "" : unitsOf(trace);
  const value = h("span", { class: "wall-value" }, text, units ? h("small", {}, units) : "");
  if (scene.silent) value.classList.add("is-old");
  if (!isOne) value.style.borderColor = scene.palette.trace(trace.colour).stroke;
  return value;
}

function hasValue(trace: Trace, { known }: Scene): boolean {
  const isGone = trace.unknown || trace.error !== null || trace.state === "disconnected";
  return !isGone && gapsAt(trace, known).length === 0 && readingAt(trace, known).value !== undefined;
}

/** Of a 4K wall: room for the labels at the right, below for those of time, and of a strip of alarms. */
const RIGHT = 200;
/** Between the plot and its labels. */
const ASIDE = 28;
const TICK_SPACE = 84;
const BELOW = 88;
const RUG = 12;
const LABEL = 64;
const BAND_HIGH = 96;

function drawTile(
  canvas: HTMLCanvasElement,
  scales: ValueScale[],
  traces: Trace[],
  scene: Scene,
  unit: number,
): void {
  const [w, t] = [canvas.parentElement!.clientWidth, canvas.parentElement!.clientHeight];
  const ratio = devicePixelRatio;
  if (w < 20 || t < 20) return;
  const [width, height] = [Math.round(w * ratio), Math.round(t * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d")!;
  context.clearRect(0, 0, width, height);
  const u = unit * ratio;
  // A line of 1.5 px on a desk has 6 px here.
  const stroke = 4 * u;
  const least = 12 * u;
  const high = height - (BELOW + RUG + 8 + LABEL * 0.5) * u;
  const labels = scales.length > 0 ? labelsOf(scales[0]!, high / u) : [];
  context.font = `${LABEL * u}px system-ui, sans-serif`;
  // Whatever font the wall has: no label is cut.
  const widest = labels.reduce((most, { text }) => Math.max(most, context.measureText(text).width), 0);
  const right = Math.max(RIGHT * u, widest + (ASIDE + 8) * u);
  const box = { left: 0, top: LABEL * 0.5 * u, width: width - right, height: high };
  if (box.height < least || box.width < least) return;
  const frame = frameOf(context, box, scene.range, stroke);
  if (scales.length > 0) drawLines(frame, scales, labels, scene, u);
  else drawStrip(context, box, traces[0]!, scene, stroke, u);
  const rug = { ...box, top: box.top + box.height + 8 * u, height: RUG * u };
  drawRug(frameOf(context, rug, scene.range, stroke), traces, scene);
  drawClock(context, rug.top + rug.height, box, scene, u);
}

interface Label {
  tick: number;
  text: string;
}

/** What stands beside an axis that is so many pixels of the wall high. */
function labelsOf({ range, log, spans }: ValueScale, high: number): Label[] {
  const ticks = valueTicks(range, high / TICK_SPACE, log);
  const texts = spans ? percents(ticks) : log ? logLabels(ticks) : valueLabels(ticks);
  return ticks.map((tick, i) => ({ tick, text: texts[i]!.replaceAll("-", "−") }));
}

function drawLines(frame: Frame, scales: ValueScale[], labels: Label[], scene: Scene, u: number): void {
  const { context } = frame;
  const [first] = scales;
  const { palette } = scene;
  const right = frame.left + frame.width;
  context.font = `${LABEL * u}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const yOf = mapper(frame, first!);
  context.lineWidth = 3 * u;
  for (const { tick, text } of labels) {
    const y = yOf(tick);
    context.strokeStyle = palette.grid;
    context.beginPath();
    context.moveTo(frame.left, y);
    context.lineTo(right, y);
    context.stroke();
    context.fillStyle = palette.faint;
    context.fillText(text, right + ASIDE * u, y);
  }
  clipped(frame, () => {
    for (const scale of scales) {
      for (const trace of scale.traces) {
        const at = mapper(frame, reachFor(scale, trace));
        trace.holes.from.forEach((from, i) => {
          hatch(frame, from, Math.min(trace.holes.to[i]!, scene.known), palette.hatch);
        });
        const until = Math.min(knownUntil(trace, scene.known), scene.range.to);
        const dotted = isDotted(frame, trace);
        drawTrace(frame, trace, { yOf: at, palette, until, strong: false, dimmed: false, dotted });
      }
    }
  });
}

/** A state or a text: a strip with the names of its states. */
function drawStrip(
  context: CanvasRenderingContext2D,
  box: { left: number; top: number; width: number; height: number },
  trace: Trace,
  scene: Scene,
  stroke: number,
  u: number,
): void {
  const high = Math.min(BAND_HIGH * u, box.height);
  const strip = { ...box, top: box.top + box.height - high, height: high };
  if (trace.kind === "state" || trace.kind === "text")
    // Names in a strip have eleven pixels on a desk.
    drawBand(frameOf(context, strip, scene.range, Math.max(stroke, (LABEL / 11) * u)), trace, scene, false);
}

/** As many times as have room, the last one at the right end. */
function drawClock(
  context: CanvasRenderingContext2D,
  top: number,
  box: { left: number; width: number },
  { range, zone, palette }: Scene,
  u: number,
): void {
  context.font = `${LABEL * u}px system-ui, sans-serif`;
  context.textBaseline = "top";
  context.textAlign = "left";
  context.fillStyle = palette.faint;
  const ticks = timeTicks(range, Math.max(2, box.width / u / 380), zone);
  const labels = timeLabels(ticks, zone);
  let end = -Infinity;
  ticks.forEach((tick, i) => {
    const text = labels[i]!.split("\n")[0]!;
    const wide = context.measureText(text).width;
    const x = box.left + ((tick - range.from) / (range.to - range.from)) * box.width;
    const left = Math.min(Math.max(x - wide / 2, box.left), box.left + box.width - wide);
    if (left < end) return;
    context.fillText(text, left, top + 14 * u);
    end = left + wide + 40 * u;
  });
}
