// How many PVs a cluster knows, and how many of them lie where nobody answers: a node's own count has only those that it records.

import { ApiError, countPvs, isAbort, type Missing } from "./api.ts";

/** The list is asked again after so long; at once where the node's own count has changed, or something lacked. */
const AGAIN_MILLIS = 30_000;

export interface Known {
  total: number;
  /** The parts for which nobody answers. */
  missing: Missing[];
}

export class KnownPvs {
  /** None where the archiver records alone, and until the list has come. */
  known: Known | null = null;
  private own = -1;
  private askedAt = -Infinity;
  private isAsking = false;
  /** It has answered once, or refused to. */
  isTold = false;

  /** Asks if that is due; says whether there is anything new. */
  async renew(clustered: boolean, own: number): Promise<boolean> {
    if (!clustered) {
      const had = this.known !== null;
      this.known = null;
      return had;
    }
    const isLacking = (this.known?.missing.length ?? 0) > 0;
    const isDue = own !== this.own || isLacking || performance.now() - this.askedAt > AGAIN_MILLIS;
    if (!isDue || this.isAsking) return false;
    this.isAsking = true;
    const isFirst = !this.isTold;
    try {
      const { total, incomplete = [] } = await countPvs();
      this.known = { total, missing: incomplete };
      [this.own, this.askedAt] = [own, performance.now()];
      return true;
    } catch (error) {
      // What it said last stays; the next status asks again.
      if (!(error instanceof ApiError) && !isAbort(error)) throw error;
      return isFirst;
    } finally {
      this.isTold = true;
      this.isAsking = false;
    }
  }
}

/** How many names the parts have of which these are known, and whether there may be more in others. */
export function lackingOf({ missing }: Known): {
  parts: number;
  pvs: number;
  isMore: boolean;
  isNowhere: boolean;
} {
  return {
    parts: missing.length,
    pvs: missing.reduce((sum, { names }) => sum + (names ?? 0), 0),
    isMore: missing.some(({ names }) => names === null),
    isNowhere: missing.every(({ why }) => why.startsWith(NOWHERE)),
  };
}

/** So the archiver begins where no node has a shard; else a node has it, and cannot be asked. */
const NOWHERE = "no node has it";
