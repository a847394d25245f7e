// The search box: finds archived PVs by words, a glob or a regular expression, and adds one or many to the view; below them named views and notes.

import {
  ApiError,
  faultText,
  findPvs,
  isAbort,
  isPattern,
  namesOf,
  type FoundPvs,
  type Missing,
} from "./api.ts";
import { formatValue, kindOf, severityOf } from "./decode.ts";
import { h } from "./dom.ts";
import { recent, starred, turnStar } from "./kept_names.ts";
import { inParts, literal, patternOf } from "./list.ts";
import { findNotes, findViews, firstLine, type Note, type SavedView } from "./memos.ts";
import { checkFormula } from "./formula.ts";
import { lackElement, missingText } from "./missing.ts";
import { isFormula } from "./source.ts";
import { commonWords } from "./words/common.ts";
import { findWords } from "./words/find.ts";
import { formulaWords } from "./words/formula.ts";
import { viewWords as words } from "./words/view.ts";

export interface SearchActions {
  /** Puts a PV on the plot, or takes it off. */
  toggle(name: string): void;
  isShown(name: string): boolean;
  /** Puts PVs on the plot, by their units or each in a pane of its own. */
  plot(names: string[], axis: "own" | null): void;
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
  /** Opens the names as a tree. */
  nameTree(): void;
  /** A moment as the page writes it. */
  timeText(time: string): string;
}

type FoundPv = FoundPvs["pvs"][number];

/** What can be chosen: the last plots so many of what was found, or of what is marked. */
type Entry =
  | { formula: string; units: string | null }
  | { pv: FoundPv }
  | { view: SavedView }
  | { note: Note }
  | { near: string }
  | { tree: true }
  | { many: number; of: string[]; how: "asked" | "sure"; text: string };

const RESULTS_MAX = 100;
/** More PVs are plotted at once only when that was said twice; more than the second at no time. */
const MANY = 50;
const MANY_MAX = 200;
const TYPING_MILLIS = 120;
/** Of named views, and of notes, so many are shown. */
const MEMOS_MAX = 4;

export class Search {
  private results: Entry[] = [];
  /** What stands above the result of that number. */
  private heads = new Map<number, string>();
  private total = 0;
  /** PVs that are to be plotted together, and the result from which Shift marks. */
  private marked = new Set<string>();
  private anchor = -1;
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
      const own = match === "" ? [...new Set([...starred(), ...recent()])] : [];
      const [found, known] = await Promise.all([
        findPvs(match, RESULTS_MAX, controller.signal),
        ownPvs(own, controller.signal),
      ]);
      const near = found.total === 0 && found.near ? await namesOf(found.near) : [];
      if (controller.signal.aborted) return;
      this.missing = found.incomplete;
      this.total = found.total;
      const shown = this.withHeads(known, found.pvs, near);
      const all: Entry[] =
        match !== "" && found.total > 1
          ? [{ many: found.total, of: [], how: "asked", text: findWords.plotAll(found.total) }]
          : match === "" && found.total > 0
            ? [{ tree: true }]
            : [];
      this.results = [...shown, ...all];
      this.popup.dataset.match = match;
      this.anchor = -1;
      this.chosen = shown.length > 0 && match !== "" ? 0 : -1;
      this.render(match);
      const memos = await memosOf(match, controller.signal);
      if (controller.signal.aborted || memos.length === 0) return;
      this.heads.set(shown.length, words.found);
      const chosen = this.results[this.chosen];
      this.results = [...shown, ...memos, ...all];
      // What somebody has come to meanwhile stays chosen.
      if (chosen) this.chosen = this.results.indexOf(chosen);
      else if (match !== "") this.chosen = 0;
      this.render(match);
    } catch (error) {
      if (isAbort(error)) return;
      this.results = [];
      this.heads.clear();
      this.chosen = this.anchor = -1;
      this.popup.dataset.match = match;
      const text = faultText(error);
      if (isFormula(match)) return this.open(refusedFormula(match, text));
      this.open(h("p", { class: "hint is-error", role: "alert" }, text));
    }
  }

  /** What is starred, what was plotted of late, then all; or names that may have been meant. */
  private withHeads(own: FoundPv[], found: FoundPv[], near: string[]): Entry[] {
    this.heads.clear();
    const stars = starred();
    const late = recent();
    const byPlace = (places: string[]) => (a: FoundPv, b: FoundPv) =>
      places.indexOf(a.name) - places.indexOf(b.name);
    const first = own.filter(({ name }) => stars.includes(name)).sort(byPlace(stars));
    const second = own.filter(({ name }) => !stars.includes(name)).sort(byPlace(late));
    const rest = found.filter(({ name }) => !own.some((pv) => pv.name === name));
    if (first.length > 0) this.heads.set(0, findWords.starred);
    if (second.length > 0) this.heads.set(first.length, findWords.recent);
    if (own.length > 0 && rest.length > 0) this.heads.set(own.length, findWords.all);
    if (near.length > 0) this.heads.set(0, findWords.meant);
    return [...[...first, ...second, ...rest].map((pv) => ({ pv })), ...near.map((name) => ({ near: name }))];
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
    this.heads.clear();
    this.popup.dataset.match = match;
    this.chosen = 0;
    if (document.activeElement !== this.input) return;
    const list = h("ul", { role: "listbox", id: "results", "aria-label": formulaWords.found });
    list.append(this.entry(this.results[0]!, 0));
    this.open(list, h("div", { class: "foot" }, h("span", {}, formulaWords.enter)));
    this.markChosen();
  }

  private render(match: string): void {
    const { total } = this;
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
    for (const [i, entry] of this.results.entries()) {
      const head = this.heads.get(i);
      if (head !== undefined) list.append(h("li", { role: "presentation", class: "found-head" }, head));
      list.append(this.entry(entry, i));
    }
    const none = pvs === 0 && total === 0 && match !== "" ? [this.nothingFound(match)] : [];
    const count = total > pvs ? findWords.firstOf(pvs, total) : findWords.count(total);
    this.open(
      ...none,
      list,
      ...lacks,
      h(
        "div",
        { class: "foot" },
        h("span", { class: "found-count", role: "status" }, count, h("span", { class: "found-marks" })),
        h("span", { class: "found-keys" }, findWords.keys),
        this.viewsButton(),
        this.archiveButton(""),
        this.plotButton(),
        ...(match !== "" && total > 1 ? [this.allButton(total)] : []),
      ),
    );
    this.showMarks();
    this.markChosen();
  }

  private plotButton(): HTMLElement {
    const click = () => void this.plotMany([...this.marked], this.marked.size, "asked");
    return h("button", { type: "button", class: "primary plot-marked", tabindex: "-1", click }, "");
  }

  /** A phone has no Escape. */
  private closeButton(): HTMLElement {
    const click = () => this.input.blur();
    return h(
      "button",
      { type: "button", class: "close", tabindex: "-1", "aria-label": commonWords.close, click },
      "✕",
    );
  }

  /** On a phone what is last in the list would have to be scrolled to. */
  private allButton(total: number): HTMLElement {
    const click = () => void this.plotMany([], total, "asked");
    return h("button", { type: "button", class: "plot-all", tabindex: "-1", click }, findWords.allOf(total));
  }

  /** What is marked is seen, counted, and plotted by one press. */
  private showMarks(): void {
    const { size } = this.marked;
    for (const option of this.popup.querySelectorAll<HTMLElement>("[data-pv]")) {
      const isMarked = this.marked.has(option.dataset.pv!);
      option.classList.toggle("is-marked", isMarked);
      option.querySelector(".tick")!.textContent = isMarked ? "☑" : "☐";
      option.querySelector(".unseen")!.textContent = isMarked ? findWords.isMarked : "";
    }
    const button = this.popup.querySelector<HTMLElement>(".plot-marked");
    if (!button) return;
    button.hidden = size === 0;
    button.textContent = findWords.plot(size);
    this.popup.querySelector(".found-marks")!.textContent = size > 0 ? `, ${findWords.marked(size)}` : "";
  }

  private turnMark(index: number): void {
    const entry = this.results[index];
    if (!entry || !("pv" in entry)) return;
    if (!this.marked.delete(entry.pv.name)) this.marked.add(entry.pv.name);
    this.anchor = index;
    this.showMarks();
  }

  /** Marks all PVs from where Shift began as far as there. */
  private markUpTo(index: number): void {
    if (this.anchor < 0) this.anchor = Math.max(0, this.chosen);
    const [from, to] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
    for (const entry of this.results.slice(from, to + 1)) if ("pv" in entry) this.marked.add(entry.pv.name);
    this.showMarks();
  }

  private turnStar(index: number): void {
    const entry = this.results[index];
    if (!entry || !("pv" in entry)) return;
    turnStar(entry.pv.name);
    const option = this.popup.querySelector(`#result-${index}`)!;
    option.replaceWith(this.entry(entry, index));
    this.refresh();
    this.showMarks();
    this.markChosen();
  }

  /** Plots names, or the first so many that are found; of very many it asks before. */
  private async plotMany(
    names: string[],
    count: number,
    how: "asked" | "sure",
    axis: "own" | null = null,
  ): Promise<void> {
    if (count > MANY && how === "asked") return this.askWhether(names, count);
    const match = this.input.value.trim();
    try {
      const found =
        names.length > 0
          ? names
          : (await findPvs(match, count, new AbortController().signal)).pvs.map(({ name }) => name);
      this.input.blur();
      this.actions.plot(found.slice(0, count), axis);
    } catch (error) {
      this.open(h("p", { class: "hint is-error", role: "alert" }, faultText(error)));
    }
  }

  private askWhether(names: string[], count: number): void {
    const choice = (many: number, text: string): Entry => ({ many, of: names, how: "sure", text });
    this.results = [
      choice(MANY, findWords.plotFirst(MANY)),
      ...(count <= MANY_MAX ? [choice(count, findWords.plotAll(count))] : []),
    ];
    this.heads.clear();
    this.marked.clear();
    this.chosen = 0;
    const list = h("ul", { role: "listbox", id: "results", "aria-label": findWords.list });
    list.append(...this.results.map((entry, i) => this.entry(entry, i)));
    this.open(h("p", { class: "hint", role: "alert" }, findWords.tooMany(count)), list);
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
    if ("near" in entry) return this.memo(index, "≈", entry.near, "");
    if ("many" in entry) return this.memo(index, "+", entry.text, "");
    if ("tree" in entry) return this.memo(index, "▸", findWords.tree, "");
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
          this.choose("one", null);
        },
      },
      h("span", { class: "memo-mark", "aria-hidden": "true" }, mark),
      h("span", { class: "pv" }, name),
      h("span", { class: "faint" }, more),
    );
  }

  private option(pv: FoundPv, index: number): HTMLElement {
    const kind = kindOf(pv.type);
    const isLong = kind === "array" || kind === "structure";
    const text = isLong ? (pv.type ?? "") : formatValue(pv.last?.value ?? null, kind, null);
    const value = pv.last ? text : findWords.noValue;
    const severity = pv.last ? severityOf(pv.last.severity) : 0;
    const { match = "" } = this.popup.dataset;
    const isStarred = starred().includes(pv.name);
    const apart = (act: () => void) => (event: Event) => {
      event.stopPropagation();
      act();
    };
    return h(
      "li",
      {
        role: "option",
        id: `result-${index}`,
        "data-pv": pv.name,
        class: this.actions.isShown(pv.name) ? "is-shown" : "",
        click: (event: MouseEvent) => this.press(index, event),
      },
      h(
        "span",
        {
          class: "tick",
          "aria-hidden": "true",
          title: findWords.tick,
          click: apart(() => this.turnMark(index)),
        },
        "☐",
      ),
      h("span", { class: "unseen" }),
      h("span", { class: "state", "data-state": pv.state, title: pv.state }, pv.state),
      h("span", { class: "pv", title: pv.name }, ...underlined(pv.name, match)),
      h(
        "span",
        { class: "description", title: pv.description ?? "" },
        ...underlined(pv.description ?? "", match),
      ),
      h(
        "span",
        { class: "alarm", "data-severity": String(severity) },
        severity > 0 ? (pv.last?.severity ?? "") : "",
      ),
      h("span", { class: "last" }, value.length > 24 ? `${value.slice(0, 23)}…` : value),
      h("span", { class: "units" }, pv.units ?? ""),
      h("span", { class: "old" }, pv.state === "disconnected" && pv.last ? this.clock(pv.last.time) : ""),
      h(
        "span",
        { class: "star", title: findWords.star, click: apart(() => this.turnStar(index)) },
        h("span", { "aria-hidden": "true" }, isStarred ? "★" : "☆"),
        h("span", { class: "unseen" }, isStarred ? findWords.isStarred : ""),
      ),
    );
  }

  /** A time, without its date where that is today's. */
  private clock(time: string): string {
    const text = this.actions.timeText(time);
    const today = this.actions.timeText(new Date(this.actions.now() * 1000).toISOString()).slice(0, 10);
    return text.startsWith(today) ? text.slice(11) : text;
  }

  /** By the mouse one is plotted, or taken off; with Shift or Control marked. */
  private press(index: number, event: MouseEvent): void {
    if (event.shiftKey) this.markUpTo(index);
    else if (event.ctrlKey || event.metaKey) this.turnMark(index);
    this.chosen = index;
    if (event.shiftKey || event.ctrlKey || event.metaKey) this.markChosen();
    else this.choose("one", null);
  }

  private key(event: KeyboardEvent): void {
    const isOpen = !this.popup.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) return this.ask(0);
      const by = event.key === "ArrowDown" ? 1 : -1;
      const count = this.results.length;
      const before = this.chosen;
      if (count === 0) return;
      if (event.shiftKey) {
        this.markUpTo(Math.min(Math.max(before + by, 0), count - 1));
        this.chosen = Math.min(Math.max(before + by, 0), count - 1);
      } else {
        this.chosen = (before + by + count + (before < 0 && by < 0 ? 1 : 0)) % count;
        this.anchor = -1;
      }
      this.markChosen();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.turnMark(this.chosen);
    } else if (event.key.toLowerCase() === "d" && (event.ctrlKey || event.metaKey) && isOpen) {
      event.preventDefault();
      this.turnStar(this.chosen);
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
    if (this.results.length > 0) this.choose("marked", event.shiftKey ? "own" : null);
    else if (event.isTrusted && !this.popup.hidden)
      this.popup.querySelector<HTMLElement>("button.archive")?.click();
  }

  /** The one that is chosen, or by Enter all that are marked. */
  private choose(which: "one" | "marked", axis: "own" | null): void {
    const entry = this.results[this.chosen];
    if (entry && "many" in entry) return void this.plotMany(entry.of, entry.many, entry.how, axis);
    const { size } = this.marked;
    if (which === "marked" && size > 0) return void this.plotMany([...this.marked], size, "asked", axis);
    if (!entry) return;
    if ("pv" in entry) {
      const { name } = entry.pv;
      if (axis === "own" && !this.actions.isShown(name)) this.actions.plot([name], axis);
      else this.actions.toggle(name);
      this.refresh();
      this.input.select();
      return;
    }
    if ("near" in entry) {
      this.input.value = entry.near;
      return this.ask(0);
    }
    this.input.blur();
    if ("tree" in entry) return this.actions.nameTree();
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
    this.popup.replaceChildren(...content, this.closeButton());
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
    this.marked.clear();
    this.popup.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}

/** A text with what was looked for underlined. */
function underlined(text: string, match: string): (string | HTMLElement)[] {
  if (isPattern(match)) return [text];
  const sought = match.split(/\s+/).filter(Boolean);
  if (sought.length === 0) return [text];
  const any = new RegExp(`(${sought.map(literal).join("|")})`, "i");
  return text.split(any).map((part, i) => (i % 2 === 1 ? h("u", {}, part) : part));
}

/** PVs by their names, as far as they are archived. */
async function ownPvs(names: string[], signal: AbortSignal): Promise<FoundPv[]> {
  const wanted = inParts(names)[0];
  return wanted ? (await findPvs(patternOf(wanted), RESULTS_MAX, signal)).pvs : [];
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
  if (isPattern(match)) return [];
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
