// Answers of the server as columns: what the wire says, in the form in which it is drawn.

import type { Json, Metadata, WireBins, WireChunk, WireGap, WireSamples } from "./api.ts";
import type { Instant } from "./time.ts";
import { valueWords as words } from "./words/value.ts";

/** What a PV's values look like on the page. */
export type Kind = "number" | "state" | "text" | "array" | "structure" | "unknown";

/** The kind of a value type as the server names it: `f64`, `enum`, `string`, `f64[]`, `structure`. */
export function kindOf(type: string | null | undefined): Kind {
  if (!type) return "unknown";
  if (type.endsWith("[]")) return /^(string|structure)/.test(type) ? "structure" : "array";
  if (type === "enum" || type === "bool") return "state";
  if (type === "string") return "text";
  return type === "structure" ? "structure" : "number";
}

/** Samples in time order. Columns grow at their end while the page follows a PV live. */
export interface Samples {
  /** For drawing; `seconds` and `nanos` are exact. */
  x: number[];
  seconds: number[];
  nanos: number[];
  /** NaN where a value is no number. */
  y: number[];
  values: Json[];
  severity: number[];
}

/** Samples reduced to one row per pixel column. Empty bins have a count of 0 and NaN elsewhere. */
export interface Bins {
  start: Float64Array;
  end: Float64Array;
  count: Float64Array;
  min: Float64Array;
  max: Float64Array;
  mean: Float64Array;
  first: Float64Array;
  last: Float64Array;
  severity: Uint8Array;
  /** The value that holds when the range begins. */
  before: { x: number; y: number; severity: number; at: Instant | null } | null;
}

export interface Gap {
  from: number;
  /** Infinity while the gap lasts. */
  to: number;
  cause: string;
  lost: number;
  scope: string;
}

export function noSamples(): Samples {
  return { x: [], seconds: [], nanos: [], y: [], values: [], severity: [] };
}

/** A number as the server writes it: what JSON lacks comes as text (`NaN`, `-Infinity`, integers beyond 2^53). */
export function numberOf(value: Json | undefined): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
}

const SEVERITIES = ["NO_ALARM", "MINOR", "MAJOR", "INVALID", "UNDEFINED"];

/** A severity's number, whether it came as one or by name. */
export function severityOf(severity: string | number | null | undefined): number {
  if (typeof severity === "number") return severity;
  return Math.max(0, SEVERITIES.indexOf(severity ?? ""));
}

/** A severity's name as EPICS tools print it. */
export function severityName(severity: number): string {
  return SEVERITIES[severity] ?? "UNDEFINED";
}

export function decodeSamples(wire: WireSamples): Samples {
  const samples = noSamples();
  for (const chunk of wire.chunks) appendChunk(samples, chunk);
  return samples;
}

/** Adds all rows of a chunk. A text that happens to look like a number stays a text. */
export function appendChunk(samples: Samples, chunk: WireChunk): void {
  const kind = kindOf(chunk.type);
  const isNumber = kind === "number" || kind === "state";
  for (let row = 0; row < chunk.seconds.length; row++) {
    const seconds = chunk.seconds[row]!;
    const nanos = chunk.nanos[row] ?? 0;
    const value = chunk.values[row] ?? null;
    samples.x.push(seconds + nanos / 1e9);
    samples.seconds.push(seconds);
    samples.nanos.push(nanos);
    samples.y.push(isNumber ? numberOf(value) : NaN);
    samples.values.push(value);
    samples.severity.push(chunk.severity[row] ?? 0);
  }
}

export function decodeBins(wire: WireBins): Bins {
  const { bins, before } = wire;
  const column = (values: Json[]) => Float64Array.from(values, numberOf);
  return {
    start: Float64Array.from(bins.start),
    end: Float64Array.from(bins.end),
    count: Float64Array.from(bins.count),
    min: column(bins.min),
    max: column(bins.max),
    mean: column(bins.mean),
    first: column(bins.first),
    last: column(bins.last),
    severity: Uint8Array.from(bins.severity),
    before: before && {
      x: before.seconds,
      y: numberOf(before.value),
      severity: severityOf(before.severity),
      at: exactOf(before.time),
    },
  };
}

/** The exact moment of an ISO 8601 time in UTC as the server writes it. */
export function exactOf(time: string): Instant | null {
  const parts = /^([^.Z]+)(?:\.(\d{1,9}))?Z$/.exec(time);
  if (!parts) return null;
  const millis = Date.parse(`${parts[1]}Z`);
  return Number.isNaN(millis)
    ? null
    : { seconds: millis / 1000, nanos: Number((parts[2] ?? "").padEnd(9, "0")) };
}

export function decodeGaps(wire: WireGap[]): Gap[] {
  return wire.map((gap) => ({
    from: gap.from_seconds,
    to: gap.to_seconds ?? Infinity,
    cause: gap.cause,
    lost: gap.lost,
    scope: gap.scope,
  }));
}

/** A gap's cause in words for an operator. */
export function causeText(cause: string): string {
  return words.causes[cause] ?? cause.replace(/_/g, " ");
}

/** A value in words: an enum by its label, a number by the PV's precision, anything else as it is. */
export function formatValue(value: Json, kind: Kind, metadata: Metadata | null): string {
  if (value === null) return "–";
  if (kind === "state") return labelOf(numberOf(value), metadata);
  if (Array.isArray(value)) return words.elements(value.length);
  if (typeof value === "object") return words.structure;
  if (typeof value !== "number") return String(value);
  return formatNumber(value, metadata?.precision ?? null);
}

/** A state's name; its number where the IOC gives none. */
export function labelOf(index: number, metadata: Metadata | null): string {
  const labels = metadata?.labels ?? [];
  const known = labels.length > 0 ? labels : metadata?.type === "bool" ? ["false", "true"] : [];
  return known[index] || String(index);
}

/** A number with the PV's precision, but never so few digits that a small value reads as zero. */
export function formatNumber(value: number, precision: number | null): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9 && !precision) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude >= 1e9 || magnitude < 1e-4)) return value.toExponential(3);
  if (precision !== null && precision >= 0 && magnitude >= 10 ** -precision) {
    return value.toFixed(Math.min(precision, 12));
  }
  return String(Number(value.toPrecision(6)));
}
