// Loading: asks the server for what a trace needs to be drawn over a range, and for nothing that is outdated.

import { ApiError, getBins, getGaps, getPv, getSamples, isAbort } from "./api.ts";
import { decodeBins, decodeGaps, decodeSamples, kindOf } from "./decode.ts";
import { holesOf } from "./line.ts";
import { sideOf, withSide } from "./side.ts";
import type { Range } from "./state.ts";
import { noteState, takeHistory, type History, type Trace } from "./trace.ts";

/** Texts beyond this many are more than a strip of a screen's width can tell apart. */
const TEXTS_MAX = 4000;

/** Round bins are up to 2.5 times as long as they need be: of so many a pixel none is much wider than a pixel. */
const BINS_PER_PIXEL = 2;

/** What to load: the range, about one bin per pixel, and whether live samples will continue it. */
export interface Wanted {
  range: Range;
  pixels: number;
  live: boolean;
  /** Up to when samples have arrived. */
  settled: number;
  /** What was loaded for another generation is not built upon. */
  generation: number;
}

/** At most one load per trace is under way; starting another ends the one before. */
export class Loader {
  private underway = new Map<Trace, AbortController>();

  /** `changed` is called whenever there is something new to show of a trace, `unreachable` when no answer came. */
  constructor(
    private changed: (trace: Trace) => void,
    private unreachable: () => void,
  ) {}

  get busy(): number {
    return this.underway.size;
  }

  cancel(trace: Trace): void {
    this.underway.get(trace)?.abort();
    this.underway.delete(trace);
    trace.loading = false;
  }

  /** Loads what is wanted. Errors are kept with the trace: the others go on. */
  async load(trace: Trace, wanted: Wanted): Promise<void> {
    this.cancel(trace);
    const controller = new AbortController();
    this.underway.set(trace, controller);
    trace.loading = true;
    this.changed(trace);
    try {
      const history = await fetchAll(trace, wanted, controller.signal);
      if (controller.signal.aborted) return;
      takeHistory(trace, history);
      trace.error = null;
      trace.unknown = false;
    } catch (error) {
      if (isAbort(error) || controller.signal.aborted) return;
      // The PV may be of another type than it was: ask for that again next time.
      if (error instanceof ApiError && error.code === "bad_request") trace.kind = "unknown";
      trace.unknown = error instanceof ApiError && error.code === "unknown_pv";
      trace.error = trace.unknown
        ? "not in this archive"
        : error instanceof ApiError
          ? error.sentence
          : String(error);
      if (error instanceof ApiError && error.code === "unreachable") this.unreachable();
    }
    if (this.underway.get(trace) !== controller) return;
    this.underway.delete(trace);
    trace.loading = false;
    this.changed(trace);
  }
}

async function fetchAll(trace: Trace, wanted: Wanted, signal: AbortSignal): Promise<History> {
  if (trace.kind === "unknown") await fetchDetail(trace, signal);
  const [history, gaps] = await Promise.all([
    fetchHistory(trace, wanted, signal),
    getGaps(trace.name, wanted.range, signal),
  ]);
  if (!signal.aborted) {
    trace.gaps = decodeGaps(gaps.gaps);
    trace.holes = holesOf(trace.gaps);
  }
  return history;
}

async function fetchDetail(trace: Trace, signal: AbortSignal): Promise<void> {
  const detail = await getPv(trace.name, signal);
  trace.detail = detail;
  trace.kind = kindOf(detail.type);
  trace.metadata = detail.metadata ?? null;
  noteState(trace, detail);
}

function fetchHistory(trace: Trace, wanted: Wanted, signal: AbortSignal): Promise<History> {
  switch (trace.kind) {
    case "number":
    case "state":
      return fetchNumbers(trace, wanted, signal);
    case "text":
      return fetchSamples(trace, wanted, TEXTS_MAX, signal);
    // Arrays and structures are fetched one by one, for the moment that is looked at; see waveform.ts.
    default:
      return Promise.resolve(historyOf(wanted));
  }
}

function historyOf(wanted: Wanted): History {
  const { range, live, settled, generation } = wanted;
  return { ...{ range, live, settled, generation }, bins: null, samples: null, truncated: false };
}

async function fetchNumbers(trace: Trace, wanted: Wanted, signal: AbortSignal): Promise<History> {
  const { range, pixels } = wanted;
  const moved = await fetchSide(trace, wanted, signal);
  if (moved) return moved;
  const wire = await getBins(trace.name, range, BINS_PER_PIXEL * pixels, signal);
  if (wire.metadata) trace.metadata = { ...wire.metadata, type: wire.metadata.type ?? wire.type };
  if (wire.raw || totalOf(wire.bins.count) <= pixels) {
    const history = await fetchSamples(trace, wanted, 2 * pixels + 2, signal);
    if (!history.truncated) return history;
  }
  return { ...historyOf(wanted), bins: decodeBins(wire) };
}

/** The bins at hand with those that are missing at one side, where the range has only moved. */
async function fetchSide(trace: Trace, wanted: Wanted, signal: AbortSignal): Promise<History | null> {
  const had = trace.history;
  if (!had?.bins || had.live || wanted.live || had.generation !== wanted.generation) return null;
  // Where a clock was set back, what was final once need not be so any more.
  const settled = Math.min(had.settled, wanted.settled);
  const side = sideOf({ range: had.range, bins: had.bins, settled }, wanted.range);
  if (!side) return null;
  const wire = await getBins(trace.name, side.range, side.bins, signal);
  const bins = withSide(had.bins, side, decodeBins(wire));
  // So few that the samples themselves are to be drawn.
  if (!bins || totalOf(bins.count) <= wanted.pixels) return null;
  return { ...historyOf(wanted), bins, settled };
}

function totalOf(counts: ArrayLike<number>): number {
  return Array.from(counts).reduce((sum, count) => sum + count, 0);
}

async function fetchSamples(
  trace: Trace,
  wanted: Wanted,
  limit: number,
  signal: AbortSignal,
): Promise<History> {
  const wire = await getSamples(trace.name, wanted.range, limit, signal);
  if (wire.metadata) trace.metadata = { ...trace.metadata, ...wire.metadata };
  return { ...historyOf(wanted), samples: decodeSamples(wire), truncated: wire.truncated };
}
