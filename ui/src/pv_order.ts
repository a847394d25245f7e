// In what order the table of PVs stands, as the archiver sorts or as is sorted here, and what each PV costs.

import { appliance, type Pv } from "./api.ts";
import { numberOf } from "./decode.ts";
import type { Sort } from "./pv_table.ts";
import { manageWords as words } from "./words/manage.ts";

export const SORT_KEYS = [
  ...(["name", "state", "since", "how", "type", "value", "rate", "bytes", "last"] as const),
  ...(["ioc", "policy", "added_by"] as const),
] as const;
export type SortKey = (typeof SORT_KEYS)[number];

/** Columns of which the largest is looked for first. */
export const FALLING: SortKey[] = ["since", "value", "rate", "bytes", "last"];

/** More rows than this are not fetched to be shown in another order than that of their names. */
export const SORTED_MAX = 20_000;

/** By what the archiver sorts over all PVs, and whether its largest come first where ours do: it sorts by times, we by how long ago they are. */
const BY_ARCHIVER: Partial<Record<SortKey, [by: string, isSameWay: boolean]>> = {
  name: ["name", true],
  state: ["state", true],
  since: ["since", false],
  rate: ["rate", true],
  bytes: ["bytes_per_day", true],
  last: ["last", false],
  ioc: ["ioc", true],
  policy: ["policy", true],
  added_by: ["added_by", true],
};

/** How the archiver is asked for an order; none where it does not know it, as that of values. */
export function askedOrder({ key, falls }: Sort): { by: string; order: "asc" | "desc" } | null {
  const [by, isSameWay] = BY_ARCHIVER[key] ?? [];
  if (by === undefined) return null;
  return { by, order: falls === isSameWay ? "desc" : "asc" };
}

export interface Cost {
  /** Samples a second. */
  rate?: number | undefined;
  /** Bytes a day. */
  bytes?: number | undefined;
}

export function isSortKey(key: string): key is SortKey {
  return (SORT_KEYS as readonly string[]).includes(key);
}

/** What a PV costs: as its row says, by which it stands where it does, else as the reports say. */
export function costOf(pv: Pv, costs: Map<string, Cost>): Cost {
  const { rate, bytes } = costs.get(pv.name) ?? {};
  return { rate: pv.rate ?? rate, bytes: pv.bytes_per_day ?? bytes };
}

/** Of the PVs that cost most. */
export async function getCosts(): Promise<Map<string, Cost>> {
  type Row = Record<string, string>;
  const [rates, bytes] = await Promise.all([
    appliance<Row[]>(`getEventRateReport?limit=${SORTED_MAX}`),
    appliance<Row[]>(`getStorageRateReport?limit=${SORTED_MAX}`),
  ]);
  const costs = new Map<string, Cost>();
  for (const row of rates) costs.set(row.pvName!, { rate: Number(row.eventRate) });
  for (const row of bytes)
    costs.set(row.pvName!, { ...costs.get(row.pvName!), bytes: Number(row.storageRate_MBperday) * MEGA });
  return costs;
}

/** The fewest PVs that take half of the bytes of a day, the costliest first, and how many bytes these and all take. */
export interface Half {
  names: string[];
  bytes: number;
  all: number;
  /** How many PVs take any. */
  pvs: number;
}

export function halfOf(costs: Map<string, Cost>): Half {
  const taking = [...costs].flatMap(([name, { bytes }]) =>
    bytes !== undefined && bytes > 0 ? [{ name, bytes }] : [],
  );
  taking.sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
  const all = taking.reduce((sum, { bytes }) => sum + bytes, 0);
  const half: Half = { names: [], bytes: 0, all, pvs: taking.length };
  for (const { name, bytes } of taking) {
    if (half.bytes >= all / 2) break;
    half.names.push(name);
    half.bytes += bytes;
  }
  return half;
}

/** The Appliance's megabytes. */
const MEGA = 1024 ** 2;

/** The rows by a column; equal ones by their names, and those of which it is not known at the end. */
export function inOrder(pvs: Pv[], { key, falls }: Sort, costs: Map<string, Cost>): Pv[] {
  const keyed = pvs.map((pv) => ({ pv, by: keyOf(pv, key, costs) }));
  keyed.sort((a, b) => {
    const [isKnown, isOther] = [a.by !== null, b.by !== null];
    if (!isKnown || !isOther) return isKnown === isOther ? byName(a.pv, b.pv) : isKnown ? -1 : 1;
    const order = a.by! < b.by! ? -1 : a.by! > b.by! ? 1 : 0;
    return order === 0 ? byName(a.pv, b.pv) : falls ? -order : order;
  });
  return keyed.map(({ pv }) => pv);
}

function byName(a: Pv, b: Pv): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function keyOf(pv: Pv, key: SortKey, costs: Map<string, Cost>): number | string | null {
  // Longest first is earliest first: what falls is how long ago it was.
  const ago = (time: string | null | undefined) => {
    const at = Date.parse(time ?? "");
    return Number.isNaN(at) ? null : -at;
  };
  switch (key) {
    case "name":
      return pv.name;
    case "state":
      return pv.state;
    case "type":
      return pv.type;
    case "how":
      return pv.method === "scan" ? (pv.period ?? 0) : 0;
    case "since":
      return ago(pv.since);
    case "last":
      return ago(pv.last?.time);
    case "value": {
      const value = numberOf(pv.last?.value);
      return Number.isNaN(value) ? null : value;
    }
    case "ioc":
    case "policy":
    case "added_by":
      return pv[key] ?? null;
    case "rate":
      return costs.get(pv.name)?.rate ?? null;
    case "bytes":
      return costs.get(pv.name)?.bytes ?? null;
  }
}

/** `102.0 Hz`. */
export function rateText(rate: number): string {
  return words.hertz(rate === 0 ? "0" : rate < 0.01 ? "< 0.01" : rate.toFixed(rate < 1 ? 2 : 1));
}
