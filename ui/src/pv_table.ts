// The table of all PVs at /manage: rows in sight only, marks, the bar of orders over what is marked.

import { ApiError, isAbort, pagePvs, type Pv, type PvState, type Right, type Status } from "./api.ts";
import { inParts, patternOf, readList } from "./list.ts";
import { formatValue, kindOf } from "./decode.ts";
import { counted, h, setText } from "./dom.ts";
import { download, quoted } from "./file.ts";
import type { Verb } from "./sheet.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import {
  bytesText,
  FALLING,
  getCosts,
  inOrder,
  isSortKey,
  rateText,
  SORTED_MAX,
  type Cost,
  type SortKey,
} from "./pv_order.ts";
import { manageWords as words } from "./words.ts";

/** The orders over what is marked, and what one must be allowed for each. */
const VERBS: [Verb, Right][] = [
  ["pause", "operate"],
  ["resume", "operate"],
  ["policy", "operate"],
  ["groups", "operate"],
  ["rename", "administer"],
  ["remove", "administer"],
];

export const STATES: (PvState | "any")[] = ["any", "connected", "disconnected", "searching", "paused"];
const ROW = 30;
/** Rows are asked for in pages of so many. */
const PAGE = 200;
/** No browser draws an element that is higher; beyond it the bar moves more than a row a pixel. */
const HEIGHT_MAX = 15_000_000;
/** So many pages are kept. */
const PAGES_KEPT = 40;
/** All names of a filter are asked for in pages of so many. */
const NAMES_PAGE = 10_000;
const TYPING_MILLIS = 150;
/** So many parts of a pasted list are asked for at once. */
const LISTS_AT_ONCE = 4;
/** What PVs cost is asked for so often. */
const COSTS_MILLIS = 30_000;
/** Sorted lists that are longer are not asked for again and again. */
const RENEWED_MAX = 2000;
/** No more PVs are plotted together. */
const PLOTTED_MAX = 50;

export interface Sort {
  key: SortKey;
  /** The largest first. */
  falls: boolean;
}

export interface Filter {
  match: string;
  state: PvState | "any";
  /** None: by name, as the archiver gives them. */
  sort: Sort | null;
  /** A list of names that was pasted. */
  list: string[] | null;
}

export interface TableActions {
  may(right: Right): boolean;
  zone(): Zone;
  now(): number;
  details(name: string): void;
  order(verb: Verb, names: string[]): void;
  /** The filter has changed. */
  narrowed(): void;
  status(): Status | null;
}

/** The table of all PVs: only the rows in sight are there, and only their pages are asked for. */
export class PvTable {
  readonly element: HTMLElement;
  private search = h("input", {
    type: "text",
    "aria-label": words.searchLabel,
    placeholder: words.search,
    spellcheck: "false",
    autocomplete: "off",
  });
  private facets = h("div", { class: "facets", role: "group", "aria-label": words.stateFacet });
  private told = h("span", { class: "told", role: "status" });
  private scroller = h("div", {
    class: "rows-scroll",
    tabindex: "0",
    role: "grid",
    "aria-label": words.tableLabel,
    "aria-multiselectable": "true",
  });
  private space = h("div", { class: "space-high", role: "presentation" });
  private shown = h("div", { class: "rows-shown", role: "rowgroup" });
  private bulk = h("div", { class: "bulk", role: "region", "aria-label": words.bulkLabel, hidden: true });
  private error = h("p", { class: "is-error", role: "alert", hidden: true });
  private pages = new Map<number, Pv[]>();
  /** All rows, where they stand in another order than by their names; the archiver gives them by names alone. */
  private sorted: Pv[] | null = null;
  private isSorting = false;
  /** How many fit the filter, of which only the first were sorted. */
  private beyond = 0;
  /** Names of a pasted list that the archive does not know. */
  private lacking: string[] = [];
  private costs = new Map<string, Cost>();
  private costsAt = -Infinity;
  private mostOf: Map<string, Cost> | null = null;
  private mostBytes = 0;
  private heads = new Map<SortKey, HTMLElement>();
  private asked = new Map<number, AbortController>();
  private total = 0;
  private isKnown = false;
  private marked = new Set<string>();
  private active = 0;
  private anchor = 0;
  private timer = 0;

  constructor(
    private filter: Filter,
    private actions: TableActions,
  ) {
    const head = h(
      "div",
      { class: "table-row table-head", role: "row" },
      ...words.columns.map(([key, text]) => this.head(key, text)),
    );
    this.scroller.append(h("div", { role: "rowgroup", class: "head-group" }, head), this.space);
    this.space.append(this.shown);
    const csv = h("button", { type: "button", click: () => void this.csv() }, "CSV");
    this.element = h(
      "div",
      { class: "pvs-part" },
      this.facets,
      h(
        "div",
        { class: "table-side" },
        h("div", { class: "tools" }, this.search, this.told, csv),
        this.error,
        this.scroller,
        this.bulk,
      ),
    );
    this.search.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(
        () => this.narrow({ match: this.search.value.trim(), list: null }),
        TYPING_MILLIS,
      );
    });
    this.search.addEventListener("paste", (event) => this.paste(event));
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        this.scroller.focus();
      }
    });
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.shown.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  show(): void {
    if (document.activeElement !== this.search) this.search.value = this.filter.match;
    this.counts();
    this.reload();
    this.showBulk();
  }

  /** Asks for everything again, and keeps what is marked. */
  reload(): void {
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
    this.pages.clear();
    this.sorted = null;
    this.showSort();
    void this.askCosts();
    this.draw();
  }

  /** The head of a column, by which the table is sorted: first as the column is most of use, then the other way, then by names. */
  private head(key: string, text: string): HTMLElement {
    const cell = h("span", { class: key, role: "columnheader" });
    if (!isSortKey(key)) cell.append(text);
    else {
      this.heads.set(key, cell);
      cell.append(
        h("button", { type: "button", title: words.sortBy(text), click: () => this.sortBy(key) }, text),
      );
    }
    return cell;
  }

  private sortBy(key: SortKey): void {
    const { sort } = this.filter;
    const falls = FALLING.includes(key);
    const next: Sort | null =
      sort?.key !== key ? { key, falls } : sort.falls === falls ? { key, falls: !falls } : null;
    this.filter.sort = key === "name" && next?.falls === false ? null : next;
    this.active = this.anchor = 0;
    this.scroller.scrollTop = 0;
    this.actions.narrowed();
    this.reload();
  }

  private showSort(): void {
    const { sort } = this.filter;
    for (const [key, cell] of this.heads) {
      const order =
        sort === null
          ? key === "name"
            ? "ascending"
            : "none"
          : sort.key !== key
            ? "none"
            : sort.falls
              ? "descending"
              : "ascending";
      cell.setAttribute("aria-sort", order);
    }
  }

  /** Whether all rows are here: those of a list, or those that stand in another order than the archiver gives them. */
  private get isWhole(): boolean {
    return this.filter.sort !== null || this.filter.list !== null;
  }

  private async takeAll(): Promise<void> {
    if (this.isSorting) return;
    this.isSorting = true;
    const { sort, list, match, state } = this.filter;
    try {
      if (sort?.key === "rate" || sort?.key === "bytes") await this.askCosts();
      const { found, total } = list ? await this.listed(list) : await this.first();
      const now = this.filter;
      if (now.sort !== sort || now.list !== list || now.match !== match || now.state !== state) return;
      this.sorted = sort ? inOrder(found, sort, this.costs) : found;
      this.beyond = total - found.length;
      this.total = found.length;
      this.isKnown = true;
      this.error.hidden = true;
      if (list) this.takeList(list, found);
    } catch (error) {
      this.sayError(error);
    } finally {
      this.isSorting = false;
    }
    this.draw();
    this.showBulk();
  }

  /** The first rows of the filter, as many as are sorted here. */
  private async first(): Promise<{ found: Pv[]; total: number }> {
    const found: Pv[] = [];
    let total = Infinity;
    while (found.length < Math.min(total, SORTED_MAX)) {
      const page = await pagePvs({ ...this.filter, offset: found.length, limit: NAMES_PAGE });
      total = page.total;
      found.push(...page.pvs);
      if (page.pvs.length === 0) break;
    }
    return { found, total };
  }

  /** The rows of a list, some names at a time. */
  private async listed(list: string[]): Promise<{ found: Pv[]; total: number }> {
    const wanted = new Set(list);
    const found = new Map<string, Pv>();
    const parts = inParts(list);
    const worker = async () => {
      for (let part = parts.shift(); part; part = parts.shift()) {
        const { pvs } = await pagePvs({
          match: patternOf(part),
          state: this.filter.state,
          offset: 0,
          limit: NAMES_PAGE,
        });
        for (const pv of pvs) if (wanted.has(pv.name)) found.set(pv.name, pv);
      }
    };
    await Promise.all(Array.from({ length: LISTS_AT_ONCE }, worker));
    const rows = list.flatMap((name) => found.get(name) ?? []);
    return { found: rows, total: rows.length };
  }

  /** Marks stay with those that are archived, and the others are named. */
  private takeList(list: string[], found: Pv[]): void {
    const names = new Set(found.map(({ name }) => name));
    for (const name of this.marked) if (!names.has(name)) this.marked.delete(name);
    this.lacking = this.filter.state === "any" ? list.filter((name) => !names.has(name)) : [];
  }

  /** What each PV costs, as far as the reports of the archiver say it. */
  private async askCosts(): Promise<void> {
    if (performance.now() - this.costsAt < COSTS_MILLIS) return;
    this.costsAt = performance.now();
    try {
      this.costs = await getCosts();
    } catch (error) {
      // The columns stay empty; the list says itself when the archiver does not answer.
      if (!(error instanceof ApiError)) throw error;
    }
    this.draw();
  }

  private sayError(error: unknown): void {
    setText(this.error, error instanceof ApiError ? error.sentence : String(error));
    this.error.hidden = false;
  }

  /** Asks for what is in sight again; it stays until the answer is there. */
  renew(): void {
    if (this.isWhole) return void this.renewSorted();
    void this.askCosts();
    const [first, last] = this.inSight();
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) void this.fetch(page);
    for (const page of [...this.pages.keys()])
      if (page < Math.floor(first / PAGE) || page > Math.floor(last / PAGE)) this.pages.delete(page);
  }

  /** The order stays as it is under who reads; what the rows say is new. */
  private async renewSorted(): Promise<void> {
    if (this.sorted === null || this.sorted.length > RENEWED_MAX || this.isSorting) return;
    const { sorted } = this;
    const { list } = this.filter;
    try {
      const pvs = list
        ? (await this.listed(list)).found
        : (await pagePvs({ ...this.filter, offset: 0, limit: NAMES_PAGE })).pvs;
      const news = new Map(pvs.map((pv) => [pv.name, pv]));
      if (this.sorted !== sorted) return;
      this.sorted = sorted.map((pv) => news.get(pv.name) ?? pv);
      this.draw();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  counts(): void {
    const status = this.actions.status();
    const buttons = STATES.map((state) => {
      const count = status ? (state === "any" ? status.pvs.total : status.pvs[state]) : null;
      return h(
        "button",
        {
          type: "button",
          "aria-pressed": String(state === this.filter.state),
          "data-state": state === "any" ? "" : state,
          "data-facet": state,
          click: () => this.narrow({ state }),
        },
        h("span", {}, words.states[state]),
        h("b", {}, count === null ? "" : counted(count)),
      );
    });
    const focused = (document.activeElement as HTMLElement | null)?.dataset.facet;
    this.facets.replaceChildren(h("h2", {}, words.stateFacet), ...buttons);
    if (focused) this.facets.querySelector<HTMLElement>(`[data-facet="${focused}"]`)?.focus();
  }

  /** A list that is pasted is what is to be seen, and it is marked: it has been chosen already. */
  private paste(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!text.trim().includes("\n")) return;
    event.preventDefault();
    const names = readList(text)
      .filter((line) => line.reason === null)
      .map((line) => line.name.replace(/^(ca|pva):\/\//, ""));
    this.search.value = words.pasted(names.length);
    this.narrow({ match: "", state: "any", list: names });
    for (const name of names) this.marked.add(name);
  }

  private narrow(change: Partial<Filter>): void {
    Object.assign(this.filter, change);
    this.marked.clear();
    this.active = this.anchor = 0;
    this.isKnown = false;
    this.scroller.scrollTop = 0;
    this.actions.narrowed();
    this.counts();
    this.reload();
    this.showBulk();
  }

  /** The rows that the scroller shows. */
  private inSight(): [number, number] {
    const { scrollTop, clientHeight } = this.scroller;
    const room = Math.ceil(clientHeight / ROW) + 1;
    const most = Math.max(0, this.total - 1);
    const high = this.total * ROW;
    const first =
      high <= HEIGHT_MAX
        ? Math.floor(scrollTop / ROW)
        : Math.floor((scrollTop / (HEIGHT_MAX - clientHeight)) * (this.total - room + 2));
    return [Math.max(0, Math.min(first, most)), Math.max(0, Math.min(first + room, most))];
  }

  private rowAt(index: number): Pv | null {
    if (this.isWhole) return this.sorted?.[index] ?? null;
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null;
  }

  private async fetch(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    const controller = new AbortController();
    this.asked.set(page, controller);
    try {
      const { total, pvs } = await pagePvs(
        { ...this.filter, offset: page * PAGE, limit: PAGE },
        controller.signal,
      );
      if (controller.signal.aborted) return;
      this.pages.set(page, pvs);
      this.total = total;
      this.isKnown = true;
      this.error.hidden = true;
      this.forget(page);
    } catch (error) {
      if (isAbort(error)) return;
      this.sayError(error);
    } finally {
      if (this.asked.get(page) === controller) this.asked.delete(page);
    }
    this.draw();
  }

  /** Pages far from the one that has just come are asked for again when somebody comes back. */
  private forget(near: number): void {
    if (this.pages.size <= PAGES_KEPT) return;
    const far = [...this.pages.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
    for (const page of far.slice(0, this.pages.size - PAGES_KEPT)) this.pages.delete(page);
  }

  private draw(): void {
    if (!this.element.isConnected) return;
    const high = Math.min(this.total * ROW, HEIGHT_MAX);
    this.space.style.height = `${high}px`;
    this.scroller.setAttribute("aria-rowcount", String(this.total + 1));
    const [first, last] = this.inSight();
    const needed =
      this.total === 0 && !this.isKnown ? [0] : range(Math.floor(first / PAGE), Math.floor(last / PAGE));
    if (this.isWhole) {
      if (this.sorted === null && this.error.hidden) void this.takeAll();
    } else for (const page of needed) if (!this.pages.has(page) && this.error.hidden) void this.fetch(page);
    setText(this.told, this.isKnown ? words.told(this.total, this.marked.size) + this.beyondText() : "…");
    const now = this.actions.now();
    const rows: HTMLElement[] = [];
    for (let index = first; index <= last && index < this.total; index++) rows.push(this.row(index, now));
    if (this.isKnown && this.total === 0) rows.push(this.none());
    const top = this.total * ROW <= HEIGHT_MAX ? first * ROW : this.scroller.scrollTop;
    this.shown.style.transform = `translateY(${top}px)`;
    this.shown.replaceChildren(...rows);
    const isThere = this.total > 0 && this.active >= first && this.active <= last;
    if (isThere) this.scroller.setAttribute("aria-activedescendant", `pv-row-${this.active}`);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  private beyondText(): string {
    if (!this.isWhole || this.sorted === null) return "";
    if (this.filter.list !== null) return this.lacking.length > 0 ? words.notFound(this.lacking) : "";
    return this.beyond > 0 ? words.beyond(this.sorted.length, this.beyond) : "";
  }

  private none(): HTMLElement {
    const isAll = this.filter.match === "" && this.filter.state === "any";
    return h(
      "div",
      { role: "row", class: "none" },
      h("span", { role: "gridcell" }, isAll ? words.noneAtAll : words.noneFits),
    );
  }

  private row(index: number, now: number): HTMLElement {
    const pv = this.rowAt(index);
    const cell = (name: string, ...content: (Node | string)[]) =>
      h("span", { class: name, role: "gridcell" }, ...content);
    const isMarked = pv !== null && this.marked.has(pv.name);
    const row = h("div", {
      class: `table-row${isMarked ? " is-marked" : ""}${index === this.active ? " is-active" : ""}`,
      role: "row",
      id: `pv-row-${index}`,
      "data-index": String(index),
      "aria-rowindex": String(index + 2),
      "aria-selected": String(isMarked),
    });
    if (pv === null) {
      row.append(cell("tick"), cell("name", "…"));
      return row;
    }
    row.dataset.pv = pv.name;
    const last = pv.last ? Date.parse(pv.last.time) / 1000 : NaN;
    const since = Date.parse(pv.since ?? "") / 1000;
    const cost = this.costs.get(pv.name);
    const kind = kindOf(pv.type);
    const value =
      pv.last && kind !== "array" && kind !== "structure" ? formatValue(pv.last.value, kind, null) : "";
    row.append(
      cell("tick", isMarked ? "☑" : "☐"),
      cell(
        "name",
        h(
          "a",
          { href: `./?pv=${encodeURIComponent(pv.name)}`, tabindex: "-1", title: words.plotIt(pv.name) },
          pv.name,
        ),
      ),
      cell("state", h("span", { "data-state": pv.state }, words.states[pv.state])),
      cell("since", Number.isFinite(since) ? formatDuration(Math.max(0, now - since)) : ""),
      cell("how", pv.method === "scan" ? words.every(pv.period ?? 0) : words.everyChange),
      cell("type", pv.type ?? ""),
      cell("value", value, pv.units && value !== "" ? h("small", {}, ` ${pv.units}`) : ""),
      cell("rate", cost?.rate === undefined ? "" : rateText(cost.rate)),
      this.bytesCell(cost),
      cell("last", Number.isFinite(last) ? formatDuration(Math.max(0, now - last)) : words.never),
    );
    if (Number.isFinite(last))
      row.lastElementChild!.setAttribute("title", formatTime(last, this.actions.zone(), 3));
    return row;
  }

  /** Bytes a day, with a bar that compares them with what the costliest of all takes. */
  private bytesCell(cost: Cost | undefined): HTMLElement {
    const cell = h("span", { class: "bytes", role: "gridcell" });
    if (cost?.bytes === undefined) return cell;
    const bar = h("i", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.round(44 * Math.sqrt(cost.bytes / Math.max(1, this.most())))}px`;
    cell.append(bar, bytesText(cost.bytes));
    return cell;
  }

  private most(): number {
    if (this.mostOf !== this.costs) {
      this.mostOf = this.costs;
      this.mostBytes = 0;
      for (const { bytes } of this.costs.values()) this.mostBytes = Math.max(this.mostBytes, bytes ?? 0);
    }
    return this.mostBytes;
  }

  private click(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    if (target.closest("a")) return;
    const index = Number(target.closest<HTMLElement>("[data-index]")?.dataset.index ?? NaN);
    if (!Number.isFinite(index)) return;
    this.active = index;
    if (event.shiftKey) this.extend();
    else this.toggle();
    this.scroller.focus({ preventScroll: true });
  }

  private key(event: KeyboardEvent): void {
    const room = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const by: number | undefined = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: room,
      PageUp: -room,
      Home: -Infinity,
      End: Infinity,
    }[event.key];
    if (by !== undefined) {
      this.active = Math.max(0, Math.min(this.active + by, this.total - 1));
      if (event.shiftKey) this.extend();
      else this.anchor = this.active;
      this.reveal();
    } else if (event.key === " ") this.toggle();
    else if (event.key === "Enter") {
      const pv = this.rowAt(this.active);
      if (pv) location.assign(`./?pv=${encodeURIComponent(pv.name)}`);
    } else if (event.key === "a" && event.ctrlKey) void this.markAll();
    else if (event.key === "Escape" && this.marked.size > 0) this.unmark();
    else return;
    event.preventDefault();
  }

  private reveal(): void {
    if (this.total * ROW <= HEIGHT_MAX) {
      const [top, high] = [this.active * ROW, this.scroller.clientHeight - ROW];
      if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
      else if (top + ROW > this.scroller.scrollTop + high) this.scroller.scrollTop = top + ROW - high;
    } else {
      const [first, last] = this.inSight();
      if (this.active < first || this.active > last - 2)
        this.scroller.scrollTop = (this.active / this.total) * (HEIGHT_MAX - this.scroller.clientHeight);
    }
    this.draw();
  }

  private toggle(): void {
    const pv = this.rowAt(this.active);
    if (!pv) return;
    if (!this.marked.delete(pv.name)) this.marked.add(pv.name);
    this.anchor = this.active;
    this.draw();
    this.showBulk();
  }

  /** From the row marked last to this one; what has not come yet is not marked. */
  private extend(): void {
    const [from, to] = [Math.min(this.anchor, this.active), Math.max(this.anchor, this.active)];
    for (let index = from; index <= to; index++) {
      const pv = this.rowAt(index);
      if (pv) this.marked.add(pv.name);
    }
    this.draw();
    this.showBulk();
  }

  private unmark(): void {
    this.marked.clear();
    this.draw();
    this.showBulk();
  }

  /** All that the filter finds, in sight or not. */
  private async markAll(): Promise<void> {
    try {
      this.marked = new Set((await this.all()).map((pv) => pv.name));
    } catch (error) {
      this.sayError(error);
    }
    this.draw();
    this.showBulk();
  }

  private async all(): Promise<Pv[]> {
    if (this.isWhole && this.sorted !== null && this.beyond === 0) return this.sorted;
    const found: Pv[] = [];
    for (let offset = 0, total = Infinity; offset < total; offset += NAMES_PAGE) {
      const page = await pagePvs({ ...this.filter, offset, limit: NAMES_PAGE });
      total = page.total;
      found.push(...page.pvs);
    }
    return found;
  }

  /** What the marked ones take a day together, as far as it is known. */
  private together(): HTMLElement[] {
    let sum = 0;
    for (const name of this.marked) sum += this.costs.get(name)?.bytes ?? 0;
    return sum > 0 ? [h("span", { class: "faint" }, words.together(bytesText(sum)))] : [];
  }

  private showBulk(): void {
    const count = this.marked.size;
    this.bulk.hidden = count === 0;
    if (count === 0) return this.bulk.replaceChildren();
    const names = () => [...this.marked];
    const verbs = VERBS.filter(
      ([verb, right]) => this.actions.may(right) && (verb !== "rename" || count === 1),
    ).map(([verb]) =>
      h(
        "button",
        { type: "button", "data-verb": verb, click: () => this.actions.order(verb, names()) },
        words.verbs[verb],
      ),
    );
    const plotted = h(
      "a",
      {
        class: "button",
        href: `./?${names()
          .slice(0, PLOTTED_MAX)
          .map((name) => `pv=${encodeURIComponent(name)}`)
          .join("&")}`,
      },
      words.plot(Math.min(count, PLOTTED_MAX)),
    );
    const rest =
      count < this.total
        ? [
            h(
              "button",
              { type: "button", class: "rest", click: () => void this.markAll() },
              words.markAll(this.total),
            ),
          ]
        : [];
    const details =
      count === 1
        ? [
            h(
              "button",
              { type: "button", "data-show": "details", click: () => this.actions.details(names()[0]!) },
              words.details,
            ),
          ]
        : [];
    this.bulk.replaceChildren(
      h("b", {}, words.marked(count, this.total)),
      ...this.together(),
      ...rest,
      h("span", { class: "space" }),
      ...verbs,
      ...details,
      plotted,
      h(
        "button",
        {
          type: "button",
          "aria-label": words.unmark,
          title: `${words.unmark} ( Esc )`,
          click: () => this.unmark(),
        },
        "✕",
      ),
    );
  }

  /** The list of the filter, as a file. */
  private async csv(): Promise<void> {
    try {
      const rows = (await this.all()).map((pv) =>
        [
          pv.name,
          pv.state,
          pv.since ?? "",
          pv.protocol,
          pv.method,
          pv.period ?? "",
          pv.type ?? "",
          pv.units ?? "",
          pv.last?.time ?? "",
        ]
          .map(quoted)
          .join(","),
      );
      download(
        "pvs.csv",
        "text/csv",
        ["name,state,since,protocol,method,period,type,units,last", ...rows, ""].join("\r\n"),
      );
    } catch (error) {
      this.sayError(error);
    }
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}
