// What was seen: bins and samples of ranges of before, so that a zoom or a pan back to them asks nothing. They lie on edges that
// neighbouring views share, and are final; what may change yet is never kept.

import type { Gap } from "./decode.ts";
import type { Range } from "./state.ts";
import type { History, Trace } from "./trace.ts";

/** Of all traces together. The oldest go first. */
const BYTES_MAX = 16_000_000;
/** What was imported into the past or taken away from it is to be seen at some time, without asking for everything again. */
const FRESH_MILLIS = 300_000;
/** A row of bins, and a sample with its texts and exact time, as far as that can be known. */
const BIN_BYTES = 65;
const SAMPLE_BYTES = 80;
/** The archiver's round widths are up to so many times as long as they need be. */
const COARSER = 2.5;

export interface Tile {
  history: History;
  gaps: Gap[];
}

interface Kept extends Tile {
  trace: Trace;
  bytes: number;
  at: number;
}

/** What is asked for. */
export interface Sought {
  range: Range;
  /** So many bins at most. */
  bins: number;
  /** Up to when samples have arrived. */
  settled: number;
  generation: number;
  earlier: number;
}

export class Tiles {
  private kept: Kept[] = [];
  private bytes = 0;

  constructor(private now: () => number = () => performance.now()) {}

  /** Keeps what a trace shows, unless something of it may change. */
  put(trace: Trace): void {
    const { history, gaps } = trace;
    if (!history || history.live || history.truncated || history.range.to > history.settled) return;
    if (history.bins === null && history.samples === null) return;
    const bytes =
      BIN_BYTES * (history.bins?.start.length ?? 0) + SAMPLE_BYTES * (history.samples?.x.length ?? 0);
    this.leave((kept) => kept.trace === trace && isSame(kept.history, history));
    this.kept.push({ trace, history, gaps, bytes, at: this.now() });
    this.bytes += bytes;
    while (this.bytes > BYTES_MAX && this.kept.length > 0) this.leave((kept) => kept === this.kept[0]);
  }

  /** What was seen of a range; none where that is not known, or was coarser than the archiver would give it. */
  find(trace: Trace, sought: Sought): Tile | null {
    this.leave(
      (kept) => this.now() - kept.at > FRESH_MILLIS || kept.history.generation !== sought.generation,
    );
    if (sought.range.to > sought.settled) return null;
    const isIt = ({ trace: of, history }: Kept) =>
      of === trace && history.earlier === sought.earlier && isOf(history, sought);
    return this.kept.findLast(isIt) ?? null;
  }

  private leave(goes: (kept: Kept) => boolean): void {
    const rest = this.kept.filter((kept) => !goes(kept));
    this.kept = rest;
    this.bytes = rest.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

function isSame(a: History, b: History): boolean {
  return a.range.from === b.range.from && a.range.to === b.range.to && a.earlier === b.earlier;
}

/** Whether a history is of that range, and has as many bins as the archiver would give for it. Of a part of it there may be finer ones. */
function isOf({ bins, range: had }: History, { range, bins: most }: Sought): boolean {
  const near = (range.to - range.from) * 1e-9;
  if (Math.abs(had.from - range.from) > near || Math.abs(had.to - range.to) > near) return false;
  const rows = bins?.start.length ?? most;
  return rows >= most / COARSER - 2 && rows <= most + 2;
}
