// Bins, gaps and metadata of many PVs in one answer, and samples of many in another: all that a plot asks for when it moves. (What the
// page shows, and its address, is in state.ts.)

import {
  ApiError,
  post,
  type Metadata,
  type WireBins,
  type WireGap,
  type WireSamples,
  postRaw,
} from "./api.ts";
import { NoArrow, readArrow } from "./arrow.ts";
import { decodeGaps, exactOf, numberOf, severityOf, type Bins, type Gap } from "./decode.ts";
import type { Range } from "./state.ts";
import { iso } from "./time.ts";
import { answerWords as words } from "./words/answer.ts";

/** What an answer says of one PV. */
export interface Viewed {
  type: string | null;
  metadata: Metadata | null;
  /** No bin has more than one sample. */
  isRaw: boolean;
  gaps: Gap[];
  bins: Bins;
}

/** The archiver gives no more bins at once. */
const BINS_MAX = 500_000;
/** Nor of more PVs. Of so many an answer is some megabytes. */
const PVS_MAX = 50;

/** The names in parts, each of which one answer can have. */
export function inAnswers<T>(all: T[], bins: number): T[][] {
  const most = Math.max(1, Math.min(PVS_MAX, Math.floor(BINS_MAX / (bins + 2))));
  const parts: T[][] = [];
  for (let at = 0; at < all.length; at += most) parts.push(all.slice(at, at + most));
  return parts;
}

/** What the archiver says of a PV for which none of its nodes answers at present. */
interface Untold {
  unanswered: string;
}

interface Told {
  type: string | null;
  metadata: Metadata | null;
  before: WireBins["before"];
  raw: boolean;
  gaps: WireGap[];
}

/**
 * At most so many bins of a round width, or bins of a width that is at hand; they may reach beyond the range at both ends. Of a PV for which
 * nobody answers at present: why.
 */
export async function getView(
  names: string[],
  range: Range,
  bins: { bins: number } | { width: number },
  signal: AbortSignal,
): Promise<(Viewed | ApiError)[]> {
  const cut = "bins" in bins ? `bins=${bins.bins}` : `width=${bins.width}`;
  const path = `/view?from=${iso(range.from)}&to=${iso(range.to)}&${cut}`;
  const response = await postRaw(path, names, signal);
  try {
    const { metadata, batches } = readArrow(await response.arrayBuffer());
    const told = JSON.parse(metadata.get("pvs") ?? "[]") as (Told | Untold)[];
    if (told.length !== names.length || batches.length !== names.length)
      throw new NoArrow(words.otherCount(batches.length, names.length));
    return told.map((of, i) =>
      "unanswered" in of
        ? new ApiError("store_refused", words.nobody(of.unanswered), null)
        : viewedOf(of, batches[i]!),
    );
  } catch (error) {
    if (error instanceof NoArrow || error instanceof SyntaxError)
      throw new ApiError("broken", words.unreadable(error.message), null);
    throw error;
  }
}

function viewedOf(told: Told, columns: Map<string, Float64Array>): Viewed {
  const column = (name: string) => {
    const found = columns.get(name);
    if (!found) throw new NoArrow(words.noColumn(name));
    return found;
  };
  const count = column("count");
  /** Where there is no sample there is no number. */
  const numbers = (name: string) => column(name).map((value, i) => (count[i]! > 0 ? value : NaN));
  const { type, metadata, before, raw, gaps } = told;
  return {
    ...{ type, metadata, isRaw: raw, gaps: decodeGaps(gaps) },
    bins: {
      ...{ start: column("start"), end: column("end"), count },
      ...{ min: numbers("min"), max: numbers("max"), mean: numbers("mean") },
      ...{ first: numbers("first"), last: numbers("last") },
      severity: Uint8Array.from(column("severity")),
      before: before && {
        x: before.seconds,
        y: numberOf(before.value),
        severity: severityOf(before.severity),
        at: exactOf(before.time),
      },
    },
  };
}

/** The samples of each of many PVs, up to so many of each. */
export async function getSamplesOf(
  names: string[],
  range: Range,
  limit: number,
  signal: AbortSignal,
): Promise<WireSamples[]> {
  const path = `/samples?from=${iso(range.from)}&to=${iso(range.to)}&limit=${limit}&before=true`;
  return (await post<{ pvs: WireSamples[] }>(path, names, signal)).pvs;
}
