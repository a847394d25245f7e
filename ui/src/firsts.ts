// Follows many new PVs until each has its first value: how many have one, how many not, and at last which.

import { faultText, getNewest } from "./api.ts";
import { counted, h, setText } from "./dom.ts";
import { archiveWords as words } from "./words/archive.ts";

/** It asks again so soon, and after a while that brought nothing so late. */
const ASK_MILLIS = [1000, 1000, 1000, 2000, 5000];

/** So few that lack a value are told by name. */
const TOLD_MAX = 10;

export class Firsts {
  readonly element: HTMLElement;
  private bar = h("progress", { "aria-label": words.firsts });
  private text = h("span");
  private missing: string[];
  private total: number;
  private timer = 0;
  private quiet = 0;

  constructor(names: string[]) {
    this.missing = names;
    this.total = names.length;
    this.bar.max = names.length;
    this.element = h("p", { class: "firsts" }, this.bar, this.text);
    this.show();
    void this.ask();
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.missing = [];
  }

  private async ask(): Promise<void> {
    const before = this.missing.length;
    try {
      const { pvs } = await getNewest(this.missing);
      const there = new Set(pvs.filter((pv) => pv.time !== null).map((pv) => pv.pv));
      this.missing = this.missing.filter((name) => !there.has(name));
      this.show();
    } catch (error) {
      setText(this.text, faultText(error));
    }
    this.quiet = this.missing.length < before ? 0 : Math.min(this.quiet + 1, ASK_MILLIS.length - 1);
    if (this.missing.length > 0)
      this.timer = window.setTimeout(() => void this.ask(), ASK_MILLIS[this.quiet]);
  }

  private show(): void {
    const lacking = this.missing.length;
    this.bar.value = this.total - lacking;
    if (lacking === 0) return setText(this.text, words.allFirst(counted(this.total)));
    const told = lacking <= TOLD_MAX ? `: ${this.missing.join(", ")}` : "";
    const there = words.someFirst(counted(this.total - lacking), counted(this.total));
    setText(this.text, words.waiting(there, counted(lacking), told));
  }
}
