// Loading: asks the server for what traces need to be drawn over a range, all PVs in one request, and for nothing that is outdated.

import { ApiError, faultText, getGaps, getPv, isAbort, nearNames, type WireSamples } from "./api.ts";
import { decodeGaps, decodeSamples, kindOf, type Bins, type Gap } from "./decode.ts";
import { getMeans, getSteps, type Computed } from "./formula.ts";
import { holesOf } from "./line.ts";
import { sideOf, withGaps, withSide, type Side } from "./side.ts";
import { secondsEarlier } from "./source.ts";
import type { Range } from "./state.ts";
import { Tiles } from "./tiles.ts";
import { fallSilent, noteState, takeHistory, type History, type Trace } from "./trace.ts";
import { getSamplesOf, getView, inAnswers } from "./view.ts";
import { plotWords as words } from "./words/plot.ts";

/** Texts beyond this many are more than a strip of a screen's width can tell apart. */
const TEXTS_MAX = 4000;

/** Round bins are up to 2.5 times as long as they need be: with so many a pixel none is much wider than a pixel. */
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

/** One PV, and when what is drawn of it was recorded. */
interface Asked {
  trace: Trace;
  pv: string;
  wanted: Wanted;
  /** It is drawn this many seconds later than it was recorded. */
  earlier: number;
}

/** Traces that are loaded together; the load is given up when none of them is wanted any more. */
class Batch {
  readonly controller = new AbortController();
  readonly traces: Set<Trace>;
  /** Those that have got something: if a later part is refused, that is no reason to say that they have nothing. */
  readonly taken = new Set<Trace>();

  constructor(traces: Trace[]) {
    this.traces = new Set(traces);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  leave(trace: Trace): void {
    this.traces.delete(trace);
    if (this.traces.size === 0) this.controller.abort();
  }
}

/** At most one load per trace is under way; starting another ends the one before. */
export class Loader {
  private underway = new Map<Trace, Batch>();
  private tiles = new Tiles();

  /** `changed` is called whenever there is something new to show of a trace, `unreachable` when no answer came. */
  constructor(
    private changed: (trace: Trace) => void,
    private unreachable: () => void,
    private now: () => number,
  ) {}

  get busy(): number {
    return this.underway.size;
  }

  cancel(trace: Trace): void {
    this.underway.get(trace)?.leave(trace);
    this.underway.delete(trace);
    trace.loading = false;
  }

  /** Loads what is wanted of all these. Errors are kept with each trace: the others go on. */
  load(traces: Trace[], wanted: Wanted): void {
    for (const trace of traces) this.cancel(trace);
    const pvs: Asked[] = [];
    for (const trace of traces) {
      const { source } = trace;
      if (this.wasSeen(trace, wanted)) continue;
      if (source.kind === "formula") {
        void this.run([trace], (batch) => this.formula(batch, trace, source.expression, wanted));
        continue;
      }
      const earlier = source.kind === "over" ? secondsEarlier(source.by, wanted.range.from) : 0;
      // What was so long ago is not continued by what comes live.
      const live = wanted.live && source.kind === "pv";
      pvs.push({ trace, pv: source.pv, wanted: { ...wanted, live }, earlier });
    }
    for (const group of grouped(pvs, ({ trace, earlier }) => `${earlier} ${isBinned(trace)}`)) {
      const load = isBinned(group[0]!.trace)
        ? (batch: Batch, part: Asked[]) => this.view(batch, part)
        : (batch: Batch, part: Asked[]) => Promise.all(part.map((one) => this.unbinned(batch, one)));
      for (const part of inAnswers(group, BINS_PER_PIXEL * wanted.pixels))
        void this.run(
          part.map(({ trace }) => trace),
          (batch) => load(batch, part),
        );
    }
  }

  /** Whether all that is wanted of a trace was seen before, and is shown again without a question. */
  private wasSeen(trace: Trace, wanted: Wanted): boolean {
    const { source } = trace;
    const { range, settled, generation } = wanted;
    const earlier = source.kind === "over" ? secondsEarlier(source.by, range.from) : 0;
    // What comes live goes on where it was; of what was laid over nothing comes.
    if (wanted.live && source.kind !== "over") return false;
    const bins = BINS_PER_PIXEL * wanted.pixels;
    const tile = this.tiles.find(trace, { range, bins, settled, generation, earlier });
    if (!tile) return false;
    takeHistory(trace, tile.history);
    takeGaps(trace, tile.gaps);
    [trace.error, trace.untoldSince, trace.unknown] = [null, null, false];
    this.changed(trace);
    return true;
  }

  /** Has traces loaded together, and says of each when it is. */
  private async run(traces: Trace[], load: (batch: Batch) => Promise<unknown>): Promise<void> {
    const batch = new Batch(traces);
    for (const trace of traces) {
      this.underway.set(trace, batch);
      trace.loading = true;
      this.changed(trace);
    }
    try {
      await load(batch);
    } catch (error) {
      for (const trace of batch.traces) if (!batch.taken.has(trace)) this.fail(trace, error);
    }
    for (const trace of batch.traces) this.done(batch, trace);
  }

  private done(batch: Batch, trace: Trace): void {
    if (this.underway.get(trace) !== batch) return;
    this.underway.delete(trace);
    trace.loading = false;
    if (batch.taken.has(trace) && trace.error === null) this.tiles.put(trace);
    this.changed(trace);
  }

  private fail(trace: Trace, error: unknown): void {
    if (isAbort(error)) return;
    const wasUnknown = trace.unknown;
    trace.unknown =
      error instanceof ApiError && error.code === "unknown_pv" && trace.source.kind !== "formula";
    trace.error = trace.unknown ? words.notArchived : faultText(error);
    if (error instanceof ApiError && error.code === "unreachable") this.unreachable();
    if (error instanceof ApiError && error.code === "store_refused") fallSilent(trace, this.now());
    if (trace.unknown && !wasUnknown && trace.source.kind !== "formula")
      void this.near(trace, trace.source.pv);
  }

  /** What may have been meant by a name that nobody has; nothing waits for it. */
  private async near(trace: Trace, pv: string): Promise<void> {
    try {
      trace.near = await nearNames(pv);
      this.changed(trace);
    } catch (error) {
      // Without them there is the search.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private take(batch: Batch, trace: Trace, history: History): void {
    if (!batch.traces.has(trace)) return;
    takeHistory(trace, history);
    batch.taken.add(trace);
    trace.error = null;
    trace.untoldSince = null;
    trace.unknown = false;
  }

  /** Bins of all in one answer: of those that only moved those of their missing side. */
  private async view(batch: Batch, asked: Asked[]): Promise<void> {
    const moved = asked.map((one) => ({ one, side: movedBy(one) }));
    const whole = moved.filter(({ side }) => side === null).map(({ one }) => one);
    const sides = moved.filter((found): found is { one: Asked; side: Side } => found.side !== null);
    const keyOf = ({ side }: { side: Side }) => `${side.range.from} ${side.range.to} ${side.bins}`;
    await Promise.all([
      ...(whole.length > 0 ? [this.whole(batch, whole)] : []),
      ...grouped(sides, keyOf).map((group) => this.sides(batch, group)),
    ]);
  }

  private async sides(batch: Batch, moved: { one: Asked; side: Side }[]): Promise<void> {
    const { side, one } = moved[0]!;
    const width = (side.range.to - side.range.from) / side.bins;
    const range = recorded(side.range, one.earlier);
    const views = await this.ask(
      batch,
      moved.map(({ one }) => one),
      (names) => getView(names, range, { width: Number(width.toPrecision(12)) }, batch.signal),
    );
    const rest: Asked[] = [];
    moved.forEach(({ one, side }, i) => {
      const viewed = views[i];
      if (!viewed || !batch.traces.has(one.trace)) return;
      const { trace, wanted, earlier } = one;
      const had = trace.history!;
      const bins = withSide(had.bins!, side, later(viewed.bins, earlier));
      // So few that the samples themselves are to be drawn.
      if (!bins || totalOf(bins.count) <= wanted.pixels) return void rest.push(one);
      const settled = Math.min(had.settled, wanted.settled);
      this.take(batch, trace, { ...historyOf(one), bins, settled });
      takeGaps(trace, withGaps(trace.gaps, laterGaps(viewed.gaps, earlier), wanted.range));
      this.changed(trace);
    });
    if (rest.length > 0) await this.whole(batch, rest);
  }

  private async whole(batch: Batch, asked: Asked[]): Promise<void> {
    const { wanted, earlier } = asked[0]!;
    const range = recorded(wanted.range, earlier);
    const bins = BINS_PER_PIXEL * wanted.pixels;
    const views = await this.ask(batch, asked, (names) => getView(names, range, { bins }, batch.signal));
    const few: Asked[] = [];
    const texts: Asked[] = [];
    asked.forEach((one, i) => {
      const viewed = views[i];
      const { trace } = one;
      if (!viewed || !batch.traces.has(trace)) return;
      trace.kind = kindOf(viewed.type);
      if (viewed.metadata) trace.metadata = { ...viewed.metadata, type: viewed.metadata.type ?? viewed.type };
      takeGaps(trace, laterGaps(viewed.gaps, earlier));
      if (trace.kind === "text") texts.push(one);
      else if (!isLine(trace)) this.take(batch, trace, historyOf(one));
      else if (viewed.isRaw || totalOf(viewed.bins.count) <= wanted.pixels) {
        few.push(one);
        return;
      } else this.take(batch, trace, { ...historyOf(one), bins: later(viewed.bins, earlier) });
      this.changed(trace);
    });
    for (const { trace, pv } of asked) void this.detail(trace, pv);
    const ofFew = new Map(few.map((one) => [one.trace, views[asked.indexOf(one)]!]));
    await Promise.all([
      this.samples(batch, few, 2 * wanted.pixels + 2, (one) => later(ofFew.get(one.trace)!.bins, earlier)),
      this.samples(batch, texts, TEXTS_MAX, () => null),
    ]);
  }

  /** The samples themselves; of what has too many of them the bins, where there are any. */
  private async samples(
    batch: Batch,
    asked: Asked[],
    limit: number,
    binsOf: (one: Asked) => Bins | null,
  ): Promise<void> {
    if (asked.length === 0) return;
    const { wanted, earlier } = asked[0]!;
    const range = recorded(wanted.range, earlier);
    const wires = await this.ask(batch, asked, (names) => getSamplesOf(names, range, limit, batch.signal));
    asked.forEach((one, i) => {
      const wire = wires[i];
      if (!wire) return;
      const bins = wire.truncated ? binsOf(one) : null;
      this.take(batch, one.trace, bins ? { ...historyOf(one), bins } : ofSamples(one, wire));
      this.changed(one.trace);
    });
  }

  /** Texts, and what is looked at one by one: only its gaps are asked for. */
  private async unbinned(batch: Batch, one: Asked): Promise<void> {
    const { trace, pv, wanted, earlier } = one;
    const range = recorded(wanted.range, earlier);
    try {
      const texts = trace.kind === "text" ? this.samples(batch, [one], TEXTS_MAX, () => null) : null;
      const [gaps] = await Promise.all([getGaps(pv, range, batch.signal), texts]);
      const told = decodeGaps(gaps.gaps);
      if (!batch.traces.has(trace)) return;
      takeGaps(trace, laterGaps(told, earlier));
      if (trace.kind !== "text") this.take(batch, trace, historyOf(one));
    } catch (error) {
      this.fail(trace, error);
    }
    this.done(batch, trace);
  }

  /** One answer for all; where it is refused each is asked for by itself, so that the others have theirs. */
  private async ask<T>(
    batch: Batch,
    asked: Asked[],
    get: (names: string[]) => Promise<(T | ApiError)[]>,
  ): Promise<(T | null)[]> {
    try {
      const got = await get(asked.map(({ pv }) => pv));
      return got.map((one, i) => {
        if (!(one instanceof ApiError)) return one;
        this.fail(asked[i]!.trace, one);
        return null;
      });
    } catch (error) {
      const isRefused = error instanceof ApiError && error.code !== "unreachable";
      if (!isRefused || batch.signal.aborted) throw error;
      if (asked.length === 1) {
        // The PV may be of another type than it was: that is asked for again next time.
        if (error.code === "bad_request") asked[0]!.trace.kind = "unknown";
        this.fail(asked[0]!.trace, error);
        return [null];
      }
      return (await Promise.all(asked.map((one) => this.ask(batch, [one], get)))).flat();
    }
  }

  /** What is known of a PV besides; nothing waits for it. */
  private async detail(trace: Trace, pv: string): Promise<void> {
    // Of what has no type yet something may be known by now.
    if ((trace.detail !== null && trace.kind !== "unknown") || trace.unknown) return;
    try {
      const detail = await getPv(pv);
      trace.detail = detail;
      if (trace.source.kind === "pv") noteState(trace, detail);
      this.changed(trace);
    } catch (error) {
      // It is asked for again with the next load.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** The steps of a formula, or means a pixel; what these hide is looked for in every sample when they are drawn. */
  private async formula(batch: Batch, trace: Trace, expression: string, wanted: Wanted): Promise<void> {
    const { range, pixels } = wanted;
    const one = { trace, pv: "", wanted: { ...wanted, live: false }, earlier: 0 };
    const history = ({ samples, bins }: Computed) => ({ ...historyOf(one), samples, bins });
    const steps = await getSteps(expression, range, 2 * pixels, batch.signal);
    const computed = steps ?? (await getMeans(expression, range, pixels, false, batch.signal));
    trace.metadata = { units: computed.units };
    this.take(batch, trace, history(computed));
    if (steps) return;
    this.changed(trace);
    // Where it cannot be had the coarser one stays.
    const finer = await getMeans(expression, range, pixels, true, batch.signal).catch(() => null);
    if (finer) this.take(batch, trace, history(finer));
  }
}

/** What has bins, or of which that is not known yet. */
function isBinned(trace: Trace): boolean {
  return trace.kind === "unknown" || isLine(trace);
}

function isLine(trace: Trace): boolean {
  return trace.kind === "number" || trace.kind === "state";
}

function grouped<T>(all: T[], key: (one: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return [...groups.values()];
}

/** The side that is missing to a range that has only moved; none where all of it is to be asked for. */
function movedBy({ trace, wanted, earlier }: Asked): Side | null {
  const had = trace.history;
  if (!had?.bins || had.live || wanted.live || had.generation !== wanted.generation) return null;
  if (had.earlier !== earlier) return null;
  // Where a clock was set back, what was final once need not be so any more.
  const settled = Math.min(had.settled, wanted.settled);
  return sideOf({ range: had.range, bins: had.bins, settled }, wanted.range);
}

/** When what is drawn in a range was recorded. */
function recorded({ from, to }: Range, earlier: number): Range {
  return { from: from - earlier, to: to - earlier };
}

function historyOf({ wanted, earlier }: Asked): History {
  const { range, live, settled, generation } = wanted;
  return { ...{ range, live, settled, generation, earlier }, bins: null, samples: null, truncated: false };
}

/** Bins that are drawn later than they were recorded. */
function later(bins: Bins, by: number): Bins {
  if (by === 0) return bins;
  const { start, end, before } = bins;
  return {
    ...bins,
    ...{ start: start.map((x) => x + by), end: end.map((x) => x + by) },
    before: before && { ...before, x: before.x + by },
  };
}

function laterGaps(gaps: Gap[], by: number): Gap[] {
  return by === 0 ? gaps : gaps.map((gap) => ({ ...gap, from: gap.from + by, to: gap.to + by }));
}

function takeGaps(trace: Trace, gaps: Gap[]): void {
  trace.gaps = gaps;
  trace.holes = holesOf(gaps);
}

function ofSamples(one: Asked, wire: WireSamples): History {
  const { trace, earlier } = one;
  if (wire.metadata) trace.metadata = { ...trace.metadata, ...wire.metadata };
  const samples = decodeSamples(wire);
  // Their own times stay what they are.
  if (earlier !== 0) samples.x = samples.x.map((x) => x + earlier);
  return { ...historyOf(one), samples, truncated: wire.truncated };
}

function totalOf(counts: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < counts.length; i++) total += counts[i]!;
  return total;
}
