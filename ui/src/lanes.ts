// The lanes below the plot: one strip per PV with its alarms, its gaps and, for texts, its values.

import { cutEnd, cutMiddle } from "./cut.ts";
import { causeText, severityName } from "./decode.ts";
import { clipped, frameOf, hatch, type Frame } from "./draw.ts";
import type { Scene } from "./plot.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { gapsAt, knownUntil, runsOf, type Run, type Trace } from "./trace.ts";

const THIN = 10;
const TALL = 24;
const SPACE = 4;

/** Lines up with the plotting area: `left` and `width` are its in CSS pixels. */
export class Lanes {
  private canvas = document.createElement("canvas");
  private scene: Scene | null = null;
  private area = { left: 0, width: 0 };
  private cursor: number | null = null;

  constructor(
    private root: HTMLElement,
    private hint: (text: string | null, x: number) => void,
    moved: (at: number | null) => void,
  ) {
    root.append(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => {
      const at = this.timeAt(event.offsetX);
      moved(at);
      this.hint(at === null ? null : this.describe(event.offsetY, at), event.offsetX);
    });
    this.canvas.addEventListener("pointerleave", () => {
      moved(null);
      this.hint(null, 0);
    });
  }

  /** Draws the lanes, and the plot's cursor in them too. */
  show(scene: Scene, area: { left: number; width: number }, cursor: number | null): void {
    this.scene = scene;
    this.area = area;
    this.cursor = cursor;
    this.draw();
  }

  private timeAt(x: number): number | null {
    const scene = this.scene;
    const part = (x - this.area.left) / this.area.width;
    if (!scene || part < 0 || part > 1) return null;
    return scene.range.from + part * (scene.range.to - scene.range.from);
  }

  private draw(): void {
    const scene = this.scene;
    const context = this.canvas.getContext("2d");
    if (!scene || !context) return;
    const ratio = devicePixelRatio;
    const shown = scene.traces.filter((trace) => !trace.hidden);
    const height = shown.reduce((sum, trace) => sum + laneHeight(trace) + SPACE, 0);
    const width = this.root.clientWidth;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    let top = 0;
    for (const trace of shown) {
      const box = {
        left: this.area.left * ratio,
        top: top * ratio,
        width: this.area.width * ratio,
        height: laneHeight(trace) * ratio,
      };
      drawLane(frameOf(context, box, scene.range, ratio), trace, scene);
      top += laneHeight(trace) + SPACE;
    }
    this.drawCursor(context, ratio, scene);
  }

  private drawCursor(context: CanvasRenderingContext2D, ratio: number, scene: Scene): void {
    const at = this.cursor ?? scene.pinned;
    if (at === null || at < scene.range.from || at > scene.range.to) return;
    const part = (at - scene.range.from) / (scene.range.to - scene.range.from);
    context.fillStyle = scene.palette.text;
    context.fillRect(
      Math.round((this.area.left + part * this.area.width) * ratio),
      0,
      Math.max(1, Math.round(ratio)),
      this.canvas.height,
    );
  }

  /** What stands under the mouse, in words. */
  private describe(y: number, at: number): string | null {
    const scene = this.scene!;
    let top = 0;
    for (const trace of scene.traces.filter((trace) => !trace.hidden)) {
      const height = laneHeight(trace) + SPACE;
      if (y < top + height) return describeAt(trace, at, scene);
      top += height;
    }
    return null;
  }
}

function laneHeight(trace: Trace): number {
  return trace.kind === "text" ? TALL : THIN;
}

function drawLane(frame: Frame, trace: Trace, scene: Scene): void {
  const { context, ratio } = frame;
  const { palette } = scene;
  const { stroke } = palette.trace(trace.colour);
  context.fillStyle = stroke;
  context.font = `${11 * ratio}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const room = frame.left - 8 * ratio;
  context.fillText(cutMiddle(context, trace.name, room), room, frame.top + frame.height / 2);
  context.textAlign = "left";
  context.fillStyle = palette.track;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  clipped(frame, () => {
    let nth = 0;
    for (const run of runsOf(trace, Math.min(knownUntil(trace, scene.known), scene.range.to))) {
      if (run.to >= scene.range.from && run.from <= scene.range.to) drawRun(frame, run, nth, scene, stroke);
      nth++;
    }
    trace.holes.from.forEach((from, i) => {
      const to = Math.min(trace.holes.to[i]!, scene.known);
      context.fillStyle = palette.back;
      context.fillRect(frame.xOf(from), frame.top, frame.xOf(to) - frame.xOf(from), frame.height);
      hatch(frame, from, to, palette.text, 0, 1);
    });
  });
}

function drawRun(frame: Frame, run: Run, nth: number, scene: Scene, stroke: string): void {
  const { context, ratio } = frame;
  const x0 = Math.max(frame.xOf(run.from), frame.left);
  const width = Math.max(Math.min(frame.xOf(run.to), frame.left + frame.width) - x0, 2 * ratio);
  if (run.text !== null) {
    context.globalAlpha = nth % 2 === 0 ? 0.16 : 0.28;
    context.fillStyle = stroke;
    context.fillRect(x0, frame.top, width, frame.height);
    context.globalAlpha = 1;
    context.fillRect(x0, frame.top, ratio, frame.height);
  }
  if (run.severity > 0) {
    context.fillStyle = scene.palette.alarms[Math.min(run.severity, 4)]!;
    const height = run.text === null ? frame.height : 4 * ratio;
    context.fillRect(x0, frame.top + frame.height - height, width, height);
  }
  if (run.text !== null && width > 24 * ratio) {
    context.fillStyle = scene.palette.text;
    context.fillText(
      cutEnd(context, run.text, width - 8 * ratio),
      x0 + 5 * ratio,
      frame.top + frame.height / 2,
    );
  }
}

function describeAt(trace: Trace, at: number, scene: Scene): string {
  const gap = gapsAt(trace, at)[0];
  if (gap) return `${trace.name}: ${gapText(gap, { zone: scene.zone, now: scene.known })}`;
  const run = runsOf(trace, scene.known).find((run) => run.from <= at && at < run.to);
  if (!run) return `${trace.name}: no samples`;
  const clock = (x: number) => formatTime(x, scene.zone, 0).slice(11);
  const text = run.text === null ? "" : ` “${run.text}”`;
  return `${trace.name}:${text} ${severityName(run.severity)} ${clock(run.from)} – ${clock(run.to)}`;
}

/** A gap in words: cause, extent and what is known to be lost. */
export function gapText(
  gap: { from: number; to: number; cause: string; lost: number },
  scene: { zone: Zone; now: number },
): string {
  const from = formatTime(gap.from, scene.zone, 0);
  const length = formatDuration(Math.max(0, Math.min(gap.to, scene.now) - gap.from));
  const extent =
    gap.to === Infinity
      ? `since ${from} (${length})`
      : `${from} – ${formatTime(gap.to, scene.zone, 0)} (${length})`;
  const lost = gap.lost > 0 ? `, ${gap.lost} samples lost` : "";
  return `${causeText(gap.cause)}, ${extent}${lost}`;
}
