// The drawer below the plot: two rows against each other, the histogram of one, or its spectrum, as the archiver computes them; and their samples.

import type { DrawerState } from "./drawer_state.ts";
import { FftPanel } from "./drawer_fft.ts";
import { HistogramPanel } from "./drawer_histogram.ts";
import { SamplesPanel } from "./drawer_samples.ts";
import { XyPanel } from "./drawer_xy.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import type { Zone } from "./time.ts";
import type { Trace } from "./trace.ts";

/** What the plot shows, of which something is to be computed. */
export interface DrawerScene {
  traces: Trace[];
  range: Range;
  isLive: boolean;
  now: number;
  zone: Zone;
  palette: Palette;
  /** The moment of the plot's cursor. */
  at: number | null;
}

export interface DrawerActions {
  /** The newest choices, drawn or not. */
  now(): DrawerState | null;
  change(drawer: DrawerState, step?: "push" | "replace"): void;
  /** Sets the plot's cursor. */
  pin(at: number): void;
  /** Sets both its cursors. */
  between(span: Range): void;
  /** Shows in it which stretch is marked; none: no more. */
  mark(span: Range | null): void;
  /** Lets somebody find another PV. */
  find(): void;
  /** Shows another range. */
  go(range: Range): void;
}

export class Drawer {
  private panels: { xy: XyPanel; histogram: HistogramPanel; fft: FftPanel; samples: SamplesPanel };

  constructor(
    private root: HTMLElement,
    actions: DrawerActions,
  ) {
    this.panels = {
      xy: new XyPanel(actions),
      histogram: new HistogramPanel(actions),
      fft: new FftPanel(actions),
      samples: new SamplesPanel(actions),
    };
  }

  show({ tab, choices }: DrawerState, scene: DrawerScene): void {
    const panel = this.panels[tab];
    if (panel.element.parentElement !== this.root) {
      this.rest();
      this.root.replaceChildren(panel.element);
    }
    panel.show(choices, scene);
  }

  /** Stops asking while nobody sees it. */
  rest(): void {
    for (const panel of Object.values(this.panels)) panel.rest();
  }
}
