// The search box: finds archived PVs by a fragment, a glob or a regular expression, and adds them to the view.

import { ApiError, findPvs, isAbort, type Pv } from "./api.ts";
import { formatValue, kindOf, severityOf } from "./decode.ts";
import { h } from "./dom.ts";

export interface SearchActions {
  /** Puts a PV on the plot, or takes it off. */
  toggle(name: string): void;
  isShown(name: string): boolean;
  /** Opens the dialog that adds PVs to the archive. */
  archive(name: string): void;
}

const RESULTS_MAX = 100;
const TYPING_MILLIS = 120;

export class Search {
  private results: Pv[] = [];
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
      const { total, pvs } = await findPvs(match, RESULTS_MAX, controller.signal);
      this.results = pvs;
      this.popup.dataset.match = match;
      this.chosen = pvs.length > 0 && match !== "" ? 0 : -1;
      this.render(match, total);
    } catch (error) {
      if (isAbort(error)) return;
      this.results = [];
      this.popup.dataset.match = match;
      const text = error instanceof ApiError ? error.sentence : String(error);
      this.open(h("p", { class: "hint is-error", role: "alert" }, text));
    }
  }

  private render(match: string, total: number): void {
    if (document.activeElement !== this.input) return;
    if (this.results.length === 0) {
      this.open(this.nothingFound(match));
      return;
    }
    const list = h("ul", { role: "listbox", id: "results", "aria-label": "PVs found" });
    list.append(...this.results.map((pv, i) => this.option(pv, i)));
    const count =
      total > this.results.length ? `the first ${this.results.length} of ${total} PVs` : `${total} PVs`;
    this.open(
      list,
      h(
        "div",
        { class: "foot" },
        h("span", {}, count),
        h("span", {}, "Enter plots · Esc closes"),
        this.archiveButton(""),
      ),
    );
    this.markChosen();
  }

  private nothingFound(match: string): HTMLElement {
    if (match === "") {
      const how = h(
        "span",
        { class: "operates" },
        "Name the first PVs and the archiver finds them on the network.",
      );
      return h(
        "div",
        { class: "hint" },
        h("p", {}, "Nothing is archived yet. ", how),
        this.archiveButton(""),
      );
    }
    const text = `No archived PV matches “${match}”. A fragment matches anywhere in a name; use * and ? as wildcards, or begin with ~ for a regular expression.`;
    const canBeName = !/[*?~\s]/.test(match);
    return h("div", { class: "hint" }, h("p", {}, text), this.archiveButton(canBeName ? match : ""));
  }

  private archiveButton(name: string): HTMLElement {
    const text = name === "" ? "Archive new PVs …" : `Archive “${name}” …`;
    const click = () => {
      this.input.blur();
      this.actions.archive(name);
    };
    return h("button", { type: "button", class: "archive operates", tabindex: "-1", click }, text);
  }

  private option(pv: Pv, index: number): HTMLElement {
    const kind = kindOf(pv.type);
    const isLong = kind === "array" || kind === "structure";
    const text = isLong ? (pv.type ?? "") : formatValue(pv.last?.value ?? null, kind, null);
    const value = pv.last ? text : "no value yet";
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
    const pv = this.results[this.chosen];
    if (!pv) return;
    this.actions.toggle(pv.name);
    this.refresh();
    this.input.select();
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
  }

  private close(): void {
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.popup.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}
