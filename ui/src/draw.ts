// Drawing traces on a canvas: gaps hatched, bands of min..max, lines, dots where samples can be told apart.

import type { Bins } from "./decode.ts";
import type { Reach } from "./panes.ts";
import { lastAtOrBefore } from "./rows.ts";
import type { Palette } from "./style.ts";
import type { Range } from "./state.ts";
import { SvgContext } from "./svg.ts";
import { lineWithin, sampleParts, type Trace } from "./trace.ts";

/** Where a trace is drawn: canvas pixels of times and values. */
export interface Frame {
  context: CanvasRenderingContext2D;
  left: number;
  top: number;
  width: number;
  height: number;
  /** Canvas pixels per CSS pixel. */
  ratio: number;
  range: Range;
  /** Canvas pixels per second. */
  scale: number;
  /** The times of which anything may be seen: what is drawn at a moment reaches to its sides. */
  drawn: Range;
  /** From where hatching is counted: it moves with the times, as what is hatched does. */
  origin: number;
  /** It is written down, where few outlines are better than many rectangles, which a canvas paints faster. */
  isWritten: boolean;
  xOf(x: number): number;
}

/** Pixels beyond the frame at which lines are cut, and to which sides of areas are moved: canvases misdraw what is very long. */
const BEYOND = 4000;

/** No line is drawn by values farther away, or its slope could not be reckoned. */
const FAR = 1e9;

/** Dashes begin anew after a stretch of time of about so many CSS pixels. */
const DASHES = 192;

/** A canvas takes for a path about the square of its lines. One is drawn in so many pieces for each of what dashes have. */
const PIECES = 8;

/** Hatching is counted from a moment at most about so many pixels away: farther off a float tells no parts of a pixel. */
const COUNTED = 2 ** 18;

/** What is drawn at a moment reaches so many CSS pixels to its sides: dots, caps of lines, the least width of a gap. */
const REACH = 8;

/** Steps nearer than so many CSS pixels are filled one by one: as lines of a path they take ten times as long. */
const NEAR = REACH;

/** A line that goes so few CSS pixels along and so many up or down looks like a step. */
const [STEEP_WIDTH, STEEP_HEIGHT] = [1.5, 8];

export function frameOf(
  context: CanvasRenderingContext2D,
  box: { left: number; top: number; width: number; height: number },
  range: Range,
  ratio: number,
  scale = box.width / (range.to - range.from),
): Frame {
  const xOf = (x: number) => {
    const at = (x - range.from) * scale;
    return box.left + Math.min(Math.max(at, -BEYOND), box.width + BEYOND);
  };
  const counted = range.from - roundBefore(range.from, COUNTED / scale);
  const origin = box.left - ((counted * scale) % hatchStep(ratio));
  const timeOf = (px: number) => range.from + (px - box.left) / scale;
  const [from, to] = [box.left - REACH * ratio, box.left + box.width + REACH * ratio];
  const drawn = { from: timeOf(from), to: timeOf(to) };
  const isWritten = context instanceof SvgContext;
  return { ...box, context, ratio, range, scale, drawn, origin, isWritten, xOf };
}

/** The newest moment, not after one, of those that follow each other in about so many seconds: the same for all who ask near by. */
function roundBefore(at: number, seconds: number): number {
  // Powers of two are exact, and the same for scales that differ by no more than floats do.
  const step = 2 ** Math.round(Math.log2(seconds));
  return Math.floor(at / step) * step;
}

/** From where on dashes are drawn that are the same in each frame of such a scale, whatever is known of the time before. */
export function dashesFrom({ drawn, scale, ratio }: Frame): number {
  return roundBefore(drawn.from, dashSeconds(scale, ratio));
}

function dashSeconds(scale: number, ratio: number): number {
  return 2 ** Math.round(Math.log2((DASHES * ratio) / scale));
}

/** Where values of an axis are, within a frame or beyond it. */
export function mapper(frame: Frame, scale: Reach): (y: number) => number {
  const toScale = scale.log ? (y: number) => Math.log10(Math.max(y, 1e-300)) : (y: number) => y;
  const [low, high] = scale.range.map(toScale) as [number, number];
  const perUnit = frame.height / (high - low);
  const bottom = frame.top + frame.height;
  return (y) => Math.min(Math.max(bottom - (toScale(y) - low) * perUnit, -FAR), FAR);
}

/** The same, but no farther off than areas and dots are drawn. */
function nearby({ top, height }: Frame, yOf: (y: number) => number): (y: number) => number {
  return (y) => Math.min(Math.max(yOf(y), top - BEYOND), top + height + BEYOND);
}

/** Draws within the frame only. */
export function clipped(frame: Frame, draw: () => void): void {
  const { context } = frame;
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  draw();
  context.restore();
}

const HATCH_STEP = 6;

function hatchStep(ratio: number): number {
  return HATCH_STEP * ratio * Math.SQRT2;
}

/** Hatches a stretch of time: nobody recorded. */
export function hatch(frame: Frame, from: number, to: number, colour: string): void {
  const { context, ratio, top, height } = frame;
  const x0 = frame.xOf(from);
  const x1 = Math.max(frame.xOf(Math.min(to, frame.range.to)), x0 + 2 * ratio);
  if (x1 < frame.left || x0 > frame.left + frame.width) return;
  const step = hatchStep(ratio);
  context.save();
  context.beginPath();
  context.rect(x0, top, x1 - x0, height);
  context.clip();
  context.globalAlpha = 0.55;
  context.strokeStyle = colour;
  context.lineWidth = ratio;
  context.beginPath();
  // Counted from one place for all, so that neighbouring stretches join, and only where it is seen.
  const seen = Math.max(x0, frame.xOf(frame.drawn.from));
  const first = Math.floor((seen - frame.origin - height) / step) * step + frame.origin;
  const end = Math.min(x1, frame.xOf(frame.drawn.to));
  for (let x = first; x < end; x += step) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

export interface TraceLook {
  yOf(y: number): number;
  strong: boolean;
  palette: Palette;
  /** Up to when its newest value holds. */
  until: number;
  /** Another trace is pointed at. */
  dimmed: boolean;
  /** Its samples stand so far apart that each has a dot. */
  dotted: boolean;
}

const DIMMED = 0.35;
const ENVELOPE = 0.22;

/** Draws one trace: band, line and dots. */
export function drawTrace(frame: Frame, trace: Trace, look: TraceLook): void {
  const { context, ratio } = frame;
  const { stroke, dash } = look.palette.trace(trace.colour);
  const alpha = look.dimmed ? DIMMED : 1;
  const width = trace.look.width ?? TRACE_WIDTH;
  context.globalAlpha = alpha;
  if (trace.history?.bins) drawBand(frame, trace.history.bins, look, stroke);
  context.strokeStyle = stroke;
  context.fillStyle = stroke;
  context.lineWidth = (look.strong ? Math.max(POINTED_WIDTH, width) : width) * ratio;
  // At this width round joins look the same and take a third longer.
  context.lineJoin = "bevel";
  context.setLineDash(dash.map((length) => length * ratio));
  if (trace.look.line !== "points") drawLine(frame, trace, look, dash);
  context.setLineDash([]);
  drawDots(frame, trace, look);
  context.globalAlpha = 1;
}

const TRACE_WIDTH = 1.5;
const POINTED_WIDTH = 2.5;

/** A bin that reaches so many CSS pixels beyond both its neighbours is a spike: drawn as strongly as the line. */
const SPIKE = 6;

/** The nearest whole pixel; of two as near the same one, wherever the drawing begins. */
function whole(x: number): number {
  return Math.floor(x + 0.501);
}

/** Every bin is at least a pixel wide and high: no spike is too short to be seen. */
function drawBand(frame: Frame, bins: Bins, look: TraceLook, colour: string): void {
  const { context, ratio } = frame;
  const [band, spikes] = [new Columns(), new Columns()];
  const yOf = nearby(frame, look.yOf);
  const top = (i: number) => (bins.count[i]! > 0 ? yOf(bins.max[i]!) : Infinity);
  const bottom = (i: number) => (bins.count[i]! > 0 ? yOf(bins.min[i]!) : -Infinity);
  const most = bins.count.length - 1;
  for (let i = firstOf(bins, frame); i <= most && bins.start[i]! <= frame.drawn.to; i++) {
    if (!(bins.count[i]! > 0) || !(bins.min[i]! <= bins.max[i]!)) continue;
    const x0 = whole(frame.xOf(bins.start[i]!));
    const x1 = Math.max(whole(frame.xOf(bins.end[i]!)), x0 + 1);
    if (x1 < frame.left || x0 > frame.left + frame.width) continue;
    const [high, low] = [top(i), bottom(i)];
    const [before, after] = [Math.max(i - 1, 0), Math.min(i + 1, most)];
    const beyond = Math.max(
      Math.min(top(before), top(after)) - high,
      low - Math.max(bottom(before), bottom(after)),
    );
    const isSpike = Number.isFinite(beyond) && beyond > SPIKE * ratio;
    (isSpike ? spikes : band).add(x0, x1, high, Math.max(low, high + ratio));
  }
  context.fillStyle = colour;
  const alpha = look.dimmed ? DIMMED : 1;
  context.globalAlpha = ENVELOPE * alpha;
  band.fill(frame);
  context.globalAlpha = alpha;
  spikes.fill(frame);
}

/** The first bin of which anything is to be drawn, and one more for what is drawn by its neighbours. */
function firstOf(bins: Bins, frame: Frame): number {
  return Math.max(0, lastAtOrBefore(bins.start, frame.drawn.from) - 1);
}

/**
 * Rectangles from left to right. Those that overlap become one, or what shines through would be covered twice. A canvas fills them one by one:
 * as one outline they take ten times as long where they go up and down.
 */
class Columns {
  private sides: number[] = [];

  add(x0: number, x1: number, high: number, low: number): void {
    const { sides } = this;
    const newest = sides.length - 4;
    if (newest >= 0 && x0 < sides[newest + 1]!) {
      sides[newest + 1] = Math.max(sides[newest + 1]!, x1);
      sides[newest + 2] = Math.min(sides[newest + 2]!, high);
      sides[newest + 3] = Math.max(sides[newest + 3]!, low);
    } else {
      sides.push(x0, x1, high, low);
    }
  }

  fill({ context, isWritten }: Frame): void {
    const { sides } = this;
    for (let from = 0; from < sides.length;) {
      let to = from + 4;
      while (isWritten && to < sides.length && sides[to] === sides[to - 3]) to += 4;
      if (to > from + 4) this.fillRun(context, from, to);
      else {
        const [x0, x1, high, low] = [sides[from]!, sides[from + 1]!, sides[from + 2]!, sides[from + 3]!];
        context.fillRect(x0, high, x1 - x0, low - high);
      }
      from = to;
    }
  }

  /** Columns that touch, as one outline: there along their upper ends and back along their lower ones. */
  private fillRun(context: CanvasRenderingContext2D, from: number, to: number): void {
    const { sides } = this;
    context.beginPath();
    context.moveTo(sides[from]!, sides[from + 2]!);
    for (let i = from; i < to; i += 4) {
      context.lineTo(sides[i]!, sides[i + 2]!);
      context.lineTo(sides[i + 1]!, sides[i + 2]!);
    }
    for (let i = to - 4; i >= from; i -= 4) {
      context.lineTo(sides[i + 1]!, sides[i + 3]!);
      context.lineTo(sides[i]!, sides[i + 3]!);
    }
    context.fill();
  }
}

function drawLine(frame: Frame, trace: Trace, look: TraceLook, dash: number[]): void {
  const { drawn } = frame;
  const from = dash.length > 0 ? dashesFrom(frame) : drawn.from;
  const { x, y } = lineWithin(trace, look.until, { from, to: drawn.to });
  const pen = new Pen(frame, dash);
  // From the point before what is to be drawn to the one behind it.
  let first = Math.max(0, lastAtOrBefore(x, from));
  while (first > 0 && x[first]! >= from) first--;
  for (let i = first; i < x.length; i++) {
    if (Number.isNaN(y[i]!)) pen.lift();
    else pen.to(x[i]!, look.yOf(y[i]!));
    if (x[i]! > drawn.to) break;
  }
  pen.end();
}

/**
 * Joins points, however far off they are: what is drawn is cut to the frame and a margin, where lines keep their slopes. Dashes begin anew
 * at moments that are the same in each frame of the scale, so that parts that are drawn one by one fit together.
 */
class Pen {
  private context: CanvasRenderingContext2D;
  private isDown = false;
  /** The path ends where the pen is. */
  private isJoined = false;
  private isEmpty = true;
  private time = 0;
  private x = 0;
  private y = 0;
  /** So long is the line since its dashes began. */
  private length = 0;
  /** Dashes repeat after so many pixels; 0 without dashes. */
  private period: number;
  private step: number;
  /** An opaque line on a canvas may be filled bit by bit; in one that shines through, the places where two bits meet would show. */
  private isInBits: boolean;
  private steps: Steps;
  private left: number;
  private right: number;
  private top: number;
  private bottom: number;

  constructor(
    private frame: Frame,
    dash: number[],
  ) {
    const { context, left, top, width, height, scale, ratio } = frame;
    this.context = context;
    // Of an odd number of lengths dashes and spaces change places once.
    this.period = dash.reduce((sum, length) => sum + length, 0) * ratio * (1 + (dash.length % 2));
    this.step = dashSeconds(scale, ratio);
    this.isInBits = this.period === 0 && context.globalAlpha === 1 && !frame.isWritten;
    this.steps = new Steps(context, NEAR * ratio);
    [this.left, this.right] = [left - BEYOND, left + width + BEYOND];
    [this.top, this.bottom] = [top - BEYOND, top + height + BEYOND];
    context.lineCap = "round";
    context.beginPath();
  }

  lift(): void {
    this.isDown = false;
    this.steps.end();
  }

  to(time: number, y: number): void {
    const x = this.xOf(time);
    if (!this.isDown) {
      this.isDown = true;
      this.isJoined = false;
      this.length = 0;
      [this.x, this.y] = [x, y];
      // A point without a neighbour still leaves a mark, one line width wide.
      this.draw(x + 0.01, y, false);
    } else {
      if (this.period > 0) this.dashed(time, y);
      this.draw(x, y);
      this.cutPath(time);
    }
    this.time = time;
  }

  end(): void {
    this.steps.end();
    if (!this.isEmpty) this.context.stroke();
    this.context.lineDashOffset = 0;
  }

  /** Draws what there is of the path behind a piece: at moments that are the same in each frame, as dashes. */
  private cutPath(time: number): void {
    const seconds = this.step / (this.isInBits ? PIECES : 1);
    if (Math.floor(time / seconds) === Math.floor(this.time / seconds)) return;
    if (this.isEmpty || this.period > 0 || this.frame.isWritten) return;
    this.context.stroke();
    this.context.beginPath();
    this.isEmpty = true;
    this.isJoined = false;
  }

  /** Leaves a line to what fills steps, if it is one; whether it did. */
  private isFilled(x: number, y: number): boolean {
    const within = (y: number) => Math.min(Math.max(y, this.top), this.bottom);
    const [from, to] = [Math.max(this.x, this.left), Math.min(x, this.right)];
    if (from > to) return false;
    if (x === this.x) return this.steps.upright(x, within(this.y), within(y));
    if (y === this.y) return this.steps.level(from, to, within(y));
    const { ratio } = this.frame;
    const isSteep = x - this.x <= STEEP_WIDTH * ratio && Math.abs(y - this.y) >= STEEP_HEIGHT * ratio;
    return isSteep && this.steps.steep(from, to, within(this.y), within(y));
  }

  private xOf(time: number): number {
    const { left, range, scale } = this.frame;
    return left + (time - range.from) * scale;
  }

  /** As far as the newest moment before a point at which dashes begin anew. */
  private dashed(time: number, y: number): void {
    const { step, time: since, y: before } = this;
    const from = Math.max(since, this.frame.drawn.from - 2 * step);
    for (let at = (Math.floor(from / step) + 1) * step; at <= time; at += step) {
      this.draw(this.xOf(at), before + ((at - since) / (time - since)) * (y - before));
      this.length = 0;
      this.isJoined = false;
      if (at > this.frame.drawn.to) break;
    }
  }

  private draw(x: number, y: number, mayFill = this.isInBits): void {
    const [dx, dy] = [x - this.x, y - this.y];
    if (dx === 0 && dy === 0) return;
    if (mayFill && this.isFilled(x, y)) {
      this.isJoined = false;
      [this.x, this.y] = [x, y];
      return;
    }
    this.steps.end();
    const part = this.isWithin(this.x, this.y) && this.isWithin(x, y) ? WHOLE : this.cut(dx, dy);
    const length = this.period > 0 ? Math.sqrt(dx * dx + dy * dy) : 0;
    if (part) {
      if (part.from > 0 || !this.isJoined)
        this.begin(this.x + part.from * dx, this.y + part.from * dy, part.from * length);
      if (part.to === 1) this.context.lineTo(x, y);
      else this.context.lineTo(this.x + part.to * dx, this.y + part.to * dy);
    }
    this.isJoined = part?.to === 1;
    this.length += length;
    [this.x, this.y] = [x, y];
  }

  /** Sets the pen down, so far behind where it was. */
  private begin(x: number, y: number, behind: number): void {
    const { context } = this;
    if (this.period > 0) {
      // One path has its dashes from one place on.
      if (!this.isEmpty) {
        context.stroke();
        context.beginPath();
      }
      context.lineDashOffset = (this.length + behind) % this.period;
    }
    this.isEmpty = false;
    context.moveTo(x, y);
  }

  private isWithin(x: number, y: number): boolean {
    return x >= this.left && x <= this.right && y >= this.top && y <= this.bottom;
  }

  /** The part of a straight line from where the pen is that is to be drawn, from 0 to 1; none if all of it lies beyond. */
  private cut(dx: number, dy: number): { from: number; to: number } | null {
    let [from, to] = [0, 1];
    const sides = [
      [dx, this.left - this.x, this.right - this.x],
      [dy, this.top - this.y, this.bottom - this.y],
    ] as const;
    for (const [by, low, high] of sides) {
      if (by === 0) {
        if (low > 0 || high < 0) return null;
        continue;
      }
      from = Math.max(from, Math.min(low / by, high / by));
      to = Math.min(to, Math.max(low / by, high / by));
    }
    return from < to ? { from, to } : null;
  }
}

const WHOLE = { from: 0, to: 1 };

/** Lines that go up, down or along, near each other: filled one by one, those of one column of pixels together. */
class Steps {
  private halfWidth: number;
  /** Where the line went straight up or down last. */
  private turned = -Infinity;
  /** What goes up and down in a column of pixels. */
  private column = { is: false, from: 0, to: 0, high: 0, low: 0 };
  /** What goes along since then. */
  private run = { is: false, from: 0, to: 0, y: 0 };

  constructor(
    private context: CanvasRenderingContext2D,
    private near: number,
  ) {
    this.halfWidth = context.lineWidth / 2;
  }

  /** Takes a line that goes up or down; not if the one before it is far. */
  upright(x: number, y0: number, y1: number): boolean {
    const isNear = x - this.turned < this.near;
    this.turned = x;
    if (!isNear) return false;
    const { column, run } = this;
    const [high, low] = [Math.min(y0, y1), Math.max(y0, y1)];
    // What goes along between two that are filled is covered by these, if they touch.
    if (run.is && !(column.is && run.to - run.from <= 2 * this.halfWidth)) this.fillRun();
    run.is = false;
    if (column.is && Math.floor(x) === Math.floor(column.from)) {
      column.to = x;
      column.high = Math.min(column.high, high);
      column.low = Math.max(column.low, low);
      return true;
    }
    this.fillColumn();
    this.column = { is: true, from: x, to: x, high, low };
    return true;
  }

  /** Takes a line that goes along; not if it is long. */
  level(from: number, to: number, y: number): boolean {
    if (to - this.turned >= this.near) return false;
    if (this.run.is) this.run.to = to;
    else this.run = { is: true, from, to, y };
    return true;
  }

  /** Takes a line that goes hardly along, but up or down: as a step in its middle. */
  steep(from: number, to: number, y0: number, y1: number): boolean {
    const middle = (from + to) / 2;
    this.level(from, middle, y0);
    if (!this.upright(middle, y0, y1)) return false;
    return this.level(middle, to, y1);
  }

  /** Another line follows, or none. */
  end(): void {
    this.fillColumn();
    if (this.run.is) this.fillRun();
    this.column.is = this.run.is = false;
  }

  private fillColumn(): void {
    const { column, halfWidth, context } = this;
    if (!column.is) return;
    const [width, height] = [column.to - column.from, column.low - column.high];
    context.fillRect(
      column.from - halfWidth,
      column.high - halfWidth,
      width + 2 * halfWidth,
      height + 2 * halfWidth,
    );
  }

  private fillRun(): void {
    const { run, halfWidth, context } = this;
    context.fillRect(run.from, run.y - halfWidth, run.to - run.from, 2 * halfWidth);
  }
}

/** Dots at samples that stand at least this many CSS pixels apart on average; ringed by their alarm. */
const DOT_SPACE = 7;

/** Whether samples are so far apart that they are dotted. */
export function isDotted(frame: Frame, trace: Trace): boolean {
  const isPoints = trace.look.line === "points";
  // Behind bins the live samples are few at first: dots there would come and go.
  if (trace.history?.bins && !isPoints) return false;
  let count = 0;
  for (const { x } of sampleParts(trace))
    count += lastAtOrBefore(x, frame.range.to) - lastAtOrBefore(x, frame.range.from);
  return count > 0 && (count * DOT_SPACE * frame.ratio <= frame.width || isPoints);
}

function drawDots(frame: Frame, trace: Trace, look: TraceLook): void {
  if (trace.look.line === "points" && trace.history?.bins) drawMeans(frame, trace.history.bins, look);
  if (!look.dotted) return;
  const { context, ratio, drawn } = frame;
  const yOf = nearby(frame, look.yOf);
  const { stroke } = look.palette.trace(trace.colour);
  for (const samples of sampleParts(trace)) {
    for (let i = Math.max(0, lastAtOrBefore(samples.x, drawn.from)); i < samples.x.length; i++) {
      const y = samples.y[i]!;
      if (samples.x[i]! > drawn.to) break;
      if (!Number.isFinite(y)) continue;
      const severity = Math.min(samples.severity[i]!, 4);
      context.beginPath();
      context.arc(frame.xOf(samples.x[i]!), yOf(y), (look.strong ? 3.4 : 2.4) * ratio, 0, 2 * Math.PI);
      context.fillStyle = severity > 0 ? look.palette.alarms[severity]! : stroke;
      context.fill();
      if (severity === 0) continue;
      context.lineWidth = ratio;
      context.strokeStyle = stroke;
      context.stroke();
    }
  }
}

/** Of bins a point each, where there are to be points alone. */
function drawMeans(frame: Frame, bins: Bins, look: TraceLook): void {
  const { context, ratio } = frame;
  const yOf = nearby(frame, look.yOf);
  for (let i = firstOf(bins, frame); i < bins.count.length && bins.start[i]! <= frame.drawn.to; i++) {
    if (!(bins.count[i]! > 0) || !Number.isFinite(bins.mean[i]!)) continue;
    const x = frame.xOf((bins.start[i]! + bins.end[i]!) / 2);
    context.fillRect(x - ratio, yOf(bins.mean[i]!) - ratio, 2 * ratio, 2 * ratio);
  }
}
