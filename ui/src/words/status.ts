// What the page says of how the archiver fares.

import { pvsText } from "./counts.ts";

/** What the chip at the top right says of the archiver's PVs. */
export function chipText(total: number, lost: number): string {
  return lost === 0 ? pvsText(total) : `${lost.toLocaleString("en")} of ${pvsText(total)} lost`;
}

/** The same of a cluster while nobody answers for parts of it: in a sentence, and where there is little room. */
export function knownText(total: number, lacking: Lacking): { whole: string; short: string } {
  const { parts, pvs, isMore, isNowhere } = lacking;
  const shards = parts === 1 ? "a shard" : `${parts.toLocaleString("en")} shards`;
  const of = `${shards} ${isNowhere ? "that no node has" : "for which nobody answers"}`;
  const known = `${pvsText(total)} known`;
  const short = pvs > 0 ? `${pvs.toLocaleString("en")} of ${pvsText(total)} unknown` : known;
  if (pvs === 0 && isMore) return { whole: `${known}; ${of} may have more`, short };
  return {
    whole: `${known}, ${pvs.toLocaleString("en")} of ${of}${isMore ? ", which may have more" : ""}`,
    short,
  };
}

/** Parts of a cluster for which nobody answers. */
interface Lacking {
  parts: number;
  /** So many PVs are known of them, */
  pvs: number;
  /** and there may be others. */
  isMore: boolean;
  /** No node has them; else one that cannot be asked. */
  isNowhere: boolean;
}

/** Whether the archiver is there, and how many of its PVs are. */
export const statusWords = {
  unknownSince: (time: string) => `Nothing is known since ${time}`,
  lag: (samples: number) => `${samples} samples on their way to disk`,
  allOnDisk: "all samples on disk",
  running: (version: string, since: string) => `pvark ${version}, running since ${since}`,
  connected: "Archiver connected",
  noAnswer: "it does not answer",
  clockOff: (length: string, isAhead: boolean) =>
    `This computer’s clock is ${length} ${isAhead ? "ahead" : "behind"}; times on this page are the archiver’s.`,
  lost: (time: string, length: string, reason: string) => `No archiver since ${time} (${length}): ${reason}.`,
  lostMeans: (seconds: number) =>
    `Nothing after that is known here, not even whether it still records. It is tried every ${seconds} s; the page goes on by itself.`,
  room: (free: string) => `${free} are free on the archive’s disk.`,
  pvsUnknown: "PVs: not known",
  silentSince: (time: string) => `silent since ${time}`,
  silent: "The archiver does not answer",
  elsewhere: (pvs: string) => `${pvs} PVs, all of them at other nodes of the cluster`,
  paused: (pvs: string) => `, ${pvs} paused`,
  well: (pvs: string, connected: string, rest: string) => `${pvs} PVs: ${connected} connected${rest}`,
  lostPvs: (lost: number, total: number, how: string, rest: string) =>
    `${lost.toLocaleString("en")} of ${total.toLocaleString("en")} PVs ${lost === 1 ? "is" : "are"} not connected: ${how}${rest}`,
} as const;
