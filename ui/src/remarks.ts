// What the page has to say once, below the header, until somebody has taken note of it: that an address cannot be read whole, or that this
// computer's clock is wrong.

import { h } from "./dom.ts";
import { commonWords } from "./words/common.ts";

export class Remarks {
  private said = new Map<string, string>();
  private noted = new Set<string>();

  constructor(private place: HTMLElement) {}

  /** Says it in place of what was said about the same; nothing where there is nothing. It is not said again once `key` was noted. */
  say(about: string, text: string, key = text): void {
    if (this.noted.has(key)) text = "";
    if ((this.said.get(about) ?? "") === text) return;
    if (text === "") this.said.delete(about);
    else this.said.set(about, text);
    const note = () => {
      this.noted.add(key);
      this.say(about, "", key);
    };
    const bar = () => {
      const close = h("button", { type: "button", "aria-label": commonWords.close, click: note }, "✕");
      return h("p", { class: "notice", role: "status", "data-about": about }, h("span", {}, text), close);
    };
    const old = this.place.querySelector(`[data-about="${about}"]`);
    if (text === "") old?.remove();
    else if (old) old.replaceWith(bar());
    else this.place.append(bar());
  }
}
