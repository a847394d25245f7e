// What a dead band would have kept of a PV's real history, by the archiver's own rule.

import { getSamples } from "./api.ts";
import { decodeSamples, type Samples } from "./decode.ts";

export interface Band {
  size: number;
  /** It is a part of the last sample kept, in percent. */
  isPercent: boolean;
}

/** `0.5` or `5%`; none of what is no dead band. */
export function readBand(text: string): Band | null {
  const [, number, percent] = /^\s*([0-9.]+(?:e[+-]?\d+)?)\s*(%?)\s*$/i.exec(text) ?? [];
  const size = Number(number);
  return number === undefined || !Number.isFinite(size) ? null : { size, isPercent: percent === "%" };
}

/** How many samples stay. */
export function kept(samples: Pick<Samples, "x" | "y" | "severity">, band: Band): number {
  return keptRows(samples, band).length;
}

/** Which samples stay: what moves further than the band, each change of alarm, and the first of each hour. */
export function keptRows(samples: Pick<Samples, "x" | "y" | "severity">, band: Band): number[] {
  const rows: number[] = [];
  let last: { y: number; severity: number; hour: number } | null = null;
  samples.x.forEach((x, i) => {
    const [y, severity, hour] = [samples.y[i]!, samples.severity[i]!, Math.floor(x / 3600)];
    const reach = last === null ? 0 : band.isPercent ? (Math.abs(last.y) * band.size) / 100 : band.size;
    // A value that is no number always differs from one that is.
    const isWithin =
      last !== null &&
      (Math.abs(y - last.y) <= reach || (Number.isNaN(y) && Number.isNaN(last.y))) &&
      severity === last.severity &&
      hour === last.hour;
    if (isWithin) return;
    rows.push(i);
    last = { y, severity, hour };
  });
  return rows;
}

/** The history that is looked at, and how much of it of each PV. */
const SECONDS = 86_400;
const SAMPLES_MAX = 50_000;
/** More PVs are not looked at. */
export const LOOKED_AT_MAX = 20;

/** The last day of a PV, and which of its samples a band would have kept. */
export async function keptOf(
  name: string,
  band: Band,
  now: number,
): Promise<{ samples: Samples; rows: number[]; cut: boolean }> {
  const { signal } = new AbortController();
  const wire = await getSamples(name, { from: now - SECONDS, to: now }, SAMPLES_MAX, signal);
  const samples = decodeSamples(wire);
  return { samples, rows: keptRows(samples, band), cut: wire.truncated };
}

/** Of the last day of some PVs: how many samples there are, and how many a band would have kept. */
export async function wouldKeep(
  names: string[],
  band: Band,
  now: number,
): Promise<{ all: number; kept: number; cut: boolean }> {
  const told = { all: 0, kept: 0, cut: false };
  for (const name of names.slice(0, LOOKED_AT_MAX)) {
    const { samples, rows, cut } = await keptOf(name, band, now);
    told.all += samples.x.length;
    told.kept += rows.length;
    told.cut ||= cut;
  }
  return told;
}
