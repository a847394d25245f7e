// A condition as a row of fields: PVs, what is asked of each, and for how long it has to last.

import { isAbort, findPvs, ApiError } from "./api.ts";
import { RELATIONS, type Clause, type Condition, type Relation } from "./condition.ts";
import { h } from "./dom.ts";
import { whenWords as words } from "./words/when.ts";

const TYPING_MILLIS = 150;
const FOUND_MAX = 12;
const CLAUSES_MAX = 6;

export class Clauses {
  readonly element = h("div", { class: "clauses", role: "group", "aria-label": words.sentence });
  private length = h("input", {
    type: "text",
    "aria-label": words.length,
    placeholder: words.anyLength,
    size: "7",
  });
  private clauses: Clause[] = [];
  private names = h("datalist", { id: "when-names" });
  private timer = 0;
  private asking: AbortController | null = null;

  constructor(private changed: () => void) {
    this.length.addEventListener("input", changed);
  }

  get condition(): Condition {
    return { clauses: this.clauses, length: this.length.value };
  }

  show({ clauses, length }: Condition): void {
    this.clauses = clauses.length > 0 ? clauses.map((clause) => ({ ...clause })) : [emptyClause()];
    this.length.value = length;
    this.draw();
  }

  private draw(): void {
    const more = h(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": words.more,
        title: words.more,
        click: () => this.add(),
      },
      "+",
    );
    this.element.replaceChildren(
      ...this.clauses.map((clause, i) => this.clauseRow(clause, i)),
      ...(this.clauses.length < CLAUSES_MAX ? [more] : []),
      h("label", { class: "length-label" }, h("span", {}, words.length), this.length),
      this.names,
    );
  }

  private add(): void {
    this.clauses.push(emptyClause());
    this.draw();
    this.element
      .querySelectorAll<HTMLElement>(".clause-pv")
      .item(this.clauses.length - 1)
      .focus();
  }

  private clauseRow(clause: Clause, i: number): HTMLElement {
    const pv = h("input", {
      ...{
        type: "text",
        class: "clause-pv",
        list: "when-names",
        "aria-label": words.pv(i),
        placeholder: words.pvHint,
      },
      ...{ autocomplete: "off", spellcheck: "false" },
      input: () => {
        clause.pv = pv.value.trim();
        this.suggest(pv.value);
        this.changed();
      },
    });
    pv.value = clause.pv;
    const relation = h("select", { "aria-label": words.relation(i) });
    relation.append(...RELATIONS.map((one) => h("option", { value: one }, words.relations[one])));
    relation.value = clause.relation;
    relation.addEventListener("change", () => {
      clause.relation = relation.value as Relation;
      if (clause.relation === "alarm") clause.value = "2";
      this.draw();
      // Keep the focus, so that the arrow keys can go on through the list.
      this.element.querySelectorAll(".clause").item(i).querySelector("select")?.focus();
      this.changed();
    });
    const remove = h(
      "button",
      {
        ...{ type: "button", class: "icon-button", "aria-label": words.without(i), title: words.without(i) },
        click: () => {
          this.clauses.splice(i, 1);
          this.draw();
          this.changed();
        },
      },
      "✕",
    );
    return h(
      "div",
      { class: "clause" },
      ...(i === 0 ? [] : [h("span", { class: "faint" }, i === 1 ? words.while : words.and)]),
      pv,
      relation,
      ...this.valueFields(clause, i),
      ...(this.clauses.length > 1 ? [remove] : []),
    );
  }

  private valueFields(clause: Clause, i: number): HTMLElement[] {
    if (clause.relation === "missing") return [];
    if (clause.relation === "alarm") {
      const level = h("select", { "aria-label": words.value(i) });
      level.append(...words.levels.map((text, n) => h("option", { value: `${n + 1}` }, text)));
      level.value = clause.value;
      level.addEventListener("change", () => {
        clause.value = level.value;
        this.changed();
      });
      return [level];
    }
    const value = h("input", {
      ...{
        type: "text",
        class: "clause-value",
        "aria-label": words.value(i),
        size: "9",
        autocomplete: "off",
      },
      input: () => {
        clause.value = value.value;
        this.changed();
      },
    });
    value.value = clause.value;
    return [value];
  }

  /** Names that fit what is typed. */
  private suggest(text: string): void {
    window.clearTimeout(this.timer);
    if (text.trim().length < 2) return;
    this.timer = window.setTimeout(() => void this.find(text.trim()), TYPING_MILLIS);
  }

  private async find(text: string): Promise<void> {
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const { pvs } = await findPvs(text, FOUND_MAX, this.asking.signal);
      this.names.replaceChildren(...pvs.map(({ name }) => h("option", { value: name })));
    } catch (error) {
      // Without suggestions one can type on.
      if (!isAbort(error) && !(error instanceof ApiError)) throw error;
    }
  }
}

function emptyClause(): Clause {
  return { pv: "", relation: "above", value: "" };
}
