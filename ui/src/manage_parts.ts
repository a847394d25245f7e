// The smaller parts of the page for whoever runs the archiver: reports, what was removed.

import { appliance, faultText, getRemoved, type Right } from "./api.ts";
import { h } from "./dom.ts";
import { download, quoted } from "./file.ts";
import { lackNote } from "./missing.ts";
import type { Undoable } from "./orders.ts";
import { REPORTS } from "./reports.ts";
import type { Verb } from "./sheet_forms.ts";
import { formatTime, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { pvsText } from "./words/counts.ts";
import { manageWords as words } from "./words/manage.ts";

export interface PartContext {
  zone: Zone;
  now: number;
  may(right: Right): boolean;
  order(verb: Verb, names: string[]): void;
  takeBack(order: Undoable): void;
  /** Gives an order whose PVs the archiver finds itself, and says what came of it. */
  carryOut(act: () => Promise<number>, outcome: (changes: number) => string, nothing: string): Promise<void>;
  param(key: string): string | null;
  write(key: string, value: string): void;
}

const ROWS_SHOWN = 500;

/** An element that asks for its content, and says so, and says why where none comes. */
export function asking(make: () => Promise<Node[]>): HTMLElement {
  const part = h("div", { class: "pages" }, h("p", { class: "hint", role: "status" }, words.asking));
  make().then(
    (content) => part.replaceChildren(...content),
    (error: unknown) => {
      const again = () => part.replaceWith(asking(make));
      part.replaceChildren(
        h("p", { class: "is-error", role: "alert" }, faultText(error)),
        h("p", {}, h("button", { type: "button", click: again }, words.again)),
      );
    },
  );
  return part;
}

export function table(heads: readonly string[], rows: HTMLElement[], label: string): HTMLElement {
  // A head stands as the numbers below it do.
  const kindOf = (i: number) => (rows[0]?.children[i]?.classList.contains("num") ? "num" : "");
  return h(
    "div",
    { class: "scrolled-table", tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      { class: "list" },
      h(
        "thead",
        {},
        h("tr", {}, ...heads.map((text, i) => h("th", { scope: "col", class: kindOf(i) }, text))),
      ),
      h("tbody", {}, ...rows),
    ),
  );
}

/** A number in large figures, with what it counts. */
export function figure(count: string, text: string, rest: string): HTMLElement {
  return h("div", { class: "figure" }, h("b", {}, count), h("span", {}, text), h("small", {}, rest));
}

export function reportsPart(context: PartContext): HTMLElement {
  const chosen = REPORTS.find(({ call }) => call === context.param("report")) ?? REPORTS[0]!;
  const side = h("div", { class: "facets", role: "group", "aria-label": words.parts.reports });
  const main = h("div", { class: "table-side" });
  const show = (report: (typeof REPORTS)[number]) => {
    for (const button of side.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.report === report.call));
    main.replaceChildren(
      h("h2", {}, report.name),
      h("p", {}, report.is, " ", h("span", { class: "faint" }, report.todo)),
      asking(() => rowsOf(report, context)),
    );
  };
  side.append(
    ...REPORTS.map((report) =>
      h(
        "button",
        {
          type: "button",
          "data-report": report.call,
          click: () => {
            context.write("report", report.call);
            show(report);
          },
        },
        report.name,
      ),
    ),
  );
  show(chosen);
  return h("div", { class: "pvs-part" }, side, main);
}

async function rowsOf(report: { call: string; name: string }, context: PartContext): Promise<Node[]> {
  const rows = await appliance<Record<string, string | number>[]>(report.call);
  if (rows.length === 0) return [h("p", { class: "hint" }, words.reportEmpty)];
  const keys = [...new Set(rows.slice(0, 50).flatMap((row) => Object.keys(row)))].filter(
    (key) => key !== "pvName" && key !== "instance" && key !== "commandThreadID",
  );
  const names = rows.map((row) => String(row.pvName ?? "")).filter(Boolean);
  const marked = new Set<string>();
  const tools = h("div", { class: "tools" });
  const showTools = () => {
    const verbs: [Verb, Right][] = [
      ["pause", "operate"],
      ["resume", "operate"],
      ["policy", "operate"],
      ["remove", "administer"],
    ];
    const all =
      marked.size === 0
        ? []
        : verbs
            .filter(([, right]) => context.may(right))
            .map(([verb]) =>
              h(
                "button",
                { type: "button", click: () => context.order(verb, [...marked]) },
                words.verbOf(verb, marked.size),
              ),
            );
    const csv = () =>
      download(
        `${report.call}.csv`,
        "text/csv",
        [
          ["pvName", ...keys].join(","),
          ...rows.map((row) => ["pvName", ...keys].map((key) => quoted(row[key] ?? "")).join(",")),
          "",
        ].join("\r\n"),
      );
    const everything = h(
      "button",
      { type: "button", click: () => markAll() },
      marked.size === names.length ? words.unmark : words.markAll(names.length),
    );
    tools.replaceChildren(
      h("span", { class: "told" }, pvsText(rows.length)),
      everything,
      ...all,
      h("button", { type: "button", click: csv }, commonWords.csv),
    );
  };
  const boxes: HTMLInputElement[] = [];
  const markAll = () => {
    const isAll = marked.size === names.length;
    marked.clear();
    if (!isAll) for (const name of names) marked.add(name);
    for (const box of boxes) box.checked = !isAll;
    showTools();
  };
  const lines = rows.slice(0, ROWS_SHOWN).map((row) => {
    const name = String(row.pvName ?? "");
    const box = h("input", {
      type: "checkbox",
      "aria-label": words.mark(name),
      change: () => {
        if (!marked.delete(name)) marked.add(name);
        showTools();
      },
    });
    boxes.push(box);
    return h(
      "tr",
      {},
      h("td", {}, box),
      h("th", { scope: "row" }, h("a", { href: `./?pv=${encodeURIComponent(name)}` }, name)),
      ...keys.map((key) => h("td", {}, String(row[key] ?? ""))),
    );
  });
  showTools();
  const rest = rows.length - lines.length;
  return [
    tools,
    table([words.markHead, "PV", ...keys.map(spaced)], lines, report.name),
    ...(rest > 0 ? [h("p", { class: "hint" }, words.restInCsv(rest))] : []),
  ];
}

/** `connectionLostAt` as words. */
function spaced(key: string): string {
  const text = key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
  return text[0]!.toUpperCase() + text.slice(1);
}

export function removedPart(context: PartContext): HTMLElement {
  return asking(async () => {
    const removed = await getRemoved();
    if (removed.length === 0)
      return [
        h("h2", {}, words.parts.removed),
        ...lackNote(removed),
        h("p", { class: "hint" }, words.noneRemoved),
      ];
    const may = context.may("administer");
    const rows = removed
      .slice(0, ROWS_SHOWN)
      .map((pv) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, pv.name),
          h("td", {}, formatTime(Date.parse(pv.since) / 1000, context.zone, 0)),
          h("td", {}, pv.by),
          h("td", {}, pv.data === "kept" ? words.keptUntilPurge : words.goneAtPurge),
          ...(may
            ? [
                h(
                  "td",
                  {},
                  h(
                    "button",
                    { type: "button", class: "link", click: () => context.order("restore", [pv.name]) },
                    words.verbs.restore,
                  ),
                ),
              ]
            : []),
        ),
      );
    const all = removed.map(({ name }) => name);
    return [
      h("h2", {}, words.parts.removed),
      ...lackNote(removed),
      h(
        "div",
        { class: "tools" },
        h("span", { class: "told" }, pvsText(removed.length)),
        ...(may
          ? [
              h(
                "button",
                { type: "button", click: () => context.order("restore", all) },
                words.verbOf("restore", all.length),
              ),
            ]
          : []),
      ),
      table([...words.removedHeads, ...(may ? [words.restoreHead] : [])], rows, words.parts.removed),
    ];
  });
}
