// Files of samples by the HTTP API: what one would be, ordering it, how far it is, and taking it back.

import { get, post, ROOT, send } from "./api.ts";
import type { Range } from "./state.ts";
import { iso } from "./time.ts";

export const FORMATS = ["csv", "parquet", "arrow", "xlsx", "mat"] as const;
export type Format = (typeof FORMATS)[number];
export const METHODS = ["previous", "linear", "nearest"] as const;
export type Method = (typeof METHODS)[number];

/** What a file shall hold. */
export interface Wanted {
  names: string[];
  range: Range;
  format: Format;
  /** None: the samples as they were recorded, else a row each so many seconds. */
  aligned: { period: number; method: Method } | null;
}

export interface Reason {
  code: string;
  message: string;
  hint: string | null;
}

/** What a file would be; numbers are estimates. */
export interface Plan {
  file: string;
  pvs: number;
  samples: number;
  rows_count: number;
  bytes: number;
  /** What exports may still take on the disk. */
  bytes_free: number;
  notes: string[];
  refused: Reason | null;
}

export interface Job {
  number: number;
  state: "waiting" | "running" | "done" | "failed";
  owner: string;
  format: Format;
  file: string;
  pvs: number;
  pvs_done: number;
  samples: number;
  bytes: number;
  /** 0 to 1. */
  progress: number;
  ordered: string;
  expires: string | null;
  without: string[];
  without_count: number;
  gaps: number;
  /** Blocks that could not be read, and are left out. */
  damage: string[];
  damage_count: number;
  notes: string[];
  error: Reason | null;
}

function pathOf({ range, format, aligned }: Wanted): string {
  const rows = aligned ? `aligned&period=${aligned.period}&method=${aligned.method}` : "raw";
  return `/exports?format=${format}&from=${iso(range.from)}&to=${iso(range.to)}&rows=${rows}`;
}

/** Nothing is made. */
export function planExport(wanted: Wanted, signal: AbortSignal): Promise<Plan> {
  return post(`${pathOf(wanted)}&plan=true`, wanted.names, signal);
}

export function orderExport(wanted: Wanted): Promise<Job> {
  return post(pathOf(wanted), wanted.names);
}

/** One's own, the newest first. */
export async function listExports(signal?: AbortSignal): Promise<Job[]> {
  return (await get<{ exports: Job[] }>("/exports", signal)).exports;
}

/** Ends it, and removes its file. */
export function dropExport(number: number): Promise<Job> {
  return send("DELETE", `/exports/${number}`);
}

export function fileUrl({ number }: Job): string {
  return `${ROOT}/exports/${number}/file`;
}
