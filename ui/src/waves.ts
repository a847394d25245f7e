// The place of waveforms, tables and images below the plot: what shows them is loaded when there is one of them.

import { byId, h } from "./dom.ts";
import { bring } from "./later.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import type { Zone } from "./time.ts";
import type { Trace } from "./trace.ts";
import type { Waveform, WaveformActions } from "./waveform.ts";

/** What is shown: the value that held at a moment, or the newest. */
export interface WaveScene {
  at: number | null;
  range: Range;
  zone: Zone;
  palette: Palette;
}

/** What is more than a number has a panel of its own below the plot. */
export function isWave({ kind }: Trace): boolean {
  return kind === "array" || kind === "structure";
}

export class Waves {
  private place = byId("waveforms");
  private panels = new Map<Trace, Waveform>();
  private part: typeof Waveform | null = null;
  private isLoading = false;
  private stepping = Promise.resolve();

  /** `again` has all drawn once the part is there. */
  constructor(
    private actions: WaveformActions,
    private again: () => void,
  ) {}

  /** Shows the waveforms among these, or where they are folded their names alone. */
  show(traces: Trace[], isOpen: boolean, { at, range, zone, palette }: WaveScene): void {
    this.place.classList.toggle("is-shut", !isOpen);
    for (const trace of traces) {
      const isShown = isWave(trace) && !trace.hidden;
      if (!isShown) {
        this.drop(trace);
        continue;
      }
      if (!this.part) return void this.load();
      let panel = this.panels.get(trace);
      if (!panel) {
        panel = new this.part(trace, this.actions);
        this.panels.set(trace, panel);
        this.place.append(panel.element);
      }
      if (isOpen) panel.show(at, range, zone, palette);
    }
  }

  /** Goes to the next or the previous sample of the first of them. */
  step(by: 1 | -1): Promise<void> {
    // One after another, however fast a key is pressed.
    this.stepping = this.stepping.then(() => [...this.panels.values()][0]?.step(by));
    return this.stepping;
  }

  drop(trace: Trace): void {
    this.panels.get(trace)?.close();
    this.panels.delete(trace);
  }

  private async load(): Promise<void> {
    if (this.isLoading) return;
    this.isLoading = true;
    const place = h("div", { hidden: true });
    this.place.append(place);
    this.part = (await bring(place, () => import("./waveform.ts"))).Waveform;
    place.remove();
    this.again();
  }
}
