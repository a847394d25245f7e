// The table of all PVs at /manage: only the rows in sight are there; some are marked, and the bar below orders over these.

import { faultText, type Narrow, type Pv, type Right, type StateFilter, type Status } from "./api.ts";
import { bytesText } from "./bytes.ts";
import { h, setText } from "./dom.ts";
import { download, quoted } from "./file.ts";
import { readList } from "./list.ts";
import { missingNote } from "./missing.ts";
import { Bulk } from "./pv_bulk.ts";
import { ColumnChooser, gridOf, shownColumns } from "./pv_columns.ts";
import { FacetBlocks } from "./pv_facets.ts";
import { costOf, FALLING, halfOf, isSortKey, type SortKey } from "./pv_order.ts";
import { rowOf } from "./pv_row.ts";
import { PvRows } from "./pv_rows.ts";
import type { Verb } from "./sheet_forms.ts";
import type { Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { manageWords as words } from "./words/manage.ts";

const ROW = 30;
/** No browser draws an element that is higher; beyond it the bar moves more than a row a pixel. */
const HEIGHT_MAX = 15_000_000;
const TYPING_MILLIS = 150;

export interface Sort {
  key: SortKey;
  /** The largest first. */
  falls: boolean;
}

export interface Filter {
  match: string;
  state: StateFilter;
  /** To which IOC, policy, group and adder it is narrowed. */
  narrow: Narrow;
  /** None: by name, as the archiver gives them. */
  sort: Sort | null;
  /** A list of names that was pasted. */
  list: string[] | null;
  /** The columns that were chosen; none: as many as fit. */
  columns: string[] | null;
}

export interface TableActions {
  may(right: Right): boolean;
  zone(): Zone;
  now(): number;
  details(name: string): void;
  order(verb: Verb, names: string[], bytes: number): void;
  /** The filter has changed. */
  narrowed(): void;
  status(): Status | null;
}

export class PvTable {
  readonly element: HTMLElement;
  private search = h("input", {
    type: "text",
    "aria-label": words.searchLabel,
    placeholder: words.search,
    spellcheck: "false",
    autocomplete: "off",
  });
  private facets = new FacetBlocks((change) => this.narrow(change));
  private chooser = new ColumnChooser((columns) => this.choose(columns));
  private columns: string[] = [];
  private told = h("span", { class: "told", role: "status" });
  private missing = missingNote();
  private isMissing = false;
  private scroller = h("div", {
    class: "rows-scroll",
    tabindex: "0",
    role: "grid",
    "aria-label": words.tableLabel,
    "aria-multiselectable": "true",
  });
  private space = h("div", { class: "space-high", role: "presentation" });
  private shown = h("div", { class: "rows-shown", role: "rowgroup" });
  private half = h("p", { class: "half-told", role: "status", hidden: true });
  private error = h("p", { class: "is-error", role: "alert", hidden: true });
  private head = h("div", { class: "table-row table-head", role: "row" });
  private heads = new Map<SortKey, HTMLElement>();
  private rows: PvRows;
  private bulk: Bulk;
  private marked = new Set<string>();
  private active = 0;
  private anchor = 0;
  private timer = 0;

  constructor(
    private filter: Filter,
    private actions: TableActions,
  ) {
    this.rows = new PvRows(filter, {
      changed: () => this.draw(),
      came: () => {
        this.error.hidden = true;
        this.counts();
      },
      whole: () => this.takeWhole(),
      failed: (error) => this.sayError(error),
    });
    this.bulk = new Bulk({
      ...{ may: (right) => actions.may(right), order: actions.order },
      ...{ details: (name) => actions.details(name), markAll: () => void this.markAll() },
      unmark: () => this.unmark(),
    });
    this.scroller.append(h("div", { role: "rowgroup", class: "head-group" }, this.head), this.space);
    this.space.append(this.shown);
    const csv = h("button", { type: "button", click: () => void this.csv() }, commonWords.csv);
    const half = h(
      "button",
      { type: "button", title: words.halfTitle, "data-show": "half", click: () => void this.markHalf() },
      words.halfButton,
    );
    this.element = h(
      "div",
      { class: "pvs-part" },
      this.facets.element,
      h(
        "div",
        { class: "table-side" },
        h(
          "div",
          { class: "tools" },
          this.search,
          this.facets.tokens,
          this.told,
          half,
          this.chooser.element,
          csv,
        ),
        this.half,
        this.error,
        this.missing.element,
        this.scroller,
        this.bulk.element,
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
    new ResizeObserver(() => {
      this.fit();
      this.draw();
    }).observe(this.scroller);
  }

  /** Shows the columns that were chosen, or as many as fit. */
  private fit(): void {
    const width = this.scroller.clientWidth;
    if (width === 0) return;
    const columns = shownColumns(width, this.filter.columns);
    if (columns.join() === this.columns.join()) return;
    this.columns = columns;
    const { columns: grid, least } = gridOf(columns);
    this.scroller.style.setProperty("--columns", grid);
    this.scroller.style.setProperty("--columns-least", `${this.filter.columns === null ? 0 : least}px`);
    this.heads.clear();
    const shown = words.columns.filter(([key]) => columns.includes(key));
    this.head.replaceChildren(...shown.map(([key, text]) => this.headOf(key, text)));
    this.chooser.show(columns);
    this.showSort();
  }

  private choose(columns: string[] | null): void {
    this.filter.columns = columns;
    this.actions.narrowed();
    this.fit();
    this.draw();
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
    this.rows.clear();
    this.showSort();
    this.draw();
  }

  /** Asks for what is in sight again; it stays until the answer is there. */
  renew(): void {
    this.rows.renew(...this.inSight());
  }

  /** All rows have come: marks of a list stay with those that are archived. */
  private takeWhole(): void {
    for (const name of this.rows.lacking) this.marked.delete(name);
    this.draw();
    this.showBulk();
  }

  /** The head of a column, by which the table is sorted: first as the column is most of use, then the other way, then by names. */
  private headOf(key: string, text: string): HTMLElement {
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

  private sayError(error: unknown): void {
    setText(this.error, faultText(error));
    this.error.hidden = false;
  }

  counts(): void {
    const { state, narrow } = this.filter;
    const { facets } = this.rows;
    this.facets.show({ state, narrow, facets, status: this.actions.status(), isMissing: this.isMissing });
  }

  /** A list that is pasted is what is to be seen, and it is marked: it has been chosen already. */
  private paste(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!text.trim().includes("\n")) return;
    event.preventDefault();
    // What was typed before is not looked for any more.
    window.clearTimeout(this.timer);
    const names = readList(text)
      .filter((line) => line.reason === null)
      .map((line) => line.name.replace(/^(ca|pva):\/\//, ""));
    this.search.value = words.pasted(names.length);
    this.narrow({ match: "", state: "any", narrow: {}, list: names });
    for (const name of names) this.marked.add(name);
  }

  /** The fewest PVs that take half of the bytes are shown, the costliest first, and marked: a dead band for them saves most. */
  private async markHalf(): Promise<void> {
    try {
      const half = halfOf(await this.rows.newCosts());
      this.search.value = "";
      this.narrow({
        ...{ match: "", state: "any", narrow: {}, list: half.names },
        sort: { key: "bytes", falls: true },
      });
      for (const name of half.names) this.marked.add(name);
      const share = half.all > 0 ? half.bytes / half.all : 0;
      const [bytes, all] = [bytesText(half.bytes), bytesText(half.all)];
      setText(this.half, words.half(half.names.length, half.pvs, bytes, all, share));
      this.half.hidden = false;
      this.draw();
      this.showBulk();
    } catch (error) {
      this.sayError(error);
    }
  }

  private narrow(change: Partial<Filter>): void {
    this.half.hidden = true;
    Object.assign(this.filter, change);
    this.marked.clear();
    this.active = this.anchor = 0;
    this.rows.isKnown = false;
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
    const most = Math.max(0, this.rows.total - 1);
    const high = this.rows.total * ROW;
    const first =
      high <= HEIGHT_MAX
        ? Math.floor(scrollTop / ROW)
        : Math.floor((scrollTop / (HEIGHT_MAX - clientHeight)) * (this.rows.total - room + 2));
    return [Math.max(0, Math.min(first, most)), Math.max(0, Math.min(first + room, most))];
  }

  private draw(): void {
    if (!this.element.isConnected) return;
    this.fit();
    const { rows, marked } = this;
    const { total, isKnown } = rows;
    this.space.style.height = `${Math.min(total * ROW, HEIGHT_MAX)}px`;
    this.scroller.setAttribute("aria-rowcount", String(total + 1));
    const [first, last] = this.inSight();
    if (this.error.hidden) rows.need(first, last);
    this.showMissing();
    setText(this.told, isKnown ? words.told(total, marked.size) + this.beyondText() : "…");
    const shown: HTMLElement[] = [];
    for (let index = first; index <= last && index < total; index++) shown.push(this.row(index));
    if (isKnown && total === 0) shown.push(this.none());
    const top = total * ROW <= HEIGHT_MAX ? first * ROW : this.scroller.scrollTop;
    this.shown.style.transform = `translateY(${top}px)`;
    this.shown.replaceChildren(...shown);
    const isThere = total > 0 && this.active >= first && this.active <= last;
    if (isThere) this.scroller.setAttribute("aria-activedescendant", `pv-row-${this.active}`);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  /** What the list is made without is said, and such PVs can be looked at alone. */
  private showMissing(): void {
    const { missing } = this.rows;
    this.missing.show(missing);
    const isMissing = missing !== undefined && missing.length > 0;
    if (isMissing === this.isMissing) return;
    this.isMissing = isMissing;
    this.counts();
  }

  private beyondText(): string {
    const { sortedCount, lacking, beyond } = this.rows;
    if (sortedCount === null) return "";
    if (this.filter.list !== null) return lacking.length > 0 ? words.notFound(lacking) : "";
    if (beyond === 0) return "";
    return words.beyond(sortedCount, beyond);
  }

  private none(): HTMLElement {
    const { match, state, narrow } = this.filter;
    const isAll = match === "" && state === "any" && Object.values(narrow).every((one) => one === undefined);
    return h(
      "div",
      { role: "row", class: "none" },
      h("span", { role: "gridcell" }, isAll ? words.noneAtAll : words.noneFits),
    );
  }

  private row(index: number): HTMLElement {
    const pv = this.rows.at(index);
    return rowOf(pv, {
      index,
      isMarked: pv !== null && this.marked.has(pv.name),
      isActive: index === this.active,
      cost: pv === null ? undefined : costOf(pv, this.rows.costs),
      most: this.rows.mostADay(),
      now: this.actions.now(),
      zone: this.actions.zone(),
      columns: this.columns,
    });
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
    // A head of a column, or a link, is pressed itself.
    if ((event.key === "Enter" || event.key === " ") && event.target !== this.scroller) return;
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
      this.active = Math.max(0, Math.min(this.active + by, this.rows.total - 1));
      if (event.shiftKey) this.extend();
      else this.anchor = this.active;
      this.reveal();
    } else if (event.key === " ") this.toggle();
    else if (event.key === "Enter") {
      const pv = this.rows.at(this.active);
      if (pv) location.assign(`./?pv=${encodeURIComponent(pv.name)}`);
    } else if (event.key === "a" && event.ctrlKey) void this.markAll();
    else if (event.key === "Escape" && this.marked.size > 0) this.unmark();
    else return;
    event.preventDefault();
  }

  private reveal(): void {
    if (this.rows.total * ROW <= HEIGHT_MAX) {
      const [top, high] = [this.active * ROW, this.scroller.clientHeight - ROW];
      if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
      else if (top + ROW > this.scroller.scrollTop + high) this.scroller.scrollTop = top + ROW - high;
    } else {
      const [first, last] = this.inSight();
      if (this.active < first || this.active > last - 2)
        this.scroller.scrollTop = (this.active / this.rows.total) * (HEIGHT_MAX - this.scroller.clientHeight);
    }
    this.draw();
  }

  private toggle(): void {
    const pv = this.rows.at(this.active);
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
      const pv = this.rows.at(index);
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
      this.marked = new Set((await this.rows.all()).map((pv) => pv.name));
    } catch (error) {
      this.sayError(error);
    }
    this.draw();
    this.showBulk();
  }

  private showBulk(): void {
    const names = [...this.marked];
    const bytes = names.reduce((sum, name) => sum + (this.rows.costs.get(name)?.bytes ?? 0), 0);
    this.bulk.show({ names, total: this.rows.total, bytes });
  }

  /** The list of the filter, as a file. */
  private async csv(): Promise<void> {
    try {
      download("pvs.csv", "text/csv", csvOf(await this.rows.all()));
    } catch (error) {
      this.sayError(error);
    }
  }
}

function csvOf(pvs: Pv[]): string {
  const rows = pvs.map((pv) =>
    [
      ...[pv.name, pv.state, pv.since ?? "", pv.protocol, pv.method, pv.period ?? ""],
      ...[pv.type ?? "", pv.units ?? "", pv.last?.time ?? ""],
      ...[pv.ioc ?? "", pv.policy ?? "", (pv.groups ?? []).join(" "), pv.added ?? "", pv.added_by ?? ""],
    ]
      .map(quoted)
      .join(","),
  );
  return [
    "name,state,since,protocol,method,period,type,units,last,ioc,policy,groups,added,added_by",
    ...rows,
    "",
  ].join("\r\n");
}
