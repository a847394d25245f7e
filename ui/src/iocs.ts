// IOCs that are lost, and what each takes with it: the lost PVs grouped by the server that had them and by when it went.

import { appliance, get, getPv, type PvDetail } from "./api.ts";

/** An IOC that does not answer. */
export interface Outage {
  /** `192.0.2.17:5064`; the host alone where the archiver knows no more; none where it knows nothing. */
  address: string | null;
  /** Since when, in seconds since 1970. */
  since: number;
  pvs: string[];
  /** One of its PVs, with what is known of its circuit. */
  detail: PvDetail | null;
}

interface LostRow {
  pvName: string;
  hostName: string;
  noConnectionAsOfEpochSecs: string;
}

/** PVs of one host that were lost within so many seconds were lost together. */
const TOGETHER_SECONDS = 3;
/** Of so many groups the archiver is asked which server it was. */
const ASKED_MAX = 24;
/** About so many PVs of each. */
const OF_EACH = 4;

/** The report tells seconds; what was lost in one of them may be told in two. */
export function grouped(rows: LostRow[]): { host: string; since: number; pvs: string[] }[] {
  const sorted = rows
    .map((row) => ({ host: row.hostName, since: Number(row.noConnectionAsOfEpochSecs), pv: row.pvName }))
    .sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : a.since - b.since));
  const groups: { host: string; since: number; last: number; pvs: string[] }[] = [];
  for (const { host, since, pv } of sorted) {
    const group = groups.at(-1);
    if (group && group.host === host && since - group.last <= TOGETHER_SECONDS) {
      group.pvs.push(pv);
      group.last = since;
    } else groups.push({ host, since, last: since, pvs: [pv] });
  }
  return groups;
}

/** All that are lost, those first that most PVs were lost with. */
export async function getOutages(): Promise<Outage[]> {
  const groups = grouped(await appliance<LostRow[]>("getCurrentlyDisconnectedPVs"));
  groups.sort((a, b) => b.pvs.length - a.pvs.length);
  const outages: Outage[] = [];
  await Promise.all(
    groups.slice(0, ASKED_MAX).map(async ({ host, since, pvs }) => {
      // The report does not name the server of every PV, and two may have gone in one second: some PVs are asked about.
      const details = await Promise.all(spread(pvs, OF_EACH).map((pv) => getPv(pv).catch(() => null)));
      const servers = new Set(details.map(serverOf).filter((server) => server !== null));
      const address = servers.size > 0 ? [...servers].sort().join(", ") : host === "N/A" ? null : host;
      outages.push({ address, since, pvs: [...pvs], detail: details[0] ?? null });
    }),
  );
  for (const { host, since, pvs } of groups.slice(ASKED_MAX))
    outages.push({ address: host === "N/A" ? null : host, since, pvs, detail: null });
  return merged(outages).sort((a, b) => b.pvs.length - a.pvs.length);
}

/** What one IOC lost is one outage, also where its PVs went one after the other. */
function merged(outages: Outage[]): Outage[] {
  const found: Outage[] = [];
  for (const outage of outages) {
    const same = found.find((one) => one.address === outage.address && one.address !== null);
    if (same) {
      same.pvs.push(...outage.pvs);
      same.since = Math.min(same.since, outage.since);
    } else found.push(outage);
  }
  return found;
}

function serverOf(detail: PvDetail | null): string | null {
  return detail?.server ?? detail?.metadata?.server ?? null;
}

/** Some of many, evenly apart. */
function spread<T>(all: T[], count: number): T[] {
  const step = Math.max(1, all.length / count);
  return Array.from({ length: Math.min(count, all.length) }, (_, i) => all[Math.floor(i * step)]!);
}

/** An IOC that answers, and how often its PVs were lost in this run of the archiver. */
export interface Restarted {
  address: string;
  protocol: string;
  times: number;
  /** When it last came back. */
  back: string | null;
}

interface TimesRow {
  pvName: string;
  currentlyConnected: string;
  lostConnections: string | number;
}

/** The report is asked for so many of its rows, and the archiver for the servers of so many of these. */
const ROWS_ASKED = 500;
const SERVERS_ASKED = 40;

/** IOCs that came back in this run, found by PVs that were lost most often; `isSome` where more PVs were lost than were asked about. */
export async function getRestarted(): Promise<{ found: Restarted[]; isSome: boolean }> {
  const rows = await appliance<TimesRow[]>(`getLostConnectionsReport?limit=${ROWS_ASKED}`);
  const back = rows.filter((row) => Number(row.lostConnections) > 0 && row.currentlyConnected === "Yes");
  // Spread over the report, because the PVs of one IOC stand together in it.
  const asked = spread(back, SERVERS_ASKED);
  const details = await Promise.all(asked.map((row) => getPv(row.pvName).catch(() => null)));
  const found = new Map<string, Restarted>();
  details.forEach((detail, i) => {
    if (!detail?.server) return;
    const times = Number(asked[i]!.lostConnections);
    const one = found.get(detail.server);
    if (one) one.times = Math.max(one.times, times);
    else
      found.set(detail.server, {
        ...{ address: detail.server, protocol: detail.protocol, times },
        back: detail.last_connected ?? null,
      });
  });
  const list = [...found.values()].sort((a, b) => b.times - a.times);
  return { found: list, isSome: rows.length === ROWS_ASKED || back.length > asked.length };
}

/** An IOC as the archiver counts it, with what it knows of the connection; null where this run had none. */
export interface KnownIoc {
  address: string;
  protocols: string[];
  pvs: number;
  connected: number;
  disconnected: number;
  searching: number;
  paused: number;
  rate: number;
  circuits: number | null;
  /** Since when there is a circuit, or none. */
  since: string | null;
  circuits_lost: number | null;
  restarts: number | null;
  restarted: string | null;
  last_beacon: string | null;
}

export async function getIocs(): Promise<KnownIoc[]> {
  return (await get<{ iocs: KnownIoc[] }>("/iocs")).iocs;
}

/** An IOC that is well sends a beacon every 15 s. */
const BEACON_SECONDS = 40;
const RESTARTS_MANY = 3;

export type Advice = "restarting" | "silent" | "moved" | "flapping" | "unheard" | "well";

/** What is the matter with an IOC, for whoever has to do something about it. */
export function adviceOf(ioc: KnownIoc, now: number): Advice {
  const beacon = ioc.last_beacon === null ? null : Date.parse(ioc.last_beacon) / 1000;
  const isHeard = beacon !== null && now - beacon < BEACON_SECONDS;
  if (ioc.disconnected > 0 && ioc.circuits === 0) return isHeard ? "restarting" : "silent";
  if (ioc.disconnected > 0) return "moved";
  if ((ioc.restarts ?? 0) >= RESTARTS_MANY) return "flapping";
  const isCa = ioc.protocols.includes("ca");
  return isCa && (ioc.circuits ?? 0) > 0 && !isHeard ? "unheard" : "well";
}
