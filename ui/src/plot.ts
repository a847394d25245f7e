// The plot: panes one above the other on one canvas, bands of states and texts below them, one time axis and one cursor for all.

import { logLabels, percents, timeLabels, timeTicks, valueLabels, valueTicks } from "./axis.ts";
import { bandAt, drawBand, drawLane, BAND, LANE } from "./bands.ts";
import { cutEnd, cutMiddle } from "./cut.ts";
import { clipped, frameOf, mapper, type Frame } from "./draw.ts";
import { h, setText } from "./dom.ts";
import { GestureReader, type Gestures } from "./gestures.ts";
import { drawMoving, Layer, type Box } from "./layer.ts";
import { placed, type Flag, type NoteMark } from "./notes.ts";
import { reachFor, titleOf, type Layout, type Pane, type Reach, type ValueScale } from "./panes.ts";
import { readingAt } from "./reading.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { SvgContext } from "./svg.ts";
import { formatDuration, formatTime, zoneName, type Zone } from "./time.ts";
import { knownUntil, lineOf, unitsOf, type Trace } from "./trace.ts";
import { wordOf } from "./words/panel.ts";
import { plotWords } from "./words/plot.ts";

/** All that is drawn. */
export interface Scene {
  range: Range;
  /** Up to when anything is known: the server's now, or its last answer if it is silent. Values hold until then. */
  known: number;
  silent: boolean;
  traces: Trace[];
  layout: Layout;
  zone: Zone;
  palette: Palette;
  /** Cursor A, and B. */
  pinned: number | null;
  second: number | null;
  /** A lane of alarms for each PV. */
  lanes: boolean;
  /** The trace that is pointed at in the panel. */
  pointed: Trace | null;
  notes: NoteMark[];
  /** The times that a search has found, and what is told of them; they reach beyond the range. */
  found: Range[];
  foundTold: string;
  /** It is being panned: another scene follows at once. */
  moving: boolean;
  /** It stays as it is until somebody changes it: no time goes on in it. */
  still: boolean;
}

/** What the plot asks for, besides what gestures say. */
export interface PlotActions extends Gestures {
  cursor(): void;
  /** While it is panned it shows a part of what was loaded with a later frame. */
  again(): void;
  note(mark: NoteMark): void;
  /** The axes of a pane shall reach so far. */
  reach(scales: ValueScale[], part: { low: number; high: number } | null): void;
}

/** Where everything stands, in CSS pixels of the canvas. */
export interface Place {
  left: number;
  width: number;
  /** With what stands beside the panes. */
  across: number;
  height: number;
  panes: { pane: Pane; top: number; height: number }[];
  bands: { trace: Trace; top: number }[];
  lanes: { trace: Trace; top: number }[];
  bottom: number;
}

/** What is drawn, and a place in it. */
export interface Drawn {
  scene: Scene;
  place: Place;
  x: number;
  y: number;
}

const FONT = "11px system-ui, sans-serif";
const BOLD = "600 11px system-ui, sans-serif";

/** Above the panes, for flags of cursors and notes. */
const FLAGS = 22;
/** More flags nobody could tell apart; their lines are there. */
const FLAGS_MAX = 200;
/** Beside the text of a flag, with its notch. */
const FLAG_PADDING = 24;
const NOTE_SHADE = 0.05;
const NOTE_LINE = 0.55;
const FOUND_SHADE = 0.08;
/** Of what is marked in a table. */
const MARKED_SHADE = 0.14;
const MARKED_EDGE = 0.7;
const TITLE = 20;
const RUG = 4;
/** Between a pane, its rug, and what is below. */
const GAP = 4;
const PANE_LEAST = 64;
/** Left of the panes labels, right of them labels too if a pane has a second axis. */
const SIDE = 58;
const RIGHT = 40;
const NARROW_SIDE = 44;
const NARROW_RIGHT = 16;
const NARROW = 480;
const AXIS = 34;
/** A tick of a value axis has so much height; in a low pane less, so that up to so many stand there. */
const TICK_SPACE = 34;
const TICK_LEAST = 22;
const TICKS_LOW = 4;
const TIME_SPACE = 96;

/** A view that has rested so long is prepared for being panned. */
const REST_MILLIS = 400;
/** Drawing one pane of a tile takes about this long. */
const PREPARE_MILLIS = 6;
/** A browser that does not tell when it is idle is given this long. */
const UNTOLD_MILLIS = 50;

export class Plot {
  private paper = document.createElement("canvas");
  private glass = document.createElement("canvas");
  private axis = document.createElement("canvas");
  private layer = new Layer();
  private over = h("div", { class: "over" });
  private scroller = h("div", { class: "panes" }, this.paper, this.glass, this.over);
  private pill = h("span", { class: "cursor-pill", hidden: true });
  private marks = h("div", { class: "marks" });
  /** What lies between the cursors A and B, with how long that is. */
  private stretch = h("div", { class: "stretch", hidden: true }, h("span"));
  private noted = h("div", { class: "noted" });
  private flags: { mark: NoteMark; flag: Flag }[] = [];
  private chosen = h("div", { class: "chosen", hidden: true });
  private scene: Scene | null = null;
  private place: Place | null = null;
  private at: number | null = null;
  /** A stretch that is marked elsewhere, as rows of a table are. */
  private marked: Range | null = null;
  /** Nothing is on the glass. */
  private isGlassClear = false;
  /** Where the mouse is, as a part of the plotting area's width. */
  private part: number | null = null;
  private hoverY = 0;
  /** What the page gives it: asking for that within a frame would lay out the page once more. */
  private size: { width: number; height: number } | null = null;
  private preparing = 0;
  private widths = new WeakMap<HTMLElement, { letters: number; width: number }>();

  constructor(
    private root: HTMLElement,
    private actions: PlotActions,
  ) {
    this.axis.className = "time-axis";
    this.over.append(this.chosen);
    this.scroller.append(this.stretch, this.marks, this.noted);
    root.append(this.scroller, this.axis, this.pill);
    new ResizeObserver(() => {
      this.size = { width: root.clientWidth, height: root.clientHeight };
      this.draw();
    }).observe(root);
    new GestureReader(this.over, {
      ...actions,
      range: () => this.scene?.range ?? null,
      hover: (part, y) => this.hoverAt(part, y),
      choose: (from, to, isHeight) => this.showChosen(from, to, isHeight),
      chooseHeight: (top, bottom, at) => this.zoomHeight(top, bottom, at),
    });
  }

  /** The width of the plotting area in canvas pixels: how many bins are worth asking for. */
  get pixels(): number {
    const width = this.place?.width ?? this.root.clientWidth - SIDE - RIGHT;
    return Math.max(50, Math.min(Math.round(width * devicePixelRatio), 8000));
  }

  /** The left edge and width of the plotting area in CSS pixels of the page's plot. */
  get area(): { left: number; width: number } {
    return { left: this.place?.left ?? 0, width: this.place?.width ?? 0 };
  }

  /** The moment under the cursor; it changes under a resting mouse while the view moves. */
  get hover(): number | null {
    if (!this.scene) return null;
    const { from, to } = this.scene.range;
    if (this.part !== null) return from + this.part * (to - from);
    return this.at !== null && this.at >= from && this.at <= to ? this.at : null;
  }

  /** The axes of the pane that the mouse is over; those of the first if it is over none. */
  get paneScales(): ValueScale[] {
    const found = this.place?.panes.find(
      ({ top, height }) => this.hoverY >= top && this.hoverY <= top + height,
    );
    return (found ?? this.place?.panes[0])?.pane.scales ?? [];
  }

  /** What is drawn, at a place of the window; none before anything was. */
  under(clientX: number, clientY: number): Drawn | null {
    const { scene, place } = this;
    if (!scene || !place) return null;
    const box = this.root.getBoundingClientRect();
    const isTimes = clientY >= this.axis.getBoundingClientRect().top;
    const y = isTimes ? place.bottom : clientY - box.top + this.scroller.scrollTop;
    return { scene, place, x: clientX - box.left, y: isTimes ? y : Math.min(y, place.bottom - 1) };
  }

  /** Where a moment is in the window, as high as the first pane that is seen. */
  placeOf(at: number): { x: number; y: number } | null {
    const { scene, place } = this;
    if (!scene || !place) return null;
    const box = this.root.getBoundingClientRect();
    const pane = place.panes[0] ?? { top: FLAGS, height: PANE_LEAST };
    return {
      x: box.left + place.left + partOf(at, scene.range) * place.width,
      y: box.top + pane.top + pane.height / 2,
    };
  }

  /** The note whose flag that is. */
  noteOf(flag: Element): NoteMark | null {
    return this.flags[[...this.noted.children].indexOf(flag)]?.mark ?? null;
  }

  show(scene: Scene): void {
    this.scene = scene;
    this.draw();
  }

  /** The cursor has moved, and nothing else. */
  moved(): void {
    this.drawGlass();
  }

  /** Moves the cursor to a moment from outside (keyboard, events); none removes it. */
  point(at: number | null): void {
    this.part = null;
    this.at = at;
    this.drawGlass();
  }

  /** Shows a stretch of time as marked; none: no more. */
  mark(span: Range | null): void {
    if (span?.from === this.marked?.from && span?.to === this.marked?.to) return;
    this.marked = span;
    this.drawGlass();
  }

  /** The picture as it is, whole where a part of it is scrolled away, on a canvas of its own. */
  picture(ratio: number): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    const { scene, place } = this;
    if (!scene || !place) return canvas;
    canvas.width = Math.round(this.root.clientWidth * ratio);
    canvas.height = Math.round((place.height + AXIS) * ratio);
    const context = canvas.getContext("2d")!;
    context.fillStyle = scene.palette.back;
    context.fillRect(0, 0, canvas.width, canvas.height);
    drawScene(context, scene, place, ratio);
    drawFlags(context, this.flags, scene.palette, ratio);
    context.translate(0, place.height * ratio);
    drawTimes(context, scene, place, ratio);
    return canvas;
  }

  /** The same as SVG. */
  svg(): string {
    const { scene, place } = this;
    const ruler = document.createElement("canvas").getContext("2d");
    if (!scene || !place || !ruler) return "";
    const writer = new SvgContext(ruler);
    const context = writer as unknown as CanvasRenderingContext2D;
    const [width, height] = [this.root.clientWidth, place.height + AXIS];
    context.fillStyle = scene.palette.back;
    context.fillRect(0, 0, width, height);
    drawScene(context, scene, place, 1);
    drawFlags(context, this.flags, scene.palette, 1);
    context.translate(0, place.height);
    drawTimes(context, scene, place, 1);
    return writer.file(width, height);
  }

  private hoverAt(part: number | null, y: number): void {
    this.part = part;
    this.hoverY = y + this.over.offsetTop;
    if (part !== null) this.at = null;
    this.actions.cursor();
  }

  private draw(): void {
    const scene = this.scene;
    this.size ??= { width: this.root.clientWidth, height: this.root.clientHeight };
    const { width } = this.size;
    const room = this.size.height - AXIS;
    if (!scene || width < 50 || room < 20) return;
    const place = placeOf(scene, width, room);
    this.place = place;
    const ratio = devicePixelRatio;
    const scrolled = place.height > room + 1;
    this.scroller.classList.toggle("is-scrolling", scrolled);
    this.scroller.tabIndex = scrolled ? 0 : -1;
    sized(this.paper, width, place.height, ratio);
    sized(this.axis, width, AXIS, ratio);
    Object.assign(this.over.style, {
      left: `${place.left}px`,
      top: `${FLAGS}px`,
      width: `${place.width}px`,
      height: `${Math.max(0, place.bottom - FLAGS)}px`,
    });
    drawScene(this.paper.getContext("2d")!, scene, place, ratio, this.layer);
    drawTimes(this.axis.getContext("2d")!, scene, place, ratio);
    this.drawMarks(place);
    this.drawGlass();
    if (scene.moving && this.layer.isLate) this.actions.again();
    window.clearTimeout(this.preparing);
    if (scene.still && !scene.moving && scene.pointed === null)
      this.preparing = window.setTimeout(() => whenIdle((rest) => this.prepare(scene, rest)), REST_MILLIS);
  }

  /** What would have to be drawn all at once where somebody begins to pan is drawn while nobody does anything. */
  private prepare(scene: Scene, rest: () => number): void {
    do {
      if (scene !== this.scene || !this.place) return;
      const layered = layeredOf(this.place, devicePixelRatio, this.paper.height);
      const context = this.paper.getContext("2d")!;
      if (!this.layer.prepare(context, scene, layered.area, layered.boxes, devicePixelRatio)) return;
    } while (rest() > PREPARE_MILLIS);
    whenIdle((rest) => this.prepare(scene, rest));
  }

  /** How wide a text is that has digits alone, which are all as wide: measured where their number has changed. */
  private widthOf(element: HTMLElement): number {
    const letters = element.textContent!.length;
    const had = this.widths.get(element);
    if (had?.letters === letters && had.width > 0) return had.width;
    const width = element.offsetWidth;
    this.widths.set(element, { letters, width });
    return width;
  }

  /** Lines of the cursors A and B, with their flags. */
  private drawMarks(place: Place): void {
    const scene = this.scene!;
    const flags = (
      [
        ["A", scene.pinned],
        ["B", scene.second],
      ] as const
    )
      .filter(([, at]) => at !== null && at >= scene.range.from && at <= scene.range.to)
      .map(([name, at]) => ({ name, at: at!, x: place.left + partOf(at!, scene.range) * place.width }));
    while (this.marks.childElementCount > flags.length) this.marks.lastElementChild!.remove();
    while (this.marks.childElementCount < flags.length)
      this.marks.append(h("div", { class: "mark" }, h("span", { class: "flag" })));
    flags.forEach(({ name, at, x }, i) => {
      const mark = this.marks.children[i] as HTMLElement;
      mark.style.left = `${x}px`;
      mark.style.height = `${place.bottom}px`;
      mark.classList.toggle("is-first", name === "A" && scene.second !== null);
      const flag = mark.firstElementChild as HTMLElement;
      setText(flag, `${name} ${formatTime(at, scene.zone, digitsOf(scene.range)).slice(11)}`);
      const half = this.widthOf(flag) / 2;
      const edge = this.size!.width;
      flag.style.marginLeft = `${Math.max(-half, -x) - Math.max(0, x + half - edge)}px`;
    });
    this.drawStretch(place);
    this.drawNoted(place);
  }

  /** Shades what lies between A and B; how long that is stands between their flags where there is room. */
  private drawStretch(place: Place): void {
    const { pinned, second, range } = this.scene!;
    const [from, to] = [Math.min(pinned ?? NaN, second ?? NaN), Math.max(pinned ?? NaN, second ?? NaN)];
    this.stretch.hidden = !(from < range.to && to > range.from && from < to);
    if (this.stretch.hidden) return;
    const [left, right] = [Math.max(partOf(from, range), 0), Math.min(partOf(to, range), 1)];
    Object.assign(this.stretch.style, {
      left: `${place.left + left * place.width}px`,
      width: `${(right - left) * place.width}px`,
      height: `${place.bottom}px`,
    });
    const text = this.stretch.firstElementChild as HTMLElement;
    setText(text, formatDuration(to - from));
    // What is hidden has no width.
    text.hidden = false;
    const flags = [...this.marks.children].map((mark) => this.widthOf(mark.firstElementChild as HTMLElement));
    const room = (right - left) * place.width - flags.reduce((sum, width) => sum + width / 2, 0);
    text.hidden = flags.length < 2 || this.widthOf(text) + FLAG_PADDING > room;
  }

  /** Flags of notes, between those of the cursors. */
  private drawNoted(place: Place): void {
    const { notes, range } = this.scene!;
    const shown = notes.slice(0, FLAGS_MAX);
    if (shown.length === 0 && this.flags.length === 0) return;
    const taken = [...this.marks.children].map((mark) => {
      const { style, firstElementChild } = mark as HTMLElement;
      const { marginLeft } = (firstElementChild as HTMLElement).style;
      const left = parseFloat(style.left) + parseFloat(marginLeft || "0");
      return { left, right: left + this.widthOf(firstElementChild as HTMLElement) };
    });
    const told = this.stretch.firstElementChild as HTMLElement;
    if (!this.stretch.hidden && !told.hidden) {
      const middle = parseFloat(this.stretch.style.left) + parseFloat(this.stretch.style.width) / 2;
      const half = this.widthOf(told) / 2;
      taken.push({ left: middle - half, right: middle + half });
    }
    const ruler = this.paper.getContext("2d")!;
    ruler.font = BOLD;
    const wanted = shown.map(({ from, text }) => ({
      x: Math.round(place.left + Math.max(0, partOf(from, range)) * place.width),
      width: Math.ceil(ruler.measureText(text).width) + FLAG_PADDING,
    }));
    const flags = placed(wanted, taken, this.size!.width);
    this.flags = shown.map((mark, i) => ({ mark, flag: flags[i]! }));
    while (this.noted.childElementCount > shown.length) this.noted.lastElementChild!.remove();
    while (this.noted.childElementCount < shown.length) this.noted.append(this.noteFlag());
    this.flags.forEach(({ mark, flag }, i) => {
      const element = this.noted.children[i] as HTMLElement;
      element.style.left = `${flag.left}px`;
      element.style.width = `${flag.width}px`;
      element.hidden = flag.width === 0;
      element.classList.toggle("is-bare", !flag.hasText);
      if (element.title !== mark.note.text) {
        element.title = mark.note.text;
        element.setAttribute("aria-label", wordOf.readNote(mark.text));
      }
      setText(element, flag.hasText ? mark.text : "");
    });
  }

  private noteFlag(): HTMLElement {
    const flag = h("button", {
      type: "button",
      class: "note-flag",
      tabindex: "-1",
      click: () => {
        const found = this.noteOf(flag);
        if (found) this.actions.note(found);
      },
    });
    return flag;
  }

  /** What follows the cursor: its line, its time, and a dot at each value. */
  private drawGlass(): void {
    const { scene, place } = this;
    if (!scene || !place) return;
    const ratio = devicePixelRatio;
    const width = this.size!.width;
    const at = this.hover;
    const dotted = at ?? scene.pinned;
    const isDotted = dotted !== null && dotted >= scene.range.from && dotted <= scene.range.to;
    this.pill.hidden = at === null;
    const isClear = !isDotted && this.marked === null;
    // What is clear already stays as it is: a browser puts all of a canvas onto the page again of which it was told anything.
    if (isClear && this.isGlassClear && isSized(this.glass, width, place.height, ratio)) return;
    this.isGlassClear = isClear;
    sized(this.glass, width, place.height, ratio);
    const context = this.glass.getContext("2d")!;
    if (this.marked) drawMarked(context, this.marked, scene, place, ratio);
    if (!isDotted) return;
    const x = place.left + partOf(dotted, scene.range) * place.width;
    if (at !== null) {
      context.fillStyle = scene.palette.text;
      context.fillRect(
        Math.round(x * ratio),
        (FLAGS - 4) * ratio,
        Math.max(1, ratio),
        (place.bottom - FLAGS + 4) * ratio,
      );
      setText(this.pill, formatTime(at, scene.zone, digitsOf(scene.range)).slice(11));
      const half = this.widthOf(this.pill) / 2;
      const most = width - half - 2;
      this.pill.style.left = `${Math.min(Math.max(x, half + 2), most)}px`;
    }
    if (dotted <= scene.known) drawDots(context, scene, place, dotted, x, ratio);
  }

  private showChosen(from: number | null, to: number, isHeight: boolean): void {
    this.chosen.hidden = from === null;
    if (from === null) return;
    const [low, high] = [Math.min(from, to), Math.max(from, to)];
    Object.assign(
      this.chosen.style,
      isHeight
        ? { left: "0", width: "100%", top: `${low}px`, height: `${high - low}px` }
        : { top: "0", height: "100%", left: `${low}px`, width: `${high - low}px` },
    );
  }

  /** A stretch of height was chosen: the axes of the pane in which it began shall reach so far. None takes that back. */
  private zoomHeight(top: number, bottom: number, began: number): void {
    const offset = this.over.offsetTop;
    const found = this.place?.panes.find(
      (pane) => began + offset >= pane.top && began + offset <= pane.top + pane.height,
    );
    if (!found) return;
    const part = (y: number) => 1 - (y + offset - found.top) / found.height;
    this.actions.reach(found.pane.scales, {
      low: part(Math.max(top, bottom)),
      high: part(Math.min(top, bottom)),
    });
  }

  /** What a band, or a lane of alarms, says at a place; none outside of them. */
  bandUnder(): { trace: Trace; text: string } | null {
    const { scene, place } = this;
    const at = this.hover;
    if (!scene || !place || at === null) return null;
    const band = place.bands.find(({ top }) => this.hoverY >= top && this.hoverY < top + BAND);
    const lane = place.lanes.find(({ top }) => this.hoverY >= top && this.hoverY < top + LANE);
    const found = band ?? lane;
    return found ? { trace: found.trace, text: bandAt(found.trace, at, scene) } : null;
  }
}

function rugTop({ top, height }: Place["panes"][0]): number {
  return top + height + GAP;
}

/** Where the panes stand, in canvas pixels. */
function layeredOf(place: Place, ratio: number, down: number) {
  const boxes = place.panes.map((at): Box => ({
    ...{ pane: at.pane, top: at.top * ratio, height: at.height * ratio },
    ...{ rugTop: rugTop(at) * ratio, rugHeight: RUG * ratio },
  }));
  return { area: { left: place.left * ratio, width: place.width * ratio, down }, boxes };
}

/** Calls back when the browser has nothing else to do, with how many milliseconds that is for. */
function whenIdle(callback: (rest: () => number) => void): void {
  // Not every browser tells.
  if (!("requestIdleCallback" in window)) setTimeout(() => callback(() => 0), UNTOLD_MILLIS);
  else window.requestIdleCallback((idle) => callback(() => idle.timeRemaining()));
}

function sized(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  // Setting the size clears, even to the same.
  if (isSized(canvas, width, height, ratio))
    return canvas.getContext("2d")!.clearRect(0, 0, canvas.width, canvas.height);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

function isSized(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): boolean {
  return canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio);
}

function partOf(at: number, range: Range): number {
  return (at - range.from) / (range.to - range.from);
}

/** Digits after the second that a time of the cursor has. */
function digitsOf(range: Range): number {
  const seconds = range.to - range.from;
  return seconds < 10 ? 6 : seconds < 4 * 3600 ? 3 : 0;
}

function rightOf(scene: Scene, width: number): number {
  const isTwo = scene.layout.panes.some((pane) => pane.scales.length > 1);
  if (width < NARROW) return isTwo ? NARROW_SIDE : NARROW_RIGHT;
  return isTwo ? SIDE : RIGHT;
}

function placeOf(scene: Scene, width: number, room: number): Place {
  const { panes, bands } = scene.layout;
  const left = width < NARROW ? NARROW_SIDE : SIDE;
  const lanes = scene.lanes ? scene.traces.filter((trace) => !trace.hidden && trace.kind === "number") : [];
  const below = bands.length * (BAND + GAP) + lanes.length * (LANE + 2) + (lanes.length > 0 ? GAP : 0);
  const between = panes.length * (TITLE + GAP + RUG + GAP);
  const free = (room - FLAGS - below - between) / Math.max(1, panes.length);
  const height = Math.max(PANE_LEAST, Math.floor(free));
  let top = FLAGS;
  const placed = panes.map((pane) => {
    const at = { pane, top: top + TITLE, height };
    top += TITLE + height + GAP + RUG + GAP;
    return at;
  });
  const laned = lanes.map((trace) => {
    const at = { trace, top };
    top += LANE + 2;
    return at;
  });
  if (laned.length > 0) top += GAP;
  const banded = bands.map((trace) => {
    const at = { trace, top };
    top += BAND + GAP;
    return at;
  });
  const bottom = top;
  const all = Math.max(bottom, panes.length === 0 ? room : 0);
  return {
    ...{ left, width: width - left - rightOf(scene, width), across: width, height: all },
    ...{ panes: placed, bands: banded, lanes: laned, bottom: Math.max(bottom, all) },
  };
}

function drawScene(
  context: CanvasRenderingContext2D,
  scene: Scene,
  place: Place,
  ratio: number,
  layer: Layer | null = null,
): void {
  const area = { left: place.left * ratio, width: place.width * ratio };
  const frame = (top: number, height: number) =>
    frameOf(context, { ...area, top: top * ratio, height: height * ratio }, scene.range, ratio);
  const times = timeTicks(scene.range, Math.max(2, place.width / TIME_SPACE), scene.zone);
  for (const { pane, top, height } of place.panes) {
    const box = frame(top, height);
    drawGrid(box, pane, scene, times);
    drawTitle(box, pane, scene.palette);
    clipped(box, () => drawSilence(box, scene));
  }
  // A view that is panned or live shifts what it has drawn, and draws only what comes into sight.
  if (layer && (scene.moving || !scene.still)) {
    const { area, boxes } = layeredOf(place, ratio, context.canvas.height);
    layer.show(context, scene, area, boxes, ratio);
  } else
    for (const at of place.panes)
      drawMoving(frame(at.top, at.height), frame(rugTop(at), RUG), at.pane, scene);
  for (const { pane, top, height } of place.panes) drawLimitsOf(frame(top, height), pane, scene);
  for (const { trace, top } of place.lanes) drawLane(frame(top, LANE), trace, scene);
  for (const { trace, top } of place.bands) drawBand(frame(top, BAND), trace, scene);
  drawFound(frame(FLAGS, place.bottom - FLAGS), scene);
  drawNotes(frame(FLAGS, place.bottom - FLAGS), scene);
}

/** What a search has found: a shade over all panes, and a bar above them. */
function drawFound(frame: Frame, { found, range, palette }: Scene): void {
  const { context, ratio, left, width, top, height } = frame;
  context.fillStyle = palette.accent;
  for (const { from, to } of found) {
    if (to < range.from || from > range.to) continue;
    const x0 = Math.max(frame.xOf(from), left);
    const wide = Math.max(Math.min(frame.xOf(to), left + width) - x0, 2 * ratio);
    context.globalAlpha = FOUND_SHADE;
    context.fillRect(x0, top, wide, height);
    context.globalAlpha = 1;
    context.fillRect(x0, top - 4 * ratio, wide, 4 * ratio);
  }
}

/** A line through everything where a note stands, and a bar above what it is about if that is a stretch. */
function drawNotes(frame: Frame, { notes, range, palette }: Scene): void {
  const { context, ratio, left, width, top, height } = frame;
  context.fillStyle = palette.text;
  for (const { from, to } of notes) {
    const x0 = Math.max(frame.xOf(from), left);
    if (to !== null) {
      const x1 = Math.min(Math.max(frame.xOf(to), x0 + ratio), left + width);
      context.globalAlpha = NOTE_SHADE;
      context.fillRect(x0, top, x1 - x0, height);
      context.globalAlpha = 1;
      context.fillRect(x0, top - 3 * ratio, x1 - x0, 3 * ratio);
    }
    if (from < range.from || from > range.to) continue;
    context.globalAlpha = NOTE_LINE;
    context.fillRect(Math.round(x0), top - 4 * ratio, ratio, height + 4 * ratio);
    context.globalAlpha = 1;
  }
}

/** The flags of notes, for pictures: on the page they are buttons. */
function drawFlags(
  context: CanvasRenderingContext2D,
  flags: { mark: NoteMark; flag: Flag }[],
  palette: Palette,
  ratio: number,
): void {
  context.font = scaled(BOLD, ratio);
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { mark, flag } of flags) {
    if (flag.width === 0) continue;
    context.fillStyle = palette.text;
    context.fillRect(flag.left * ratio, ratio, flag.width * ratio, 16 * ratio);
    if (!flag.hasText) continue;
    context.fillStyle = palette.back;
    const text = cutEnd(context, mark.text, (flag.width - FLAG_PADDING) * ratio);
    context.fillText(text, (flag.left + 8) * ratio, 9.5 * ratio);
  }
}

function drawLimitsOf(frame: Frame, pane: Pane, scene: Scene): void {
  for (const scale of pane.scales)
    for (const trace of scale.traces)
      if (trace === scene.pointed || trace.look.limits)
        clipped(frame, () => drawLimits(frame, trace, reachFor(scale, trace), scene.palette));
  frame.context.lineWidth = frame.ratio;
}

function drawGrid(frame: Frame, pane: Pane, { palette, pointed }: Scene, times: number[]): void {
  const { context, ratio } = frame;
  const bottom = frame.top + frame.height;
  const right = frame.left + frame.width;
  const line = (x0: number, y0: number, x1: number, y1: number) => {
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  };
  const crisp = (at: number) => Math.round(at) + (ratio % 2) / 2;
  context.strokeStyle = palette.grid;
  context.lineWidth = ratio;
  context.beginPath();
  for (const time of times) line(crisp(frame.xOf(time)), frame.top, crisp(frame.xOf(time)), bottom);
  line(frame.left, crisp(frame.top), right, crisp(frame.top));
  line(frame.left, crisp(bottom), right, crisp(bottom));
  pane.scales.forEach((scale, i) => {
    const yOf = mapper(frame, scale);
    const ticks = valueTicks(scale.range, tickCount(frame.height / ratio), scale.log);
    if (i === 0) for (const tick of ticks) line(frame.left, crisp(yOf(tick)), right, crisp(yOf(tick)));
    const labels = tickLabels(scale, ticks, pointed);
    context.font = scaled(FONT, ratio);
    context.fillStyle = palette.faint;
    context.textBaseline = "middle";
    context.textAlign = i === 0 ? "right" : "left";
    const room = (i === 0 ? frame.left : SIDE * ratio) - 10 * ratio;
    ticks.forEach((tick, n) => {
      const y = Math.min(Math.max(yOf(tick), frame.top + 2 * ratio), bottom - 2 * ratio);
      const text = minus(cutMiddle(context, labels[n]!, room));
      context.fillText(text, i === 0 ? frame.left - 8 * ratio : right + 8 * ratio, y);
    });
  });
  context.stroke();
}

function tickCount(height: number): number {
  return Math.max(height / TICK_SPACE, Math.min(TICKS_LOW, height / TICK_LEAST));
}

/** What is written at ticks; at those of a normalised axis the values of the PV that is pointed at, if there is one. */
function tickLabels(scale: ValueScale, ticks: number[], pointed: Trace | null): string[] {
  const span = pointed && scale.spans?.get(pointed);
  if (span) {
    const to = (y: number) => (span.log ? Math.log10(y) : y);
    const [low, high] = [to(span.range[0]), to(span.range[1])];
    const values = ticks.map((tick) => low + tick * (high - low));
    return span.log ? values.map((value) => (10 ** value).toPrecision(2)) : valueLabels(values);
  }
  if (scale.spans) return percents(ticks);
  return scale.log ? logLabels(ticks) : valueLabels(ticks);
}

/** A band over all panes, with its edges. */
function drawMarked(
  context: CanvasRenderingContext2D,
  { from, to }: Range,
  { range, palette }: Scene,
  place: Place,
  ratio: number,
): void {
  if (to < range.from || from > range.to) return;
  const xOf = (at: number) =>
    Math.round((place.left + Math.min(Math.max(partOf(at, range), 0), 1) * place.width) * ratio);
  const [x0, x1] = [xOf(from), xOf(to)];
  const [top, height] = [FLAGS * ratio, (place.bottom - FLAGS) * ratio];
  context.fillStyle = palette.accent;
  context.globalAlpha = MARKED_SHADE;
  context.fillRect(x0, top, Math.max(x1 - x0, ratio), height);
  context.globalAlpha = MARKED_EDGE;
  for (const [x, at] of [
    [x0, from],
    [x1, to],
  ] as const)
    if (at >= range.from && at <= range.to) context.fillRect(x, top, ratio, height);
  context.globalAlpha = 1;
}

/** The letter of a pane, and above each axis what it measures. */
function drawTitle(frame: Frame, pane: Pane, palette: Palette): void {
  const { context, ratio } = frame;
  const y = frame.top - 11 * ratio;
  const side = 15 * ratio;
  context.fillStyle = palette.track;
  context.fillRect(frame.left, y - side / 2, side, side);
  context.font = scaled(BOLD, ratio);
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillStyle = palette.faint;
  context.fillText(pane.letter, frame.left + side / 2, y + ratio / 2);
  const room = frame.width / 2 - 24 * ratio;
  pane.scales.forEach((scale, i) => {
    context.fillStyle = palette.text;
    context.textAlign = i === 0 ? "left" : "right";
    const x = i === 0 ? frame.left + 22 * ratio : frame.left + frame.width;
    context.fillText(cutMiddle(context, titleOf(scale), room), x, y);
  });
}

/** Lines at the limits that its IOC gives, with their names at the right end. */
function drawLimits(frame: Frame, trace: Trace, scale: Reach, palette: Palette): void {
  const { context, ratio } = frame;
  const yOf = mapper(frame, scale);
  const { warning, alarm } = trace.metadata ?? {};
  const limits = [
    [wordOf.hihi, alarm?.high],
    [wordOf.high, warning?.high],
    [wordOf.low, warning?.low],
    [wordOf.lolo, alarm?.low],
  ] as const;
  context.strokeStyle = palette.faint;
  context.fillStyle = palette.weak;
  context.font = scaled(FONT, ratio);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  context.lineWidth = ratio;
  context.setLineDash([2 * ratio, 4 * ratio]);
  for (const [name, value] of limits) {
    if (value == null || value < scale.range[0] || value > scale.range[1]) continue;
    const y = Math.round(yOf(value));
    context.beginPath();
    context.moveTo(frame.left, y);
    context.lineTo(frame.left + frame.width, y);
    context.stroke();
    context.fillText(
      `${name} ${value} ${unitsOf(trace)}`.trim(),
      frame.left + frame.width - 6 * ratio,
      y - 2 * ratio,
    );
  }
  context.setLineDash([]);
}

function drawDots(
  context: CanvasRenderingContext2D,
  scene: Scene,
  place: Place,
  at: number,
  x: number,
  ratio: number,
): void {
  for (const { pane, top, height } of place.panes) {
    const box = {
      left: place.left * ratio,
      top: top * ratio,
      width: place.width * ratio,
      height: height * ratio,
    };
    const frame = frameOf(context, box, scene.range, ratio);
    for (const scale of pane.scales) {
      for (const trace of scale.traces) {
        const value = drawnAt(trace, at, scene.known);
        if (value === null) continue;
        const y = mapper(frame, reachFor(scale, trace))(value);
        if (y < frame.top || y > frame.top + frame.height) continue;
        context.beginPath();
        context.arc(x * ratio, y, 4 * ratio, 0, 2 * Math.PI);
        context.fillStyle = scene.palette.trace(trace.colour).stroke;
        context.fill();
        context.lineWidth = 1.5 * ratio;
        context.strokeStyle = scene.palette.back;
        context.stroke();
      }
    }
  }
}

/** Where the line of a trace is at a moment; none where none is drawn. */
export function drawnAt(trace: Trace, at: number, known: number): number | null {
  const reading = readingAt(trace, at);
  if (reading.value === undefined || reading.gaps.length > 0 || at > knownUntil(trace, known)) return null;
  const value = Number.isFinite(reading.mean) && reading.count > 1 ? reading.mean : reading.value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return lineOf(trace, known).y.find((y) => Number.isFinite(y)) === undefined ? null : Number(value);
}

function drawTimes(context: CanvasRenderingContext2D, scene: Scene, place: Place, ratio: number): void {
  const { palette, zone, range } = scene;
  const ticks = timeTicks(range, Math.max(2, place.width / TIME_SPACE), zone);
  const labels = timeLabels(ticks, zone);
  context.font = scaled(FONT, ratio);
  context.fillStyle = palette.faint;
  context.textBaseline = "middle";
  let end = -Infinity;
  let dateEnd = -Infinity;
  const most = place.across * ratio;
  const write = (text: string, x: number, y: number, from: number): number => {
    const width = context.measureText(text).width;
    const left = Math.min(Math.max(x - width / 2, 2 * ratio), most - width - 2 * ratio);
    if (left < from) return from;
    context.textAlign = "left";
    context.fillText(text, left, y * ratio);
    return left + width + 8 * ratio;
  };
  ticks.forEach((tick, i) => {
    const x = (place.left + partOf(tick, range) * place.width) * ratio;
    const [clock, date] = labels[i]!.split("\n") as [string, string | undefined];
    end = write(clock, x, 10, end);
    if (date !== undefined) dateEnd = write(date, x, 25, dateEnd);
  });
  const isBrowsers = zoneName(range.to, zone) === zoneName(range.to, "local");
  if (!isBrowsers) {
    context.textAlign = "right";
    const name = zoneName(range.to, zone);
    const x = (place.left + place.width) * ratio;
    if (dateEnd < x - context.measureText(name).width) context.fillText(name, x, 25 * ratio);
  }
}

function scaled(font: string, ratio: number): string {
  return font.replace("11px", `${11 * ratio}px`);
}

function minus(text: string): string {
  return text.replace(/^-/, "−");
}

/** Plain where nobody knows yet: behind the last answer of an archiver that is silent. */
function drawSilence(frame: Frame, { known, silent, palette }: Scene): void {
  if (!silent) return;
  const from = frame.xOf(known);
  const { context, ratio } = frame;
  const width = frame.left + frame.width - from;
  context.fillStyle = palette.track;
  context.fillRect(from, frame.top, width, frame.height);
  context.font = scaled(FONT, ratio);
  if (width < context.measureText(plotWords.notKnown).width + 16 * ratio) return;
  context.fillStyle = palette.weak;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(plotWords.notKnown, from + width / 2, frame.top + frame.height / 2);
}
