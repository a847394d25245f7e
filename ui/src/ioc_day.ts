// The last day of IOCs as strips, hatched where nobody recorded. The archiver keeps no history of IOCs: one PV of each has it.

import { getGaps, sortedPvs } from "./api.ts";
import { h } from "./dom.ts";
import type { KnownIoc } from "./iocs.ts";
import { formatDuration } from "./time.ts";
import { iocWords as words } from "./words/ioc.ts";

const DAY = 86_400;
/** Of more IOCs nobody looks at the strips. */
const ASKED_MAX = 60;

export class IocDays {
  private waiting: { ioc: KnownIoc; strip: HTMLElement }[] = [];
  private asked = 0;
  private isAsking = false;

  constructor(private now: number) {}

  /** A strip that is filled once its turn has come; one after the other, so that nothing else waits for them. */
  of(ioc: KnownIoc): HTMLElement {
    const strip = h("div", { class: "day-strip" });
    if (this.asked++ < ASKED_MAX) this.waiting.push({ ioc, strip });
    if (!this.isAsking) void this.ask();
    return strip;
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      const { ioc, strip } = next;
      // What cannot be had is not drawn; the rest of the table stands without it.
      await this.fill(ioc, strip).catch(() => undefined);
      // Whoever has gone on to another part asks for nothing here.
      if (!strip.isConnected) return;
    }
    this.isAsking = false;
  }

  private async fill(ioc: KnownIoc, strip: HTMLElement): Promise<void> {
    const { pvs } = await sortedPvs({
      ...{
        match: "",
        state: ioc.disconnected > 0 ? "disconnected" : "connected",
        narrow: { ioc: ioc.address },
      },
      ...{ by: "name", order: "asc", offset: 0, limit: 1 },
    });
    const pv = pvs[0]?.name;
    if (pv === undefined) return;
    const range = { from: this.now - DAY, to: this.now };
    const { gaps } = await getGaps(pv, range, new AbortController().signal);
    const part = (at: number) => Math.min(Math.max((at - range.from) / DAY, 0), 1);
    const holes = gaps
      .map(({ from_seconds: from, to_seconds: to }) => ({ from: part(from), to: part(to ?? this.now) }))
      .filter(({ from, to }) => to > from);
    strip.append(
      ...holes.map(({ from, to }) => {
        const hole = h("i", { class: "hole" });
        Object.assign(hole.style, { left: `${100 * from}%`, width: `${100 * (to - from)}%` });
        return hole;
      }),
    );
    const missing = holes.reduce((sum, { from, to }) => sum + (to - from) * DAY, 0);
    const text = missing > 0 ? words.dayMissing(formatDuration(missing), pv) : words.dayWhole(pv);
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", text);
    strip.title = text;
  }
}
