// The search box: finds archived PVs by a fragment, a glob or a regular expression, and adds them to the view; below them named views and notes.

import { ApiError, faultText, findPvs, isAbort, type Missing, type Pv } from "./api.ts";
import { formatValue, kindOf, severityOf } from "./decode.ts";
import { h } from "./dom.ts";
import { findNotes, findViews, firstLine, type Note, type SavedView } from "./memos.ts";
import { checkFormula } from "./formula.ts";
import { lackElement, missingText } from "./missing.ts";
import { isFormula } from "./source.ts";
import { findWords, formulaWords, viewWords as words } from "./words.ts";

export interface SearchActions {
  /** Puts a PV on the plot, or takes it off. */
  toggle(name: string): void;
  isShown(name: string): boolean;
  /** Opens the dialog that adds PVs to the archive. */
  archive(name: string): void;
  /** Plots a formula. */
  formula(expression: string): void;
  now(): number;
  openView(view: SavedView): void;
  /** Shows the time of a note, with its PVs. */
  goToNote(note: Note): void;
  /** Opens the list of all named views. */
  allViews(): void;
  /** A moment as the page writes it. */
  timeText(time: string): string;
}

/** What can be chosen. */
type Entry = { formula: string; units: string | null } | { pv: Pv } | { view: SavedView } | { note: Note };

const RESULTS_MAX = 100;
const TYPING_MILLIS = 120;
/** Of named views, and of notes, so many are shown. */
const MEMOS_MAX = 4;

export class Search {
  private results: Entry[] = [];
  /** What the list is made without. */
  private missing: Missing[] | undefined;
  private chosen = -1;
  private timer = 0;
  private asking: AbortController | null = null;

  constructor(
    private input: HTMLInputElement,
    private popup: HTMLElement,
    private actions: SearchActions,
  ) {
    input.addEventListener("input", () => this.ask(TYPING_MILLIS));
    input.addEventListener("focus", () => this.ask(0));
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    // A press on a result must not take the focus away, or the list would be gone before the click.
    popup.addEventListener("mousedown", (event) => event.preventDefault());
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /** Shows anew which results are on the plot. */
  refresh(): void {
    for (const option of this.popup.querySelectorAll<HTMLElement>("[data-pv]")) {
      option.classList.toggle("is-shown", this.actions.isShown(option.dataset.pv!));
    }
  }

  private ask(millis: number): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.fetch(), millis);
  }

  private async fetch(): Promise<void> {
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    const match = this.input.value.trim();
    try {
      if (isFormula(match)) return await this.fetchFormula(match, controller.signal);
      const { total, pvs, incomplete } = await findPvs(match, RESULTS_MAX, controller.signal);
      this.missing = incomplete;
      const shown = pvs.map((pv) => ({ pv }));
      this.results = shown;
      this.popup.dataset.match = match;
      this.chosen = pvs.length > 0 && match !== "" ? 0 : -1;
      this.render(match, total);
      const memos = await memosOf(match, controller.signal);
      if (controller.signal.aborted || memos.length === 0) return;
      this.results = [...shown, ...memos];
      if (this.chosen < 0 && match !== "") this.chosen = 0;
      this.render(match, total);
    } catch (error) {
      if (isAbort(error)) return;
      [this.results, this.chosen] = [[], -1];
      this.popup.dataset.match = match;
      const text = faultText(error);
      if (isFormula(match)) return this.open(refusedFormula(match, text));
      this.open(h("p", { class: "hint is-error", role: "alert" }, text));
    }
  }

  /** Puts a formula into the box, to be changed. */
  edit(name: string): void {
    this.input.value = name;
    this.input.focus();
    this.input.setSelectionRange(name.length, name.length);
  }

  /** The archiver says whether it is one, before anything is plotted. */
  private async fetchFormula(match: string, signal: AbortSignal): Promise<void> {
    const formula = match.replace(/^=/, "").trim();
    const units = await checkFormula(formula, this.actions.now(), signal);
    this.results = [{ formula, units }];
    this.popup.dataset.match = match;
    this.chosen = 0;
    if (document.activeElement !== this.input) return;
    const list = h("ul", { role: "listbox", id: "results", "aria-label": formulaWords.found });
    list.append(this.entry(this.results[0]!, 0));
    this.open(list, h("div", { class: "foot" }, h("span", {}, formulaWords.enter)));
    this.markChosen();
  }

  private render(match: string, total: number): void {
    if (document.activeElement !== this.input) return;
    const lack = lackElement(missingText(this.missing));
    const lacks = lack ? [lack] : [];
    if (this.results.length === 0) {
      // Of a list that lacks PVs nobody can say that there are none.
      if (lacks.length > 0 && match === "") this.open(...lacks);
      else this.open(...lacks, this.nothingFound(match));
      return;
    }
    const list = h("ul", { role: "listbox", id: "results", "aria-label": findWords.list });
    const pvs = this.results.filter((entry) => "pv" in entry).length;
    list.append(...this.results.map((entry, i) => this.entry(entry, i)));
    if (pvs < this.results.length)
      list.insertBefore(
        h("li", { role: "presentation", class: "found-head" }, words.found),
        list.children[pvs]!,
      );
    const count = total > pvs ? findWords.firstOf(pvs, total) : findWords.count(total);
    this.open(
      list,
      ...lacks,
      h(
        "div",
        { class: "foot" },
        h("span", {}, count),
        h("span", {}, findWords.keys),
        this.viewsButton(),
        this.archiveButton(""),
      ),
    );
    this.markChosen();
  }

  private nothingFound(match: string): HTMLElement {
    if (match === "") {
      const how = h("span", { class: "operates" }, findWords.nameFirst);
      return h("div", { class: "hint" }, h("p", {}, findWords.nothingArchived, how), this.archiveButton(""));
    }
    const text = findWords.noneMatches(match);
    const canBeName = !/[*?~\s]/.test(match);
    return h("div", { class: "hint" }, h("p", {}, text), this.archiveButton(canBeName ? match : ""));
  }

  private archiveButton(name: string): HTMLElement {
    const text = name === "" ? findWords.archiveNew : findWords.archive(name);
    const click = () => {
      this.input.blur();
      this.actions.archive(name);
    };
    return h("button", { type: "button", class: "archive operates", tabindex: "-1", click }, text);
  }

  private viewsButton(): HTMLElement {
    const click = () => {
      this.input.blur();
      this.actions.allViews();
    };
    return h("button", { type: "button", tabindex: "-1", click }, words.all);
  }

  private entry(entry: Entry, index: number): HTMLElement {
    if ("pv" in entry) return this.option(entry.pv, index);
    if ("formula" in entry)
      return this.memo(index, "ƒ", `= ${entry.formula}`, formulaWords.units(entry.units));
    const isView = "view" in entry;
    const memo = isView ? entry.view : entry.note;
    const name = isView ? entry.view.name : firstLine(memo.text);
    const more = isView
      ? words.view(memo.pvs.length, memo.by)
      : words.noteOf(entry.note.from === null ? "" : this.actions.timeText(entry.note.from));
    return this.memo(index, isView ? "☆" : "⚑", name, more);
  }

  private memo(index: number, mark: string, name: string, more: string): HTMLElement {
    return h(
      "li",
      {
        role: "option",
        id: `result-${index}`,
        class: "memo",
        click: () => {
          this.chosen = index;
          this.choose();
        },
      },
      h("span", { class: "memo-mark", "aria-hidden": "true" }, mark),
      h("span", { class: "pv" }, name),
      h("span", { class: "faint" }, more),
    );
  }

  private option(pv: Pv, index: number): HTMLElement {
    const kind = kindOf(pv.type);
    const isLong = kind === "array" || kind === "structure";
    const text = isLong ? (pv.type ?? "") : formatValue(pv.last?.value ?? null, kind, null);
    const value = pv.last ? text : findWords.noValue;
    const severity = pv.last ? severityOf(pv.last.severity) : 0;
    return h(
      "li",
      {
        role: "option",
        id: `result-${index}`,
        "data-pv": pv.name,
        class: this.actions.isShown(pv.name) ? "is-shown" : "",
        click: () => {
          this.chosen = index;
          this.choose();
        },
      },
      h("span", { class: "state", "data-state": pv.state, title: pv.state }, pv.state),
      h("span", { class: "pv" }, pv.name),
      h(
        "span",
        { class: "alarm", "data-severity": String(severity) },
        severity > 0 ? (pv.last?.severity ?? "") : "",
      ),
      h("span", { class: "last" }, value.length > 24 ? `${value.slice(0, 23)}…` : value),
      h("span", { class: "units" }, pv.units ?? ""),
    );
  }

  private key(event: KeyboardEvent): void {
    const isOpen = !this.popup.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) return this.ask(0);
      const by = event.key === "ArrowDown" ? 1 : -1;
      const count = this.results.length;
      if (count > 0) this.chosen = (this.chosen + by + count + (this.chosen < 0 && by < 0 ? 1 : 0)) % count;
      this.markChosen();
    } else if (event.key === "Enter") {
      event.preventDefault();
      void this.enter(event);
    } else if (event.key === "Escape") {
      if (isOpen) this.close();
      else this.input.blur();
    }
  }

  /** Chooses from what stands in the box now, even if its answer is still to come. */
  private async enter(event: KeyboardEvent): Promise<void> {
    window.clearTimeout(this.timer);
    const isStale = !this.popup.hidden && this.popup.dataset.match !== this.input.value.trim();
    if (isStale || this.popup.hidden) await this.fetch();
    if (this.results.length > 0) this.choose();
    else if (event.isTrusted && !this.popup.hidden)
      this.popup.querySelector<HTMLElement>("button.archive")?.click();
  }

  private choose(): void {
    const entry = this.results[this.chosen];
    if (!entry) return;
    if ("pv" in entry) {
      this.actions.toggle(entry.pv.name);
      this.refresh();
      this.input.select();
      return;
    }
    this.input.blur();
    if ("formula" in entry) {
      this.input.value = "";
      this.actions.formula(entry.formula);
    } else if ("view" in entry) this.actions.openView(entry.view);
    else this.actions.goToNote(entry.note);
  }

  private markChosen(): void {
    this.popup.querySelectorAll("[role=option]").forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === this.chosen));
      if (i === this.chosen) option.scrollIntoView({ block: "nearest" });
    });
    if (this.chosen >= 0) this.input.setAttribute("aria-activedescendant", `result-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private open(...content: Node[]): void {
    this.popup.replaceChildren(...content);
    this.popup.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    // Where there is a list it is this that the field controls: the arrows of the keyboard scroll it from here.
    this.input.setAttribute("aria-controls", this.popup.querySelector("[role=listbox]")?.id ?? this.popup.id);
    // What was chosen before may be gone; `markChosen` says what is chosen now.
    this.input.removeAttribute("aria-activedescendant");
  }

  private close(): void {
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.popup.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}

/** A formula that the archiver refuses, with the place of which it says so marked. */
function refusedFormula(match: string, text: string): HTMLElement {
  const formula = match.replace(/^=/, "").trim();
  const place = Number(/at character (\d+)/.exec(text)?.[1] ?? NaN);
  const letters = [...formula];
  const shown = Number.isFinite(place)
    ? h(
        "code",
        {},
        letters.slice(0, place - 1).join(""),
        h("mark", {}, letters[place - 1] ?? "\u00a0"),
        letters.slice(place).join(""),
      )
    : h("code", {}, formula);
  return h("div", { class: "hint refused-formula" }, shown, h("p", { role: "alert" }, text));
}

/** Views and notes that have these words. Where none can be had PVs are found all the same. */
async function memosOf(match: string, signal: AbortSignal): Promise<Entry[]> {
  if (/[*?~]/.test(match)) return [];
  const none = (error: unknown) => {
    if (!(error instanceof ApiError) && !isAbort(error)) throw error;
    return [];
  };
  const [views, notes] = await Promise.all([
    findViews(match, MEMOS_MAX, signal).catch(none),
    match === "" ? [] : findNotes(match, MEMOS_MAX, signal).catch(none),
  ]);
  return [...views.map((view) => ({ view })), ...notes.map((note) => ({ note }))];
}
