// The place of the drawer below the plot: its tabs, and what is loaded when one of an analysis is opened.

import { byId, h, set } from "./dom.ts";
import type { Drawer, DrawerActions, DrawerScene } from "./drawer.ts";
import { TABS, turned, type DrawerState } from "./drawer_state.ts";
import { bring } from "./later.ts";
import { mainPart } from "./plotless.ts";

export interface HostActions extends DrawerActions {
  /** Shows the waveforms in its place. */
  waveforms(): void;
  /** Closes whichever is open. */
  close(): void;
}

/** What is there to be shown. */
export interface Open {
  drawer: DrawerState | null;
  /** There are waveforms, and they are shown if no analysis is. */
  hasWaves: boolean;
  isWaveOpen: boolean;
  /** Something else has the room once it is closed. */
  canClose: boolean;
}

export class DrawerHost {
  private tabs = byId("drawer-tabs");
  private root = byId("analysis");
  private drawer: Drawer | null = null;
  private isLoading = false;
  private open: Open = { drawer: null, hasWaves: false, isWaveOpen: false, canClose: true };
  private scene: DrawerScene | null = null;

  constructor(private actions: HostActions) {
    this.tabs.addEventListener("click", (event) => {
      const tab = (event.target as HTMLElement).closest<HTMLElement>("[data-tab]")?.dataset.tab;
      if (tab === "close") actions.close();
      else if (tab === "waveforms") actions.waveforms();
      else if (tab !== undefined) this.turn(TABS.find((one) => one === tab)!);
    });
    for (const part of [this.tabs, this.root])
      part.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        actions.close();
        mainPart().focus();
      });
  }

  private turn(tab: DrawerState["tab"]): void {
    const drawer = this.actions.now();
    if (drawer?.tab === tab) return;
    this.actions.change(drawer ? turned(drawer, tab) : { tab, choices: {} });
  }

  show(open: Open, scene: DrawerScene): void {
    [this.open, this.scene] = [open, scene];
    const { drawer, hasWaves, isWaveOpen, canClose } = open;
    const hasRows = scene.traces.some((trace) => !trace.hidden && trace.kind !== "array");
    this.tabs.hidden = !drawer && !(hasWaves && isWaveOpen && hasRows);
    this.root.hidden = drawer === null;
    if (!this.tabs.hidden)
      for (const button of this.tabs.querySelectorAll<HTMLElement>("[data-tab]")) {
        const { tab } = button.dataset;
        if (tab === "waveforms") button.hidden = !hasWaves;
        if (tab === "close") button.hidden = !canClose;
        else set(button, "aria-pressed", String(tab === (drawer?.tab ?? "waveforms")));
      }
    if (!drawer) return this.drawer?.rest();
    if (this.drawer) return this.drawer.show(drawer, scene);
    if (this.isLoading) return;
    this.isLoading = true;
    void this.load();
  }

  private async load(): Promise<void> {
    const place = h("div", { class: "drawer-place" });
    this.root.replaceChildren(place);
    const { Drawer } = await bring(place, () => import("./drawer.ts"));
    const hadFocus = place.contains(document.activeElement);
    this.drawer = new Drawer(this.root, this.actions);
    if (this.open.drawer && this.scene) this.drawer.show(this.open.drawer, this.scene);
    if (hadFocus) this.tabs.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  }
}
