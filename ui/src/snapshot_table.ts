// The table of a snapshot: values at A and B, what changed with a bar, alarms, and what nobody recorded.

import type { Held } from "./analysis.ts";
import { exactOf, causeText, severityName } from "./decode.ts";
import { h } from "./dom.ts";
import { barPart, changeText, inNames, isLacking, valueText, type SnapshotRow } from "./snapshot_rows.ts";
import { floatOf, formatDuration, formatTime, type Zone } from "./time.ts";
import { snapshotWords as words } from "./words/snapshot.ts";

/** The age of a value that is older is said beside it. */
const AGED_SECONDS = 3600;

export interface TableState {
  at: number;
  before: number | null;
  zone: Zone;
  /** By names, not by how much they changed. */
  byNames: boolean;
  sort(byNames: boolean): void;
  details(name: string): void;
}

export function snapshotTable(rows: SnapshotRow[], lacking: SnapshotRow[], state: TableState): HTMLElement {
  const isCompared = state.before !== null;
  const isByNames = state.byNames || !isCompared;
  const sorted = isByNames ? inNames(rows) : rows;
  const day = (at: number) => formatTime(at, state.zone, 0);
  const head = (text: string, cls = "", isSorted: boolean | null = null, byNames = false) => {
    const sort: Record<string, string> =
      isSorted === null ? {} : { "aria-sort": isSorted ? "other" : "none" };
    const said =
      isSorted !== null && isCompared
        ? h("button", { type: "button", click: () => state.sort(byNames) }, text)
        : text;
    return h("th", { scope: "col", class: cls, ...sort }, said);
  };
  const heads = [
    head(words.pv, "pv", isByNames, true),
    head(words.description, "description"),
    ...(isCompared ? [head(`B ${day(state.before!)}`, "number")] : []),
    head(isCompared ? `A ${day(state.at)}` : day(state.at), "number is-a"),
    ...(isCompared ? [head("A − B", "number")] : []),
    head(words.units, "units"),
    ...(isCompared ? [head(words.change, "change", !isByNames)] : []),
    head(isCompared ? words.alarmAtA : words.alarm, "alarm"),
  ];
  return h(
    "table",
    { class: "list" },
    h("thead", {}, h("tr", {}, ...heads)),
    h("tbody", {}, ...sorted.map((row) => rowOf(row, state))),
    ...(lacking.length > 0
      ? [
          h(
            "tbody",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "rowgroup", class: "group", colspan: String(heads.length) }, words.lackingAt),
            ),
            ...inNames(lacking).map((row) => rowOf(row, state)),
          ),
        ]
      : []),
  );
}

function rowOf(row: SnapshotRow, state: TableState): HTMLElement {
  const isCompared = state.before !== null;
  const number = (...content: (Node | string)[]) => h("td", { class: "number" }, ...content);
  return h(
    "tr",
    { "data-pv": row.pv, class: isLacking(row) ? "is-lacking" : "" },
    h(
      "th",
      { scope: "row", class: "pv" },
      h("button", { type: "button", class: "link", click: () => state.details(row.pv) }, row.pv),
    ),
    h("td", { class: "description" }, row.metadata?.description ?? ""),
    ...(isCompared ? [number(...valueWith(row, row.before, state.before!))] : []),
    h(
      "td",
      { class: "number is-a" },
      ...(isLacking(row) ? [lackingText(row)] : valueWith(row, row.at, state.at)),
    ),
    ...(isCompared ? [number(changeText(row))] : []),
    h("td", { class: "units" }, row.metadata?.units ?? ""),
    ...(isCompared ? [h("td", { class: "change" }, ...changeOf(row))] : []),
    h("td", { class: "alarm" }, ...alarmOf(row, state)),
  );
}

/** The value, with its age where it is old. */
function valueWith(row: SnapshotRow, held: Held | null, at: number): (Node | string)[] {
  if (!held) return [h("span", { class: "faint" }, words.nothingYet)];
  const exact = exactOf(held.time);
  const age = exact ? at - floatOf(exact) : 0;
  const text = valueText(row, held);
  return age > AGED_SECONDS
    ? [h("small", { class: "faint" }, `${words.age(formatDuration(age))} `), text]
    : [text];
}

function lackingText(row: SnapshotRow): HTMLElement {
  if (row.gap === null) return h("span", { class: "faint" }, words.nothingYet);
  return h("span", { "data-state": "gap", title: causeText(row.gap) }, words.notRecorded);
}

/** A bar from the middle: by how many of its usual spreads the PV changed. What has no such number is said. */
function changeOf(row: SnapshotRow): (Node | string)[] {
  if (!row.before || !row.at) return [];
  if (!row.isChanged && row.change === null) return [];
  if (row.kind !== "number")
    return JSON.stringify(row.before.value) === JSON.stringify(row.at.value) ? [] : [words.another(row.kind)];
  if (row.change === null || row.change === 0) return [];
  if (row.score === null) return [words.neverMoved];
  const bar = h("i", { class: row.change < 0 ? "is-fall" : "" });
  bar.style.width = `${(50 * barPart(row.score)).toFixed(1)}%`;
  return [
    h(
      "span",
      {
        class: "score-bar",
        role: "img",
        "aria-label": words.score(row.score),
        title: words.score(row.score),
      },
      bar,
    ),
  ];
}

function alarmOf(row: SnapshotRow, state: TableState): (Node | string)[] {
  if (isLacking(row))
    return [h("button", { type: "button", class: "link", click: () => state.details(row.pv) }, words.why)];
  const severity = row.at?.severity ?? 0;
  return severity > 0 ? [h("span", { "data-severity": String(severity) }, severityName(severity))] : [];
}
