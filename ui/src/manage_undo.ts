// Orders of the last day that can be taken back: who gave them, what they did, and until when.

import { counted, h } from "./dom.ts";
import { asking, table, type PartContext } from "./manage_parts.ts";
import { lackNote } from "./missing.ts";
import { getUndoable, type Undoable } from "./orders.ts";
import { dayText } from "./sheet.ts";
import { formatTime } from "./time.ts";
import { manageWords as words } from "./words/manage.ts";

const ROWS_SHOWN = 500;

export function undoPart(context: PartContext): HTMLElement {
  return asking(async () => {
    const orders = await getUndoable();
    const head = h("h2", {}, words.parts.undo);
    const lacks = lackNote(orders);
    if (orders.length === 0) return [head, ...lacks, h("p", { class: "hint" }, words.noOrders)];
    const rows = orders.slice(0, ROWS_SHOWN).map((order) => row(order, context));
    const rest = orders.length - rows.length;
    return [
      head,
      ...lacks,
      h("p", {}, words.ordersAre),
      table(words.orderHeads, rows, words.parts.undo),
      ...(rest > 0 ? [h("p", { class: "hint" }, words.olderOrders(rest))] : []),
    ];
  });
}

function row(order: Undoable, context: PartContext): HTMLElement {
  const { zone, now } = context;
  const undo = h(
    "button",
    { type: "button", class: "link", click: () => context.takeBack(order) },
    words.takeBack(order.pvs),
  );
  return h(
    "tr",
    { "data-order": String(order.number) },
    h("td", {}, formatTime(Date.parse(order.time) / 1000, zone, 0)),
    h("td", {}, order.by),
    h("th", { scope: "row" }, order.action.replaceAll("_", " ")),
    h("td", { class: "num" }, counted(order.pvs)),
    h("td", {}, order.detail),
    h("td", {}, dayText(Date.parse(order.until) / 1000, now, zone)),
    h("td", {}, context.may(order.right) ? undo : ""),
  );
}
