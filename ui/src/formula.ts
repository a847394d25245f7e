// Formulas over PVs as the archiver computes them: each step where these are few, else means of parts of the range, then with their extremes.

import { ApiError, isAbort, postRaw } from "./api.ts";
import { exactOf, noSamples, type Bins, type Samples } from "./decode.ts";
import type { Range } from "./state.ts";
import { floatOf, iso } from "./time.ts";
import { answerWords as words } from "./words/answer.ts";

/** What a formula comes to in a range. */
export interface Computed {
  units: string | null;
  samples: Samples | null;
  bins: Bins | null;
}

interface Head {
  units: string | null;
}

type Wire = number | string | null;

/** Numbers that JSON lacks come as texts; none where nothing is known. */
function numberOf(wire: Wire): number {
  return wire === null ? NaN : Number(wire);
}

async function ask<T>(expression: string, range: Range, more: string, signal?: AbortSignal): Promise<T> {
  const path = `/formula?from=${iso(range.from)}&to=${iso(range.to)}${more}`;
  const response = await postRaw(path, expression, signal);
  try {
    return JSON.parse(await response.text()) as T;
  } catch (error) {
    if (isAbort(error)) throw error;
    // An answer that breaks off is no JSON, or does not come to its end.
    throw new ApiError("broken", words.brokenOff, null);
  }
}

/** What a formula comes to at a moment at which that changes: a number, an array of them, or nothing that is known. */
export interface Step {
  time: string;
  value: Wire | Wire[];
}

/** The first steps of a formula in a range, each made of samples. */
export async function getFirstSteps(
  expression: string,
  range: Range,
  limit: number,
  signal: AbortSignal,
): Promise<Step[]> {
  type Answer = Head & { steps: Step[] };
  return (await ask<Answer>(expression, range, `&limit=${limit}`, signal)).steps;
}

/** A mean of a part of a range, and of what it was made. */
export interface Mean {
  start: string;
  end: string;
  mean: Wire;
  made_of: string;
}

/** Means of equal parts, told by summaries wherever these tell them exactly. */
export async function getMadeMeans(
  expression: string,
  range: Range,
  count: number,
  signal: AbortSignal,
): Promise<Mean[]> {
  return (await ask<Head & { bins: Mean[] }>(expression, range, `&bins=${count}`, signal)).bins;
}

/** Its units, if it can be computed; refused otherwise, with the place and the reason. */
export async function checkFormula(
  expression: string,
  at: number,
  signal: AbortSignal,
): Promise<string | null> {
  return (await ask<Head>(expression, { from: at - 1, to: at }, "&limit=1", signal)).units;
}

/** Each time at which the result changes; none where there are more than a limit. */
export async function getSteps(
  expression: string,
  range: Range,
  limit: number,
  signal: AbortSignal,
): Promise<Computed | null> {
  type Answer = Head & { steps: { time: string; value: Wire }[] };
  const { units, steps } = await ask<Answer>(expression, range, `&limit=${limit + 1}`, signal);
  if (steps.length > limit) return null;
  const samples = noSamples();
  for (const { time, value } of steps) {
    const exact = exactOf(time);
    if (!exact) continue;
    const y = numberOf(value);
    samples.x.push(floatOf(exact));
    samples.seconds.push(exact.seconds);
    samples.nanos.push(exact.nanos);
    samples.y.push(y);
    samples.values.push(Number.isNaN(y) ? null : y);
    samples.severity.push(0);
  }
  return { units, samples, bins: null };
}

interface WireBin {
  start: string;
  end: string;
  mean: Wire;
  min?: Wire;
  max?: Wire;
  covered: number;
}

/** Means of equal parts of a range; with their extremes every sample is read, which may take long. */
export async function getMeans(
  expression: string,
  range: Range,
  count: number,
  withExtremes: boolean,
  signal: AbortSignal,
): Promise<Computed> {
  const more = `&bins=${count}${withExtremes ? "&extremes=true" : ""}`;
  const { units, bins } = await ask<Head & { bins: WireBin[] }>(expression, range, more, signal);
  return { units, samples: null, bins: binsOf(bins) };
}

/** A part of which nothing is known has a count of one and no number: a line does not go on through it. */
function binsOf(wire: WireBin[]): Bins {
  const column = (of: (bin: WireBin) => number) => Float64Array.from(wire, of);
  const time = (text: string) => floatOf(exactOf(text)!);
  const mean = column((bin) => (bin.covered > 0 ? numberOf(bin.mean) : NaN));
  const least = column((bin) => numberOf(bin.min ?? bin.mean));
  const most = column((bin) => numberOf(bin.max ?? bin.mean));
  return {
    ...{ start: column((bin) => time(bin.start)), end: column((bin) => time(bin.end)) },
    ...{ count: column((bin) => (bin.covered > 0 ? 2 : 1)), min: least, max: most, mean },
    ...{ first: mean, last: mean, severity: new Uint8Array(wire.length), before: null },
  };
}

/** What a PV or a formula amounts to in a range, each number weighed by how long it held. */
export interface Statistics {
  units: string | null;
  covered: number;
  unknown: number;
  mean: number;
  std: number;
  min: number;
  max: number;
  read: number;
}

export async function getStatistics(
  expression: string,
  range: Range,
  signal: AbortSignal,
): Promise<Statistics> {
  const path = `/stats?from=${iso(range.from)}&to=${iso(range.to)}&percentiles=50`;
  const response = await postRaw(path, expression, signal);
  type Answer = Record<"mean" | "std" | "min" | "max", Wire> &
    Pick<Statistics, "units" | "covered" | "unknown" | "read">;
  const { mean, std, min, max, ...rest } = (await response.json()) as Answer;
  return {
    ...rest,
    ...{ mean: numberOf(mean), std: numberOf(std), min: numberOf(min), max: numberOf(max) },
  };
}

/** A PV's name as an expression, whatever characters it has. */
export function expressionOf(pv: string): string {
  return `\`${pv}\``;
}

/** What a formula comes to at a moment. */
export async function formulaAt(expression: string, at: number, signal: AbortSignal): Promise<number> {
  const steps = await ask<{ steps: { value: Wire }[] }>(
    expression,
    { from: at, to: at + 1e-6 },
    "&limit=1",
    signal,
  );
  return numberOf(steps.steps[0]?.value ?? null);
}
