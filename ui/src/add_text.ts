// The list of names as it is typed or pasted, with the numbers of its lines, and beside each what a check said of it.

import type { NamedPv } from "./api.ts";
import { h, setText } from "./dom.ts";
import { addWords as words } from "./words/add.ts";

/** More lines than this are not marked: nobody reads so many. */
const MARKED_MAX = 20_000;

export class AddText {
  readonly head = h("h2", {}, words.title);
  readonly field = h("textarea", {
    "aria-label": words.label,
    spellcheck: "false",
    autocomplete: "off",
    wrap: "off",
    placeholder: words.placeholder,
  });
  private numbers = h("pre", { class: "line-numbers", "aria-hidden": "true" });
  private marks = h("pre", { class: "line-marks", "aria-hidden": "true" });
  readonly element = h("div", { class: "add-text" }, this.numbers, this.field, this.marks);
  private lines = -1;

  constructor() {
    const follow = () => {
      for (const beside of [this.numbers, this.marks]) beside.scrollTop = this.field.scrollTop;
    };
    this.field.addEventListener("scroll", follow);
    this.field.addEventListener("input", () => this.count());
    this.count();
  }

  get value(): string {
    return this.field.value;
  }

  set value(text: string) {
    this.field.value = text;
    this.count();
  }

  focus(): void {
    this.field.focus();
  }

  /** Beside the lines of a check: which are known already, which are refused. Once they are changed nothing is told of them. */
  mark(names: NamedPv[]): void {
    const told = new Map<number, string>();
    for (const { line, status } of names) if (status !== "new") told.set(line, words.marks[status]);
    const last = Math.min(MARKED_MAX, this.lines);
    const texts = Array.from({ length: last }, (_, i) => told.get(i + 1) ?? "");
    setText(this.marks, texts.join("\n"));
    this.show(names.find(({ status }) => status === "refused")?.line ?? 1);
  }

  /** A line is in sight, with some before it. */
  private show(line: number): void {
    const high = this.field.scrollHeight / Math.max(1, this.lines);
    this.field.scrollTop = (line - 4) * high;
    this.marks.scrollTop = this.numbers.scrollTop = this.field.scrollTop;
  }

  /** Goes to a line, which is selected: whoever types replaces it. */
  edit(line: number): void {
    const lines = this.value.split("\n");
    const from = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.field.focus();
    this.field.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
    this.show(line);
  }

  private count(): void {
    const { value } = this.field;
    setText(this.marks, "");
    const count = value === "" ? 0 : value.split("\n").length;
    setText(this.head, count === 0 ? words.title : words.countOf(count));
    if (count === this.lines) return;
    this.lines = count;
    setText(this.numbers, Array.from({ length: Math.max(1, count) }, (_, i) => i + 1).join("\n"));
  }
}
