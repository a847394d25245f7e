// The rows of the table of all PVs: in the archiver's order a page at a time as they come in sight, else all that fit, and what each costs.

import { ApiError, isAbort, sortedPvs, type Facets, type Missing, type Pv, type PvList } from "./api.ts";
import { inParts, patternOf } from "./list.ts";
import { askedOrder, getCosts, inOrder, SORTED_MAX, type Cost } from "./pv_order.ts";
import type { Filter } from "./pv_table.ts";

/** Rows are asked for in pages of so many. */
const PAGE = 200;
/** So many pages are kept. */
const PAGES_KEPT = 40;
/** All names of a filter are asked for in pages of so many. */
const NAMES_PAGE = 10_000;
/** So many parts of a pasted list are asked for at once. */
const LISTS_AT_ONCE = 4;
/** What PVs cost is asked for so often. */
const COSTS_MILLIS = 30_000;
/** Sorted lists that are longer are not asked for again and again. */
const RENEWED_MAX = 2000;

export interface RowNews {
  /** There is something new to draw. */
  changed(): void;
  /** The archiver has answered. */
  came(): void;
  /** All rows of the filter have come. */
  whole(): void;
  failed(error: unknown): void;
}

export class PvRows {
  /** How many rows there are. */
  total = 0;
  /** That is known. */
  isKnown = false;
  /** How many fit the filter beside those that are here. */
  beyond = 0;
  /** What the rows are made without, by the last answer. */
  missing: Missing[] | undefined;
  /** How many there are of each kind, by the last answer. */
  facets: Facets | null = null;
  /** Names of a pasted list that the archive does not know. */
  lacking: string[] = [];
  costs = new Map<string, Cost>();
  private pages = new Map<number, Pv[]>();
  /** All rows, where they stand in another order than by their names. */
  private sorted: Pv[] | null = null;
  private isSorting = false;
  private costsAt = -Infinity;
  private mostOf: Map<string, Cost> | null = null;
  private mostBytes = 0;
  private asked = new Map<number, AbortController>();

  constructor(
    private filter: Filter,
    private news: RowNews,
  ) {}

  /** Forgets all rows, and asks for what they cost. */
  clear(): void {
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
    this.pages.clear();
    this.sorted = null;
    this.facets = null;
    void this.askCosts();
  }

  /** All rows of the filter are here, in their order. */
  get sortedCount(): number | null {
    return this.isWhole && this.sorted !== null ? this.sorted.length : null;
  }

  /** Asks for rows that are in sight and not here. */
  need(first: number, last: number): void {
    if (this.isWhole) {
      if (this.sorted === null) void this.takeAll();
      return;
    }
    const [from, to] = this.total === 0 && !this.isKnown ? [0, 0] : [pageOf(first), pageOf(last)];
    for (let page = from; page <= to; page++) if (!this.pages.has(page)) void this.fetch(page);
  }

  /** Whether all rows are here: those of a list, or those that stand in an order that the archiver does not know. */
  get isWhole(): boolean {
    const { sort, list } = this.filter;
    return list !== null || (sort !== null && askedOrder(sort) === null);
  }

  /** How the archiver is asked: in an order that it does not know, by names. */
  private ask(offset: number, limit: number, match = this.filter.match): Parameters<typeof sortedPvs>[0] {
    const { state, sort, narrow } = this.filter;
    const { by, order } = (sort && askedOrder(sort)) ?? { by: "name", order: "asc" as const };
    return { match, state, narrow, by, order, offset, limit };
  }

  private async takeAll(): Promise<void> {
    if (this.isSorting) return;
    this.isSorting = true;
    const { sort, list, match, state, narrow } = this.filter;
    const isOutdated = () => {
      const now = this.filter;
      const isSame = now.sort === sort && now.list === list && now.match === match;
      return !isSame || now.state !== state || now.narrow !== narrow;
    };
    try {
      if (list && (sort?.key === "rate" || sort?.key === "bytes")) await this.askCosts();
      const { found, total } = list ? await this.listed(list) : await this.first();
      if (isOutdated()) return;
      this.sorted = sort ? inOrder(found, sort, this.costs) : found;
      this.beyond = total - found.length;
      this.total = found.length;
      this.isKnown = true;
      this.news.came();
      if (list) this.takeList(list, found);
    } catch (error) {
      this.news.failed(error);
    } finally {
      this.isSorting = false;
      // What is wanted meanwhile could not be asked for: whoever shows it asks now.
      if (isOutdated()) this.news.changed();
    }
    this.news.whole();
  }

  /** The first rows of the filter by their names, to be put in an order that the archiver does not know. */
  private async first(): Promise<{ found: Pv[]; total: number }> {
    const found: Pv[] = [];
    for (;;) {
      const { total, pvs } = await this.page(this.ask(found.length, NAMES_PAGE));
      found.push(...pvs);
      const isLast = pvs.length === 0 || found.length >= total;
      if (isLast || found.length >= SORTED_MAX) return { found, total: isLast ? found.length : total };
    }
  }

  /** The rows of a list, some names at a time. */
  private async listed(list: string[]): Promise<{ found: Pv[]; total: number }> {
    const wanted = new Set(list);
    const found = new Map<string, Pv>();
    const parts = inParts(list);
    const worker = async () => {
      for (let part = parts.shift(); part; part = parts.shift()) {
        const { pvs } = await this.page(this.ask(0, NAMES_PAGE, patternOf(part)));
        for (const pv of pvs) if (wanted.has(pv.name)) found.set(pv.name, pv);
      }
    };
    await Promise.all(Array.from({ length: LISTS_AT_ONCE }, worker));
    const rows = list.flatMap((name) => found.get(name) ?? []);
    return { found: rows, total: rows.length };
  }

  /** Those that are not archived are named. */
  private takeList(list: string[], found: Pv[]): void {
    const names = new Set(found.map(({ name }) => name));
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
    this.news.changed();
  }

  /** What each PV costs, as the archiver says it now. */
  async newCosts(): Promise<Map<string, Cost>> {
    this.costs = await getCosts();
    this.costsAt = performance.now();
    return this.costs;
  }

  /** Asks for what is in sight again; it stays until the answer is there. */
  renew(first: number, last: number): void {
    if (this.isWhole) return void this.renewSorted();
    void this.askCosts();
    for (let page = pageOf(first); page <= pageOf(last); page++) void this.fetch(page);
    for (const page of [...this.pages.keys()])
      if (page < pageOf(first) || page > pageOf(last)) this.pages.delete(page);
  }

  /** The order stays as it is while somebody reads; what the rows say is new. */
  private async renewSorted(): Promise<void> {
    if (this.sorted === null || this.sorted.length > RENEWED_MAX || this.isSorting) return;
    const { sorted } = this;
    const { list } = this.filter;
    try {
      const { found } = list ? await this.listed(list) : await this.first();
      const news = new Map(found.map((pv) => [pv.name, pv]));
      if (this.sorted !== sorted) return;
      this.sorted = sorted.map((pv) => news.get(pv.name) ?? pv);
      this.news.changed();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** What the newest answer is made without is said of all rows. */
  private async told(answer: Promise<PvList>, signal?: AbortSignal): Promise<PvList> {
    const page = await answer;
    if (!signal?.aborted) {
      this.missing = page.incomplete;
      // Of a list that is asked for in parts nobody has counted all.
      this.facets = this.filter.list === null ? (page.facets ?? null) : null;
    }
    return page;
  }

  private page(ask: Parameters<typeof sortedPvs>[0], signal?: AbortSignal): Promise<PvList> {
    return this.told(sortedPvs(ask, signal), signal);
  }

  at(index: number): Pv | null {
    if (this.isWhole) return this.sorted?.[index] ?? null;
    return this.pages.get(pageOf(index))?.[index % PAGE] ?? null;
  }

  private async fetch(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    const controller = new AbortController();
    this.asked.set(page, controller);
    try {
      const { total, pvs } = await this.page(this.ask(page * PAGE, PAGE), controller.signal);
      if (controller.signal.aborted) return;
      this.pages.set(page, pvs);
      this.total = total;
      this.isKnown = true;
      this.news.came();
      this.forget(page);
    } catch (error) {
      if (isAbort(error)) return;
      this.news.failed(error);
    } finally {
      if (this.asked.get(page) === controller) this.asked.delete(page);
    }
    this.news.changed();
  }

  /** Pages far from the one that has just come are asked for again when somebody comes back. */
  private forget(near: number): void {
    if (this.pages.size <= PAGES_KEPT) return;
    const far = [...this.pages.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
    for (const page of far.slice(0, this.pages.size - PAGES_KEPT)) this.pages.delete(page);
  }

  /** All that fit, in sight or not. */
  async all(): Promise<Pv[]> {
    if (this.isWhole && this.sorted !== null && this.beyond === 0) return this.sorted;
    const found: Pv[] = [];
    for (let offset = 0, total = Infinity; offset < total; offset += NAMES_PAGE) {
      const page = await sortedPvs(this.ask(offset, NAMES_PAGE));
      total = page.total;
      found.push(...page.pvs);
    }
    return found;
  }

  /** What the costliest takes a day. */
  mostADay(): number {
    if (this.mostOf !== this.costs) {
      this.mostOf = this.costs;
      this.mostBytes = 0;
      for (const { bytes } of this.costs.values()) this.mostBytes = Math.max(this.mostBytes, bytes ?? 0);
    }
    return this.mostBytes;
  }
}

function pageOf(index: number): number {
  return Math.floor(index / PAGE);
}
