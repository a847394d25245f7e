// The samples of the plot's PVs, also of those at another time, and the steps of its formulas, as a table: when, what, in which alarm; gaps are
// rows among them. It comes by pages as somebody looks further; rows are marked, which the plot shows, and copied.

import { ApiError, isAbort, rangeQuery } from "./api.ts";
import { copyText } from "./copy.ts";
import type { DrawerActions, DrawerScene } from "./drawer.ts";
import type { Empty } from "./drawer_panel.ts";
import type { Choices } from "./drawer_state.ts";
import { causeText, formatValue, severityName } from "./decode.ts";
import { h, set, setText } from "./dom.ts";
import { button, emptyOf, sentence } from "./empty.ts";
import { whereOf } from "./nothing.ts";
import { csvOf } from "./relations.ts";
import { lastBefore } from "./rows.ts";
import {
  isGap,
  ownTime,
  ROWS_MAX,
  SampleRows,
  type GapRow,
  type Row,
  type SampleRow,
} from "./sample_rows.ts";
import { csvText, tabbedText } from "./sample_texts.ts";
import { secondsEarlier, titleOfName } from "./source.ts";
import type { Range } from "./state.ts";
import { floatOf, formatDuration, formatInstant, formatTime, type Instant } from "./time.ts";
import { unitsOf, type Trace } from "./trace.ts";
import { commonWords } from "./words/common.ts";
import { drawerWords } from "./words/drawer.ts";
import { plotWords } from "./words/plot.ts";
import { sampleWords as words } from "./words/sample.ts";

/** As high as a row is drawn, in pixels. */
const ROW = 24;
/** The archiver is asked once a range has stood still for so long; one that does not answer again after this. */
const REST_MILLIS = 250;
const AGAIN_MILLIS = 5000;
/** Of more PVs than this it is not told one by one where they have samples. */
const PVS_TOLD_MAX = 3;
/** A finger that rests on a row for so long marks it, unless it moves by more pixels than this. */
const HOLD_MILLIS = 500;
const HOLD_PIXELS = 10;

export class SamplesPanel {
  readonly element: HTMLElement;
  private of = h("select", { class: "row-select", "aria-label": words.of, change: () => this.choose() });
  private told = h("p", { class: "told", role: "status" });
  private again = h("button", { type: "button", class: "link", hidden: true }, words.again);
  private copied = h("p", { class: "pointed", role: "status" });
  private copy = button(words.copy, () => void this.copyShown());
  private toCursors = button(words.toCursors, () => this.pin());
  private unmark = button(words.unmark, () => this.mark([]));
  private csv = h("a", { class: "button", download: "", hidden: true }, commonWords.csv);
  private shown = h("div", { class: "samples-shown", role: "rowgroup" });
  private space = h("div", { class: "space-high", role: "presentation" }, this.shown);
  private head = h("div", { class: "sample-row sample-head", role: "row" });
  private grid = h(
    "div",
    {
      ...{ class: "samples-grid", tabindex: "0", role: "grid", "aria-label": words.label },
      "aria-multiselectable": "true",
    },
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
  /** That nothing is in the range stands in place of the table. */
  private saysNothing = false;
  private active = 0;
  /** The rows that are marked, and from which on Shift marks. */
  private marked = new Set<number>();
  private anchor = 0;
  /** A finger rests on a row, or has for long enough; once it has, taps mark and unmark until nothing is marked. */
  private holding = 0;
  private isHeld = false;
  private isTapped = false;
  private areTapsMarks = false;
  /** Why what comes next has not come; it is not asked for by itself before that is over. */
  private trouble: { text: string; again: () => void } | null = null;

  constructor(private actions: DrawerActions) {
    const label = h("label", {}, h("span", {}, words.of), this.of);
    this.element = h(
      "div",
      { class: "drawer-panel" },
      h(
        "div",
        { class: "drawer-fields" },
        label,
        h("span", { class: "space" }),
        this.unmark,
        this.toCursors,
        this.copy,
        this.csv,
      ),
      h("div", { class: "drawer-said" }, h("p", {}, this.told, " ", this.again), this.copied),
      h("div", { class: "samples-place" }, this.grid, this.empty),
    );
    this.again.addEventListener("click", () => (this.trouble ? this.trouble.again() : this.askAnew()));
    this.grid.addEventListener("scroll", () => this.draw());
    this.grid.addEventListener("keydown", (event) => this.keyDown(event));
    this.shown.addEventListener("click", (event) => this.click(event));
    this.shown.addEventListener("pointerdown", (event) => this.touch(event));
    // The browser's own list would lie over what was just marked.
    this.shown.addEventListener("contextmenu", (event) => {
      if (this.isTapped) event.preventDefault();
    });
    // Rows are marked, not their letters.
    this.shown.addEventListener("mousedown", (event) => {
      if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.grid.focus({ preventScroll: true });
    });
    new ResizeObserver(() => this.draw()).observe(this.grid);
  }

  /** A live range stays as it was when it was asked for: rows that somebody reads do not move. */
  show(choices: Choices, scene: DrawerScene): void {
    [this.choices, this.scene] = [choices, scene];
    const all = this.traces;
    this.showChoices(choices, all);
    const names = this.chosen.map(({ name }) => name);
    if (names.length === 0) {
      this.rest();
      this.found = null;
      this.saysNothing = false;
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
    const known = all.map(({ metadata, detail }) => [metadata !== null, detail !== null]);
    const lookKey = JSON.stringify([scene.zone, scene.at, scene.isLive, known]);
    if (lookKey === this.lookKey) return;
    this.lookKey = lookKey;
    // So may when there are some.
    if (this.found && this.saysNothing) this.sayEmpty(this.nothing(this.found.range));
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
    this.actions.mark(null);
  }

  /** Rows of the plot that have samples, or steps. */
  private get traces(): Trace[] {
    return this.scene.traces.filter(({ hidden, unknown }) => !hidden && !unknown);
  }

  /** Those of which the table is. */
  private get chosen(): Trace[] {
    const all = this.traces;
    const chosen = all.filter(({ name }) => !this.of.value || name === this.of.value);
    return chosen.length > 0 ? chosen : all;
  }

  private showChoices({ of }: Choices, traces: Trace[]): void {
    const key = JSON.stringify(traces.map(({ name }) => name));
    if (key !== this.rowsKey) {
      this.rowsKey = key;
      const names = traces.map(({ name }) => h("option", { value: name }, titleOfName(name)));
      const pvs = traces.filter(({ source }) => source.kind === "pv").length;
      const all = h("option", { value: "" }, words.all(pvs, traces.length - pvs));
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
        this.active = this.anchor = 0;
        this.grid.scrollTop = 0;
        this.mark([]);
      }
      this.saysNothing = rows.rows.length === 0 && rows.isWhole;
      this.sayEmpty(this.saysNothing ? this.nothing(rows.range) : null);
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

  /** Where there are samples is said, with a way there. */
  private nothing(range: Range): Empty {
    const text = words.nothing(this.time(range.from), this.time(range.to));
    const { zone } = this.scene;
    const found = this.chosen.map((trace) => ({
      name: titleOfName(trace.name),
      ...whereOf(trace, { range, zone }),
    }));
    const said = found.slice(0, PVS_TOLD_MAX).map(({ name, text }) => `${name}: ${text}.`);
    if (found.length > said.length) said.push(`${commonWords.andMore(found.length - said.length)}.`);
    const ways = found.flatMap(({ name, text, to }) =>
      to ? [{ to, label: plotWords.showOf(`${name}: ${text}`) }] : [],
    );
    const wider = { from: range.to - 10 * (range.to - range.from), to: Math.min(range.to, this.scene.now) };
    const buttons = ways.slice(0, 1).map(({ to, label }) => {
      const way = button(plotWords.showIt, () => this.actions.go(to));
      set(way, "aria-label", label);
      return way;
    });
    if (buttons.length === 0) buttons.push(button(drawerWords.earlier, () => this.actions.go(wider)));
    return { key: [text, ...said].join(" "), nodes: () => emptyOf(text, buttons, said.join(" ")) };
  }

  /** Rows that are here stay; what was not answered is asked for again. */
  private refuse(error: ApiError, which: "first" | "next", again: () => void): void {
    if (which === "first") this.saysNothing = false;
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
    this.copy.hidden = this.csv.hidden = this.again.hidden = true;
    this.sayMarked();
    if (!found || this.emptyKey !== "")
      return setText(this.told, found || this.emptyKey !== "" ? "" : words.asking);
    const last = found.rows.at(-1);
    const until = last ? this.short(this.time(floatOf(last.at))) : "";
    const [url, hasAll] = this.csvUrl(found);
    const told = found.isWhole
      ? words.whole(this.countText(found))
      : found.isFull
        ? words.full(ROWS_MAX, until, hasAll)
        : words.part(this.countText(found), until);
    const all = [
      this.scene.isLive ? words.live(told, this.short(this.time(found.range.to))) : told,
      ...found.means.map(({ name, madeOf }) => words.means(name, this.meanOf(found, name), madeOf)),
      ...(this.trouble ? [this.trouble.text] : []),
    ];
    setText(this.told, words.sentences(all));
    this.again.hidden = !this.scene.isLive && !this.trouble;
    this.copy.hidden = found.rows.length === 0;
    this.csv.hidden = url === null;
    setText(this.csv, hasAll ? commonWords.csv : words.csvOfPvs);
    if (url !== null) set(this.csv, "href", url);
  }

  private countText({ rows }: SampleRows): string {
    const formulas = new Set(this.traces.filter(isFormula).map(({ name }) => name));
    const told = rows.filter((row) => !isGap(row));
    const steps = told.filter(({ pv }) => formulas.has(pv)).length;
    return words.count(told.length - steps, steps);
  }

  private meanOf({ rows }: SampleRows, name: string): string {
    const row = rows.find((row): row is SampleRow => row.pv === name && "meanOf" in row);
    return formatDuration(row?.meanOf ?? 0);
  }

  /** Where the same is had as a file, and whether all of it is in that: each formula has one of its own. */
  private csvUrl({ range }: SampleRows): [string | null, boolean] {
    const { chosen } = this;
    const pvs = chosen.flatMap(({ name, source }) => (source.kind === "pv" ? [name] : []));
    const [first, ...rest] = pvs;
    const query = rangeQuery(range);
    if (first !== undefined) {
      const others = rest.map((pv) => `pv=${encodeURIComponent(pv)}`);
      return [csvOf("samples", { pv: first }, [...others, query].join("&")), pvs.length === chosen.length];
    }
    const source = chosen[0]?.source;
    if (chosen.length !== 1 || !source || source.kind === "pv") return [null, false];
    if (source.kind === "formula") return [csvOf("formula", { expression: source.expression }, query), true];
    const earlier = secondsEarlier(source.by, range.from);
    const own = rangeQuery({ from: range.from - earlier, to: range.to - earlier });
    return [csvOf("samples", { pv: source.pv }, own), true];
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
    const pointed = this.pointedRow(rows);
    const shown: HTMLElement[] = [];
    for (let i = first; i <= last && i < rows.length; i++) shown.push(this.rowOf(rows[i]!, i, i === pointed));
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
    if (this.chosen.some(({ source }) => source.kind === "over")) return "";
    const [first, last] = [this.time(range.from).slice(0, 10), this.time(range.to).slice(0, 10)];
    return first === last ? first : "";
  }

  private short(text: string): string {
    return this.day === "" ? text : text.slice(11);
  }

  /** The newest row at the plot's cursor. */
  private pointedRow(rows: Row[]): number {
    const { at } = this.scene;
    if (at === null) return -1;
    return lastBefore(rows.length, (row) => floatOf(rows[row]!.at) > at);
  }

  private rowOf(row: Row, index: number, isPointed: boolean): HTMLElement {
    const cells = isGap(row) ? this.gapCells(row) : this.sampleCells(row);
    const isMarked = this.marked.has(index);
    const classes = [
      "sample-row",
      ...(isGap(row) ? ["is-gap"] : []),
      ...(isPointed ? ["is-at"] : []),
      ...(isMarked ? ["is-marked"] : []),
      ...(index === this.active ? ["is-active"] : []),
    ];
    return h(
      "div",
      {
        ...{ class: classes.join(" "), id: `sample-${index}`, role: "row", "data-row": String(index) },
        ...{ "aria-rowindex": String(index + 2), "aria-selected": String(isMarked) },
      },
      ...cells,
    );
  }

  private sampleCells(row: SampleRow): HTMLElement[] {
    const { pv, value, kind, severity, status, meanOf } = row;
    const trace = this.trace(pv);
    const isUnknown = value === null && trace !== undefined && isFormula(trace);
    const text = isUnknown ? words.notKnown : formatValue(value, kind, trace?.metadata ?? null);
    const units = kind === "number" && trace && !isUnknown ? unitsOf(trace) : "";
    const alarm = severity > 0 ? severityName(severity) : "";
    const cell = (name: string, text: string, ...more: HTMLElement[]) =>
      h("span", { class: name, role: "gridcell", title: text }, text, ...more);
    const marked = (name: string, more: Record<string, string>) =>
      h("span", { class: name, "data-severity": String(severity), ...more }, alarm);
    const told = meanOf === undefined ? "" : words.meanOf(formatDuration(meanOf));
    return [
      // Where its own column has no room the alarm stands beside the time.
      cell("time", this.instant(ownTime(row)), ...(severity > 0 ? [marked("beside", {})] : [])),
      cell("pv", titleOfName(pv)),
      cell("value", units ? `${text} ${units}` : text),
      marked("severity", { role: "gridcell", title: alarm }),
      cell("status", status > 0 ? words.status(status, this.found?.protocolOf(pv) ?? null) : told),
    ];
  }

  private gapCells(row: GapRow): HTMLElement[] {
    const { pv, at, until, earlier, cause, lost } = row;
    const end = Math.min(until, this.scene.now + earlier);
    const length = formatDuration(Math.max(0, end - floatOf(at)));
    const text = words.gap(
      until === Infinity ? null : this.short(this.time(until - earlier)),
      length,
      causeText(cause),
      lost,
    );
    const name = titleOfName(pv);
    return [
      h("span", { class: "time", role: "gridcell" }, this.instant(ownTime(row))),
      h("span", { class: "pv", role: "gridcell", title: name }, name),
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
    const isControl = event.ctrlKey || event.metaKey;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[
      event.key
    ];
    if (event.altKey) return;
    if (by !== undefined) this.go(this.active + by, event.shiftKey ? "extend" : isControl ? "keep" : "one");
    else if (event.key === " ") this.turn(this.active);
    else if (isControl && event.key.toLowerCase() === "a") this.mark(rows.map((_, i) => i));
    else if (isControl && event.key === "c" && rows.length > 0) void this.copyMarked();
    else if (isControl) return;
    else if (event.key === "Enter") this.pin();
    else if (event.key === "Escape" && this.marked.size > 1) this.mark([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private click(event: MouseEvent): void {
    const index = rowAt(event);
    if (index === null) return;
    // Of a finger that has rested it is no tap.
    if (this.isHeld) return void (this.isHeld = false);
    if (event.shiftKey) return this.go(index, "extend");
    if (event.ctrlKey || event.metaKey || (this.isTapped && this.areTapsMarks)) {
      this.go(index, "keep");
      return this.turn(index);
    }
    this.go(index, "one");
    this.pin();
  }

  /** A finger that rests on a row marks it, or, where rows are marked, all from the one marked last as far as there. */
  private touch(down: PointerEvent): void {
    this.isHeld = false;
    this.isTapped = down.pointerType === "touch";
    const index = rowAt(down);
    if (!this.isTapped || index === null) return;
    const end = new AbortController();
    const { signal } = end;
    const drop = () => {
      window.clearTimeout(this.holding);
      end.abort();
    };
    window.clearTimeout(this.holding);
    this.holding = window.setTimeout(() => {
      end.abort();
      this.isHeld = true;
      const isMore = this.areTapsMarks;
      this.areTapsMarks = true;
      this.go(index, isMore ? "extend" : "one");
    }, HOLD_MILLIS);
    window.addEventListener("pointerup", drop, { signal });
    // It scrolls.
    window.addEventListener("pointercancel", drop, { signal });
    window.addEventListener(
      "pointermove",
      (move) => {
        const by = Math.hypot(move.clientX - down.clientX, move.clientY - down.clientY);
        if (by > HOLD_PIXELS) drop();
      },
      { signal },
    );
  }

  /** To a row: it alone is marked, or all from where Shift began, or what is marked stays. */
  private go(to: number, how: "one" | "extend" | "keep"): void {
    const count = this.found?.rows.length ?? 0;
    if (count === 0) return;
    this.active = Math.min(Math.max(to, 0), count - 1);
    const head = this.head.offsetHeight;
    const [top, bottom] = [this.active * ROW, (this.active + 1) * ROW + head];
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (bottom > this.grid.scrollTop + this.grid.clientHeight)
      this.grid.scrollTop = bottom - this.grid.clientHeight;
    if (how === "keep") return this.draw();
    if (how === "one") this.anchor = this.active;
    const [first, last] = [Math.min(this.anchor, this.active), Math.max(this.anchor, this.active)];
    this.mark(Array.from({ length: last - first + 1 }, (_, i) => first + i));
  }

  /** Marks a row beside the others, or no more. */
  private turn(index: number): void {
    const marked = new Set(this.marked);
    if (!marked.delete(index)) marked.add(index);
    // The next row that is held, or pressed with Shift, marks all from the row that was marked last.
    this.anchor = [...marked].at(-1) ?? index;
    this.mark([...marked]);
  }

  private mark(rows: number[]): void {
    this.marked = new Set(rows);
    if (rows.length === 0) this.areTapsMarks = false;
    this.actions.mark(this.marked.size > 1 ? this.span : null);
    this.sayMarked();
    this.draw();
  }

  private get markedRows(): Row[] {
    const rows = this.found?.rows ?? [];
    return [...this.marked].sort((a, b) => a - b).flatMap((index) => rows[index] ?? []);
  }

  /** From the first of what is marked to the last. */
  private get span(): Range | null {
    const rows = this.markedRows;
    const [first, last] = [rows[0], rows.at(-1)];
    if (!first || !last) return null;
    const to = isGap(last) ? Math.min(last.until, this.scene.now) : floatOf(last.at);
    return { from: floatOf(first.at), to: Math.max(to, floatOf(first.at)) };
  }

  private sayMarked(): void {
    const count = this.marked.size;
    const told = count > 1 ? words.marked(count) : "";
    setText(this.copied, this.areTapsMarks ? words.tapsMark(count) : told);
    this.toCursors.hidden = count < 2;
    this.unmark.hidden = count < 2 && !this.areTapsMarks;
    setText(this.copy, this.isChoice ? words.copyMarked(count) : words.copy);
  }

  /** Leads the plot's cursor there; cursors to both ends of several that are marked. */
  private pin(): void {
    const { span } = this;
    const row = this.found?.rows[this.active];
    if (this.marked.size > 1 && span && span.to > span.from) this.actions.between(span);
    else if (row) this.actions.pin(floatOf(row.at));
  }

  /** What is marked was chosen: it is more than the row at hand. */
  private get isChoice(): boolean {
    return this.marked.size > 1 || (this.areTapsMarks && this.marked.size > 0);
  }

  private async copyShown(): Promise<void> {
    if (this.isChoice) return this.copyMarked();
    const { rows, isWhole } = this.found!;
    const isPart = rows.length > 1 && !isWhole;
    const [, hasAll] = this.csvUrl(this.found!);
    await this.putOut(
      csvText(rows),
      isPart ? words.copiedPart(rows.length, hasAll) : words.copied(rows.length),
    );
  }

  /** What is marked, or the row at hand, with tabs between its cells. */
  private async copyMarked(): Promise<void> {
    if (this.marked.size === 0) this.mark([this.active]);
    const rows = this.markedRows;
    const text = tabbedText(rows, (pv) => {
      const trace = this.trace(pv);
      return {
        units: trace ? unitsOf(trace) : "",
        metadata: trace?.metadata ?? null,
        status: (status) => words.status(status, this.found?.protocolOf(pv) ?? null),
      };
    });
    await this.putOut(text, words.copied(rows.length));
  }

  private async putOut(text: string, told: string): Promise<void> {
    setText(this.copied, (await copyText(text)) ? told : words.notCopied);
  }
}

/** The row on which something was pressed. */
function rowAt(event: MouseEvent): number | null {
  const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]")?.dataset.row;
  return row === undefined ? null : Number(row);
}

function isFormula({ source }: Trace): boolean {
  return source.kind === "formula";
}
