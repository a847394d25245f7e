// Opens the menus of the plot: by the mouse, a finger or keys, of what is there or has the focus. What stands in them comes with the first.

import { onAsked } from "./asked.ts";
import { byId } from "./dom.ts";
import { bring } from "./later.ts";
import type { MenuActions, Menus } from "./menus.ts";
import type { NoteMark } from "./notes.ts";
import type { Page } from "./page.ts";
import { mainPart } from "./plotless.ts";

interface At {
  x: number;
  y: number;
}

export class MenuOpener {
  private menus: Promise<Menus> | null = null;

  constructor(
    private page: () => Page,
    private actions: MenuActions,
  ) {
    onAsked(byId("plot"), ({ x, y, target }) => this.ofPlot({ x, y }, target));
    onAsked(byId("overview-strip"), ({ x, y }) => {
      this.bringing((menus) => menus.ofTimes({ x, y }, byId("plot")));
      return true;
    });
  }

  ofRow(name: string, at: At): void {
    const from = document.activeElement?.closest("[data-pv]") ? document.activeElement : mainPart();
    this.bringing((menus) => menus.ofRow(name, at, from));
  }

  ofNote(mark: NoteMark, at: At): void {
    this.bringing((menus) => menus.ofNote(mark, at, mainPart()));
  }

  /** Opens the menu of whatever has the focus: a row, else the plot at its cursor, or the moment that is shown where there is no plot. */
  ofFocus(): void {
    const page = this.page();
    const row = page.focused;
    const place = row === undefined ? null : page.placeOfRow(row);
    if (row !== undefined && place) return this.ofRow(row, place);
    const beside = page.besidePlot();
    if (beside) return this.bringing((menus) => menus.ofMoment(beside.at, beside.trace, beside, mainPart()));
    const at = page.cursorPlace();
    if (at) this.ofPlot(at, byId("plot"));
  }

  private ofPlot(at: At, target: Element): boolean {
    const page = this.page();
    const flag = target.closest(".note-flag");
    const mark = flag && page.noteOfFlag(flag);
    if (mark) {
      this.ofNote(mark, at);
      return true;
    }
    const drawn = page.under(at.x, at.y);
    if (!drawn || page.traces.length === 0) return false;
    this.bringing((menus) => menus.ofPlace(drawn, at, byId("plot")));
    return true;
  }

  private bringing(show: (menus: Menus) => void): void {
    this.menus ??= bring(byId("drawing"), () => import("./menus.ts")).then(
      ({ Menus }) => new Menus(this.actions),
    );
    void this.menus.then(show);
  }
}
