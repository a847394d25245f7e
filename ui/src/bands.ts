// Bands: states and texts as strips with their names, alarms as rugs under the panes or as a lane for each PV.

import { cutEnd, cutMiddle } from "./cut.ts";
import { causeText, severityName } from "./decode.ts";
import { clipped, hatch, type Frame } from "./draw.ts";
import type { Scene } from "./plot.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { gapsAt, knownUntil, MANY, runsOf, type Run, type Trace } from "./trace.ts";

/** The heights of a band and of a lane of alarms, in CSS pixels. */
export const BAND = 20;
export const LANE = 12;

/** How strongly a band is coloured, by the state's name: neighbours differ. */
const SHADES = [0.3, 0.12, 0.2, 0.38];

/** The stretches of a trace that are in sight, as far as they are known. */
function runsIn(trace: Trace, scene: Scene): Run[] {
  const until = Math.min(knownUntil(trace, scene.known), scene.range.to);
  return runsOf(trace, until).filter((run) => run.to >= scene.range.from && run.from <= scene.range.to);
}

/** A rug: the worst severity of the PVs of a pane at each moment. */
export function drawRug(frame: Frame, traces: Trace[], scene: Scene): void {
  const { context } = frame;
  context.fillStyle = scene.palette.track;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  const runs = traces.flatMap((trace) =>
    outside(
      trace,
      runsIn(trace, scene).filter((run) => run.severity > 0),
    ),
  );
  runs.sort((a, b) => rankOf(a.severity) - rankOf(b.severity));
  for (const run of runs) alarm(frame, run, frame.top, frame.height, scene);
}

/** What of alarms is not within gaps: of these nobody knows. */
function outside({ holes }: Trace, runs: Run[]): Run[] {
  if (holes.from.length === 0) return runs;
  return runs.flatMap((run) => {
    const parts: Run[] = [];
    let { from } = run;
    holes.from.forEach((hole, i) => {
      if (hole >= run.to || holes.to[i]! <= from) return;
      if (hole > from) parts.push({ ...run, from, to: hole });
      from = holes.to[i]!;
    });
    return from < run.to ? [...parts, { ...run, from }] : parts;
  });
}

/** Undefined is known to be no alarm of the machine's: it counts least. */
function rankOf(severity: number): number {
  return severity === 4 ? 0.5 : severity;
}

/** A lane of one PV's alarms, with its name. */
export function drawLane(frame: Frame, trace: Trace, scene: Scene): void {
  name(frame, trace, scene);
  const { context } = frame;
  context.fillStyle = scene.palette.track;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  for (const run of runsIn(trace, scene))
    if (run.severity > 0) alarm(frame, run, frame.top, frame.height, scene);
  holes(frame, trace, scene);
}

/** A band of one PV's states or texts. */
export function drawBand(frame: Frame, trace: Trace, scene: Scene, isNamed = true): void {
  if (isNamed) name(frame, trace, scene);
  const { context, ratio } = frame;
  const { palette } = scene;
  const { stroke } = palette.trace(trace.colour);
  const isDimmed = scene.pointed !== null && scene.pointed !== trace;
  const names = new Map<string, number>();
  context.fillStyle = palette.track;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  clipped(frame, () => {
    for (const run of runsIn(trace, scene)) {
      const x0 = Math.max(frame.xOf(run.from), frame.left);
      const width = Math.max(Math.min(frame.xOf(run.to), frame.left + frame.width) - x0, ratio);
      if (run.text !== null && !names.has(run.text)) names.set(run.text, names.size);
      context.fillStyle = palette.back;
      context.fillRect(x0, frame.top, width, frame.height);
      context.fillStyle = stroke;
      context.globalAlpha =
        (run.text === MANY ? 0.55 : SHADES[(names.get(run.text ?? "") ?? 0) % SHADES.length]!) *
        (isDimmed ? 0.5 : 1);
      context.fillRect(x0, frame.top, width, frame.height);
      context.globalAlpha = 1;
      if (frame.xOf(run.from) >= frame.left) context.fillRect(x0, frame.top, 1.5 * ratio, frame.height);
      if (run.severity > 0) alarm(frame, run, frame.top + frame.height - 3 * ratio, 3 * ratio, scene);
      if (run.text === null || run.text === MANY || width < 26 * ratio) continue;
      context.fillStyle = palette.text;
      context.font = `${11 * ratio}px system-ui, sans-serif`;
      context.textAlign = "left";
      context.textBaseline = "middle";
      const text = cutEnd(context, run.text, width - 12 * ratio);
      context.fillText(text, x0 + 7 * ratio, frame.top + frame.height / 2);
    }
  });
  holes(frame, trace, scene);
}

function alarm(frame: Frame, run: Run, top: number, height: number, scene: Scene): void {
  const x0 = Math.max(frame.xOf(run.from), frame.left);
  const x1 = Math.min(Math.max(frame.xOf(run.to), x0 + 2 * frame.ratio), frame.left + frame.width);
  frame.context.fillStyle = scene.palette.alarms[Math.min(run.severity, 4)]!;
  if (x1 > x0) frame.context.fillRect(x0, top, x1 - x0, height);
}

function holes(frame: Frame, trace: Trace, scene: Scene): void {
  clipped(frame, () => {
    trace.holes.from.forEach((from, i) => {
      const to = Math.min(trace.holes.to[i]!, scene.known);
      const x0 = frame.xOf(from);
      frame.context.fillStyle = scene.palette.back;
      frame.context.fillRect(x0, frame.top, Math.max(frame.xOf(to) - x0, 0), frame.height);
      hatch(frame, from, to, scene.palette.hatch);
    });
  });
}

/** The name of a PV left of its strip, cut to what tells it apart. */
function name(frame: Frame, trace: Trace, scene: Scene): void {
  const { context, ratio } = frame;
  context.fillStyle = scene.palette.faint;
  context.font = `${11 * ratio}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const room = frame.left - 10 * ratio;
  const short = context.measureText(trace.name).width > room ? lastPart(trace.name) : trace.name;
  context.fillText(cutMiddle(context, short, room), frame.left - 8 * ratio, frame.top + frame.height / 2);
}

function lastPart(text: string): string {
  return text.split(":").at(-1) || text;
}

/** What a band says at a moment, in words. */
export function bandAt(trace: Trace, at: number, scene: Scene): string {
  const gap = gapsAt(trace, at)[0];
  if (gap) return `${trace.name}: ${gapText(gap, { zone: scene.zone, now: scene.known })}`;
  const run = runsOf(trace, scene.known).find((run) => run.from <= at && at < run.to);
  if (!run) return `${trace.name}: no samples`;
  const clock = (x: number) => formatTime(x, scene.zone, 0).slice(11);
  const text = run.text === null ? "" : run.text === MANY ? " several states," : ` “${run.text}”`;
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
