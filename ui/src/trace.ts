// A trace: one PV of the view, or a formula over PVs, with everything that is known of it for the range shown.

import type { Json, Metadata, Pv, PvDetail, PvState, WireChunk } from "./api.ts";
import {
  appendChunk,
  formatValue,
  labelOf,
  noSamples,
  type Bins,
  type Gap,
  type Kind,
  type Samples,
} from "./decode.ts";
import {
  binLine,
  binsWithin,
  joined,
  sampleLine,
  samplesWithin,
  straightLine,
  type Holes,
  type Line,
} from "./line.ts";
import { PLAIN, type Join, type Look } from "./look.ts";
import { lastAtOrBefore } from "./rows.ts";
import { sourceOf, type Source } from "./source.ts";
import type { Range } from "./state.ts";
import type { Instant } from "./time.ts";

/** What was loaded of a PV's history: bins, or the samples themselves where pixels outnumber them. */
export interface History {
  range: Range;
  bins: Bins | null;
  samples: Samples | null;
  /** There are more samples than are worth sending; the rest of the range is not shown. */
  truncated: boolean;
  /** It ends at the now of its loading, and live samples continue it. */
  live: boolean;
  /** Up to when its bins are final: what came later may be incomplete. */
  settled: number;
  /** Loads of another generation may know better. */
  generation: number;
  /** It is drawn so many seconds later than it was recorded. */
  earlier: number;
}

export interface Trace {
  name: string;
  /** What that stands for. */
  source: Source;
  /** Its place in the palette, kept while it is on the page. */
  colour: number;
  hidden: boolean;
  /** What was set for it alone. */
  look: Look;
  /** Without units: the first of the PVs with which it shares an axis. */
  company: string | null;
  kind: Kind;
  metadata: Metadata | null;
  detail: PvDetail | null;
  state: PvState | "unknown" | null;
  since: string | null;
  history: History | null;
  /** Samples that came live, all at or after the end of the history. */
  tail: Samples;
  gaps: Gap[];
  holes: Holes;
  loading: boolean;
  /** What it had at the moment of cursor A, where its bins alone would not say it. */
  atPinned: { at: number; value: Json; severity: number; time: Instant } | null;
  /** The archive has no PV of this name. */
  unknown: boolean;
  /** The names that may have been meant instead. */
  near: string[];
  /** Why something of this PV cannot be shown. */
  error: string | null;
  /** Since when nobody says anything of it. */
  untoldSince: number | null;
}

export function newTrace(name: string, colour: number): Trace {
  const source = sourceOf(name);
  return {
    name,
    source,
    colour,
    hidden: false,
    look: PLAIN,
    company: null,
    kind: source.kind === "formula" ? "number" : "unknown",
    metadata: null,
    detail: null,
    state: null,
    since: null,
    history: null,
    tail: noSamples(),
    gaps: [],
    holes: { from: [], to: [] },
    loading: false,
    atPinned: null,
    unknown: false,
    near: [],
    error: null,
    untoldSince: null,
  };
}

export function unitsOf(trace: Trace): string {
  return trace.metadata?.units ?? trace.detail?.units ?? "";
}

/** Takes over a PV's state from any answer that carries it. */
export function noteState(trace: Trace, pv: Pick<Pv, "state" | "since">): void {
  trace.state = pv.state;
  trace.since = pv.since;
}

/** More rows of live samples than this are better reloaded as bins. */
export const TAIL_ROWS_MAX = 20_000;

/**
 * Adds live samples behind the history. What the history already holds, and what a reconnected stream repeats, is
 * dropped; a sample that comes late (older than the newest) waits for the next load of the history.
 */
export function appendLive(trace: Trace, chunk: WireChunk): void {
  const arrived = noSamples();
  appendChunk(arrived, chunk);
  // Only the newest of arrays and structures is looked at live; the others are fetched when they are.
  if (trace.kind === "array" || trace.kind === "structure") trace.tail = noSamples();
  const cut = trace.history?.range.to ?? -Infinity;
  for (let row = 0; row < arrived.x.length; row++) {
    if (arrived.x[row]! < cut || isKnown(trace.tail, arrived, row)) continue;
    for (const key of Object.keys(trace.tail) as (keyof Samples)[]) {
      (trace.tail[key] as unknown[]).push(arrived[key][row]);
    }
  }
}

function isKnown(tail: Samples, arrived: Samples, row: number): boolean {
  const newest = tail.x.length - 1;
  if (newest < 0) return false;
  const seconds = arrived.seconds[row]! - tail.seconds[newest]!;
  const nanos = arrived.nanos[row]! - tail.nanos[newest]!;
  if (seconds !== 0 || nanos !== 0) return seconds < 0 || (seconds === 0 && nanos < 0);
  return JSON.stringify(arrived.values[row]) === JSON.stringify(tail.values[newest]);
}

/** Takes a newly loaded history; live samples that it covers, or that do not continue it, are dropped. */
export function takeHistory(trace: Trace, history: History): void {
  trace.history = history;
  if (!history.live) {
    trace.tail = noSamples();
    return;
  }
  const first = trace.tail.x.findIndex((x) => x >= history.range.to);
  const covered = first < 0 ? trace.tail.x.length : first;
  for (const key of Object.keys(trace.tail) as (keyof Samples)[]) trace.tail[key].splice(0, covered);
}

/** Up to when the newest value that was loaded is known to hold, if it is `now`: not beyond the moment at which its IOC was lost, or all who could
 * tell of it. */
export function knownUntil(trace: Trace, now: number): number {
  const { history, state } = trace;
  const lost = state === "disconnected" ? Date.parse(trace.since ?? "") / 1000 : NaN;
  const until = Math.min(
    history && !history.live ? Math.min(now, history.range.to) : now,
    trace.untoldSince ?? now,
  );
  return Number.isFinite(lost) ? Math.min(until, lost) : until;
}

/** A PV that came so often is not known any more behind its last sample, once nobody says anything of it. */
const OFTEN_SECONDS = 10;

/** Nobody says anything of a PV from now on. */
export function fallSilent(trace: Trace, now: number): void {
  const last = trace.tail.x.at(-1) ?? trace.history?.samples?.x.at(-1) ?? -Infinity;
  trace.untoldSince ??= now - last < OFTEN_SECONDS ? last : now;
}

/**
 * The line of a trace up to `until`, where its newest value still holds; live samples go on where the history ends. Of a part of the time it
 * has the points within, and some before and behind it.
 */
export function lineOf(trace: Trace, until: number, part: Range | null = null): Line {
  const { history, holes } = trace;
  const seam = trace.tail.x.length > 0 ? Math.min(trace.tail.x[0]!, until) : until;
  const ofSamples = trace.look.line === "line" ? straightLine : sampleLine;
  const within = (samples: Samples) => (part ? samplesWithin(samples, part) : samples);
  const live = ofSamples(within(trace.tail), holes, until);
  if (history?.bins) {
    const style = trace.look.line === "steps" ? "steps" : "mean";
    const from = Math.min(history.range.from, history.bins.start[0] ?? Infinity);
    const bins = part ? binsWithin(history.bins, part) : history.bins;
    return joined(binLine(bins, style, holes, from, seam), live);
  }
  return history?.samples ? joined(ofSamples(within(history.samples), holes, seam), live) : live;
}

/** What a line was made of. */
interface Made {
  history: History | null;
  holes: Holes;
  line: Join | null;
  first: number | undefined;
  rows: number;
  until: number;
  made: Line;
}

const made = new WeakMap<Trace, Made>();

/** Of less than this part of what was loaded the line is made by itself, and not kept. */
const PART = 0.5;

/** The line of a trace where it is in sight; as long as nothing of it has changed it is the one that was made last. */
export function lineWithin(trace: Trace, until: number, part: Range): Line {
  const { history, holes, look, tail } = trace;
  const had = made.get(trace);
  const isSame =
    had?.history === history &&
    had.holes === holes &&
    had.line === look.line &&
    had.first === tail.x[0] &&
    had.rows === tail.x.length &&
    (had.until === until || (had.until >= part.to && until >= part.to));
  if (isSame) return had.made;
  const loaded = history ? history.range.to - history.range.from : 0;
  if (part.to - part.from < PART * loaded) return lineOf(trace, until, part);
  const line = lineOf(trace, until);
  made.set(trace, {
    ...{ history, holes, line: look.line, first: tail.x[0], rows: tail.x.length },
    ...{ until, made: line },
  });
  return line;
}

/** The lowest and highest number that a trace shows within a range; `[Infinity, -Infinity]` if it shows none. */
export function extremesOf(trace: Trace, range: Range): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  // Of each frame of a drag: told out, because a call for each bin takes twice as long. What is no number is neither less nor more.
  const bins = trace.history?.bins;
  if (bins) {
    const { start, end, min, max, before } = bins;
    if (before && Number.isFinite(before.y)) low = high = before.y;
    for (let i = Math.max(0, lastAtOrBefore(start, range.from)); i < start.length; i++) {
      if (start[i]! >= range.to) break;
      if (!(end[i]! > range.from)) continue;
      const least = min[i]!;
      const most = max[i]!;
      if (least < low && least > -Infinity) low = least;
      if (most > high && most < Infinity) high = most;
    }
  }
  for (const { x, y } of sampleParts(trace)) {
    const first = Math.max(0, lastAtOrBefore(x, range.from));
    for (let i = first; i < x.length && x[i]! < range.to; i++) {
      const value = y[i]!;
      if (value < low && value > -Infinity) low = value;
      if (value > high && value < Infinity) high = value;
    }
  }
  return [low, high];
}

/** The samples of a trace, older first: those of the history, then those that came live. */
export function sampleParts(trace: Trace): Samples[] {
  const parts: Samples[] = [];
  if (trace.history?.samples) parts.push(trace.history.samples);
  if (trace.tail.x.length > 0) parts.push(trace.tail);
  return parts;
}

/** What a stretch says in which a PV had more states than can be told apart. */
export const MANY = "…";

/** A stretch of time with one alarm severity, and one text or state. */
export interface Run {
  from: number;
  to: number;
  severity: number;
  text: string | null;
}

/** Stretches of equal severity (and equal text, for texts and states) up to `until`. Gaps are not cut out of them. */
export function runsOf(trace: Trace, until: number): Run[] {
  const runs: Run[] = [];
  const bins = trace.history?.bins;
  const firstLive = trace.tail.x[0] ?? until;
  if (bins) {
    const isState = trace.kind === "state";
    const named = (y: number) => (isState && Number.isFinite(y) ? labelOf(y, trace.metadata) : null);
    const first = bins.count.findIndex((count) => count > 0);
    if (bins.before) {
      const { x, y, severity } = bins.before;
      addRun(runs, x, first < 0 ? firstLive : bins.start[first]!, severity, named(y));
    }
    for (let i = 0; i < bins.count.length; i++) {
      if (bins.count[i] === 0) continue;
      let next = i + 1;
      while (next < bins.count.length && bins.count[next] === 0) next++;
      const to = next < bins.count.length ? bins.start[next]! : firstLive;
      // Of several states in a bin the last one holds behind it. Which severity the last one had is not known: the worst is said of it.
      const isMany = isState && bins.min[i] !== bins.max[i];
      const text = named(bins.last[i]!);
      addRun(runs, bins.start[i]!, isMany ? bins.end[i]! : to, bins.severity[i]!, isMany ? MANY : text);
      if (isMany && to > bins.end[i]!) addRun(runs, bins.end[i]!, to, bins.severity[i]!, text);
    }
  }
  const parts = sampleParts(trace);
  parts.forEach((samples, part) => {
    const end = parts[part + 1]?.x[0] ?? until;
    for (let i = 0; i < samples.x.length; i++) {
      const text =
        trace.kind === "text"
          ? String(samples.values[i])
          : trace.kind === "state"
            ? formatValue(samples.values[i] ?? null, "state", trace.metadata)
            : null;
      addRun(
        runs,
        samples.x[i]!,
        samples.x[i + 1] ?? Math.max(end, samples.x[i]!),
        samples.severity[i]!,
        text,
      );
    }
  });
  return runs;
}

function addRun(runs: Run[], from: number, to: number, severity: number, text: string | null): void {
  const newest = runs[runs.length - 1];
  if (newest && newest.to === from && newest.severity === severity && newest.text === text) newest.to = to;
  else runs.push({ from, to, severity, text });
}

/** Whether something is missing of a trace in a range that was loaded: it has a gap there, or no sample at all. */
export function isLacking(trace: Trace, range: Range): boolean {
  if (trace.hidden || !trace.history || trace.source.kind !== "pv") return false;
  if (trace.gaps.some((gap) => gap.from < range.to && gap.to > range.from)) return true;
  const { bins } = trace.history;
  const isEmpty = bins ? bins.count.every((count) => count === 0) : true;
  return isEmpty && sampleParts(trace).every((samples) => samples.x.every((x) => x < range.from));
}

/** The gaps of a trace that a moment lies in. */
export function gapsAt(trace: Trace, at: number): Gap[] {
  return trace.gaps.filter((gap) => gap.from <= at && at < gap.to);
}
