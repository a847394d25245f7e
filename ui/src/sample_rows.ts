// The samples of some PVs and formulas in a range, in the order of time with their gaps between them: asked for a page at a time, as far as
// somebody looks. Those of a PV at another time stand where the plot has them.

import { ApiError, getGaps, getPv, getSamplesFrom, isAbort, type Json } from "./api.ts";
import { decodeGaps, exactOf, kindOf, type Kind } from "./decode.ts";
import { getFirstSteps, getMadeMeans } from "./formula.ts";
import { secondsEarlier, sourceOf } from "./source.ts";
import type { Range } from "./state.ts";
import { floatOf, instantOf, shiftSeconds, type Instant } from "./time.ts";

/** Of each PV so many samples are asked for at once; of one stamp that has more, more. */
const PAGE = 500;
/** A formula is computed from the beginning for each page: each has so many times as many steps as the one before. */
const PAGE_TIMES = 4;
/** Of a formula whose steps are too many to be looked for there are so many means. */
const MEANS = 500;
/** So many PVs are asked for at once. */
const AT_ONCE = 4;
/** More rows are not kept: what lies behind them is had as CSV, or by a shorter range. */
export const ROWS_MAX = 50_000;

interface Placed {
  /** The PV, a PV at another time, or the formula as the plot names it. */
  pv: string;
  /** Where it stands in the plot. */
  at: Instant;
  /** How many seconds before that it was recorded; 0 where the plot shows it at its own time. */
  earlier: number;
}

export interface SampleRow extends Placed {
  value: Json;
  kind: Kind;
  severity: number;
  status: number;
  /** It is the mean of so many seconds; none: a sample, or a step of a formula. */
  meanOf?: number;
}

/** When nothing was recorded of a PV; its end, in the plot, is infinite while it lasts. */
export interface GapRow extends Placed {
  until: number;
  cause: string;
  lost: number;
}

export type Row = SampleRow | GapRow;

export function isGap(row: Row): row is GapRow {
  return "cause" in row;
}

/** When it was. */
export function ownTime({ at, earlier }: Row): Instant {
  return shiftSeconds(at, -earlier);
}

/** What has come of one PV or formula and is not told yet. */
abstract class Stream {
  samples: SampleRow[] = [];
  gaps: GapRow[] = [];
  /** Nothing more comes of it. */
  isWhole = false;
  /** By which its statuses have names. */
  protocol: string | null = null;
  /** Of a formula that could not be computed step by step: of what its means are made. */
  madeOf: MadeOf | null = null;

  constructor(
    readonly name: string,
    protected range: Range,
  ) {}

  /** Asks for what comes next. */
  abstract ask(signal: AbortSignal): Promise<void>;

  /** The next that is known: a gap before the samples of its moment. */
  get first(): Row | undefined {
    const [sample, gap] = [this.samples[0], this.gaps[0]];
    if (!sample) return this.isWhole ? gap : undefined;
    return gap && !isAfter(gap.at, sample.at) ? gap : sample;
  }

  take(): Row {
    const row = this.first!;
    if (isGap(row)) this.gaps.shift();
    else this.samples.shift();
    return row;
  }
}

/** Summaries alone, or samples too. */
export type MadeOf = "summaries" | "samples";

class PvStream extends Stream {
  /** The range as it was recorded. */
  private own: Range;
  /** From where the next page of it is asked for, and how many samples of that stamp are known already. */
  private next: Instant;
  private known = 0;
  private page = PAGE;
  private isBegun = false;

  constructor(
    name: string,
    private recorded: string,
    range: Range,
    private earlier: number,
  ) {
    super(name, range);
    this.own = { from: range.from - earlier, to: range.to - earlier };
    this.next = instantOf(this.own.from);
  }

  async ask(signal: AbortSignal): Promise<void> {
    try {
      if (!this.isBegun) await Promise.all([this.askGaps(signal), this.askProtocol(signal)]);
      this.isBegun = true;
      await this.askSamples(signal);
    } catch (error) {
      // Of a name that nobody has there are no samples; its row says so.
      if (!(error instanceof ApiError) || error.code !== "unknown_pv") throw error;
      this.isWhole = true;
    }
  }

  private async askGaps(signal: AbortSignal): Promise<void> {
    const { gaps } = await getGaps(this.recorded, this.own, signal);
    const { name: pv, earlier } = this;
    this.gaps = decodeGaps(gaps)
      .map(({ from, to, cause, lost }) => ({
        ...{ pv, at: instantOf(Math.max(from + earlier, this.range.from)), earlier },
        ...{ until: to + earlier, cause, lost },
      }))
      .sort((a, b) => floatOf(a.at) - floatOf(b.at));
  }

  private async askProtocol(signal: AbortSignal): Promise<void> {
    this.protocol = (await getPv(this.recorded, signal)).protocol;
  }

  /** A page begins with the last stamp of the one before: there may be more samples of it. */
  private async askSamples(signal: AbortSignal): Promise<void> {
    const { chunks, truncated } = await getSamplesFrom(
      this.recorded,
      this.next,
      instantOf(this.own.to),
      this.page,
      signal,
    );
    const { name: pv, earlier } = this;
    const found = chunks.flatMap(({ type, seconds, nanos, values, severity, status }) =>
      seconds.map((second, i) => ({
        ...{ pv, at: shiftSeconds({ seconds: second, nanos: nanos[i] ?? 0 }, earlier), earlier },
        ...{
          value: values[i] ?? null,
          kind: kindOf(type),
          severity: severity[i] ?? 0,
          status: status[i] ?? 0,
        },
      })),
    );
    const last = found.at(-1);
    this.isWhole = !truncated || !last;
    this.samples.push(...found.slice(this.known));
    if (!last) return;
    const stamp = ownTime(last);
    this.page = isAfter(stamp, this.next) ? PAGE : this.page * 2;
    this.next = stamp;
    this.known = found.filter(({ at }) => !isAfter(last.at, at)).length;
  }
}

/** A formula at each moment at which it changes, as the archiver computes it of the samples. */
class FormulaStream extends Stream {
  private page = PAGE;
  private given = 0;

  constructor(
    name: string,
    private expression: string,
    range: Range,
  ) {
    super(name, range);
  }

  async ask(signal: AbortSignal): Promise<void> {
    try {
      await this.askSteps(signal);
    } catch (error) {
      const isTooMuch = error instanceof ApiError && TOO_MUCH.includes(error.code);
      if (!isTooMuch || this.given > 0 || isAbort(error)) throw error;
      await this.askMeans(signal);
    }
  }

  /** From the beginning each time: an integral is that from the beginning of the range. */
  private async askSteps(signal: AbortSignal): Promise<void> {
    const steps = await getFirstSteps(this.expression, this.range, this.page + 1, signal);
    this.isWhole = steps.length <= this.page;
    const rows = steps.slice(this.given, this.page).map(({ time, value }) => this.row(time, value));
    this.samples.push(...rows);
    this.given += rows.length;
    this.page = Math.min(this.page * PAGE_TIMES, ROWS_MAX);
  }

  private async askMeans(signal: AbortSignal): Promise<void> {
    const means = await getMadeMeans(this.expression, this.range, MEANS, signal);
    this.madeOf = means.every(({ made_of }) => made_of === "summaries") ? "summaries" : "samples";
    for (const { start, end, mean } of means) {
      const row = this.row(start, mean);
      const until = exactOf(end);
      this.samples.push(until ? { ...row, meanOf: floatOf(until) - floatOf(row.at) } : row);
    }
    this.isWhole = true;
  }

  private row(time: string, value: Json): SampleRow {
    const kind = Array.isArray(value) ? "array" : "number";
    const at = exactOf(time) ?? instantOf(this.range.from);
    return { pv: this.name, at, earlier: 0, value, kind, severity: 0, status: 0 };
  }
}

/** So the archiver refuses, or ends, what it would have to read too many samples for. */
const TOO_MUCH = ["too_large", "broken"];

function isAfter(a: Instant, b: Instant): boolean {
  return a.seconds > b.seconds || (a.seconds === b.seconds && a.nanos > b.nanos);
}

function streamOf(name: string, range: Range): Stream {
  const source = sourceOf(name);
  if (source.kind === "formula") return new FormulaStream(name, source.expression, range);
  const earlier = source.kind === "over" ? secondsEarlier(source.by, range.from) : 0;
  return new PvStream(name, source.pv, range, earlier);
}

export class SampleRows {
  readonly rows: Row[] = [];
  private streams: Stream[];

  /** Of PVs and formulas by their names in the plot. */
  constructor(
    names: string[],
    readonly range: Range,
  ) {
    this.streams = names.map((name) => streamOf(name, range));
  }

  protocolOf(pv: string): string | null {
    return this.streams.find((stream) => stream.name === pv)?.protocol ?? null;
  }

  /** The formulas of which there are means alone, and of what they are made. */
  get means(): { name: string; madeOf: MadeOf }[] {
    return this.streams.flatMap(({ name, madeOf }) => (madeOf ? [{ name, madeOf }] : []));
  }

  /** There is nothing behind the rows. */
  get isWhole(): boolean {
    return this.streams.every((stream) => stream.isWhole && stream.first === undefined);
  }

  /** No more are kept. */
  get isFull(): boolean {
    return this.rows.length >= ROWS_MAX && !this.isWhole;
  }

  /** Adds what comes next: a page of each PV of which nothing is left. */
  async more(signal: AbortSignal): Promise<void> {
    const lacking = this.streams.filter((stream) => !stream.isWhole && stream.samples.length === 0);
    const worker = async () => {
      for (let stream = lacking.shift(); stream; stream = lacking.shift()) await stream.ask(signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (signal.aborted) return;
    // As far as something is known of each: what comes of one may lie before what is here of another.
    while (this.rows.length < ROWS_MAX) {
      if (this.streams.some((stream) => !stream.isWhole && stream.samples.length === 0)) return;
      let first: Stream | null = null;
      for (const stream of this.streams)
        if (stream.first && (!first || isAfter(first.first!.at, stream.first.at))) first = stream;
      if (!first) return;
      this.rows.push(first.take());
    }
  }
}
