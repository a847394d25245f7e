// What the panels of an analysis have in common: rows to choose from, what is asked again when, and what is said where there is nothing to draw.

import { ApiError, isAbort } from "./api.ts";
import { ChartCanvas, type Part, type Zoomed } from "./chart_canvas.ts";
import type { Chart, Size } from "./chart_axes.ts";
import type { DrawerActions, DrawerScene } from "./drawer.ts";
import type { Choices, Tab } from "./drawer_state.ts";
import { formatNumber, kindOf } from "./decode.ts";
import { h, set, setText } from "./dom.ts";
import { button, emptyOf, sentence } from "./empty.ts";
import { expressionOf } from "./formula.ts";
import { secondsEarlier, titleOfName } from "./source.ts";
import type { Range } from "./state.ts";
import { formatTime, iso } from "./time.ts";
import { unitsOf, type Trace } from "./trace.ts";
import { drawerWords as words } from "./words/drawer.ts";

/** The archiver is asked once a range has stood still for so long. */
const REST_MILLIS = 250;
/** A live range is asked for again after a twentieth of its length, but not more often than this. */
const LIVE_SECONDS_MIN = 10;
/** An archiver that does not answer, or has no time, is asked again. */
const AGAIN_MILLIS = 5000;
/** Numbers are shown with this many digits. */
const DIGITS = 5;

/** A row of the plot of which something can be computed. */
export interface Row {
  name: string;
  title: string;
  units: string | null;
  expression: string;
  stroke: string;
  trace: Trace;
}

/** What is said in place of a chart; `key` tells one from another. */
export interface Empty {
  key: string;
  nodes(): Node[];
}

export abstract class Panel<Wanted, Answer> {
  readonly element: HTMLElement;
  protected scene!: DrawerScene;
  protected choices: Choices = {};
  protected rows: Row[] = [];
  protected answer: Answer | null = null;
  /** What the answer is an answer to. */
  protected answered: { wanted: Wanted; range: Range } | null = null;
  protected marked: number | null = null;
  protected canvas: ChartCanvas;
  private fields = h("div", { class: "drawer-fields" });
  private told = h("p", { class: "told", role: "status" });
  private pointed = h("p", { class: "pointed", "aria-live": "polite" });
  private csv = h("a", { class: "button", download: "", hidden: true }, words.csv);
  private whole: HTMLButtonElement;
  private empty = h("div", { class: "drawer-empty", role: "status", hidden: true });
  private emptyKey = "";
  private key = "";
  /** Where the live range ended for which was asked last. */
  private liveTo = -Infinity;
  private lookKey = "";
  private rowsKey = "";
  private selects: { key: string; element: HTMLSelectElement }[] = [];
  private timer = 0;
  private asking: AbortController | null = null;

  constructor(
    protected tab: Exclude<Tab, "samples">,
    protected actions: DrawerActions,
    zoomed: Zoomed = "x",
  ) {
    this.whole = button(words.whole[tab], () => {
      this.zoom(null);
      this.canvas.element.focus();
    });
    this.canvas = new ChartCanvas(
      {
        draw: (context, size) => this.drawOn(context, size),
        point: (at) => {
          const row = at && this.nearest(at.x, at.y);
          if (row !== this.marked) this.point(row);
        },
        step: (by, isFar) => this.point(this.stepped(by, isFar)),
        choose: () => this.chosen?.(),
        zoom: (part) => this.zoom(part),
        zoomBy: (factor) => this.zoomBy(factor),
        isZoomed: () => this.isZoomed,
      },
      zoomed,
      () => this.scene.palette.accent,
    );
    this.element = h(
      "div",
      { class: "drawer-panel" },
      this.fields,
      h("div", { class: "drawer-said" }, this.told, this.pointed),
      h("div", { class: "drawer-chart" }, this.canvas.element, this.empty),
    );
  }

  /** What is to be asked for, or what is said instead. */
  protected abstract want(): { wanted: Wanted } | { empty: Empty };
  protected abstract ask(wanted: Wanted, range: Range, signal: AbortSignal): Promise<Answer>;
  /** What is said of the answer; none of it is drawn where it is empty. */
  protected abstract tell(answer: Answer): { said: (Node | string)[] } | { empty: Empty };
  protected abstract draw(context: CanvasRenderingContext2D, size: Size, answer: Answer): void;
  protected abstract nearest(x: number, y: number): number | null;
  protected abstract stepped(by: 1 | -1, isFar: boolean): number | null;
  /** What is said of what is pointed at. */
  protected abstract toldOf(row: number, answer: Answer): string;
  protected abstract label(wanted: Wanted): string;
  protected abstract csvUrl(wanted: Wanted, range: Range): string | null;
  /** Shows in the fields what is chosen. */
  protected abstract showChoices(): void;
  /** What can be done about a refusal. */
  protected remedies?(error: ApiError): Node[];
  /** What is pointed at was pressed. */
  protected chosen?(): void;
  /** Shows what was dragged over; none: all of it. */
  protected abstract zoom(part: Part | null): void;
  protected abstract zoomBy(factor: number): void;
  protected abstract get isZoomed(): boolean;
  /** Which row is marked while nothing is pointed at. */
  protected restingMark?(answer: Answer): number | null;

  protected addFields(...fields: Node[]): void {
    this.fields.append(...fields, h("span", { class: "space" }), this.whole, this.csv);
  }

  show(choices: Choices, scene: DrawerScene): void {
    [this.choices, this.scene] = [choices, scene];
    this.rows = rowsOf(scene);
    this.showRows();
    this.showChoices();
    this.whole.hidden = !this.isZoomed;
    const found = this.want();
    if ("empty" in found) {
      this.rest();
      // Rows that are still to come are worked on as well.
      set(this.element, "aria-busy", String(found.empty === WAITING));
      this.say([]);
      this.csv.hidden = true;
      return this.sayEmpty(found.empty);
    }
    const key = JSON.stringify([found.wanted, this.rangeKey(scene)]);
    if (key !== this.key) {
      const isFirst = this.key === "";
      this.key = key;
      this.askAfter(found.wanted, isFirst ? 0 : REST_MILLIS);
    }
    const { palette, zone } = scene;
    // What the plot points at matters as far as it marks something else here.
    const mark = this.answer && (this.restingMark?.(this.answer) ?? null);
    const lookKey = JSON.stringify([palette.dark, zone, mark, choices, this.rows.map((row) => row.stroke)]);
    if (lookKey === this.lookKey) return;
    this.lookKey = lookKey;
    if (this.answer && this.emptyKey === "") this.showAnswer();
  }

  /** Stops asking while nobody sees it. */
  rest(): void {
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.key = this.lookKey = "";
    this.liveTo = -Infinity;
    set(this.element, "aria-busy", "false");
  }

  /** A live range is another one once it has gone on for long enough, however the archiver's clock is guessed meanwhile. */
  private rangeKey({ range, isLive }: DrawerScene): string {
    if (!isLive) return `${iso(range.from)} ${iso(range.to)}`;
    const length = range.to - range.from;
    const step = Math.max(LIVE_SECONDS_MIN, length / 20);
    if (Math.abs(range.to - this.liveTo) >= step) this.liveTo = range.to;
    return `${length.toPrecision(6)} ${this.liveTo}`;
  }

  private askAfter(wanted: Wanted, millis: number): void {
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.timer = window.setTimeout(() => void this.fetch(wanted), millis);
    set(this.element, "aria-busy", "true");
    if (this.answer === null) this.say([words.computing]);
  }

  private async fetch(wanted: Wanted): Promise<void> {
    const controller = new AbortController();
    this.asking = controller;
    const range = { ...this.scene.range };
    try {
      const answer = await this.ask(wanted, range, controller.signal);
      if (controller.signal.aborted) return;
      this.answer = answer;
      this.answered = { wanted, range };
      this.marked = null;
      this.showAnswer();
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.refuse(error, wanted);
    }
    set(this.element, "aria-busy", "false");
  }

  private refuse(error: ApiError, wanted: Wanted): void {
    this.answer = null;
    this.say([]);
    this.csv.hidden = true;
    // Whatever is chosen by then: the button stays while the same sentence is said.
    const again = () => {
      this.key = "";
      this.show(this.choices, this.scene);
    };
    const isPassing = error.code === "unreachable" || error.code === "busy";
    this.sayEmpty({
      key: error.sentence,
      nodes: () => {
        const remedies = this.remedies?.(error) ?? [];
        // What can be pressed need not be said.
        const isSaid = error.hint !== null && !isPassing && remedies.length === 0;
        return emptyOf(
          sentence(error.message),
          [...remedies, button(words.again, again)],
          isSaid ? sentence(error.hint!) : "",
        );
      },
    });
    if (isPassing) this.timer = window.setTimeout(() => void this.fetch(wanted), AGAIN_MILLIS);
  }

  private showAnswer(): void {
    const found = this.tell(this.answer!);
    const url = this.answered && this.csvUrl(this.answered.wanted, this.answered.range);
    this.csv.hidden = !url || "empty" in found;
    if (url) set(this.csv, "href", url);
    if ("empty" in found) {
      this.say([]);
      return this.sayEmpty(found.empty);
    }
    this.say(found.said);
    this.sayEmpty(null);
    set(this.canvas.element, "aria-label", this.label(this.answered!.wanted));
    this.point(this.marked);
  }

  private drawOn(context: CanvasRenderingContext2D, size: Size): void {
    if (this.answer) this.draw(context, size, this.answer);
  }

  protected get mark(): number | null {
    return this.marked ?? (this.answer ? (this.restingMark?.(this.answer) ?? null) : null);
  }

  protected point(row: number | null): void {
    const { answer } = this;
    if (!answer) return;
    this.marked = row;
    setText(this.pointed, row === null ? "" : this.toldOf(row, answer));
    this.canvas.draw();
  }

  private say(said: (Node | string)[]): void {
    this.told.replaceChildren(...said.flatMap((part, i) => (i === 0 ? [part] : ["; ", part])));
  }

  /** What is said stays the same element, so that a button in it keeps the focus. */
  private sayEmpty(empty: Empty | null): void {
    this.empty.hidden = empty === null;
    if (empty) setText(this.pointed, "");
    this.canvas.element.hidden = empty !== null;
    const key = empty?.key ?? "";
    if (key === this.emptyKey) return;
    this.emptyKey = key;
    this.empty.replaceChildren(...(empty?.nodes() ?? []));
  }

  /** A choice among the rows; another row has other values, of which those of `also` say nothing. */
  protected rowSelect(key: string, label: string, also: string[] = []): HTMLElement {
    const change = () =>
      this.choose({ [key]: element.value, ...Object.fromEntries(also.map((key) => [key, undefined])) });
    const element = h("select", { class: "row-select", "aria-label": label, change });
    this.selects.push({ key, element });
    return h("label", {}, h("span", {}, label), element);
  }

  protected showRow(key: string, row: Row | null): void {
    const select = this.selects.find((select) => select.key === key)!.element;
    if (row && select.value !== row.name) select.value = row.name;
  }

  private showRows(): void {
    const key = JSON.stringify(this.rows.map(({ name }) => name));
    if (key === this.rowsKey) return;
    this.rowsKey = key;
    for (const { element } of this.selects)
      element.replaceChildren(...this.rows.map(({ name, title }) => h("option", { value: name }, title)));
  }

  /** A choice of words. */
  protected wordSelect(
    key: string,
    label: string,
    all: Record<string, string>,
  ): [HTMLElement, HTMLSelectElement] {
    const change = () => this.choose({ [key]: element.value });
    const element = h("select", { "aria-label": label, change });
    element.append(...Object.entries(all).map(([value, text]) => h("option", { value }, text)));
    return [h("label", {}, h("span", {}, label), element), element];
  }

  /** A choice of seconds; empty leaves them to the page. */
  protected secondsField(key: string): HTMLInputElement {
    const change = () => {
      const seconds = Number(element.value);
      this.choose({ [key]: element.value === "" || !(seconds > 0) ? undefined : String(seconds) });
    };
    const element = h("input", {
      ...{ type: "number", class: "seconds", min: "0", step: "any", "aria-label": words.step },
      change,
    });
    return element;
  }

  protected choose(changed: Choices, step: "push" | "replace" = "push"): void {
    const now = this.actions.now();
    const choices = now?.tab === this.tab ? now.choices : this.choices;
    this.actions.change({ tab: this.tab, choices: { ...choices, ...changed } }, step);
  }

  protected rowOf(key: string): Row | null {
    return this.rows.find(({ name }) => name === this.choices[key]) ?? null;
  }

  /** The colour of the row of that name, as long as it is there. */
  protected strokeOf(name: string): string {
    return this.rows.find((row) => row.name === name)?.stroke ?? this.scene.palette.accent;
  }

  protected time(at: number, digits = 0): string {
    return formatTime(at, this.scene.zone, digits);
  }

  /** While rows are still to come nothing is said of what they lack. */
  protected get isWaiting(): boolean {
    return this.scene.traces.some((trace) => !trace.hidden && isComing(trace));
  }
}

/** It has not been loaded yet, and may be a number. */
export function isComing({ history, kind, unknown, error }: Trace): boolean {
  return history === null && error === null && !unknown && kind !== "array" && kind !== "structure";
}

/** Two numbers of an address, the lower one first; none if these are none. */
export function readSpan(text: string | undefined): [number, number] | null {
  const [low, high] = (text ?? "").split(",").map((part) => (part === "" ? NaN : Number(part)));
  return low !== undefined && high !== undefined && low < high ? [low, high] : null;
}

/** The same as it is written: as many digits as tell its ends apart by a thousandth of what lies between them. */
export function spanText([low, high]: [number, number]): string {
  const most = Math.max(Math.abs(low), Math.abs(high));
  const digits = Math.min(Math.max(Math.ceil(Math.log10(most / (high - low))) + 4, 6), 17);
  return [low, high].map((value) => Number(value.toPrecision(digits))).join(",");
}

/** Between which numbers places of a chart lie, as far as these are on it. */
export function spanAlong(axis: "x" | "y", chart: Chart, places: [number, number]): [number, number] {
  const [begin, length] = axis === "x" ? [chart.left, chart.width] : [chart.top, chart.height];
  const values = places.map((place) => {
    const inside = Math.min(Math.max(place, begin), begin + length);
    return axis === "x" ? chart.xAt(inside) : chart.yAt(inside);
  });
  return [Math.min(...values), Math.max(...values)];
}

/** As much about a number as it is of what is there now. */
export function spanAbout(about: number, [low, high]: [number, number], factor: number): [number, number] {
  return [about - (about - low) * factor, about + (high - about) * factor];
}

export const WAITING: Empty = { key: "waiting", nodes: () => [h("p", {}, words.computing)] };

/** Nothing in the range: the rest of time may have something. */
export function nothingIn(text: string, { range, now }: DrawerScene, actions: DrawerActions): Empty {
  const length = range.to - range.from;
  const wider = { from: range.to - 10 * length, to: Math.min(range.to, now) };
  return {
    key: text,
    nodes: () => emptyOf(text, [button(words.earlier, () => actions.go(wider))]),
  };
}

function rowsOf({ traces, range, palette }: DrawerScene): Row[] {
  const usable = traces.filter((trace) => {
    // In a range before the first sample only what is known besides says of what type it is.
    const isLoaded = trace.history !== null;
    const kind = trace.kind === "unknown" && isLoaded ? kindOf(trace.detail?.type ?? null) : trace.kind;
    return !trace.hidden && !trace.unknown && (kind === "number" || kind === "state");
  });
  return usable.map((trace) => ({
    ...{ name: trace.name, title: titleOfName(trace.name), units: unitsOf(trace) || null },
    ...{ expression: expressionFor(trace, range), stroke: palette.trace(trace.colour).stroke, trace },
  }));
}

function expressionFor({ source }: Trace, range: Range): string {
  if (source.kind === "formula") return source.expression;
  const pv = expressionOf(source.pv);
  return source.kind === "pv" ? pv : `shift(${pv}, ${secondsEarlier(source.by, range.from)} s)`;
}

const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** The shortest round length of time that is no shorter. */
export function roundSeconds(least: number): number {
  const round = ROUND.find((seconds) => seconds >= least * (1 - 1e-9));
  if (round !== undefined && least > 0.5) return round;
  const unit = least > 0.5 ? 86_400 : 1;
  const power = 10 ** Math.floor(Math.log10(least / unit));
  return [1, 2, 5, 10].map((n) => n * power * unit).find((seconds) => seconds >= least * (1 - 1e-9))!;
}

export function numberText(value: number): string {
  return formatNumber(Number(value.toPrecision(DIGITS)), null)
    .replace(/^-/, "−")
    .replace(/e-/, "e−")
    .replace(/e\+/, "e");
}

/** The seconds that a hint of the archiver names. */
export function hintedStep(error: ApiError): number | null {
  const seconds = Number(/\bstep=([\d.]+(?:e[+-]?\d+)?)/.exec(error.hint ?? "")?.[1] ?? NaN);
  return seconds > 0 ? seconds : null;
}

/** The stretch that a refusal names: `from 2026-…Z to 2026-…Z`. */
export function toldStretch(error: ApiError): Range | null {
  const [, from, to] = /from (\d{4}-[^ ]+Z) to (\d{4}-[^ ,]+Z)/.exec(error.message) ?? [];
  const range = { from: Date.parse(from ?? "") / 1000, to: Date.parse(to ?? "") / 1000 };
  return range.from < range.to ? range : null;
}
