// The samples of the plot's PVs as a table: when, what, in which alarm; gaps are rows among them. It comes by pages as somebody looks further.

import { ApiError, isAbort, rangeQuery } from "./api.ts";
import type { DrawerActions, DrawerScene } from "./drawer.ts";
import { nothingIn, type Empty } from "./drawer_panel.ts";
import type { Choices } from "./drawer_state.ts";
import { causeText, formatValue, severityName } from "./decode.ts";
import { h, set, setText } from "./dom.ts";
import { button, emptyOf, sentence } from "./empty.ts";
import { csvOf } from "./relations.ts";
import { lastBefore } from "./rows.ts";
import { isGap, ROWS_MAX, SampleRows, type GapRow, type Row, type SampleRow } from "./sample_rows.ts";
import type { Range } from "./state.ts";
import {
  floatOf,
  formatDuration,
  formatInstant,
  formatTime,
  instantOf,
  isoOf,
  type Instant,
} from "./time.ts";
import { unitsOf, type Trace } from "./trace.ts";
import { commonWords, sampleWords as words } from "./words.ts";

/** As high as a row is drawn, in pixels. */
const ROW = 24;
/** The archiver is asked once a range has stood still for so long; one that does not answer again after this. */
const REST_MILLIS = 250;
const AGAIN_MILLIS = 5000;

export class SamplesPanel {
  readonly element: HTMLElement;
  private of = h("select", { class: "row-select", "aria-label": words.of, change: () => this.choose() });
  private told = h("p", { class: "told", role: "status" });
  private again = h("button", { type: "button", class: "link", hidden: true }, words.again);
  private copied = h("p", { class: "pointed", role: "status" });
  private copy = button(words.copy, () => void this.copyRows(this.found?.rows ?? []));
  private csv = h("a", { class: "button", download: "", hidden: true }, commonWords.csv);
  private shown = h("div", { class: "samples-shown", role: "rowgroup" });
  private space = h("div", { class: "space-high", role: "presentation" }, this.shown);
  private head = h("div", { class: "sample-row sample-head", role: "row" });
  private grid = h(
    "div",
    { class: "samples-grid", tabindex: "0", role: "grid", "aria-label": words.label },
    h("div", { role: "rowgroup", class: "head-group" }, this.head),
    this.space,
  );
  private empty = h("div", { class: "drawer-empty", role: "status", hidden: true });
  private scene!: DrawerScene;
  private choices: Choices = {};
  private found: SampleRows | null = null;
  private asking: AbortController | null = null;
  private timer = 0;
  private key = "";
  private lookKey = "";
  private rowsKey = "";
  private emptyKey = "";
  private active = 0;
  /** Why what comes next has not come; it is not asked for by itself before that is over. */
  private trouble: { text: string; again: () => void } | null = null;

  constructor(private actions: DrawerActions) {
    const label = h("label", {}, h("span", {}, words.of), this.of);
    this.element = h(
      "div",
      { class: "drawer-panel" },
      h("div", { class: "drawer-fields" }, label, h("span", { class: "space" }), this.copy, this.csv),
      h("div", { class: "drawer-said" }, h("p", {}, this.told, " ", this.again), this.copied),
      h("div", { class: "samples-place" }, this.grid, this.empty),
    );
    this.again.addEventListener("click", () => (this.trouble ? this.trouble.again() : this.askAnew()));
    this.grid.addEventListener("scroll", () => this.draw());
    this.grid.addEventListener("keydown", (event) => this.keyDown(event));
    this.shown.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(this.grid);
  }

  /** A live range stays as it was when it was asked for: rows that somebody reads do not move. */
  show(choices: Choices, scene: DrawerScene): void {
    [this.choices, this.scene] = [choices, scene];
    const all = this.traces;
    this.showChoices(choices, all);
    const chosen = all.filter(({ name }) => !choices.of || name === choices.of);
    const names = (chosen.length > 0 ? chosen : all).map(({ name }) => name);
    if (names.length === 0) {
      this.rest();
      this.found = null;
      this.tell();
      return this.sayEmpty({
        key: words.noPv,
        nodes: () => emptyOf(words.noPv, [button(words.findOne, () => this.actions.find())]),
      });
    }
    const { from, to } = scene.range;
    const key = JSON.stringify([names, scene.isLive ? (to - from).toPrecision(6) : [from, to]]);
    if (key !== this.key) {
      const isFirst = this.key === "";
      this.key = key;
      this.askAfter(names, isFirst ? 0 : REST_MILLIS);
    }
    // Units and names of states may come later than the samples.
    const known = all.map(({ metadata }) => metadata !== null);
    const lookKey = JSON.stringify([scene.zone, scene.at, scene.isLive, known]);
    if (lookKey === this.lookKey) return;
    this.lookKey = lookKey;
    this.tell();
    this.draw();
  }

  /** Stops asking while nobody sees it. */
  rest(): void {
    window.clearTimeout(this.timer);
    this.trouble = null;
    this.asking?.abort();
    this.asking = null;
    this.key = this.lookKey = "";
    set(this.element, "aria-busy", "false");
  }

  /** What has samples of its own: neither formulas nor other times do. */
  private get traces(): Trace[] {
    return this.scene.traces.filter(
      ({ hidden, unknown, source }) => !hidden && !unknown && source.kind === "pv",
    );
  }

  private showChoices({ of }: Choices, traces: Trace[]): void {
    const key = JSON.stringify(traces.map(({ name }) => name));
    if (key !== this.rowsKey) {
      this.rowsKey = key;
      const names = traces.map(({ name }) => h("option", { value: name }, name));
      const all = h("option", { value: "" }, words.all(traces.length));
      this.of.replaceChildren(...(traces.length > 1 ? [all] : []), ...names);
    }
    const isOne = traces.some(({ name }) => name === of);
    const wanted = isOne ? of! : traces.length === 1 ? traces[0]!.name : "";
    if (this.of.value !== wanted) this.of.value = wanted;
  }

  private choose(): void {
    this.actions.change({ tab: "samples", choices: { of: this.of.value || undefined } });
  }

  private askAnew(): void {
    this.key = "";
    this.grid.focus();
    this.show(this.choices, this.scene);
  }

  private askAfter(names: string[], millis: number): void {
    window.clearTimeout(this.timer);
    this.trouble = null;
    this.asking?.abort();
    const range = { ...this.scene.range };
    this.timer = window.setTimeout(() => void this.load(new SampleRows(names, range), "first"), millis);
    set(this.element, "aria-busy", "true");
    if (this.found === null) setText(this.told, words.asking);
  }

  private async load(rows: SampleRows, which: "first" | "next"): Promise<void> {
    const controller = new AbortController();
    this.asking = controller;
    window.clearTimeout(this.timer);
    set(this.element, "aria-busy", "true");
    try {
      await rows.more(controller.signal);
      if (controller.signal.aborted) return;
      this.trouble = null;
      if (which === "first") {
        this.found = rows;
        this.active = 0;
        this.grid.scrollTop = 0;
      }
      this.sayEmpty(rows.rows.length === 0 && rows.isWhole ? this.nothing(rows.range) : null);
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.refuse(error, which, () => void this.load(rows, which));
    }
    if (this.asking === controller) this.asking = null;
    set(this.element, "aria-busy", "false");
    this.tell();
    this.draw();
  }

  private nothing({ from, to }: Range): Empty {
    const text = words.nothing(this.time(from), this.time(to));
    return nothingIn(text, this.scene, this.actions);
  }

  /** Rows that are here stay; what was not answered is asked for again. */
  private refuse(error: ApiError, which: "first" | "next", again: () => void): void {
    if (error.code === "unreachable" || error.code === "busy")
      this.timer = window.setTimeout(again, AGAIN_MILLIS);
    const text = sentence(error.sentence);
    if (which === "next") this.trouble = { text, again };
    else this.sayEmpty({ key: text, nodes: () => emptyOf(text, [button(words.again, again)]) });
  }

  private sayEmpty(empty: Empty | null): void {
    this.empty.hidden = empty === null;
    this.grid.hidden = empty !== null;
    const key = empty?.key ?? "";
    if (key === this.emptyKey) return;
    this.emptyKey = key;
    this.empty.replaceChildren(...(empty?.nodes() ?? []));
  }

  /** How many rows there are, and whether these are all. */
  private tell(): void {
    const { found } = this;
    setText(this.copied, "");
    this.copy.hidden = this.csv.hidden = this.again.hidden = true;
    if (!found || this.emptyKey !== "")
      return setText(this.told, found || this.emptyKey !== "" ? "" : words.asking);
    const last = found.rows.at(-1);
    const count = found.rows.filter((row) => !isGap(row)).length;
    const until = last ? this.short(this.time(floatOf(last.at))) : "";
    const told = found.isWhole
      ? words.whole(count)
      : found.isFull
        ? words.full(ROWS_MAX, until)
        : words.part(count, until);
    const all = this.scene.isLive ? words.live(told, this.short(this.time(found.range.to))) : told;
    setText(this.told, this.trouble ? words.troubled(all, this.trouble.text) : all);
    this.again.hidden = !this.scene.isLive && !this.trouble;
    this.copy.hidden = found.rows.length === 0;
    const pvs = this.traces
      .map(({ name }) => name)
      .filter((name) => !this.of.value || name === this.of.value);
    const url = csvOf(
      "samples",
      { pv: pvs[0]! },
      [...pvs.slice(1).map((pv) => `pv=${encodeURIComponent(pv)}`), rangeQuery(found.range)].join("&"),
    );
    this.csv.hidden = url === null;
    if (url !== null) set(this.csv, "href", url);
  }

  /** The first and the last row in sight. */
  private inSight(): [number, number] {
    const { scrollTop, clientHeight } = this.grid;
    const first = Math.floor(scrollTop / ROW);
    return [first, first + Math.ceil(clientHeight / ROW)];
  }

  private draw(): void {
    const { found } = this;
    if (!this.element.isConnected || !found || this.grid.hidden) return;
    const { rows } = found;
    this.grid.classList.toggle("is-of-one", this.of.value !== "");
    this.fillHead();
    set(this.grid, "aria-rowcount", found.isWhole ? String(rows.length + 1) : "-1");
    this.space.style.height = `${rows.length * ROW}px`;
    const [first, last] = this.inSight();
    const marked = this.markedRow(rows);
    const shown: HTMLElement[] = [];
    for (let i = first; i <= last && i < rows.length; i++) shown.push(this.rowOf(rows[i]!, i, i === marked));
    this.shown.style.transform = `translateY(${first * ROW}px)`;
    this.shown.replaceChildren(...shown);
    const isThere = this.active >= first && this.active <= last && rows.length > 0;
    if (isThere) this.grid.setAttribute("aria-activedescendant", `sample-${this.active}`);
    else this.grid.removeAttribute("aria-activedescendant");
    // What comes next is asked for before somebody has come to the end.
    const isNear = last + (last - first) >= rows.length;
    if (isNear && !found.isWhole && !found.isFull && !this.asking && !this.trouble)
      void this.load(found, "next");
  }

  /** Of a range within one day the date is said once. */
  private fillHead(): void {
    const day = this.day;
    this.grid.classList.toggle("is-of-day", day !== "");
    if (this.head.childElementCount === 0)
      for (const [key, text] of Object.entries(words.heads))
        this.head.append(h("span", { class: key, role: "columnheader" }, text));
    setText(this.head.firstElementChild as HTMLElement, day === "" ? words.heads.time : day);
  }

  /** The date of all rows; none where they are of several days. */
  private get day(): string {
    const { range } = this.found ?? this.scene;
    const [first, last] = [this.time(range.from).slice(0, 10), this.time(range.to).slice(0, 10)];
    return first === last ? first : "";
  }

  private short(text: string): string {
    return this.day === "" ? text : text.slice(11);
  }

  /** The newest row at the plot's cursor. */
  private markedRow(rows: Row[]): number {
    const { at } = this.scene;
    if (at === null) return -1;
    return lastBefore(rows.length, (row) => floatOf(rows[row]!.at) > at);
  }

  private rowOf(row: Row, index: number, isMarked: boolean): HTMLElement {
    const cells = isGap(row) ? this.gapCells(row) : this.sampleCells(row);
    return h(
      "div",
      {
        class: `sample-row${isGap(row) ? " is-gap" : ""}${isMarked ? " is-at" : ""}${index === this.active ? " is-active" : ""}`,
        ...{ id: `sample-${index}`, role: "row", "data-row": String(index) },
        ...{ "aria-rowindex": String(index + 2), "aria-selected": String(index === this.active) },
      },
      ...cells,
    );
  }

  private sampleCells({ pv, at, value, kind, severity, status }: SampleRow): HTMLElement[] {
    const trace = this.trace(pv);
    const text = formatValue(value, kind, trace?.metadata ?? null);
    const units = kind === "number" && trace ? unitsOf(trace) : "";
    const cell = (name: string, text: string, severity = "") =>
      h(
        "span",
        { class: name, role: "gridcell", title: text, ...(severity ? { "data-severity": severity } : {}) },
        text,
      );
    return [
      cell("time", this.instant(at)),
      cell("pv", pv),
      cell("value", units ? `${text} ${units}` : text),
      cell("severity", severity > 0 ? severityName(severity) : "", String(severity)),
      cell("status", status > 0 ? words.status(status, this.found?.protocolOf(pv) ?? null) : ""),
    ];
  }

  private gapCells({ pv, at, until, cause, lost }: GapRow): HTMLElement[] {
    const end = Math.min(until, this.scene.now);
    const length = formatDuration(Math.max(0, end - floatOf(at)));
    const text = words.gap(
      until === Infinity ? null : this.short(this.time(until)),
      length,
      causeText(cause),
      lost,
    );
    return [
      h("span", { class: "time", role: "gridcell" }, this.instant(at)),
      h("span", { class: "pv", role: "gridcell", title: pv }, pv),
      h("span", { class: "gap", role: "gridcell", title: text }, text),
    ];
  }

  private trace(pv: string): Trace | undefined {
    return this.scene.traces.find(({ name }) => name === pv);
  }

  /** As many digits as the sample has. */
  private instant(at: Instant): string {
    return this.short(formatInstant(at, this.scene.zone, at.nanos % 1_000_000 === 0 ? 3 : 9));
  }

  private time(at: number): string {
    return formatTime(at, this.scene.zone, 0);
  }

  private keyDown(event: KeyboardEvent): void {
    const rows = this.found?.rows ?? [];
    if (event.ctrlKey && event.key === "c" && rows[this.active]) void this.copyRows([rows[this.active]!]);
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "Enter") this.pin(this.active);
    else {
      const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2);
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[
        event.key
      ];
      if (by === undefined) return;
      this.go(this.active + by);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private go(to: number): void {
    const count = this.found?.rows.length ?? 0;
    this.active = Math.min(Math.max(to, 0), Math.max(0, count - 1));
    const head = this.head.offsetHeight;
    const [top, bottom] = [this.active * ROW, (this.active + 1) * ROW + head];
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (bottom > this.grid.scrollTop + this.grid.clientHeight)
      this.grid.scrollTop = bottom - this.grid.clientHeight;
    this.draw();
  }

  private click(event: MouseEvent): void {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]")?.dataset.row;
    if (row === undefined) return;
    this.go(Number(row));
    this.pin(Number(row));
  }

  /** Leads the plot's cursor there. */
  private pin(index: number): void {
    const row = this.found?.rows[index];
    if (row) this.actions.pin(floatOf(row.at));
  }

  private async copyRows(rows: Row[]): Promise<void> {
    const isPart = rows.length > 1 && !this.found!.isWhole;
    try {
      await navigator.clipboard.writeText(csvText(rows));
      setText(this.copied, isPart ? words.copiedPart(rows.length) : words.copied(rows.length));
    } catch {
      // Without https there is no clipboard for pages.
      setText(this.copied, words.notCopied);
    }
  }
}

/** Rows as the archiver writes them, with their PVs; a gap says until when, and why. */
export function csvText(rows: Row[]): string {
  const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const written = (value: SampleRow["value"]) =>
    value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const lines = rows.map((row) => {
    const cells = isGap(row)
      ? ["", "", "", row.until === Infinity ? "" : isoOf(instantOf(row.until)), row.cause]
      : [written(row.value), String(row.severity), String(row.status), "", ""];
    return [isoOf(row.at), row.pv, ...cells].map(quoted).join(",");
  });
  return ["time,pv,value,severity,status,gap_until,gap_cause", ...lines, ""].join("\n");
}
