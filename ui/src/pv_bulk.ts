// The bar below the table of all PVs: what is marked, and what can be done with it.

import type { Right } from "./api.ts";
import { h } from "./dom.ts";
import { bytesText } from "./bytes.ts";
import type { Verb } from "./sheet_forms.ts";
import { manageWords as words } from "./words/manage.ts";

/** The orders over what is marked, and what one must be allowed for each. */
const VERBS: [Verb, Right][] = [
  ["pause", "operate"],
  ["resume", "operate"],
  ["policy", "operate"],
  ["groups", "operate"],
  ["rename", "administer"],
  ["remove", "administer"],
];

/** No more PVs are plotted together. */
const PLOTTED_MAX = 50;

export interface Marked {
  names: string[];
  /** So many fit the filter. */
  total: number;
  /** What they take a day together, as far as it is known. */
  bytes: number;
}

export interface BulkActions {
  may(right: Right): boolean;
  /** `bytes` is what they take a day, as far as it is known. */
  order(verb: Verb, names: string[], bytes: number): void;
  details(name: string): void;
  markAll(): void;
  unmark(): void;
}

export class Bulk {
  readonly element = h("div", { class: "bulk", role: "region", "aria-label": words.bulkLabel, hidden: true });

  constructor(private actions: BulkActions) {}

  show({ names, total, bytes }: Marked): void {
    const count = names.length;
    this.element.hidden = count === 0;
    const isOne = count === 1;
    this.element.replaceChildren(
      h("b", {}, words.marked(count, total)),
      ...(bytes > 0 ? [h("span", { class: "faint" }, words.together(bytesText(bytes)))] : []),
      ...(count < total ? [this.button(words.markAll(total), { class: "rest" }, this.actions.markAll)] : []),
      h("span", { class: "space" }),
      ...this.verbs(names, bytes),
      ...(isOne
        ? [this.button(words.details, { "data-show": "details" }, () => this.actions.details(names[0]!))]
        : []),
      h("a", { class: "button", href: plotOf(names) }, words.plot(Math.min(count, PLOTTED_MAX))),
      this.button("✕", { "aria-label": words.unmark, title: words.unmarkTitle }, this.actions.unmark),
    );
  }

  private verbs(names: string[], bytes: number): HTMLElement[] {
    return VERBS.filter(
      ([verb, right]) => this.actions.may(right) && (verb !== "rename" || names.length === 1),
    ).map(([verb]) =>
      this.button(words.verbs[verb], { "data-verb": verb }, () => this.actions.order(verb, names, bytes)),
    );
  }

  private button(text: string, attributes: Record<string, string>, click: () => void): HTMLElement {
    return h("button", { type: "button", ...attributes, click: () => click() }, text);
  }
}

function plotOf(names: string[]): string {
  const pvs = names.slice(0, PLOTTED_MAX).map((name) => `pv=${encodeURIComponent(name)}`);
  return `./?${pvs.join("&")}`;
}
