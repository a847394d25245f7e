// The page for whoever runs the archiver, at /manage: its parts, the table of all PVs, and the orders over those that are marked.

import {
  ApiError,
  getGroups,
  getPolicies,
  getStatus,
  isAbort,
  pagePvs,
  type Pv,
  type PvState,
  type Right,
  type Status,
} from "./api.ts";
import { AddPart } from "./manage_add.ts";
import {
  auditPart,
  policiesPart,
  removedPart,
  reportsPart,
  storagePart,
  type PartContext,
} from "./manage_parts.ts";
import { REPORTS } from "./reports.ts";
import { Sheet, type Verb } from "./sheet.ts";
import { byId, counted, h, setText } from "./dom.ts";
import { formatValue, kindOf } from "./decode.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { manageWords as words } from "./words.ts";

export type Part = "pvs" | "add" | "reports" | "policies" | "removed" | "storage" | "audit";

const PARTS: [Part, string, Right][] = [
  ["pvs", words.parts.pvs, "read"],
  ["add", words.parts.add, "operate"],
  ["reports", words.parts.reports, "read"],
  ["policies", words.parts.policies, "read"],
  ["removed", words.parts.removed, "read"],
  ["storage", words.parts.storage, "read"],
  ["audit", words.parts.audit, "read"],
];

/** The orders over what is marked, and what one must be allowed for each. */
const VERBS: [Verb, Right][] = [
  ["pause", "operate"],
  ["resume", "operate"],
  ["policy", "operate"],
  ["groups", "operate"],
  ["rename", "administer"],
  ["remove", "administer"],
];

const STATES: (PvState | "any")[] = ["any", "connected", "disconnected", "searching", "paused"];
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
const REFRESH_MILLIS = 5000;
/** No more PVs are plotted together. */
const PLOTTED_MAX = 50;

interface Filter {
  match: string;
  state: PvState | "any";
}

export interface ManageActions {
  may(right: Right): boolean;
  zone(): Zone;
  now(): number;
}

export class Manage {
  private root = byId("manage");
  private part: Part = "pvs";
  private filter: Filter = { match: "", state: "any" };
  private body = h("div", { class: "part" });
  private tabs = h("nav", { class: "sub", "aria-label": words.partsLabel });
  private came = h("p", { class: "came", role: "status", hidden: true });
  private table: PvTable;
  private sheet: Sheet;
  private add: AddPart;
  private said = h("div", { class: "said-bar", role: "status", hidden: true });
  private status: Status | null = null;
  private timer = 0;

  constructor(private actions: ManageActions) {
    this.sheet = new Sheet(() => this.changed(), this.said);
    this.add = new AddPart(() => void this.refresh());
    this.table = new PvTable(this.filter, {
      ...actions,
      order: (verb, names) => void this.sheet.open(verb, names),
      narrowed: () => this.remember("replace"),
      status: () => this.status,
    });
    this.root.append(this.tabs, this.came, this.said, this.body);
    window.addEventListener("popstate", () => this.read());
  }

  /** Takes over the page. */
  start(): void {
    this.root.hidden = false;
    this.read();
    void this.refresh();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** What one may do has changed. */
  rightsChanged(): void {
    if (!this.root.hidden) this.show();
  }

  private read(): void {
    const params = new URLSearchParams(location.search.replaceAll("+", "%2B"));
    const wanted = params.get("part");
    this.part = PARTS.find(([part]) => part === wanted)?.[0] ?? "pvs";
    this.filter.match = params.get("match") ?? "";
    const state = params.get("state");
    this.filter.state = STATES.find((one) => one === state) ?? "any";
    this.tellWhereFrom(params.get("came"));
    this.show();
  }

  /** An address of the Archiver Appliance led here. */
  private tellWhereFrom(page: string | null): void {
    this.came.hidden = page === null;
    if (page === null) return;
    const [part, text] = words.came(page);
    const wanted = new URLSearchParams(location.search).get("part");
    if (wanted === null) this.part = part;
    setText(this.came, text);
  }

  private remember(step: "push" | "replace"): void {
    const params = new URLSearchParams(location.search);
    const keep = ["theme", "zone"].flatMap((key) => (params.has(key) ? [`${key}=${params.get(key)}`] : []));
    const parts = [
      ...(this.part === "pvs" ? [] : [`part=${this.part}`]),
      ...(this.filter.match === "" || this.part !== "pvs"
        ? []
        : [`match=${encodeURIComponent(this.filter.match)}`]),
      ...(this.filter.state === "any" || this.part !== "pvs" ? [] : [`state=${this.filter.state}`]),
      ...(params.has("report") && this.part === "reports" ? [`report=${params.get("report")}`] : []),
      ...keep,
    ];
    const url = `${location.pathname}${parts.length > 0 ? `?${parts.join("&")}` : ""}`;
    if (step === "push") history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }

  private go(part: Part): void {
    this.part = part;
    this.came.hidden = true;
    this.remember("push");
    this.show();
    this.tabs.querySelector<HTMLElement>("[aria-current]")?.focus();
  }

  private show(): void {
    const shown = PARTS.filter(([, , right]) => this.actions.may(right));
    if (!shown.some(([part]) => part === this.part)) this.part = "pvs";
    this.tabs.replaceChildren(
      ...shown.map(([part, text]) => {
        const click = (event: Event) => {
          event.preventDefault();
          this.go(part);
        };
        const link = h(
          "a",
          { href: part === "pvs" ? "manage" : `manage?part=${part}`, "data-tab": part, click },
          text,
        );
        const count = this.countOf(part);
        if (count !== null) link.append(" ", h("b", {}, counted(count)));
        if (part === this.part) link.setAttribute("aria-current", "page");
        return link;
      }),
    );
    document.title = `${words.parts[this.part]} · pvark`;
    const context: PartContext = {
      zone: this.actions.zone(),
      now: this.actions.now(),
      may: this.actions.may,
      order: (verb, names) => void this.sheet.open(verb, names),
      write: (key, value) => {
        const params = new URLSearchParams(location.search);
        params.set(key, value);
        params.delete("came");
        history.replaceState(null, "", `${location.pathname}?${params}`);
      },
      param: (key) => new URLSearchParams(location.search).get(key),
    };
    if (this.part === "pvs") {
      this.body.replaceChildren(this.table.element);
      this.table.show();
    } else if (this.part === "add") this.body.replaceChildren(this.add.element);
    else if (this.part === "reports") this.body.replaceChildren(reportsPart(context));
    else if (this.part === "policies") this.body.replaceChildren(policiesPart(context));
    else if (this.part === "removed") this.body.replaceChildren(removedPart(context));
    else if (this.part === "storage") this.body.replaceChildren(storagePart(context));
    else this.body.replaceChildren(auditPart(context));
  }

  private countOf(part: Part): number | null {
    if (part === "pvs") return this.status?.pvs.total ?? null;
    return part === "reports" ? REPORTS.length : null;
  }

  /** An order was carried out: what is shown is asked for again. */
  private changed(): void {
    void this.refresh();
    if (this.part === "pvs") this.table.reload();
    else this.show();
  }

  private async refresh(): Promise<void> {
    window.clearTimeout(this.timer);
    try {
      this.status = await getStatus();
      const count = this.tabs.querySelector<HTMLElement>('[data-tab="pvs"] b');
      if (count) setText(count, counted(this.status.pvs.total));
      else this.show();
      this.table.counts();
      if (this.part === "pvs") this.table.renew();
    } catch (error) {
      // The bar below the header says that the archiver does not answer; the next answer comes by itself.
      if (!(error instanceof ApiError)) throw error;
    }
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MILLIS);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
    if (event.key === "/" && !event.ctrlKey && !event.altKey && this.part === "pvs") {
      event.preventDefault();
      this.table.focusSearch();
    }
  }
}

interface TableActions extends ManageActions {
  order(verb: Verb, names: string[]): void;
  /** The filter has changed. */
  narrowed(): void;
  status(): Status | null;
}

/** The table of all PVs: only the rows in sight are there, and only their pages are asked for. */
class PvTable {
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
      ...words.columns.map(([key, text]) => h("span", { class: key, role: "columnheader" }, text)),
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
      this.timer = window.setTimeout(() => this.narrow({ match: this.search.value.trim() }), TYPING_MILLIS);
    });
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
    this.draw();
  }

  /** Asks for what is in sight again; it stays until the answer is there. */
  renew(): void {
    const [first, last] = this.inSight();
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) void this.fetch(page);
    for (const page of [...this.pages.keys()])
      if (page < Math.floor(first / PAGE) || page > Math.floor(last / PAGE)) this.pages.delete(page);
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
      setText(this.error, error instanceof ApiError ? error.sentence : String(error));
      this.error.hidden = false;
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
    for (const page of needed) if (!this.pages.has(page) && this.error.hidden) void this.fetch(page);
    setText(this.told, this.isKnown ? words.told(this.total, this.marked.size) : "…");
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
      cell("last", Number.isFinite(last) ? formatDuration(Math.max(0, now - last)) : words.never),
    );
    if (Number.isFinite(last))
      row.lastElementChild!.setAttribute("title", formatTime(last, this.actions.zone(), 3));
    return row;
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
      setText(this.error, error instanceof ApiError ? error.sentence : String(error));
      this.error.hidden = false;
    }
    this.draw();
    this.showBulk();
  }

  private async all(): Promise<Pv[]> {
    const found: Pv[] = [];
    for (let offset = 0, total = Infinity; offset < total; offset += NAMES_PAGE) {
      const page = await pagePvs({ ...this.filter, offset, limit: NAMES_PAGE });
      total = page.total;
      found.push(...page.pvs);
    }
    return found;
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
    this.bulk.replaceChildren(
      h("b", {}, words.marked(count, this.total)),
      ...rest,
      h("span", { class: "space" }),
      ...verbs,
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
      setText(this.error, error instanceof ApiError ? error.sentence : String(error));
      this.error.hidden = false;
    }
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

/** A field of a CSV. A spreadsheet must not take a text for a formula. */
export function quoted(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hands the browser a file. */
export function download(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  // The browser reads it after the click.
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** What groups and policies there are, for the sheets that offer them. */
export async function choices(): Promise<{ policies: string[]; groups: string[] }> {
  const [policies, groups] = await Promise.all([getPolicies(), getGroups()]);
  return { policies: policies.map(({ name }) => name), groups: groups.map(({ name }) => name) };
}
