// Which colours traces have. Eight are told apart without a dash: beyond the eighth a PV takes one that no other of its pane has, and only
// where all eight are taken there it is dashed. Of more than twenty each has a line of its own.

import type { Layout } from "./panes.ts";
import type { Trace } from "./trace.ts";

/** So many colours are solid. */
const SOLID = 8;
/** More rows than this are told from each other in the panel by their lines alone, whatever their panes are. */
const ROWS_MAX = 20;

/** Those that keep theirs, whoever comes and goes. */
const settled = new WeakSet<Trace>();

/** Gives colours to those beyond the eighth, once it is known of all in which pane they stand. */
export function settleColours(traces: Trace[], { panes, bands }: Layout): void {
  const asTheyCame = traces.length <= SOLID || traces.length > ROWS_MAX;
  if (asTheyCame || traces.some(({ history, error, unknown }) => !history && !error && !unknown)) return;
  for (const together of [...panes.map(({ scales }) => scales.flatMap((scale) => scale.traces)), bands])
    for (const trace of together) {
      if (settled.has(trace)) continue;
      settled.add(trace);
      if (trace.colour < SOLID || trace.look.colour !== null) continue;
      const taken = new Set(together.map(({ colour }) => colour));
      const free = Array.from({ length: SOLID }, (_, i) => i).filter((colour) => !taken.has(colour));
      // Panes of one PV each are not all of the first colour.
      const uses = (colour: number) => traces.filter((other) => other.colour === colour).length;
      const [first] = free.sort((a, b) => uses(a) - uses(b) || a - b);
      if (first !== undefined) trace.colour = first;
    }
}
