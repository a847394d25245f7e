// A table at a moment: its rows, a part at a time, and beside them a column of numbers against the number of the row or another column.

import type { Json } from "./api.ts";
import { formatNumber } from "./decode.ts";
import { counted, h, setText } from "./dom.ts";
import type { Table } from "./nt_table.ts";
import { PairChart } from "./pair_chart.ts";
import type { Palette } from "./style.ts";
import { WaveChart } from "./wave_chart.ts";
import { structureWords as words } from "./words/structure.ts";

/** So many rows are shown at a time. */
const PAGE = 200;

export class TableView {
  readonly element = h("div", { class: "nt-table" });
  private head = h("tr");
  private rows = h("tbody");
  private place = h("span", { class: "faint", role: "status" });
  private back = this.button("◂", words.rowsBefore, -PAGE);
  private on = this.button("▸", words.rowsNext, PAGE);
  private pager = h("div", { class: "nt-pager" }, this.place, this.back, this.on);
  private against = h("select", { "aria-label": words.against, change: () => this.draw() });
  private chosen = h("select", { "aria-label": words.column, change: () => this.draw() });
  private chart: HTMLElement;
  private line: WaveChart;
  private pairs: PairChart;
  private first = 0;
  private labels = "";
  private shown: { table: Table; stroke: string; palette: Palette } | null = null;

  /** `say` tells what is under the mouse. */
  constructor(
    private name: string,
    private say: (text: string) => void,
  ) {
    this.line = new WaveChart((index) => this.pointRow(index));
    this.pairs = new PairChart((row) => this.pointRow(row));
    this.chart = h(
      "div",
      { class: "nt-chart" },
      h(
        "div",
        { class: "nt-fields" },
        h("label", {}, words.column, " ", this.chosen),
        h("label", {}, words.against, " ", this.against),
      ),
      this.line.element,
      this.pairs.element,
    );
    this.element.append(
      h(
        "div",
        { class: "nt-rows" },
        h(
          "div",
          { class: "nt-scroll", tabindex: "0", role: "region", "aria-label": words.tableOf(name) },
          h("table", {}, h("thead", {}, this.head), this.rows),
        ),
        this.pager,
      ),
      this.chart,
    );
  }

  private button(text: string, label: string, by: number): HTMLButtonElement {
    const click = () => {
      this.first += by;
      this.draw();
    };
    return h("button", { type: "button", "aria-label": label, title: label, click }, text);
  }

  show(table: Table, stroke: string, palette: Palette): void {
    this.shown = { table, stroke, palette };
    const labels = JSON.stringify(table.columns.map(({ label, numbers }) => [label, numbers !== null]));
    if (labels !== this.labels) this.fillChoices(table);
    this.labels = labels;
    this.draw();
  }

  /** Columns of numbers can be chosen; what was chosen stays while there is a column of that name. */
  private fillChoices({ columns }: Table): void {
    const numeric = columns.flatMap(({ label, numbers }, i) =>
      numbers ? [{ label, value: String(i) }] : [],
    );
    const labelOf = (select: HTMLSelectElement) => select.selectedOptions[0]?.textContent;
    const fill = (select: HTMLSelectElement, options: { label: string; value: string }[]) => {
      const before = labelOf(select);
      select.replaceChildren(...options.map(({ label, value }) => h("option", { value }, label)));
      const same = options.find(({ label }) => label === before);
      if (same) select.value = same.value;
    };
    fill(this.chosen, numeric);
    fill(this.against, [{ label: words.rowNumber, value: "" }, ...numeric]);
    this.chart.hidden = numeric.length === 0;
    this.head.replaceChildren(
      h("th", { scope: "col" }, words.row),
      ...columns.map(({ label, numbers }, i) =>
        h(
          "th",
          { scope: "col", class: numbers ? "is-number" : "" },
          numbers
            ? h(
                "button",
                { type: "button", class: "link", title: words.plot(label), click: () => this.choose(i) },
                label,
              )
            : label,
        ),
      ),
    );
  }

  private choose(column: number): void {
    this.chosen.value = String(column);
    this.draw();
  }

  private draw(): void {
    if (!this.shown) return;
    const { table, stroke, palette } = this.shown;
    this.first = Math.max(0, Math.min(this.first, Math.floor(Math.max(0, table.rows - 1) / PAGE) * PAGE));
    const end = Math.min(this.first + PAGE, table.rows);
    const cellOf = (cell: Json | undefined, isNumber: boolean) =>
      h("td", { class: isNumber ? "is-number" : "" }, textOf(cell));
    this.rows.replaceChildren(
      ...Array.from({ length: end - this.first }, (_, i) => {
        const row = this.first + i;
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, String(row)),
          ...table.columns.map(({ cells, numbers }) => cellOf(cells[row], numbers !== null)),
        );
      }),
    );
    this.pager.hidden = table.rows <= PAGE && table.rows > 0;
    setText(
      this.place,
      table.rows === 0
        ? words.noRows
        : words.rows(counted(this.first), counted(end - 1), counted(table.rows)),
    );
    this.back.hidden = this.on.hidden = table.rows <= PAGE;
    this.back.disabled = this.first === 0;
    this.on.disabled = end >= table.rows;
    const y = table.columns[Number(this.chosen.value)];
    if (this.chart.hidden || !y?.numbers) return;
    for (const [i, button] of [...this.head.querySelectorAll("th:not(:first-child)")].entries())
      button.querySelector("button")?.setAttribute("aria-pressed", String(String(i) === this.chosen.value));
    const x = this.against.value === "" ? null : table.columns[Number(this.against.value)];
    this.line.element.hidden = x !== null;
    this.pairs.element.hidden = x === null;
    if (!x?.numbers) {
      const label = words.columnOf(y.label, this.name, y.numbers.length);
      this.line.show(y.numbers, stroke, palette, label);
    } else {
      const label = words.pairsOf(y.label, x.label, this.name);
      this.pairs.show(x.numbers, y.numbers, { x: x.label, y: y.label }, stroke, palette, label);
    }
  }

  private pointRow(row: number | null): void {
    const { table } = this.shown ?? {};
    if (row === null || !table) return this.say("");
    const [y, x] = [this.chosen, this.against].map(({ value }) =>
      value === "" ? undefined : table.columns[Number(value)],
    );
    const of = (column: typeof y) => (column ? `${column.label} = ${textOf(column.cells[row])}` : "");
    this.say([`[${row}]`, of(x), of(y)].filter((text) => text !== "").join("  "));
  }
}

/** What stands in a cell: nothing where a column is shorter than others. */
function textOf(cell: Json | undefined): string {
  if (cell === undefined || cell === null) return "";
  if (typeof cell === "number") return formatNumber(cell, null);
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}
