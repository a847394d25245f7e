// The legend: a row per PV with its value at the cursor, or over the range while there is no cursor.

import { h, setText } from "./dom.ts";
import { causeText, exactOf, formatNumber, formatValue, severityName } from "./decode.ts";
import { NO_READING, readingAt, readingOver, type Reading } from "./reading.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { floatOf, formatInstant, formatTime, instantOf, zoneName, type Zone } from "./time.ts";
import { isLacking, unitsOf, type Trace } from "./trace.ts";

export interface LegendActions {
  toggle(name: string): void;
  remove(name: string): void;
  details(name: string): void;
  archive(name: string): void;
  point(name: string | null): void;
}

export interface LegendState {
  traces: Trace[];
  range: Range;
  /** The moment to read at; none to read over the range. */
  at: number | null;
  pinned: boolean;
  /** Up to when anything is known; the archiver may be silent since. */
  known: number;
  silent: boolean;
  /** The axes that have no room beside the plot. */
  without: string[];
  zone: Zone;
  palette: Palette;
}

interface Row {
  element: HTMLTableRowElement;
  swatch: HTMLButtonElement;
  why: HTMLButtonElement;
  archive: HTMLButtonElement;
  cells: Record<Cell, HTMLTableCellElement>;
}

const CELLS = ["value", "units", "min", "max", "mean", "count", "severity", "time", "note"] as const;
type Cell = (typeof CELLS)[number];
const HEADS: Record<Cell, string> = {
  value: "Value",
  units: "Units",
  min: "Min",
  max: "Max",
  mean: "Mean",
  count: "Samples",
  severity: "Alarm",
  time: "Time",
  note: "State",
};

export class Legend {
  private rows = new Map<string, Row>();
  private moment = h("caption", { id: "moment" });
  private body = h("tbody");

  constructor(
    root: HTMLElement,
    private actions: LegendActions,
  ) {
    const heads = CELLS.map((cell) => h("th", { scope: "col", class: cell }, HEADS[cell]));
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, "PV"),
      ...heads,
      h("th", { scope: "col" }, h("span", { class: "unseen" }, "Actions")),
    );
    root.append(h("table", {}, this.moment, h("thead", {}, head), this.body));
  }

  show(state: LegendState): void {
    this.syncRows(state.traces.map((trace) => trace.name));
    setText(this.moment, momentText(state) + withoutText(state.without));
    for (const trace of state.traces) this.fill(this.rows.get(trace.name)!, trace, state);
  }

  private syncRows(names: string[]): void {
    const standing = [...this.rows.keys()];
    if (standing.length === names.length && standing.every((name, i) => name === names[i])) return;
    const rows = new Map(names.map((name) => [name, this.rows.get(name) ?? this.makeRow(name)]));
    this.rows = rows;
    this.body.replaceChildren(...[...rows.values()].map((row) => row.element));
  }

  private makeRow(name: string): Row {
    const { actions } = this;
    const swatch = h("button", { class: "swatch", type: "button", click: () => actions.toggle(name) });
    const why = h(
      "button",
      {
        class: "why",
        type: "button",
        title: `Why is there no data of ${name}, or not all? ( w )`,
        click: () => actions.details(name),
      },
      "why?",
    );
    const archive = h(
      "button",
      { class: "archive operates", type: "button", hidden: true, click: () => actions.archive(name) },
      "archive it …",
    );
    const cells = Object.fromEntries(CELLS.map((cell) => [cell, h("td", { class: cell })])) as Row["cells"];
    const element = h(
      "tr",
      { "data-pv": name, pointerenter: () => actions.point(name), pointerleave: () => actions.point(null) },
      h(
        "th",
        { scope: "row" },
        h(
          "div",
          {},
          swatch,
          h(
            "button",
            { class: "name", type: "button", title: name, click: () => actions.details(name) },
            ...nameParts(name),
          ),
        ),
      ),
      ...CELLS.map((cell) => cells[cell]),
      h(
        "td",
        { class: "remove" },
        why,
        archive,
        h(
          "button",
          { type: "button", "aria-label": `Remove ${name}`, click: () => actions.remove(name) },
          "✕",
        ),
      ),
    );
    return { element, swatch, why, archive, cells };
  }

  private fill(row: Row, trace: Trace, state: LegendState): void {
    const { stroke, border } = state.palette.trace(trace.colour);
    row.swatch.style.setProperty("--trace", stroke);
    row.swatch.style.setProperty("--border", border);
    row.swatch.setAttribute("aria-pressed", String(!trace.hidden));
    row.swatch.setAttribute("aria-label", `${trace.hidden ? "Show" : "Hide"} ${trace.name}`);
    row.element.classList.toggle("is-hidden", trace.hidden);
    const isUnknown = state.at !== null && state.at > state.known;
    const reading =
      trace.hidden || isUnknown
        ? NO_READING
        : state.at === null
          ? readingOver(trace, state.range)
          : readingAt(trace, state.at);
    const texts = textsOf(trace, reading, state);
    for (const cell of CELLS) setText(row.cells[cell], texts[cell]);
    row.cells.severity.dataset.severity = reading.value === undefined ? "" : String(reading.severity);
    row.cells.note.classList.toggle("is-error", trace.error !== null);
    row.cells.note.dataset.state = trace.error
      ? "error"
      : reading.gaps.length > 0
        ? "gap"
        : state.silent
          ? "unknown"
          : (trace.state ?? "");
    row.cells.note.title = texts.note;
    row.why.hidden = !isLacking(trace, state.range);
    row.archive.hidden = !trace.unknown;
  }
}

function momentText(state: LegendState): string {
  if (state.at === null) return "Newest values; min, max, mean and samples over the whole range";
  const { zone } = state;
  const time = formatTime(state.at, zone, 3);
  return `${state.pinned ? "At the mark" : "At the cursor"}: ${time} ${zoneName(state.at, zone)}`;
}

/** So many axes without room are told by name. */
const WITHOUT_TOLD_MAX = 4;

function withoutText(without: string[]): string {
  if (without.length === 0) return "";
  const rest = without.length - WITHOUT_TOLD_MAX;
  const told = without.slice(0, WITHOUT_TOLD_MAX).join(", ");
  return ` · no room for the ${without.length === 1 ? "axis" : "axes"} of ${told}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** Names that have no room are cut in front of their last letters, which tell them apart. */
const TAIL_LETTERS = 10;

function nameParts(name: string): HTMLElement[] {
  const cut = name.length - Math.min(TAIL_LETTERS, Math.floor(name.length / 2));
  return [h("span", { class: "head" }, name.slice(0, cut)), h("span", { class: "tail" }, name.slice(cut))];
}

function textsOf(trace: Trace, reading: Reading, state: LegendState): Record<Cell, string> {
  const precision = trace.metadata?.precision ?? null;
  const isNumber = trace.kind === "number" && reading.count > 1;
  const number = (value: number) =>
    isNumber && Number.isFinite(value) ? formatNumber(value, precision) : "";
  const known = reading.value !== undefined;
  return {
    value: known ? formatValue(reading.value!, trace.kind, trace.metadata) : emptyText(trace),
    units: unitsOf(trace),
    min: number(reading.min),
    max: number(reading.max),
    mean: number(reading.mean),
    count: reading.count > 0 ? String(reading.count) : "",
    severity: known && reading.severity > 0 ? severityName(reading.severity) : "",
    time: timeText(reading, state),
    note: noteText(trace, reading, state),
  };
}

function emptyText(trace: Trace): string {
  return trace.kind === "array" || trace.kind === "structure" ? "see below" : "";
}

/** The time of a reading; its date only where that is not the date at which the table reads. */
function timeText(reading: Reading, state: LegendState): string {
  if (!reading.time) return "";
  const { zone } = state;
  const today = formatTime(state.at ?? state.range.to, zone, 0).slice(0, 10);
  const short = (text: string) => (text.startsWith(today) ? text.slice(11) : text);
  if ("instant" in reading.time) return short(formatInstant(reading.time.instant, zone, 9));
  const { from, to } = reading.time.range;
  const digits = to - from < 1 ? 3 : 0;
  const text = (x: number) => formatInstant(instantOf(x), zone, digits);
  const isOneDay = text(from).slice(0, 10) === text(to).slice(0, 10);
  return `${short(text(from))} – ${isOneDay ? text(to).slice(11) : short(text(to))}`;
}

function noteText(trace: Trace, reading: Reading, state: LegendState): string {
  if (trace.hidden) return "hidden";
  if (trace.error) return trace.error;
  if (state.silent) return `not known since ${formatTime(state.known, state.zone, 0).slice(11)}`;
  if (!trace.history) return "loading …";
  const gap = reading.gaps[0];
  if (gap) return `no data: ${causeText(gap.cause)}`;
  if (trace.history?.truncated) return "too many samples for this range: zoom in to see the rest";
  if (trace.history && trace.kind === "unknown") return "nothing recorded yet";
  return firstText(trace, state) ?? trace.state ?? "";
}

/** When the first sample is, if the range shown ends before it. */
function firstText(trace: Trace, state: LegendState): string | null {
  const first = exactOf(trace.detail?.extent?.first ?? "");
  if (!first || floatOf(first) < state.range.to) return null;
  return `nothing yet: the first sample is of ${formatInstant(first, state.zone, 0)}`;
}
