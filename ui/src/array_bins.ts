// Waveforms over time as the archiver gives them: each of them where they are few, else bins in which nothing that stood out is lost.

import { answered, ApiError, getSamples } from "./api.ts";
import { NoArrow, readArrow } from "./arrow.ts";
import { decodeSamples, numberOf } from "./decode.ts";
import type { Range } from "./state.ts";
import { iso } from "./time.ts";
import { answerWords } from "./words/answer.ts";

/** So many bins a range has at most, and so many rows of elements each: about what a heat-map has pixels for. */
const BINS = 240;
const ROWS = 256;
/** A long range is asked for in so many parts, so that something is there soon and can be given up. */
const PARTS = 6;
/** No more waveforms than this are shown one by one, and no more numbers. */
const EACH_MAX = 240;
const NUMBERS_MAX = 400_000;

/** The waveforms of a stretch of time, or a single one, which then holds up to the next. */
export interface ArrayBin {
  from: number;
  to: number;
  /** How many waveforms. */
  arrays: number;
  /** How many elements the longest has, and how many neighbouring ones share a row. */
  length: number;
  each: number;
  /** NaN where there is no number. */
  min: Float64Array;
  max: Float64Array;
  mean: Float64Array;
}

/** What of the waveforms of a bin is shown: what lies furthest from their mean, so that a spike is seen whichever way it goes, or one of three. */
export const SIDES = ["furthest", "max", "min", "mean"] as const;
export type Side = (typeof SIDES)[number];

/** A number for each row. */
export function sideOf(bin: ArrayBin, side: Side): Float64Array {
  if (side !== "furthest") return bin[side];
  const { min, max, mean } = bin;
  return max.map((most, i) =>
    most - mean[i]! >= mean[i]! - min[i]! || !isFinite(mean[i]!) ? most : min[i]!,
  );
}

/** Element by element less another waveform, of which neighbours that share a row are averaged; NaN where that has none. */
export function lessReference(numbers: Float64Array, each: number, reference: number[]): Float64Array {
  return numbers.map((number, row) => {
    const part = reference.slice(row * each, (row + 1) * each).filter((value) => !Number.isNaN(value));
    return number - part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}

const MULTIPLES = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200];
const DAY = 86_400;

/** The shortest width of whole seconds that is no shorter than asked for and that the archiver has bins of, too. */
export function roundWidth(least: number): number {
  const found = MULTIPLES.find((width) => width >= least);
  if (found !== undefined) return found;
  for (let days = 1; ; days *= 10)
    for (const width of [days * DAY, 2 * days * DAY, 5 * days * DAY]) if (width >= least) return width;
}

export interface Loaded {
  bins: ArrayBin[];
  /** Each of them is one waveform. */
  isEach: boolean;
}

/** What is known of one PV: a range that moves on asks for what is new in it alone. */
export class ArrayBins {
  private width = 0;
  private known = new Map<number, ArrayBin>();
  /** From which bin up to which has been asked, by their numbers since 1970. */
  private asked: [number, number] = [0, 0];

  constructor(private pv: string) {}

  /** `soon` is told what is there so far, and how much of the whole that is. */
  async load(
    range: Range,
    signal: AbortSignal,
    soon: (bins: ArrayBin[], part: number) => void,
  ): Promise<Loaded> {
    const bins = await this.binned(range, signal, soon);
    const total = bins.reduce((sum, { arrays }) => sum + arrays, 0);
    const longest = bins.reduce((most, { length }) => Math.max(most, length), 0);
    if (total > EACH_MAX || total * longest > NUMBERS_MAX) return { bins, isEach: false };
    const wire = await getSamples(this.pv, range, EACH_MAX + 1, signal);
    return wire.truncated
      ? { bins, isEach: false }
      : { bins: eachOf(decodeSamples(wire), range), isEach: true };
  }

  private async binned(
    range: Range,
    signal: AbortSignal,
    soon: (bins: ArrayBin[], part: number) => void,
  ): Promise<ArrayBin[]> {
    const width = roundWidth((range.to - range.from) / (BINS - 1));
    // Bins of less than a second need not be kept: such a range is read in no time.
    if ((range.to - range.from) / BINS < 0.5) return getArrayBins(this.pv, range, BINS, false, signal);
    const [first, end] = [Math.floor(range.from / width), Math.ceil(range.to / width)];
    let next = first;
    if (width === this.width && first >= this.asked[0] && first <= this.asked[1])
      // The last ones may have been asked for before all of their waveforms were there.
      next = Math.max(first, Math.min(this.asked[1], end) - 2);
    else this.known.clear();
    [this.width, this.asked] = [width, [first, next]];
    for (const number of this.known.keys()) if (number < first || number >= next) this.known.delete(number);
    const shown = () => [...this.known.entries()].sort(([a], [b]) => a - b).map(([, bin]) => bin);
    const each = Math.ceil(BINS / PARTS);
    while (next < end) {
      const count = Math.min(each, end - next);
      const part = { from: next * width, to: (next + count) * width };
      for (const bin of await getArrayBins(this.pv, part, count, true, signal))
        this.known.set(Math.round(bin.from / width), bin);
      next += count;
      this.asked = [first, next];
      soon(shown(), (next - first) / (end - first));
    }
    return shown();
  }
}

/** Bins that have waveforms. */
async function getArrayBins(
  pv: string,
  range: Range,
  bins: number,
  align: boolean,
  signal: AbortSignal,
): Promise<ArrayBin[]> {
  const cut = `bins=${bins}&align=${align}&elements=${ROWS}&format=arrow`;
  const path = `/pvs/${encodeURIComponent(pv)}/bins?from=${iso(range.from)}&to=${iso(range.to)}&${cut}`;
  const response = await answered(path, { signal });
  try {
    const { batches } = readArrow(await response.arrayBuffer());
    return batches.filter((columns) => (columns.get("start")?.length ?? 0) > 0).map(binOf);
  } catch (error) {
    if (error instanceof NoArrow) throw new ApiError("broken", answerWords.unreadable(error.message), null);
    throw error;
  }
}

function binOf(columns: Map<string, Float64Array>): ArrayBin {
  const column = (name: string) => {
    const found = columns.get(name);
    if (!found) throw new NoArrow(answerWords.noColumn(name));
    return found;
  };
  const [first, each, count] = [column("element"), column("elements"), column("count")];
  const last = first.length - 1;
  // What is said to be missing keeps whatever stands in its place: that are rows without a finite number, but for infinities.
  const isKnown = (value: number, i: number) => count[i]! > 0 || Math.abs(value) === Infinity;
  const numbers = (name: string) => column(name).map((value, i) => (isKnown(value, i) ? value : NaN));
  return {
    ...{ from: column("start")[0]!, to: column("end")[0]!, arrays: column("arrays")[0]! },
    ...{ length: first[last]! + each[last]!, each: each[0]! },
    ...{ min: numbers("min"), max: numbers("max"), mean: numbers("mean") },
  };
}

/** Each waveform of a range by itself; the first may have come before it. */
function eachOf(samples: ReturnType<typeof decodeSamples>, range: Range): ArrayBin[] {
  return samples.x.flatMap((at, row) => {
    const value = samples.values[row];
    if (!Array.isArray(value)) return [];
    const numbers = Float64Array.from(value, numberOf);
    const to = samples.x[row + 1] ?? range.to;
    return {
      from: at,
      to,
      arrays: 1,
      length: numbers.length,
      each: 1,
      min: numbers,
      max: numbers,
      mean: numbers,
    };
  });
}
