// Levels of the tree of names: asked for when a branch is opened, a part at a time, so that a million names are never here at once.

import { get, type FoundPvs, type Missing } from "./api.ts";

/** So many children are shown at first, and so many more each time. */
const LEVEL_ROWS = 200;

/** A branch is what its names begin with; a leaf is a name. */
export type Child = { prefix: string; names: number } | { name: string };

export interface Level {
  prefix: string;
  separators: string;
  names: number;
  /** Behind which child others follow; none where these are all. */
  next: string | null;
  children: Child[];
  incomplete?: Missing[];
}

/** One level, or what of it follows behind a child. */
export function getLevel(prefix: string, after: string | null, signal?: AbortSignal): Promise<Level> {
  const from = after === null ? "" : `&after=${encodeURIComponent(after)}`;
  return get<Level>(`/tree?prefix=${encodeURIComponent(prefix)}&limit=${LEVEL_ROWS}${from}`, signal);
}

/** The PVs of a branch, if they are no more than so many, and how many there are. */
export async function namesWithin(prefix: string, most: number): Promise<{ names: string[]; total: number }> {
  // What stands for anything in a pattern may stand in names, too: the names are looked at again.
  const { pvs, total } = await get<FoundPvs>(`/pvs?match=${encodeURIComponent(`${prefix}*`)}&limit=${most}`);
  return { names: pvs.map(({ name }) => name).filter((name) => name.startsWith(prefix)), total };
}

/** What stands of a child below its branch. */
export function labelOf(child: Child, prefix: string): string {
  const text = ("prefix" in child ? child.prefix : child.name).slice(prefix.length);
  // A name may end where its branch does.
  return text === "" ? prefix : text;
}
