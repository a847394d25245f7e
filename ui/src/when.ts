// Find when: the times at which a condition over PVs held, searched by the archiver while one looks on.

import { searchWhen, type Interval, type Progress, type Tally, type WhenLine } from "./analysis.ts";
import { ApiError, isAbort } from "./api.ts";
import { Clauses } from "./clauses.ts";
import { conditionOf, expressionOf, nameText, pvsOf, type Clause } from "./condition.ts";
import { exactOf } from "./decode.ts";
import { h, setText } from "./dom.ts";
import { download } from "./file.ts";
import { MomentField } from "./moment_field.ts";
import { partParams, rememberPart } from "./part.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { floatOf, formatDuration, formatTime, iso, zonePart, type Zone } from "./time.ts";
import { readRange, Refusal } from "./typed.ts";
import { commonWords } from "./words/common.ts";
import { whenWords as words } from "./words/when.ts";
import { viewSaver } from "./view_saver.ts";
import { yearStrips } from "./when_years.ts";

/** More rows nobody reads; all stand in the file. */
const ROWS_MAX = 500;
/** The plot of a time shows so much beside it, or half of how long it lasted. */
const ASIDE_SECONDS = 600;
/** Longer conditions are not marked in the plot. */
const FOUND_LETTERS_MAX = 2000;
const REDRAW_MILLIS = 200;
/** Of what nobody knows so many stretches are drawn. */
const UNKNOWN_MAX = 5000;

export interface WhenActions {
  zone(): Zone;
  now(): number;
  palette(): Palette;
}

interface Found extends Interval {
  range: Range;
}

export class When {
  private clauses = new Clauses(() => this.fromClauses());
  private expression = h("input", {
    ...{
      type: "text",
      class: "when-expression",
      "aria-label": words.expression,
      placeholder: words.expressionHint,
    },
    ...{ autocomplete: "off", spellcheck: "false", maxlength: "16384" },
    input: () => this.fromExpression(),
  });
  private from: MomentField;
  private to: MomentField;
  private units = h("input", { type: "checkbox" });
  private go = h("button", { type: "submit", class: "primary" }, words.find);
  private stop = h("button", { type: "button", hidden: true, click: () => this.asking?.abort() }, words.stop);
  private bar = h("progress", { max: "1", "aria-label": words.progress, hidden: true });
  private told = h("p", { class: "told", role: "status" });
  private error = h("p", { class: "is-error", role: "alert", hidden: true });
  private years = h("div", { class: "years-box" });
  private results = h("div", {
    class: "when-results",
    tabindex: "0",
    role: "region",
    "aria-label": words.results,
  });
  private csv = h("button", { type: "button", hidden: true, click: () => this.save() }, commonWords.csv);
  private asking: AbortController | null = null;
  private found: Found[] = [];
  private unknown: Range[] = [];
  private progress: Progress | null = null;
  private tally: Tally | null = null;
  private range: Range | null = null;
  /** The condition that was searched for; another may be typed by now. */
  private searched = "";
  private timer = 0;

  constructor(
    private root: HTMLElement,
    private actions: WhenActions,
  ) {
    this.from = new MomentField(words.between, actions, "-1y");
    this.to = new MomentField(words.and, actions, "now");
    const form = h(
      "form",
      { class: "when-form", novalidate: true },
      this.clauses.element,
      h(
        "div",
        { class: "when-line" },
        this.expression,
        this.from.element,
        this.to.element,
        h("label", { class: "check" }, this.units, words.anyUnits),
        this.go,
        this.stop,
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.search();
    });
    root.append(
      h("h2", {}, words.title),
      form,
      viewSaver({
        query: () => location.search.slice(1),
        pvs: [],
        saved: () => undefined,
      }),
      h("p", { class: "hint operates" }, words.saveHow),
      this.error,
      this.years,
      h("div", { class: "when-tools" }, this.bar, this.told, h("span", { class: "space" }), this.csv),
      this.results,
    );
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.asking?.abort();
    });
    new ResizeObserver(() => this.drawYears()).observe(this.years);
  }

  start(): void {
    this.root.hidden = false;
    document.title = commonWords.pageTitle(words.title);
    const params = partParams();
    const names = params.getAll("pv");
    this.from.read(params.get("from"), "-1y");
    this.to.read(params.get("to"), "now");
    this.units.checked = params.get("units") === "any";
    const written = params.get("q");
    if (written !== null) {
      this.expression.value = written;
      this.fromExpression();
      void this.search();
      return;
    }
    // Filled in where somebody saw it; they may still change it.
    const like = params.get("like");
    if (like !== null) {
      this.expression.value = like;
      this.fromExpression();
      setText(this.told, words.filled);
      return;
    }
    const clauses = names.slice(0, 2).map((pv): Clause => ({ pv, relation: "above", value: "" }));
    this.clauses.show({ clauses, length: "" });
    this.fromClauses();
    setText(this.told, words.begin);
  }

  /** Other colours. */
  retheme(): void {
    this.drawYears();
  }

  private fromClauses(): void {
    this.expression.value = expressionOf(this.clauses.condition);
  }

  private fromExpression(): void {
    const text = this.expression.value.trim();
    const condition = text === "" ? { clauses: [], length: "" } : conditionOf(text);
    this.clauses.element.hidden = condition === null;
    if (condition) this.clauses.show(condition);
  }

  private async search(): Promise<void> {
    this.asking?.abort();
    const expression = this.expression.value.trim();
    if (expression === "") return this.refuse(words.nothing);
    let range: Range;
    try {
      const { from, to } = this;
      range = readRange(
        from.input.value || "-1y",
        to.input.value || "now",
        this.actions.zone(),
        this.actions.now(),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.refuse(error.message);
    }
    const controller = new AbortController();
    this.asking = controller;
    Object.assign(this, { found: [], unknown: [], progress: null, tally: null, range, searched: expression });
    this.error.hidden = true;
    this.remember(expression);
    this.busy(true);
    this.show();
    const begun = performance.now();
    const anyUnits = this.units.checked;
    try {
      await searchWhen({ expression, range, anyUnits }, (line) => this.take(line), controller.signal);
      this.show((performance.now() - begun) / 1000);
      await this.lookForUnknown(expression, range, controller.signal);
    } catch (error) {
      if (isAbort(error)) {
        if (this.asking === controller) this.show();
      } else if (error instanceof ApiError) this.refuse(error.sentence);
      else throw error;
    }
    if (this.asking !== controller) return;
    this.asking = null;
    this.busy(false);
    this.drawYears();
  }

  /** When nobody knows is drawn, too: what was not recorded may have been a time like those found. */
  private async lookForUnknown(expression: string, range: Range, signal: AbortSignal): Promise<void> {
    const pvs = pvsOf(expression).filter((pv) => !expression.includes(`missing(${nameText(pv)})`));
    if (pvs.length === 0 || this.tally === null || this.tally.unknown === 0) return;
    const missing = pvs.map((pv) => `missing(${nameText(pv)})`).join(" or ");
    const take = (line: WhenLine) => {
      if ("found" in line) this.unknown.push(rangeOf(line.found));
    };
    try {
      await searchWhen({ expression: missing, range, limit: UNKNOWN_MAX }, take, signal);
    } catch (error) {
      // Words that were taken for names of PVs: the times found stand without it.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private take(line: WhenLine): void {
    if ("found" in line) this.found.push({ ...line.found, range: rangeOf(line.found) });
    else if ("progress" in line) this.progress = line.progress;
    else if ("tally" in line) this.tally = line.tally;
    if (this.timer !== 0) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.asking && this.tally === null) this.show();
    }, REDRAW_MILLIS);
  }

  private busy(isBusy: boolean): void {
    this.stop.hidden = !isBusy;
    this.go.hidden = isBusy;
    this.bar.hidden = !isBusy;
    if (isBusy) this.bar.removeAttribute("value");
  }

  private refuse(text: string): void {
    setText(this.error, text);
    this.error.hidden = false;
    setText(this.told, "");
    this.expression.focus();
  }

  private remember(q: string): void {
    const to = this.to.written();
    rememberPart([
      ["q", q],
      ["from", this.from.written()],
      ["to", to === "now" ? "" : to],
      ["units", this.units.checked ? "any" : ""],
    ]);
  }

  private show(seconds: number | null = null): void {
    const { found, tally, progress } = this;
    const held = tally?.held ?? found.reduce((sum, one) => sum + one.seconds, 0);
    if (progress) this.bar.value = progress.done;
    const outcome = words.outcome(found.length, held > 0 ? formatDuration(held) : "");
    const how = tally
      ? words.looked(seconds, tally, tally.whole ? "" : this.time(tally.until, 0))
      : this.asking && !this.asking.signal.aborted
        ? words.searching(progress ? this.time(progress.until, 0).slice(0, 10) : "", progress?.read ?? 0)
        : words.stopped(progress ? this.time(progress.until, 0) : "");
    this.told.replaceChildren(h("b", {}, outcome), " ", h("span", { class: "faint" }, how));
    this.csv.hidden = found.length === 0;
    this.drawYears();
    this.drawRows();
  }

  private drawYears(): void {
    if (!this.range) return;
    const width = this.years.clientWidth - 60;
    if (width < 50) return;
    const until = this.tally
      ? floatAt(this.tally.until)
      : this.progress
        ? floatAt(this.progress.until)
        : this.range.from;
    const { range, found, unknown } = this;
    this.years.replaceChildren(
      yearStrips(
        {
          ...{ range, until, unknown, found: found.map((one) => one.range) },
          ...{ zone: this.actions.zone(), palette: this.actions.palette() },
          choose: (at) => this.chooseNear(at),
        },
        width,
      ),
    );
  }

  /** A press on the strips opens the time that is nearest. */
  private chooseNear(at: number): void {
    const away = ({ from, to }: Range) => (at < from ? from - at : at > to ? at - to : 0);
    const nearest = this.found.reduce<Found | null>(
      (best, one) => (best === null || away(one.range) < away(best.range) ? one : best),
      null,
    );
    if (nearest) location.assign(this.plotOf(nearest));
  }

  private drawRows(): void {
    const shown = this.found.slice(-ROWS_MAX).reverse();
    if (shown.length === 0) return this.results.replaceChildren();
    const rest = this.found.length - shown.length;
    this.results.replaceChildren(
      h(
        "table",
        { class: "list" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...words.heads.map((text, i) =>
              h("th", { scope: "col", class: i % 2 === 1 ? "number" : "" }, text),
            ),
          ),
        ),
        h("tbody", {}, ...shown.map((one) => this.row(one))),
      ),
      ...(rest > 0 ? [h("p", { class: "faint" }, words.more500(rest))] : []),
    );
  }

  private row(one: Found): HTMLElement {
    const remark = [
      one.begins === "unknown" ? words.beginsUnknown : "",
      one.ends === "unknown" ? words.endsUnknown : "",
    ];
    if (one.ends === "range") remark.push(words.endsRange);
    return h(
      "tr",
      { "data-from": one.from },
      h("th", { scope: "row" }, h("a", { href: this.plotOf(one) }, this.time(one.from, 3))),
      h("td", { class: "number" }, formatDuration(one.seconds)),
      h("td", { class: "faint" }, remark.filter((text) => text !== "").join("; ")),
      h(
        "td",
        { class: "number" },
        h("a", { href: this.plotOf(one), tabindex: "-1", "aria-hidden": "true" }, words.plot),
      ),
    );
  }

  /** The PVs of the condition around a time, with the cursors at its ends, and all times at which it held marked. */
  private plotOf({ range }: Found): string {
    const aside = Math.max(ASIDE_SECONDS, (range.to - range.from) / 2);
    const pvs = pvsOf(this.searched).map((pv) => `pv=${encodeURIComponent(pv)}`);
    const zone = zonePart(this.actions.zone());
    const span = [`from=${iso(range.from - aside)}`, `to=${iso(range.to + aside)}`];
    const marks = [`at=${iso(range.from)}`, `b=${iso(range.to)}`];
    const expression = this.searched;
    // Longer ones an address has no room for.
    if (expression.length <= FOUND_LETTERS_MAX) marks.push(`found=${encodeURIComponent(expression)}`);
    return `./?${[...pvs, ...span, ...marks, ...zone].join("&")}`;
  }

  private time(text: string, digits: number): string {
    return formatTime(floatAt(text), this.actions.zone(), digits);
  }

  private save(): void {
    const rows = this.found.map(({ from, to, seconds, begins, ends }) =>
      [from, to, seconds, begins, ends].join(","),
    );
    download("found.csv", "text/csv", ["from,to,seconds,begins,ends", ...rows, ""].join("\n"));
  }
}

function floatAt(time: string): number {
  const exact = exactOf(time);
  return exact ? floatOf(exact) : NaN;
}

function rangeOf({ from, to }: Interval): Range {
  return { from: floatAt(from), to: floatAt(to) };
}
