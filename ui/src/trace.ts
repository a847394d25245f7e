// A trace: one PV of the view with everything that is known of it for the range shown.

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
import { binLine, joined, sampleLine, straightLine, type Holes, type Line } from "./line.ts";
import { PLAIN, type Look } from "./look.ts";
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
}

export interface Trace {
  name: string;
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
  state: PvState | null;
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
  /** Why something of this PV cannot be shown. */
  error: string | null;
}

export function newTrace(name: string, colour: number): Trace {
  return {
    name,
    colour,
    hidden: false,
    look: PLAIN,
    company: null,
    kind: "unknown",
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
    error: null,
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

/** Up to when the newest value that was loaded is known to hold, if it is `now`: not beyond the moment at which its IOC was lost. */
export function knownUntil(trace: Trace, now: number): number {
  const { history, state } = trace;
  const lost = state === "disconnected" ? Date.parse(trace.since ?? "") / 1000 : NaN;
  const until = history && !history.live ? Math.min(now, history.range.to) : now;
  return Number.isFinite(lost) ? Math.min(until, lost) : until;
}

/** The line of a trace up to `until`, where its newest value still holds; live samples go on where the history ends. */
export function lineOf(trace: Trace, until: number): Line {
  const { history, tail, holes } = trace;
  const seam = tail.x.length > 0 ? Math.min(tail.x[0]!, until) : until;
  const ofSamples = trace.look.line === "line" ? straightLine : sampleLine;
  const live = ofSamples(tail, holes, until);
  if (history?.bins) {
    const style = trace.look.line === "steps" ? "steps" : "mean";
    const from = Math.min(history.range.from, history.bins.start[0] ?? Infinity);
    return joined(binLine(history.bins, style, holes, from, seam), live);
  }
  return history?.samples ? joined(ofSamples(history.samples, holes, seam), live) : live;
}

/** The lowest and highest number that a trace shows within a range; `[Infinity, -Infinity]` if it shows none. */
export function extremesOf(trace: Trace, range: Range): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  const take = (a: number, b: number) => {
    if (Number.isFinite(a) && a < low) low = a;
    if (Number.isFinite(b) && b > high) high = b;
  };
  const bins = trace.history?.bins;
  if (bins) {
    if (bins.before) take(bins.before.y, bins.before.y);
    for (let i = 0; i < bins.count.length; i++) {
      if (bins.end[i]! > range.from && bins.start[i]! < range.to) take(bins.min[i]!, bins.max[i]!);
    }
  }
  for (const samples of sampleParts(trace)) {
    const first = Math.max(0, lastAtOrBefore(samples.x, range.from));
    for (let i = first; i < samples.x.length && samples.x[i]! < range.to; i++)
      take(samples.y[i]!, samples.y[i]!);
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

/** The row of the newest x that is not after `at`; -1 if all are. */
export function lastAtOrBefore(x: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
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
    if (bins.before)
      addRun(runs, bins.before.x, bins.start[0] ?? until, bins.before.severity, named(bins.before.y));
    for (let i = 0; i < bins.count.length; i++) {
      if (bins.count[i] === 0) continue;
      let next = i + 1;
      while (next < bins.count.length && bins.count[next] === 0) next++;
      const to = next < bins.count.length ? bins.start[next]! : firstLive;
      const isOne = bins.min[i] === bins.max[i];
      addRun(
        runs,
        bins.start[i]!,
        isOne ? to : bins.end[i]!,
        bins.severity[i]!,
        isOne ? named(bins.last[i]!) : isState ? MANY : null,
      );
      if (!isOne && isState && to > bins.end[i]!)
        addRun(runs, bins.end[i]!, to, bins.severity[i]!, named(bins.last[i]!));
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
  if (trace.hidden || !trace.history) return false;
  if (trace.gaps.some((gap) => gap.from < range.to && gap.to > range.from)) return true;
  const { bins } = trace.history;
  const isEmpty = bins ? bins.count.every((count) => count === 0) : true;
  return isEmpty && sampleParts(trace).every((samples) => samples.x.every((x) => x < range.from));
}

/** The gaps of a trace that a moment lies in. */
export function gapsAt(trace: Trace, at: number): Gap[] {
  return trace.gaps.filter((gap) => gap.from <= at && at < gap.to);
}
