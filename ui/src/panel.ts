// The panel at the right: a row per PV under its pane, with its value at the cursor or now, and below what happened in the range.

import { onAsked } from "./asked.ts";
import { broken, cutName } from "./cut.ts";
import { causeText, exactOf, formatNumber, formatValue, severityName } from "./decode.ts";
import { byId, h, setText } from "./dom.ts";
import { ExactTimes } from "./exact.ts";
import { happenings, HAPPENINGS_MAX, type Happening } from "./events.ts";
import type { NoteMark } from "./notes.ts";
import { whereOf } from "./nothing.ts";
import { letter, titleOf, type Layout } from "./panes.ts";
import { NO_READING, readingAt, readingOver, type Reading } from "./reading.ts";
import { overName, titleOfName } from "./source.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import {
  floatOf,
  formatDuration,
  formatInstant,
  formatTime,
  instantOf,
  zoneName,
  type Zone,
} from "./time.ts";
import { isLacking, unitsOf, type Trace } from "./trace.ts";
import { commonWords } from "./words/common.ts";
import { eventsText } from "./words/counts.ts";
import { binsText, completeText, wordOf } from "./words/panel.ts";

export interface PanelActions {
  toggle(name: string): void;
  remove(name: string): void;
  details(name: string): void;
  archive(name: string): void;
  /** Another PV was meant. */
  replace(name: string, by: string): void;
  /** Opens its menu at a place of the window. */
  menu(name: string, at: { x: number; y: number }): void;
  noteMenu(mark: NoteMark, at: { x: number; y: number }): void;
  point(name: string | null): void;
  goTo(at: number): void;
  /** Opens a note. */
  note(mark: NoteMark): void;
  /** Writes one. */
  writeNote(): void;
}

export interface PanelState {
  traces: Trace[];
  layout: Layout;
  notes: NoteMark[];
  range: Range;
  /** The moment to read at; none to read over the range. */
  at: number | null;
  pinned: boolean;
  /** The stretch between the cursors A and B. */
  between: Range | null;
  /** Up to when anything is known; the archiver may be silent since. */
  known: number;
  silent: boolean;
  zone: Zone;
  palette: Palette;
  /** It is being panned: what happened is looked for when it rests. */
  moving: boolean;
}

interface Row {
  element: HTMLElement;
  swatch: HTMLButtonElement;
  name: HTMLButtonElement;
  why: HTMLButtonElement;
  archive: HTMLButtonElement;
  near: HTMLElement;
  cells: Record<Cell, HTMLElement>;
  /** What was read over a range, and what that was read of. */
  over: { key: unknown[]; reading: Reading } | null;
}

const CELLS = ["value", "units", "span", "severity", "time", "note", "min", "max", "mean", "count"] as const;
type Cell = (typeof CELLS)[number];

/** From so many PVs on a row has one line. */
const DENSE = 13;
/** From so many on groups can be folded. */
const FOLDED = 30;

/** While the view is panned the rows are filled in so many parts, one after the other. */
export const PANEL_PARTS = 4;

/** What happened is looked for so often while values come. */
const EVENTS_MILLIS = 1000;

export class Panel {
  private rows = new Map<string, Row>();
  private list = byId("legend");
  private moment = byId("moment");
  private foot = byId("panel-foot");
  private made = byId("made");
  private events = byId("events");
  private order = "";
  private folded = new Set<string>();
  /** The PV that is to have the focus once its row is there. */
  private next: string | null = null;
  private told = { key: "", at: 0 };
  private found: Happening[] = [];
  private last: PanelState | null = null;
  /** The notes among what happened, by their lines. */
  private noted = new WeakMap<Element, NoteMark>();
  /** So many rows are filled, from the first on. */
  private filled = Infinity;
  private exact = new ExactTimes(() => {
    this.told = { key: "", at: 0 };
    if (this.last) this.showEvents(this.last);
  });

  constructor(private actions: PanelActions) {
    this.list.addEventListener("keydown", (event) => this.key(event));
    onAsked(this.list, ({ x, y, target }) => {
      const row = target.closest<HTMLElement>("[data-pv]");
      if (row) actions.menu(row.dataset.pv!, { x, y });
      return row !== null;
    });
    onAsked(this.events, ({ x, y, target }) => {
      const mark = this.noted.get(target.closest("li") ?? target);
      if (mark) actions.noteMenu(mark, { x, y });
      return mark !== undefined;
    });
  }

  /** The PV whose row has the focus. */
  get focused(): string | undefined {
    return document.activeElement?.closest<HTMLElement>("#legend [data-pv]")?.dataset.pv;
  }

  /** The place of a row in the window. */
  placeOf(name: string): { x: number; y: number } | null {
    const box = this.rows.get(name)?.element.getBoundingClientRect();
    return box ? { x: box.left + 24, y: box.bottom } : null;
  }

  get happenings(): Happening[] {
    return this.found;
  }

  /** Leads the cursor to an event; to its own moment, where only its bin was known so far. */
  async go(one: Happening): Promise<void> {
    this.actions.goTo(await this.exact.when(one));
  }

  show(state: PanelState): void {
    const { traces } = state;
    this.last = state;
    this.list.classList.toggle("is-dense", traces.length >= DENSE);
    this.arrange(state);
    setText(this.moment, momentText(state));
    for (const trace of this.due(state)) this.fill(this.rows.get(trace.name)!, trace, state);
    if (state.moving && this.filled < traces.length) return;
    const lacking = traces.filter((trace) => isLacking(trace, state.range)).length;
    const isLoaded = traces.every((trace) => trace.history || trace.error);
    setText(
      this.foot.firstElementChild as HTMLElement,
      isLoaded ? completeText(traces.length, lacking) : wordOf.loading,
    );
    setText(this.made, isLoaded ? madeOfAll(traces) : "");
    (this.foot.lastElementChild as HTMLElement).hidden = lacking === 0;
    this.showEvents(state);
  }

  /** The rows to fill: while the view is panned a part of them, then the next, so that no frame waits for all. */
  private due({ traces, moving }: PanelState): Trace[] {
    if (!moving) this.filled = traces.length;
    if (!moving) return traces;
    const first = this.filled >= traces.length ? 0 : this.filled;
    this.filled = first + Math.ceil(traces.length / PANEL_PARTS);
    return traces.slice(first, this.filled);
  }

  /** Rows stand in groups, as their PVs do in panes. */
  private arrange({ traces, layout }: PanelState): void {
    const groups = layout.panes.map((pane) => ({
      letter: pane.letter,
      title: pane.scales
        .map(
          (scale, i) =>
            `${titleOf(scale)}${pane.scales.length > 1 ? ` ${i === 0 ? wordOf.left : wordOf.right}` : ""}`,
        )
        .join(", "),
      traces: pane.scales.flatMap((scale) => scale.traces),
    }));
    const add = (title: string, traces: Trace[]) => {
      if (traces.length > 0) groups.push({ letter: letter(groups.length), title, traces });
    };
    add(wordOf.states, layout.bands);
    const placed = new Set(groups.flatMap((group) => group.traces));
    const rest = traces.filter((trace) => !placed.has(trace));
    add(
      wordOf.others,
      rest.filter((trace) => !trace.hidden),
    );
    add(
      wordOf.hidden,
      rest.filter((trace) => trace.hidden),
    );
    const order = JSON.stringify([
      groups.map((group) => [group.letter, group.title, group.traces.map(({ name }) => name)]),
      [...this.folded],
    ]);
    if (order === this.order) return;
    this.order = order;
    const focused = document.activeElement;
    const rows = new Map(traces.map(({ name }) => [name, this.rows.get(name) ?? this.makeRow(name)]));
    this.rows = rows;
    const canFold = traces.length >= FOLDED;
    this.list.replaceChildren(
      ...groups.flatMap((group) => {
        const isFolded = canFold && this.folded.has(group.title);
        return [
          this.groupHead(group.letter, group.title, group.traces.length, canFold, isFolded),
          h(
            "div",
            { role: "list", "aria-label": group.title, class: "rows" },
            ...(isFolded ? [] : group.traces.map(({ name }) => rows.get(name)!.element)),
          ),
        ];
      }),
    );
    this.rove(null);
    if (this.next !== null) rows.get(this.next)?.name.focus();
    else if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
    this.next = null;
  }

  private groupHead(
    mark: string,
    title: string,
    count: number,
    canFold: boolean,
    isFolded: boolean,
  ): HTMLElement {
    const text = [h("i", {}, mark), h("span", {}, title)];
    if (!canFold) return h("div", { class: "group-head" }, ...text);
    const click = () => {
      if (!this.folded.delete(title)) this.folded.add(title);
      this.order = "";
    };
    const fold = h(
      "button",
      { type: "button", "aria-expanded": String(!isFolded), click },
      ...text,
      h("span", { class: "faint" }, `${count}`),
    );
    return h("div", { class: "group-head" }, fold);
  }

  private makeRow(name: string): Row {
    const { actions } = this;
    const button = (label: string, cls: string, text: string, click: () => void) =>
      h(
        "button",
        { type: "button", class: cls, "aria-label": label, title: label, tabindex: "-1", click },
        text,
      );
    const swatch = button("", "swatch", "", () => actions.toggle(name));
    const title = h(
      "button",
      { class: "name", type: "button", title: titleOfName(name), click: () => actions.details(name) },
      ...cutName(titleOfName(name)),
    );
    const why = button(wordOf.whyTitle(name), "why", wordOf.why, () => actions.details(name));
    const archive = button(wordOf.archive(name), "archive operates", wordOf.archiveIt, () =>
      actions.archive(name),
    );
    // It says what it does itself.
    archive.removeAttribute("aria-label");
    archive.removeAttribute("tabindex");
    archive.hidden = true;
    const near = h("span", { class: "near", hidden: true });
    const cells = Object.fromEntries(CELLS.map((cell) => [cell, h("span", { class: cell })])) as Row["cells"];
    const unseen = h(
      "span",
      { class: "unseen" },
      cells.min,
      " ",
      cells.max,
      " ",
      cells.mean,
      " ",
      cells.count,
    );
    const more = button(wordOf.menuOf(name), "set", "⋯", () => {
      const { left, bottom } = more.getBoundingClientRect();
      actions.menu(name, { x: left, y: bottom });
    });
    more.setAttribute("aria-haspopup", "menu");
    const element = h(
      "div",
      {
        class: "row",
        role: "listitem",
        "data-pv": name,
        pointerenter: () => actions.point(name),
        pointerleave: () => actions.point(null),
      },
      swatch,
      h("span", { class: "first" }, title, h("span", { class: "reading" }, cells.value, cells.units)),
      h(
        "span",
        { class: "line" },
        h("span", { class: "third" }, cells.severity, cells.note, why, near, archive),
        h("span", { class: "second" }, cells.span, cells.time),
      ),
      unseen,
      more,
      button(wordOf.remove(name), "remove", "✕", () => actions.remove(name)),
    );
    element.addEventListener("focusin", () => {
      actions.point(name);
      this.rove(name);
    });
    element.addEventListener("focusout", () => actions.point(null));
    return { element, swatch, name: title, why, archive, near, cells, over: null };
  }

  /** One stop of Tab: the row that had the focus last, or the first. */
  private rove(name: string | null): void {
    const chosen = name ?? this.rows.keys().next().value;
    for (const [other, row] of this.rows) row.name.tabIndex = other === chosen ? 0 : -1;
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const name = this.focused;
    if (name === undefined) return;
    if (event.key === "Delete") this.actions.remove(name);
    else if (by !== undefined && !event.altKey) {
      const names = [...this.list.querySelectorAll<HTMLElement>("[data-pv]")].map((row) => row.dataset.pv!);
      const next = names[names.indexOf(name) + by];
      if (next !== undefined) this.rows.get(next)!.name.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private fill(row: Row, trace: Trace, state: PanelState): void {
    const { stroke, border } = state.palette.trace(trace.colour);
    row.swatch.style.setProperty("--trace", stroke);
    row.swatch.style.setProperty("--border", border);
    row.swatch.setAttribute("aria-pressed", String(!trace.hidden));
    const label = wordOf.turn(trace.name, trace.hidden);
    if (row.swatch.getAttribute("aria-label") !== label) {
      row.swatch.setAttribute("aria-label", label);
      row.swatch.title = `${label} ( h )`;
    }
    row.element.classList.toggle("is-hidden", trace.hidden);
    const isUnknown = state.at !== null && state.at > state.known;
    const isSilent = trace.hidden || isUnknown;
    const over = isSilent ? NO_READING : this.readOver(row, trace, state.between ?? state.range);
    const reading = isSilent ? NO_READING : state.at === null ? over : readingAt(trace, state.at);
    const texts = textsOf(trace, reading, over, state);
    for (const cell of CELLS) setText(row.cells[cell], texts[cell]);
    row.cells.severity.dataset.severity = reading.value === undefined ? "" : String(reading.severity);
    const { note } = row.cells;
    note.dataset.state = trace.error
      ? "error"
      : reading.gaps.length > 0
        ? "gap"
        : state.silent
          ? "unknown"
          : (trace.state ?? "");
    note.classList.toggle("is-plain", isPlainNote(trace, texts.note));
    if (note.title !== texts.note) note.title = texts.note;
    if (row.cells.value.title !== texts.value) row.cells.value.title = texts.value;
    row.why.hidden = !isLacking(trace, state.range) || trace.unknown;
    row.archive.hidden = !trace.unknown;
    row.element.classList.toggle("is-unknown", trace.unknown);
    this.fillNear(row, trace);
  }

  /** The names that may have been meant, each of which takes the place of the wrong one. */
  private fillNear({ near }: Row, trace: Trace): void {
    const names = trace.unknown ? trace.near : [];
    near.hidden = names.length === 0;
    if (near.dataset.names === names.join(" ")) return;
    near.dataset.names = names.join(" ");
    const { source } = trace;
    const click = (name: string) => () => {
      // What is another time of a PV stays so.
      const by = source.kind === "over" ? (overName(name, source.by) ?? name) : name;
      this.next = by;
      this.actions.replace(trace.name, by);
    };
    near.replaceChildren(
      wordOf.meant,
      ...names.map((name) => h("button", { type: "button", class: "near-name", click: click(name) }, name)),
    );
  }

  /** What was read over a range stays while neither that nor what was loaded has changed. */
  private readOver(row: Row, trace: Trace, { from, to }: Range): Reading {
    const { history, tail, gaps, atPinned } = trace;
    const key = [history, tail.x.length, tail.x[0], gaps, atPinned, from, to];
    if (!row.over || key.some((part, i) => part !== row.over!.key[i]))
      row.over = { key, reading: readingOver(trace, { from, to }) };
    return row.over.reading;
  }

  /** What happened, looked for again when something was loaded, and now and then while values come. */
  private showEvents(state: PanelState): void {
    if (state.moving) {
      this.exact.rest();
      this.told = { key: "", at: 0 };
      return;
    }
    const { traces, range, known, notes } = state;
    const key = JSON.stringify([
      notes.map(({ note }) => [note.number, note.changed]),
      traces.map((trace) => [trace.name, trace.hidden, trace.history?.range, trace.gaps.length, trace.kind]),
      state.zone,
    ]);
    const now = performance.now();
    if (key === this.told.key && now - this.told.at < EVENTS_MILLIS) return;
    const isSame = key === this.told.key && traces.every((trace) => trace.tail.x.length === 0);
    this.told = { key, at: now };
    if (isSame) return;
    this.found = this.exact.of(happenings(traces, range, known, notes));
    const texts = this.found
      .map((one) => `${one.at} ${one.pv} ${one.text} ${one.note?.note.number ?? ""}`)
      .join("\n");
    if (this.events.dataset.told === texts && this.events.childElementCount > 0) return;
    this.events.dataset.told = texts;
    this.events.hidden = false;
    const days =
      formatTime(range.from, state.zone, 0).slice(0, 10) !== formatTime(range.to, state.zone, 0).slice(0, 10);
    const digits = range.to - range.from < 4 * 3600 ? 3 : 0;
    const items = this.found.slice(0, HAPPENINGS_MAX).map((one) => {
      const time = formatTime(one.at, state.zone, digits).slice(days ? 5 : 11);
      const mark: Record<string, string> =
        one.kind === "alarm" ? { "data-severity": String(one.severity) } : { "data-kind": one.kind };
      const item = h(
        "li",
        {},
        h(
          "button",
          { type: "button", "data-at": String(one.at), click: () => void this.go(one) },
          h("span", { class: "when" }, time),
          h(
            "span",
            { class: "what", ...mark },
            h("span", { class: "whose" }, ...broken(one.pv)),
            " ",
            h("span", { class: "faint" }, one.text),
          ),
        ),
        one.note ? this.noteButton(one.note) : null,
      );
      if (one.note) this.noted.set(item, one.note);
      return item;
    });
    const rest = this.found.length - items.length;
    if (rest > 0) items.push(h("li", { class: "faint" }, commonWords.andMore(rest)));
    const write = h(
      "button",
      {
        type: "button",
        class: "write-note operates",
        title: wordOf.writeTitle,
        click: () => this.actions.writeNote(),
      },
      wordOf.write,
    );
    this.events.replaceChildren(
      h(
        "div",
        { class: "events-head" },
        h("h2", {}, wordOf.inThisRange, " ", h("span", { class: "faint" }, eventsText(this.found.length))),
        write,
      ),
      h("ul", {}, ...items),
    );
  }

  private noteButton(mark: NoteMark): HTMLElement {
    const label = wordOf.readNote(mark.text);
    return h(
      "button",
      { type: "button", class: "read-note", "aria-label": label, click: () => this.actions.note(mark) },
      wordOf.read,
    );
  }
}

function momentText(state: PanelState): string {
  const { zone, range } = state;
  const day = (at: number) => formatTime(at, zone, 0).slice(0, 10);
  const short = (at: number, text: string) =>
    day(at) === day(range.from) && day(at) === day(range.to) ? text.slice(11) : text;
  if (state.between) return `${wordOf.betweenAB}: ${formatDuration(state.between.to - state.between.from)}`;
  if (state.at === null && state.silent && range.to >= state.known - 1)
    return wordOf.lastKnown(formatTime(state.known, zone, 0).slice(11));
  if (state.at === null && range.to >= state.known - 1) return wordOf.now;
  if (state.at === null) return `${wordOf.atEnd} ${formatTime(range.to, zone, 0).slice(11)}`;
  const text = formatTime(state.at, zone, 3);
  const utc = zone === "local" ? "" : ` ${zoneName(state.at, zone)}`;
  return `${wordOf.atCursor} ${short(state.at, text)}${utc}`;
}

function textsOf(trace: Trace, reading: Reading, over: Reading, state: PanelState): Record<Cell, string> {
  const precision = trace.metadata?.precision ?? null;
  const isNumber = trace.kind === "number";
  const number = (value: number) =>
    isNumber && Number.isFinite(value) ? minus(formatNumber(value, precision)) : "";
  const known = reading.value !== undefined;
  const [min, max, mean] = [number(over.min), number(over.max), number(over.mean)];
  const value = known ? formatValue(reading.value!, trace.kind, trace.metadata) : emptyText(trace);
  return {
    ...{ min, max, mean },
    value: isNumber ? minus(value) : value,
    units: unitsOf(trace),
    span: min === "" ? kindText(trace) : wordOf.span(min, max, mean),
    count: over.count > 0 ? String(over.count) : "",
    severity: known && reading.severity > 0 ? severityName(reading.severity) : "",
    time: timeText(reading, state),
    note: noteText(trace, reading, state),
  };
}

/** Of what has no numbers: what it is. */
function kindText(trace: Trace): string {
  if (trace.kind === "array" || trace.kind === "structure") return trace.detail?.type ?? "";
  return "";
}

/** What a line of a PV is made of: every sample, or means of bins of some length. */
export function madeOf(trace: Trace): string {
  const bins = trace.history?.bins;
  if (!bins || bins.start.length === 0) return wordOf.everySample;
  return binsText(formatDuration(bins.end[0]! - bins.start[0]!));
}

/** What all lines are made of; of several, that they differ. */
function madeOfAll(traces: Trace[]): string {
  const drawn = traces.filter((trace) => !trace.hidden && trace.kind === "number" && trace.history);
  const made = [...new Set(drawn.map(madeOf))];
  return made.length <= 1 ? (made[0] ?? "") : wordOf.madeOfBoth;
}

function minus(text: string): string {
  return text.replace(/^-/, "−").replace(/e-/, "e−");
}

function emptyText(trace: Trace): string {
  return trace.kind === "array" || trace.kind === "structure" ? wordOf.seeBelow : "";
}

/** The time of a reading; its date only where that is not the date at which the panel reads. */
function timeText(reading: Reading, state: PanelState): string {
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

/** What is well need not be said to somebody who sees. */
function isPlainNote(trace: Trace, note: string): boolean {
  return note === "connected" || (trace.hidden && note === wordOf.hidden);
}

function noteText(trace: Trace, reading: Reading, state: PanelState): string {
  if (trace.hidden) return wordOf.hidden;
  if (trace.error) return trace.error;
  if (state.silent) return wordOf.notKnownSince(formatTime(state.known, state.zone, 0).slice(11));
  if (!trace.history) return commonWords.loading;
  const gap = reading.gaps[0];
  if (gap) return `${wordOf.gap}: ${causeText(gap.cause)}`;
  if (trace.history.truncated) return wordOf.truncated;
  // Without a sample before the end of the range nobody knows of what type it is.
  if (trace.kind === "unknown") return whereOf(trace, state).text;
  return firstText(trace, state) ?? trace.state ?? "";
}

/** When the first sample is, if the range shown ends before it. */
function firstText(trace: Trace, state: PanelState): string | null {
  const first = exactOf(trace.detail?.extent?.first ?? "");
  return first && floatOf(first) >= state.range.to ? whereOf(trace, state).text : null;
}
