// When exactly something happened that is known from a bin alone: the samples of that bin are asked for, and say it.

import { getSamples } from "./api.ts";
import { decodeSamples, formatValue, type Samples } from "./decode.ts";
import type { Happening } from "./events.ts";
import { instantOf } from "./time.ts";

/** So many moments are asked for at once; of more events than this the moments of their bins will do. */
const AT_ONCE = 3;
const ASKED_MAX = 60;
/** A bin of more samples is left as it is. */
const SAMPLES_MAX = 5000;

export class ExactTimes {
  private known = new Map<string, number>();
  private waiting: Happening[] = [];
  private underway = new Set<string>();

  /** `found` is called when a moment has become known. */
  constructor(private found: () => void) {}

  /** The same events at their own moments, as far as these are known; the others are asked for. */
  of(events: Happening[]): Happening[] {
    this.waiting = [];
    const exact = events.map((one, i) => {
      if (one.within === undefined) return one;
      const key = keyOf(one);
      const at = this.known.get(key);
      if (at !== undefined) {
        const { pv, kind, severity, text } = one;
        return { pv, kind, severity, text, at };
      }
      if (i < ASKED_MAX && !this.underway.has(key)) this.waiting.push(one);
      return one;
    });
    this.next();
    return exact.sort((a, b) => a.at - b.at);
  }

  /** No more of them are asked for until they are wanted again. */
  rest(): void {
    this.waiting = [];
  }

  /** The moment of one event, asked for at once if need be. */
  async when(one: Happening): Promise<number> {
    if (one.within === undefined) return one.at;
    if (!this.known.has(keyOf(one))) await this.ask(one);
    return this.known.get(keyOf(one)) ?? one.at;
  }

  private next(): void {
    while (this.underway.size < AT_ONCE) {
      const one = this.waiting.shift();
      if (!one) return;
      void this.ask(one);
    }
  }

  private async ask(one: Happening): Promise<void> {
    const key = keyOf(one);
    this.underway.add(key);
    try {
      const { signal } = new AbortController();
      const range = { from: one.at, to: one.within! };
      const wire = await getSamples(one.pv, range, SAMPLES_MAX, signal);
      const at = momentOf(decodeSamples(wire), one, (value) => formatValue(value, "state", wire.metadata));
      // Where none is found, as after a deletion, it is not asked for again.
      this.known.set(key, at ?? one.at);
      if (at !== null) this.found();
    } catch {
      // The moment of its bin stays, which is right to a pixel.
      this.known.set(key, one.at);
    } finally {
      this.underway.delete(key);
      this.next();
    }
  }
}

/** The first sample that is what happened; the one that holds before the range is not. */
export function momentOf(
  samples: Samples,
  one: Happening,
  named: (value: Samples["values"][number]) => string,
): number | null {
  const from = instantOf(one.at);
  for (let i = 0; i < samples.x.length; i++) {
    const isBefore =
      samples.seconds[i]! < from.seconds ||
      (samples.seconds[i] === from.seconds && samples.nanos[i]! < from.nanos);
    if (isBefore) continue;
    if (one.kind === "alarm" ? samples.severity[i] === one.severity : named(samples.values[i]!) === one.text)
      return samples.x[i]!;
  }
  return null;
}

function keyOf({ pv, at, within, kind, text }: Happening): string {
  return `${pv} ${at} ${within} ${kind} ${text}`;
}
