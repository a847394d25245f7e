// The columns of the table of all PVs: which are shown, by choice or as many as fit, and how wide each is.

import { h } from "./dom.ts";
import { Popup } from "./popup.ts";
import { manageWords as words } from "./words/manage.ts";

/** Pixels of each; the name and the value take what is left. */
const WIDTHS: Record<string, number> = {
  ...{ name: 240, state: 118, since: 92, how: 104, type: 70, value: 120, rate: 82, bytes: 116, last: 92 },
  ...{ ioc: 146, policy: 96, groups: 120, added_by: 130 },
};
/** Of these there are as many as fit, the first before the others. */
const BY_USE = [
  ...["name", "state", "rate", "bytes", "last", "ioc", "policy", "how"],
  ...["since", "groups", "added_by", "value", "type"],
];
/** The mark, the edges, and what lies between two columns. */
const TICK = 24;
const EDGES = 32;
const BETWEEN = 10;
/** In a table that is narrower than this a name has to make do with less. */
const NARROW = 700;
const NAME_LEAST = 140;

/** Which columns are shown in so many pixels: those that were chosen, else as many as fit. */
export function shownColumns(width: number, chosen: string[] | null): string[] {
  const keys = words.columns.map(([key]) => key);
  if (chosen !== null) return keys.filter((key) => key === "tick" || key === "name" || chosen.includes(key));
  let taken = TICK + EDGES - (width < NARROW ? WIDTHS.name! - NAME_LEAST : 0);
  const fitting: string[] = ["tick"];
  for (const key of BY_USE) {
    taken += WIDTHS[key]! + BETWEEN;
    if (taken > width && fitting.length > 1) break;
    fitting.push(key);
  }
  return keys.filter((key) => fitting.includes(key));
}

/** The columns as a grid, and the least width that it wants. */
export function gridOf(keys: string[]): { columns: string; least: number } {
  const column = (key: string) =>
    key === "tick"
      ? `${TICK}px`
      : key === "name"
        ? "minmax(140px, 2.4fr)"
        : key === "value"
          ? "minmax(80px, 1fr)"
          : `${WIDTHS[key]}px`;
  const wide = keys.reduce(
    (sum, key) => sum + (key === "tick" ? TICK : key === "name" ? 140 : WIDTHS[key]!),
    0,
  );
  return { columns: keys.map(column).join(" "), least: wide + EDGES + BETWEEN * (keys.length - 1) };
}

/** `cols=` of an address: which columns were chosen; none where as many as fit are to be shown. */
export function columnsOf(text: string | null): string[] | null {
  if (text === null) return null;
  const known = words.columns.map(([key]) => key as string);
  return text.split(",").filter((key) => known.includes(key) && key !== "tick" && key !== "name");
}

/** The button by which columns are chosen. */
export class ColumnChooser {
  readonly element: HTMLElement;
  private list = h("div", { class: "popup columns-list", role: "group", hidden: true });
  private boxes = new Map<string, HTMLInputElement>();

  private shown: string[] = [];

  constructor(private chosen: (columns: string[] | null) => void) {
    const attributes = { type: "button", "aria-haspopup": "true", "data-show": "columns" };
    const button = h("button", { ...attributes, click: () => this.fill() }, words.columnsButton);
    this.list.setAttribute("aria-label", words.columnsLabel);
    this.element = h("span", { class: "columns-menu" }, button, this.list);
    new Popup(button, this.list);
  }

  show(keys: string[]): void {
    this.shown = keys;
    for (const [key, box] of this.boxes) box.checked = keys.includes(key);
  }

  /** The boxes are there once somebody has asked for them. */
  private fill(): void {
    if (this.boxes.size > 0) return;
    this.list.append(
      h("button", { type: "button", class: "link", click: () => this.chosen(null) }, words.columnsFit),
    );
    for (const [key, text] of words.columns) {
      if (key === "tick" || key === "name") continue;
      const box = h("input", { type: "checkbox", change: () => this.choose() });
      this.boxes.set(key, box);
      this.list.append(h("label", {}, box, " ", text));
    }
    this.show(this.shown);
  }

  private choose(): void {
    this.chosen([...this.boxes].filter(([, box]) => box.checked).map(([key]) => key));
  }
}
