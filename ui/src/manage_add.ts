// Adding PVs by a list, in three steps: the names, a check that changes nothing, then the first values.

import {
  addPvs,
  faultText,
  getPolicies,
  post,
  readNames,
  type AddResult,
  type NamedPv,
  type NamesRead,
  type Policy,
} from "./api.ts";
import { AddText } from "./add_text.ts";
import { howTable } from "./add_how.ts";
import { counted, h, setText } from "./dom.ts";
import { Firsts } from "./firsts.ts";
import { readList } from "./list.ts";
import { figure } from "./manage_parts.ts";
import { missingNote } from "./missing.ts";
import { give, removal } from "./orders.ts";
import { addWords as words } from "./words/add.ts";
import { commonWords } from "./words/common.ts";

/** So many refused lines are told. */
const TOLD = 200;

export class AddPart {
  readonly element: HTMLElement;
  private text = new AddText();
  private side = h("div", { class: "add-outcome", "aria-live": "polite" });
  private foot = h("div", { class: "part-foot", hidden: true });
  private firsts: Firsts | null = null;
  private look = h("button", { type: "button", click: () => void this.check() }, words.check);

  constructor(
    private added: () => void,
    private mayRemove: () => boolean,
  ) {
    const file = h("input", {
      type: "file",
      accept: ".txt,.csv,.list,.db,.vdb,.template,.json,text/plain,text/csv,application/json",
      class: "unseen",
      "aria-label": words.file,
      change: () => void this.load(file.files?.[0]),
    });
    const clear = () => {
      this.text.value = "";
      this.begin();
      this.text.focus();
    };
    this.listen(this.text.field);
    this.element = h(
      "div",
      { class: "add-part" },
      h(
        "div",
        { class: "add-names" },
        h(
          "div",
          { class: "tools" },
          this.text.head,
          h("label", { class: "button" }, file, words.file),
          h("button", { type: "button", click: clear }, words.clear),
        ),
        this.text.element,
        h("p", { class: "hint" }, words.hint),
        h("p", { class: "actions" }, this.look),
      ),
      h("div", { class: "footed" }, this.side, this.foot),
    );
    this.begin();
  }

  /** What is pasted or dropped is looked through at once: that changes nothing. */
  private listen(field: HTMLTextAreaElement): void {
    field.addEventListener("paste", (event) => {
      if (event.clipboardData?.getData("text").trim().includes("\n"))
        window.setTimeout(() => void this.check());
    });
    field.addEventListener("dragover", (event) => event.preventDefault());
    field.addEventListener("drop", (event) => {
      const dropped = event.dataTransfer?.files[0];
      if (!dropped) return;
      event.preventDefault();
      void this.load(dropped);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.ctrlKey) void this.check();
    });
  }

  private begin(): void {
    this.firsts?.stop();
    this.firsts = null;
    this.step(1, h("p", { class: "hint" }, words.begin));
  }

  /** The step one is at, and what it says; the buttons at the foot are those of a check. */
  private step(now: number, ...content: Node[]): void {
    this.foot.hidden = true;
    // What comes next is filled.
    this.look.classList.toggle("primary", now === 1);
    this.side.replaceChildren(steps(now), ...content);
  }

  private async load(file: File | undefined): Promise<void> {
    if (!file) return;
    this.text.value = await file.text();
    void this.check();
  }

  /** Looks which lines are names, and which of them the archive knows. Nothing is changed. */
  private async check(): Promise<void> {
    this.firsts?.stop();
    const text = this.text.value;
    if (text.trim() === "") return this.step(1, h("p", { class: "is-error", role: "alert" }, words.nothing));
    this.step(2, h("p", { class: "hint" }, words.checking));
    const begun = performance.now();
    try {
      const read = await readNames(text);
      const seconds = (performance.now() - begun) / 1000;
      // How each policy records is told where it can be had.
      const policies = await getPolicies().catch(() => []);
      // What was typed meanwhile is not what was looked at.
      if (this.text.value === text) this.show(read, policies, seconds);
    } catch (error) {
      this.step(2, h("p", { class: "is-error", role: "alert" }, faultText(error)));
    }
  }

  private show({ form, names, incomplete }: NamesRead, policies: Policy[], seconds: number): void {
    const note = missingNote();
    note.show(incomplete);
    const of = (status: NamedPv["status"]) => names.filter((named) => named.status === status);
    const [fresh, known, refused] = [of("new"), of("known"), of("refused")];
    if (form !== "appliance") this.text.mark(names);
    const paused = fresh.filter((named) => named.paused).length;
    const takes = h("small", {}, words.willRest);
    const will = figure(counted(fresh.length), words.willBe, "");
    will.lastElementChild!.replaceWith(takes);
    const { element: how, bytes } = howTable(fresh, policies);
    void bytes.then((a) => {
      if (a !== null) setText(takes, words.takes(a.bytes, a.lacking));
    });
    this.step(
      2,
      ...(form === "list" ? [] : [h("p", { class: "hint" }, words.readAs[form])]),
      note.element,
      h(
        "div",
        { class: "figures" },
        will,
        figure(counted(known.length), words.areKnown, words.knownRest),
        figure(
          counted(refused.length),
          words.areRefused,
          words.lines(
            refused.map(({ line }) => line),
            form === "appliance",
          ),
        ),
      ),
      ...this.refusals(refused, form),
      ...(fresh.length > 0 ? [h("h3", {}, words.howHead), how] : []),
      ...(paused > 0 ? [h("p", { class: "hint" }, words.pausedThere(paused))] : []),
    );
    this.side.firstElementChild!.append(h("li", { class: "faint" }, words.checked(seconds)));
    this.showFoot(fresh);
  }

  private showFoot(fresh: NamedPv[]): void {
    const archive = h(
      "button",
      { type: "button", class: "primary", click: () => void this.archive(fresh) },
      words.archive(fresh.length),
    );
    archive.disabled = fresh.length === 0;
    const back = () => {
      this.begin();
      this.text.focus();
    };
    this.foot.replaceChildren(
      h("span", { class: "faint" }, words.then),
      h("button", { type: "button", click: back }, words.back),
      archive,
    );
    this.foot.hidden = false;
    archive.focus();
  }

  /** The lines that are no names, each with why, and what can be done about it. */
  private refusals(refused: NamedPv[], form: NamesRead["form"]): Node[] {
    if (refused.length === 0) return [];
    const repairs = new Map(
      form === "list" ? readList(this.text.value).map((line) => [line.line, line.repair]) : [],
    );
    const rows = refused
      .slice(0, TOLD)
      .map(({ line, name, message }) =>
        h(
          "tr",
          {},
          h("td", { class: "faint" }, form === "appliance" ? words.entry(line) : words.line(line)),
          h("th", { scope: "row" }, h("code", {}, name)),
          h("td", {}, message ?? ""),
          h("td", { class: "num" }, form === "appliance" ? "" : this.repair(line, repairs.get(line) ?? null)),
        ),
      );
    const rest = refused.length - rows.length;
    return [
      h("h3", {}, words.refusedHead),
      h("table", { class: "list" }, h("tbody", {}, ...rows)),
      ...(rest > 0 ? [h("p", { class: "hint" }, commonWords.andMore(rest))] : []),
    ];
  }

  /** What mends a line by a press; else it is shown where it stands, to be mended by hand. */
  private repair(line: number, repair: string | null): HTMLElement {
    const link = (text: string, click: () => void) =>
      h("button", { type: "button", class: "link", click }, text);
    if (repair === null) return link(words.edit(line), () => this.text.edit(line));
    return link(words.take(repair), () => {
      const lines = this.text.value.split("\n");
      lines[line - 1] = repair;
      this.text.value = lines.join("\n");
      void this.check();
    });
  }

  private async archive(fresh: NamedPv[]): Promise<void> {
    this.step(3, h("p", { class: "hint" }, words.askingFor(fresh.length)));
    try {
      const { pvs } = await addPvs(fresh.map(({ pv }) => pv!));
      const paused = fresh.filter((named) => named.paused).map(({ name }) => bare(name));
      if (paused.length > 0) await post("/pause", { pvs: paused });
      this.report(pvs);
      this.added();
    } catch (error) {
      this.step(3, h("p", { class: "is-error", role: "alert" }, faultText(error)));
    }
  }

  /** Takes out again what was added; what was recorded meanwhile can be brought back until a purge. */
  private async undo(names: string[]): Promise<void> {
    this.firsts?.stop();
    try {
      const { changes } = await give(removal("keep"), names);
      this.step(1, h("p", { class: "counts" }, words.undone(changes)));
      this.added();
    } catch (error) {
      this.side.append(h("p", { class: "is-error", role: "alert" }, faultText(error)));
    }
  }

  private report(results: AddResult[]): void {
    const refused = results.filter(({ status }) => status === "refused");
    const names = results.filter(({ status }) => status === "added").map(({ name }) => name);
    const parts: HTMLElement[] = [h("p", { class: "counts" }, words.outcome(names.length, refused.length))];
    if (refused.length > 0)
      parts.push(
        h(
          "ul",
          {},
          ...refused
            .slice(0, TOLD)
            .map(({ name, message }) => h("li", {}, h("b", {}, name), ` ${message ?? ""}`)),
        ),
      );
    if (names.length > 0) {
      this.firsts = new Firsts(names);
      parts.push(this.firsts.element);
      if (this.mayRemove()) {
        const undo = h("button", { type: "button", class: "undo-add" }, words.undo(names.length));
        undo.addEventListener("click", () => void this.undo(names));
        parts.push(h("p", { class: "actions" }, undo));
      }
    }
    this.step(3, ...parts);
  }
}

function bare(name: string): string {
  return name.replace(/^(ca|pva):\/\//, "");
}

/** The steps; those that are done have a tick. */
function steps(now: number): HTMLElement {
  const items = words.steps.map((text, i) => {
    const isDone = i + 1 < now;
    const mark = h("i", {}, isDone ? "✓" : String(i + 1));
    return h("li", i + 1 === now ? { "aria-current": "step" } : {}, mark, text);
  });
  return h("ol", { class: "steps" }, ...items);
}
