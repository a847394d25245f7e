// Bands: states and texts as strips with their names, alarms as rugs under the panes or as a lane for each PV.

import { cutEnd, cutMiddle } from "./cut.ts";
import { causeText, severityName } from "./decode.ts";
import { clipped, hatch, type Frame } from "./draw.ts";
import type { Scene } from "./plot.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { gapsAt, knownUntil, MANY, runsOf, type Run, type Trace } from "./trace.ts";
import { plotWords as words } from "./words/plot.ts";

/** The heights of a band and of a lane of alarms, in CSS pixels. */
export const BAND = 20;
export const LANE = 12;

/** How strongly a band is coloured, by the state's name: neighbours differ. */
const SHADES = [0.3, 0.12, 0.2, 0.38];
const MANY_SHADE = 0.55;

/** What stretches were made of. */
interface Made {
  history: Trace["history"];
  metadata: Trace["metadata"];
  first: number | undefined;
  rows: number;
  until: number;
  runs: Run[];
}

const made = new WeakMap<Trace, Made>();

/** The stretches of a trace as far as `edge`, made anew only where something before that has changed. */
function runsUpTo(trace: Trace, known: number, edge: number): Run[] {
  const until = knownUntil(trace, known);
  const { history, metadata, tail } = trace;
  const had = made.get(trace);
  const isSame =
    had?.history === history &&
    had.metadata === metadata &&
    had.first === tail.x[0] &&
    had.rows === tail.x.length &&
    (had.until === until || (had.until >= edge && until >= edge));
  if (isSame) return had.runs;
  const runs = runsOf(trace, until);
  made.set(trace, { history, metadata, first: tail.x[0], rows: tail.x.length, until, runs });
  return runs;
}

/** Whether anything of a stretch is to be drawn. */
function isDrawn(frame: Frame, run: Run): boolean {
  return run.to >= frame.drawn.from && run.from <= frame.drawn.to;
}

/** From the least to the worst: undefined is known to be no alarm of the machine's. */
const RANKS = [4, 1, 2, 3];

/** A rug: the worst severity of the PVs of a pane at each moment. */
export function drawRug(frame: Frame, traces: Trace[], scene: Scene): void {
  const { context, drawn } = frame;
  const left = Math.max(frame.xOf(drawn.from), frame.left);
  context.fillStyle = scene.palette.track;
  context.fillRect(
    left,
    frame.top,
    Math.min(frame.xOf(drawn.to), frame.left + frame.width) - left,
    frame.height,
  );
  for (const rank of RANKS)
    for (const trace of traces)
      for (const run of runsUpTo(trace, scene.known, drawn.to))
        if (Math.min(run.severity, 4) === rank && isDrawn(frame, run)) drawOutside(frame, trace, run, scene);
}

/** What of an alarm is not within gaps: of these nobody knows. */
function drawOutside(frame: Frame, { holes }: Trace, run: Run, scene: Scene): void {
  let { from } = run;
  for (let i = 0; i < holes.from.length; i++) {
    if (holes.from[i]! >= run.to) break;
    if (holes.to[i]! <= from) continue;
    if (holes.from[i]! > from) drawAlarm(frame, run.severity, from, holes.from[i]!, scene);
    from = holes.to[i]!;
  }
  if (from < run.to) drawAlarm(frame, run.severity, from, run.to, scene);
}

function drawAlarm(frame: Frame, severity: number, from: number, to: number, scene: Scene): void {
  alarm(frame, { from, to, severity }, frame.top, frame.height, scene);
}

/** A lane of one PV's alarms, with its name. */
export function drawLane(frame: Frame, trace: Trace, scene: Scene): void {
  name(frame, trace, scene);
  const { context } = frame;
  context.fillStyle = scene.palette.track;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  for (const run of runsUpTo(trace, scene.known, frame.drawn.to))
    if (run.severity > 0 && isDrawn(frame, run)) alarm(frame, run, frame.top, frame.height, scene);
  holes(frame, trace, scene);
}

/** A band of one PV's states or texts. */
export function drawBand(frame: Frame, trace: Trace, scene: Scene, isNamed = true): void {
  if (isNamed) name(frame, trace, scene);
  const { context, ratio } = frame;
  const { palette } = scene;
  const { stroke } = palette.trace(trace.colour);
  const isDimmed = scene.pointed !== null && scene.pointed !== trace;
  const labels = trace.metadata?.labels ?? [];
  const names = new Map<string, number>();
  // A state keeps its shade wherever the range begins, a text as long as the same were loaded.
  const shadeOf = (text: string) => {
    const known = labels.indexOf(text);
    if (known >= 0) return SHADES[known % SHADES.length]!;
    if (!names.has(text)) names.set(text, names.size);
    return SHADES[names.get(text)! % SHADES.length]!;
  };
  context.fillStyle = palette.track;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  clipped(frame, () => {
    for (const run of runsUpTo(trace, scene.known, frame.drawn.to)) {
      const shade = run.text === MANY ? MANY_SHADE : shadeOf(run.text ?? "");
      if (!isDrawn(frame, run)) continue;
      const x0 = Math.max(frame.xOf(run.from), frame.left);
      const width = Math.max(Math.min(frame.xOf(run.to), frame.left + frame.width) - x0, ratio);
      context.fillStyle = palette.back;
      context.fillRect(x0, frame.top, width, frame.height);
      context.fillStyle = stroke;
      context.globalAlpha = shade * (isDimmed ? 0.5 : 1);
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

function alarm(frame: Frame, run: Omit<Run, "text">, top: number, height: number, scene: Scene): void {
  const [begin, end] = [
    frame.xOf(run.from),
    Math.max(frame.xOf(run.to), frame.xOf(run.from) + 2 * frame.ratio),
  ];
  const [x0, x1] = [Math.max(begin, frame.left), Math.min(end, frame.left + frame.width)];
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
  if (!run) return words.noSamples(trace.name);
  const clock = (x: number) => formatTime(x, scene.zone, 0).slice(11);
  const text = run.text === null ? "" : run.text === MANY ? words.severalStates : ` “${run.text}”`;
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
      ? words.gapSince(from, length)
      : `${from} – ${formatTime(gap.to, scene.zone, 0)} (${length})`;
  const lost = gap.lost > 0 ? words.samplesLost(gap.lost) : "";
  return `${causeText(gap.cause)}, ${extent}${lost}`;
}
