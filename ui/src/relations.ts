// What the archiver computes of one or two rows of a plot: pairs of what both were at the same times, histograms, spectra.

import { ApiError, post, postRaw, rangeQuery, ROOT } from "./api.ts";
import { NoArrow, readArrow } from "./arrow.ts";
import { numberOf } from "./decode.ts";
import type { Range } from "./state.ts";

/** What a number may be in JSON. */
type Wire = number | string | null;

/** How pairs are made, and of what. */
export interface PairsWanted {
  x: string;
  y: string;
  by: By;
  /** The seconds between them, where they are made at equal distances. */
  step: number | null;
}

export const BYS = ["last", "stamp", "grid", "mean", "pulse"] as const;
export type By = (typeof BYS)[number];

export interface Pairs {
  /** Seconds since 1970, rising. */
  time: Float64Array;
  x: Float64Array;
  y: Float64Array;
  units: { x: string | null; y: string | null };
  /** What of x had no partner. */
  unpaired: number;
  /** There are more: they were made up to then. */
  until: string | null;
  correlation: number | null;
  slope: number | null;
  intercept: number | null;
  /** Blocks that could not be read. */
  damage: number;
}

export function pairsQuery({ by, step }: PairsWanted, range: Range): string {
  return `${rangeQuery(range)}&by=${by}${step === null ? "" : `&step=${step}`}`;
}

export async function getPairs(wanted: PairsWanted, range: Range, signal: AbortSignal): Promise<Pairs> {
  const { x, y } = wanted;
  const path = `/xy?${pairsQuery(wanted, range)}&format=arrow`;
  const { columns, facts } = await tableOf(await postRaw(path, { x, y }, signal));
  return {
    ...{ time: columns("time"), x: columns("x"), y: columns("y") },
    units: { x: null, y: null, ...(parsed(facts.get("units")) as object | null) },
    unpaired: Number(facts.get("unpaired") ?? 0),
    until: facts.get("until") ?? null,
    correlation: known(facts.get("correlation")),
    slope: known(facts.get("slope")),
    intercept: known(facts.get("intercept")),
    damage: ((parsed(facts.get("damage")) ?? []) as unknown[]).length,
  };
}

export type Weight = "time" | "count";

export interface HistogramWanted {
  of: string;
  bins: number;
  weight: Weight;
  /** Between which numbers the bins lie; none: from the least to the greatest. */
  within: [number, number] | null;
}

/** For how long, in seconds, or how often. */
interface Share {
  seconds: number | null;
  count: number | null;
}

export interface Histogram {
  units: string | null;
  bins: ({ low: number; high: number } & Share)[];
  /** Finite, and beyond the bins. */
  below: Share;
  above: Share;
  infinite: Share;
  minus_infinite: Share;
  nan: Share;
  gaps: { seconds: number };
  before: { seconds: number };
  damage: string[];
}

export function histogramQuery({ bins, weight, within }: HistogramWanted, range: Range): string {
  const ends = within === null ? "" : `&low=${within[0]}&high=${within[1]}`;
  return `${rangeQuery(range)}&bins=${bins}&weight=${weight}${ends}`;
}

export async function getHistogram(
  wanted: HistogramWanted,
  range: Range,
  signal: AbortSignal,
): Promise<Histogram> {
  type Answer = Omit<Histogram, "bins"> & { bins: ({ low: Wire; high: Wire } & Share)[] };
  const answer = await post<Answer>(
    `/histogram?${histogramQuery(wanted, range)}`,
    { expression: wanted.of },
    signal,
  );
  const bins = answer.bins.map((bin) => ({ ...bin, low: numberOf(bin.low), high: numberOf(bin.high) }));
  return { ...answer, bins };
}

export const WINDOWS = ["none", "hann"] as const;
export const OUTPUTS = ["amplitude", "density"] as const;
export const FILLS = ["previous", "linear", "mean"] as const;
export type Fill = (typeof FILLS)[number];

export interface SpectrumWanted {
  of: string;
  window: (typeof WINDOWS)[number];
  output: (typeof OUTPUTS)[number];
  /** Makes it even; none: its samples are. */
  step: number | null;
  fill: Fill;
}

export interface Spectrum {
  frequency: Float64Array;
  strength: Float64Array;
  /** Of the strengths. */
  units: string | null;
  points: number;
  step: number;
  damage: number;
}

export function spectrumQuery({ window, output, step, fill }: SpectrumWanted, range: Range): string {
  const even = step === null ? "" : `&step=${step}&resample=${fill}`;
  return `${rangeQuery(range)}&window=${window}&output=${output}${even}`;
}

export async function getSpectrum(
  wanted: SpectrumWanted,
  range: Range,
  signal: AbortSignal,
): Promise<Spectrum> {
  const path = `/fft?${spectrumQuery(wanted, range)}&format=arrow`;
  const { columns, facts } = await tableOf(await postRaw(path, { expression: wanted.of }, signal));
  return {
    ...{ frequency: columns("frequency"), strength: columns(wanted.output) },
    units: facts.get("output_units") ?? null,
    points: Number(facts.get("points") ?? 0),
    step: Number(facts.get("step") ?? 0),
    damage: ((parsed(facts.get("damage")) ?? []) as unknown[]).length,
  };
}

/** Where the same is had as a file; none where an address could not hold it. */
export function csvOf(noun: string, expressions: Record<string, string>, query: string): string | null {
  const asked = Object.entries(expressions).map(([key, text]) => `${key}=${encodeURIComponent(text)}`);
  const url = `${ROOT}/${noun}?${[...asked, query, "format=csv"].join("&")}`;
  return url.length <= ADDRESS_MAX ? url : null;
}

const ADDRESS_MAX = 8000;

/** The columns of a table that came as one stream, and what stands beside them. */
async function tableOf(
  response: Response,
): Promise<{ columns(name: string): Float64Array; facts: Map<string, string> }> {
  try {
    const { batches, metadata } = readArrow(await response.arrayBuffer());
    const columns = (name: string) => joined(batches.flatMap((batch) => batch.get(name) ?? []));
    return { columns, facts: metadata };
  } catch (error) {
    if (error instanceof NoArrow) throw new ApiError("no_arrow", error.message, null);
    throw error;
  }
}

function joined(parts: Float64Array[]): Float64Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A number, if it is one. */
function known(text: string | undefined): number | null {
  const number = Number(text ?? NaN);
  return Number.isFinite(number) ? number : null;
}
