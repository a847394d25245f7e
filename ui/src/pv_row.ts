// A row of the table of all PVs, as it looks.

import type { Pv } from "./api.ts";
import { formatValue, kindOf } from "./decode.ts";
import { h } from "./dom.ts";
import { bytesText } from "./bytes.ts";
import { rateText, type Cost } from "./pv_order.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { manageWords as words } from "./words/manage.ts";

/** What is told of a row beside the PV itself. */
export interface RowState {
  index: number;
  isMarked: boolean;
  /** The keyboard is there. */
  isActive: boolean;
  cost: Cost | undefined;
  /** What the costliest PV of all takes a day. */
  most: number;
  now: number;
  zone: Zone;
  /** Which columns are shown, by their keys. */
  columns: string[];
}

/** A row; that of a PV which has not come yet has nothing in it. */
export function rowOf(pv: Pv | null, state: RowState): HTMLElement {
  const { index, isMarked, isActive, cost, now } = state;
  const cell = (name: string, ...content: (Node | string)[]) =>
    h("span", { class: name, role: "gridcell" }, ...content);
  const row = h("div", {
    class: `table-row${isMarked ? " is-marked" : ""}${isActive ? " is-active" : ""}`,
    role: "row",
    id: `pv-row-${index}`,
    "data-index": String(index),
    "aria-rowindex": String(index + 2),
    "aria-selected": String(isMarked),
  });
  if (pv === null) {
    row.append(cell("tick"), cell("name", "…"));
    return row;
  }
  row.dataset.pv = pv.name;
  const last = pv.last ? Date.parse(pv.last.time) / 1000 : NaN;
  const since = Date.parse(pv.since ?? "") / 1000;
  const kind = kindOf(pv.type);
  const value =
    pv.last && kind !== "array" && kind !== "structure" ? formatValue(pv.last.value, kind, null) : "";
  const plain = (name: string, text: string) => {
    const shown = cell(name, text);
    if (text !== "") shown.title = text;
    return shown;
  };
  const cells: Record<string, () => HTMLElement> = {
    tick: () => cell("tick", isMarked ? "☑" : "☐"),
    name: () =>
      cell(
        "name",
        h(
          "a",
          { href: `./?pv=${encodeURIComponent(pv.name)}`, tabindex: "-1", title: words.plotIt(pv.name) },
          pv.name,
        ),
      ),
    state: () =>
      cell(
        "state",
        h("span", { "data-state": pv.state, title: pv.unanswered ?? "" }, words.states[pv.state]),
      ),
    since: () => cell("since", Number.isFinite(since) ? formatDuration(Math.max(0, now - since)) : ""),
    how: () => cell("how", pv.method === "scan" ? words.every(pv.period ?? 0) : words.everyChange),
    type: () => cell("type", pv.type ?? ""),
    value: () => cell("value", value, pv.units && value !== "" ? h("small", {}, ` ${pv.units}`) : ""),
    rate: () => cell("rate", cost?.rate === undefined ? "" : rateText(cost.rate)),
    bytes: () => bytesCell(cost, state.most),
    last: () => {
      const shown = cell(
        "last",
        Number.isFinite(last) ? formatDuration(Math.max(0, now - last)) : words.never,
      );
      if (Number.isFinite(last)) shown.title = formatTime(last, state.zone, 3);
      return shown;
    },
    ioc: () => plain("ioc", pv.ioc ?? ""),
    policy: () => plain("policy", pv.policy ?? ""),
    groups: () => plain("groups", (pv.groups ?? []).join(", ")),
    added_by: () => {
      const shown = plain("added_by", pv.added_by ?? "");
      const added = Date.parse(pv.added ?? "") / 1000;
      if (pv.added_by && Number.isFinite(added))
        shown.title = words.addedAt(pv.added_by, formatTime(added, state.zone, 0));
      return shown;
    },
  };
  row.append(...state.columns.map((key) => cells[key]!()));
  return row;
}

/** Bytes a day, with a bar that compares them with what the costliest of all takes. */
function bytesCell(cost: Cost | undefined, most: number): HTMLElement {
  const cell = h("span", { class: "bytes", role: "gridcell" });
  if (cost?.bytes === undefined) return cell;
  const bar = h("i", { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${Math.round(44 * Math.sqrt(cost.bytes / Math.max(1, most)))}px`;
  cell.append(bar, bytesText(cost.bytes));
  return cell;
}
