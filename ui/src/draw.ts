// Drawing traces on a canvas: gaps hatched, bands of min..max, lines, dots where samples can be told apart.

import type { Bins } from "./decode.ts";
import type { Line } from "./line.ts";
import type { Palette } from "./style.ts";
import type { Range } from "./state.ts";
import { lineOf, sampleParts, type Trace } from "./trace.ts";

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
  xOf(x: number): number;
}

/** Pixels beyond the frame to which coordinates are cut: canvases misdraw very long lines. */
const BEYOND = 4000;

export function frameOf(
  context: CanvasRenderingContext2D,
  box: { left: number; top: number; width: number; height: number },
  range: Range,
  ratio: number,
): Frame {
  const scale = box.width / (range.to - range.from);
  const xOf = (x: number) => {
    const at = (x - range.from) * scale;
    return box.left + Math.min(Math.max(at, -BEYOND), box.width + BEYOND);
  };
  return { ...box, context, ratio, range, xOf };
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

/** Hatches a stretch of time: nobody recorded. */
export function hatch(frame: Frame, from: number, to: number, colour: string): void {
  const { context, ratio, top, height } = frame;
  const x0 = frame.xOf(from);
  const x1 = Math.max(frame.xOf(Math.min(to, frame.range.to)), x0 + 2 * ratio);
  if (x1 < frame.left || x0 > frame.left + frame.width) return;
  const step = HATCH_STEP * ratio * Math.SQRT2;
  context.save();
  context.beginPath();
  context.rect(x0, top, x1 - x0, height);
  context.clip();
  context.globalAlpha = 0.55;
  context.strokeStyle = colour;
  context.lineWidth = ratio;
  context.beginPath();
  // Counted from the frame's corner, not the stretch's, so that neighbouring stretches join.
  const first = Math.floor((x0 - frame.left - height) / step) * step + frame.left;
  for (let x = first; x < x1; x += step) {
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
  if (trace.look.line !== "points") drawLine(frame, lineOf(trace, look.until), look);
  context.setLineDash([]);
  drawDots(frame, trace, look);
  context.globalAlpha = 1;
}

const TRACE_WIDTH = 1.5;
const POINTED_WIDTH = 2.5;

/** A bin that reaches so many CSS pixels beyond both its neighbours is a spike: drawn as strongly as the line. */
const SPIKE = 6;

/** Every bin is at least a pixel wide and high: no spike is too short to be seen. */
function drawBand(frame: Frame, bins: Bins, look: TraceLook, colour: string): void {
  const { context, ratio } = frame;
  const [band, spikes] = [new Columns(), new Columns()];
  const top = (i: number) => (bins.count[i]! > 0 ? look.yOf(bins.max[i]!) : Infinity);
  const bottom = (i: number) => (bins.count[i]! > 0 ? look.yOf(bins.min[i]!) : -Infinity);
  const most = bins.count.length - 1;
  for (let i = 0; i <= most; i++) {
    if (bins.count[i]! < 2 || !(bins.max[i]! > bins.min[i]!)) continue;
    const x0 = Math.round(frame.xOf(bins.start[i]!));
    const x1 = Math.max(Math.round(frame.xOf(bins.end[i]!)), x0 + 1);
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
  band.fill(context);
  context.globalAlpha = alpha;
  spikes.fill(context);
}

/**
 * Rectangles from left to right. Those that overlap become one, or what shines through would be covered twice; those that touch are filled
 * as one outline, because a thousand rectangles take a canvas four times as long, and a path of them a hundred times.
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

  fill(context: CanvasRenderingContext2D): void {
    const { sides } = this;
    for (let from = 0; from < sides.length;) {
      let to = from + 4;
      while (to < sides.length && sides[to] === sides[to - 3]) to += 4;
      if (to === from + 4)
        context.fillRect(
          sides[from]!,
          sides[from + 2]!,
          sides[from + 1]! - sides[from]!,
          sides[from + 3]! - sides[from + 2]!,
        );
      else this.fillRun(context, from, to);
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

function drawLine(frame: Frame, line: Line, look: TraceLook): void {
  const { context } = frame;
  context.beginPath();
  let isDown = false;
  for (let i = 0; i < line.x.length; i++) {
    const y = line.y[i]!;
    if (Number.isNaN(y)) {
      isDown = false;
      continue;
    }
    const px = frame.xOf(line.x[i]!);
    const py = look.yOf(y);
    if (isDown) {
      context.lineTo(px, py);
    } else {
      context.moveTo(px, py);
      // A point without a neighbour still leaves a mark, one line width wide.
      context.lineTo(px + 0.01, py);
      isDown = true;
    }
  }
  context.lineCap = "round";
  context.stroke();
}

/** Dots at samples that stand at least this many CSS pixels apart on average; ringed by their alarm. */
const DOT_SPACE = 7;

function drawDots(frame: Frame, trace: Trace, look: TraceLook): void {
  const isPoints = trace.look.line === "points";
  if (isPoints && trace.history?.bins) drawMeans(frame, trace.history.bins, look);
  // Behind bins the live samples are few at first: dots there would come and go.
  if (trace.history?.bins && !isPoints) return;
  const { context, ratio } = frame;
  const parts = sampleParts(trace);
  let count = 0;
  for (const { x } of parts) for (const at of x) if (at >= frame.range.from && at <= frame.range.to) count++;
  if (count === 0 || (count * DOT_SPACE * ratio > frame.width && !isPoints)) return;
  const { stroke } = look.palette.trace(trace.colour);
  for (const samples of parts) {
    for (let i = 0; i < samples.x.length; i++) {
      const y = samples.y[i]!;
      if (!Number.isFinite(y) || samples.x[i]! < frame.range.from) continue;
      const severity = Math.min(samples.severity[i]!, 4);
      context.beginPath();
      context.arc(frame.xOf(samples.x[i]!), look.yOf(y), (look.strong ? 3.4 : 2.4) * ratio, 0, 2 * Math.PI);
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
  for (let i = 0; i < bins.count.length; i++) {
    if (!(bins.count[i]! > 0) || !Number.isFinite(bins.mean[i]!)) continue;
    const x = frame.xOf((bins.start[i]! + bins.end[i]!) / 2);
    context.fillRect(x - ratio, look.yOf(bins.mean[i]!) - ratio, 2 * ratio, 2 * ratio);
  }
}
