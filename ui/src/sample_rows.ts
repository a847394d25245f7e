// The samples of some PVs in a range, in the order of time with their gaps between them: asked for a page at a time, as far as somebody looks.

import { ApiError, getGaps, getPv, getSamplesFrom, type Json } from "./api.ts";
import { decodeGaps, kindOf, type Kind } from "./decode.ts";
import type { Range } from "./state.ts";
import { floatOf, instantOf, type Instant } from "./time.ts";

/** Of each PV so many samples are asked for at once; of one stamp that has more, more. */
const PAGE = 500;
/** So many PVs are asked for at once. */
const AT_ONCE = 4;
/** More rows are not kept: what lies behind them is had as CSV, or by a shorter range. */
export const ROWS_MAX = 50_000;

export interface SampleRow {
  pv: string;
  at: Instant;
  value: Json;
  kind: Kind;
  severity: number;
  status: number;
}

/** When nothing was recorded of a PV; its end is infinite while it lasts. */
export interface GapRow {
  pv: string;
  at: Instant;
  until: number;
  cause: string;
  lost: number;
}

export type Row = SampleRow | GapRow;

export function isGap(row: Row): row is GapRow {
  return "cause" in row;
}

/** What has come of one PV and is not told yet. */
class Stream {
  samples: SampleRow[] = [];
  gaps: GapRow[] = [];
  /** Nothing more comes of it. */
  isWhole = false;
  /** From where the next page is asked for, and how many samples of that stamp are known already. */
  private next: Instant;
  private known = 0;
  private page = PAGE;
  private isBegun = false;
  /** By which its statuses have names. */
  protocol: string | null = null;

  constructor(
    readonly pv: string,
    private range: Range,
  ) {
    this.next = instantOf(range.from);
  }

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
    const { gaps } = await getGaps(this.pv, this.range, signal);
    this.gaps = decodeGaps(gaps)
      .map(({ from, to, cause, lost }) => ({
        ...{ pv: this.pv, at: instantOf(Math.max(from, this.range.from)), until: to, cause, lost },
      }))
      .sort((a, b) => floatOf(a.at) - floatOf(b.at));
  }

  private async askProtocol(signal: AbortSignal): Promise<void> {
    this.protocol = (await getPv(this.pv, signal)).protocol;
  }

  /** A page begins with the last stamp of the one before: there may be more samples of it. */
  private async askSamples(signal: AbortSignal): Promise<void> {
    const { chunks, truncated } = await getSamplesFrom(
      this.pv,
      this.next,
      instantOf(this.range.to),
      this.page,
      signal,
    );
    const found = chunks.flatMap(({ type, seconds, nanos, values, severity, status }) =>
      seconds.map((second, i) => ({
        ...{ pv: this.pv, at: { seconds: second, nanos: nanos[i] ?? 0 }, value: values[i] ?? null },
        ...{ kind: kindOf(type), severity: severity[i] ?? 0, status: status[i] ?? 0 },
      })),
    );
    const last = found.at(-1);
    this.isWhole = !truncated || !last;
    this.samples.push(...found.slice(this.known));
    if (!last) return;
    this.page = isAfter(last.at, this.next) ? PAGE : this.page * 2;
    this.next = last.at;
    this.known = found.filter(({ at }) => !isAfter(last.at, at)).length;
  }
}

function isAfter(a: Instant, b: Instant): boolean {
  return a.seconds > b.seconds || (a.seconds === b.seconds && a.nanos > b.nanos);
}

export class SampleRows {
  readonly rows: Row[] = [];
  private streams: Stream[];

  constructor(
    pvs: string[],
    readonly range: Range,
  ) {
    this.streams = pvs.map((pv) => new Stream(pv, range));
  }

  protocolOf(pv: string): string | null {
    return this.streams.find((stream) => stream.pv === pv)?.protocol ?? null;
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
