// Adding PVs by a list, in three steps: the names, a check that changes nothing, then the first values.

import { addPvs, faultText, post, readNames, type AddResult, type NamedPv, type NamesRead } from "./api.ts";
import { counted, h } from "./dom.ts";
import { Firsts } from "./firsts.ts";
import { readList } from "./list.ts";
import { missingNote } from "./missing.ts";
import { give, removal } from "./orders.ts";
import { addWords as words } from "./words/add.ts";
import { commonWords } from "./words/common.ts";
import { pvsText } from "./words/counts.ts";

/** So many refused lines are told. */
const TOLD = 200;

/** Of each policy so many names are told. */
const NAMES_TOLD = 3;

export class AddPart {
  readonly element: HTMLElement;
  private text = h("textarea", {
    "aria-label": words.label,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: words.placeholder,
  });
  private side = h("div", { class: "add-outcome", "aria-live": "polite" });
  private firsts: Firsts | null = null;

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
    const check = h(
      "button",
      { type: "button", class: "primary", click: () => void this.check() },
      words.check,
    );
    const clear = () => {
      this.text.value = "";
      this.begin();
      this.text.focus();
    };
    // A list that is pasted is looked through at once: that changes nothing.
    this.text.addEventListener("paste", (event) => {
      if (event.clipboardData?.getData("text").trim().includes("\n"))
        window.setTimeout(() => void this.check());
    });
    this.text.addEventListener("dragover", (event) => event.preventDefault());
    this.text.addEventListener("drop", (event) => {
      const dropped = event.dataTransfer?.files[0];
      if (!dropped) return;
      event.preventDefault();
      void this.load(dropped);
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.ctrlKey) void this.check();
    });
    this.element = h(
      "div",
      { class: "add-part" },
      h(
        "div",
        { class: "add-names" },
        h(
          "div",
          { class: "tools" },
          h("h2", {}, words.title),
          h("label", { class: "button" }, file, words.file),
          h("button", { type: "button", click: clear }, words.clear),
        ),
        this.text,
        h("p", { class: "hint" }, words.hint),
        h("p", { class: "actions" }, check),
      ),
      this.side,
    );
    this.begin();
  }

  private begin(): void {
    this.firsts?.stop();
    this.firsts = null;
    this.side.replaceChildren(steps(1), h("p", { class: "hint" }, words.begin));
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
    if (text.trim() === "")
      return this.side.replaceChildren(steps(1), h("p", { class: "is-error", role: "alert" }, words.nothing));
    this.side.replaceChildren(steps(2), h("p", { class: "hint" }, words.checking));
    try {
      const read = await readNames(text);
      // What was typed meanwhile is not what was looked at.
      if (this.text.value === text) this.show(read);
    } catch (error) {
      this.side.replaceChildren(steps(2), h("p", { class: "is-error", role: "alert" }, faultText(error)));
    }
  }

  private show({ form, names, incomplete }: NamesRead): void {
    const note = missingNote();
    note.show(incomplete);
    const of = (status: NamedPv["status"]) => names.filter((named) => named.status === status);
    const [fresh, known, refused] = [of("new"), of("known"), of("refused")];
    const repairs = new Map(
      form === "list" ? readList(this.text.value).map((line) => [line.line, line.repair]) : [],
    );
    const figure = (count: number, text: string, rest: string) =>
      h("div", { class: "figure" }, h("b", {}, counted(count)), h("span", {}, text), h("small", {}, rest));
    const archive = h(
      "button",
      { type: "button", class: "primary", click: () => void this.archive(fresh) },
      words.archive(fresh.length),
    );
    archive.disabled = fresh.length === 0;
    const bad = refused
      .slice(0, TOLD)
      .map((named) =>
        h(
          "tr",
          {},
          h("td", {}, form === "appliance" ? words.entry(named.line) : words.line(named.line)),
          h("th", { scope: "row" }, named.name),
          h("td", {}, named.message ?? ""),
          h("td", {}, this.repair(named.line, repairs.get(named.line) ?? null)),
        ),
      );
    const rest = refused.length - bad.length;
    const paused = fresh.filter((named) => named.paused).length;
    this.side.replaceChildren(
      steps(2),
      note.element,
      ...(form === "list" ? [] : [h("p", { class: "hint" }, words.readAs[form])]),
      h(
        "div",
        { class: "figures" },
        figure(fresh.length, words.willBe, words.willRest),
        figure(known.length, words.areKnown, words.knownRest),
        figure(refused.length, words.areRefused, refused.length > 0 ? words.refusedRest : ""),
      ),
      ...(bad.length > 0
        ? [h("h3", {}, words.refusedHead), h("table", { class: "list" }, h("tbody", {}, ...bad))]
        : []),
      ...(rest > 0 ? [h("p", { class: "hint" }, commonWords.andMore(rest))] : []),
      h("h3", {}, words.howHead),
      h("table", { class: "list how-list" }, h("tbody", {}, ...howRows(fresh))),
      ...(paused > 0 ? [h("p", { class: "hint" }, words.pausedThere(paused))] : []),
      h("p", { class: "actions" }, h("span", { class: "hint" }, words.then), archive),
    );
    archive.focus();
  }

  /** What can be mended of a line by a press. */
  private repair(line: number, repair: string | null): Node {
    if (repair === null) return document.createTextNode("");
    const click = () => {
      const lines = this.text.value.split("\n");
      lines[line - 1] = repair;
      this.text.value = lines.join("\n");
      void this.check();
    };
    return h("button", { type: "button", class: "link", click }, words.take(repair));
  }

  private async archive(fresh: NamedPv[]): Promise<void> {
    this.side.replaceChildren(steps(3), h("p", { class: "hint" }, words.askingFor(fresh.length)));
    try {
      const { pvs } = await addPvs(fresh.map(({ pv }) => pv!));
      const paused = fresh.filter((named) => named.paused).map(({ name }) => bare(name));
      if (paused.length > 0) await post("/pause", { pvs: paused });
      this.report(pvs);
      this.added();
    } catch (error) {
      this.side.replaceChildren(steps(3), h("p", { class: "is-error", role: "alert" }, faultText(error)));
    }
  }

  /** Takes out again what was added; what was recorded meanwhile can be brought back until a purge. */
  private async undo(names: string[]): Promise<void> {
    this.firsts?.stop();
    try {
      const { changes } = await give(removal("keep"), names);
      this.side.replaceChildren(steps(1), h("p", { class: "counts" }, words.undone(changes)));
      this.added();
    } catch (error) {
      this.side.append(h("p", { class: "is-error", role: "alert" }, faultText(error)));
    }
  }

  private report(results: AddResult[]): void {
    const refused = results.filter(({ status }) => status === "refused");
    const names = results.filter(({ status }) => status === "added").map(({ name }) => name);
    const parts: HTMLElement[] = [
      steps(3),
      h("p", { class: "counts" }, words.outcome(names.length, refused.length)),
    ];
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
    this.side.replaceChildren(...parts);
  }
}

/** How PVs would be archived: by which policy how many of them, and what was given for them. */
function howRows(fresh: NamedPv[]): HTMLElement[] {
  const kinds = new Map<string, string[]>();
  for (const { name, policy, pv } of fresh) {
    const kind =
      pv?.method === "scan" ? words.givenScan : policy === null ? words.byNoPolicy : words.byPolicy(policy);
    const names = kinds.get(kind);
    if (names) names.push(name);
    else kinds.set(kind, [name]);
  }
  return [...kinds].map(([kind, names]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, kind),
      h("td", { class: "num" }, pvsText(names.length)),
      h(
        "td",
        { class: "faint" },
        `${names.slice(0, NAMES_TOLD).join(", ")}${names.length > NAMES_TOLD ? " …" : ""}`,
      ),
    ),
  );
}

function bare(name: string): string {
  return name.replace(/^(ca|pva):\/\//, "");
}

function steps(now: number): HTMLElement {
  const items = words.steps.map((text, i) =>
    h("li", i + 1 === now ? { "aria-current": "step" } : {}, h("i", {}, String(i + 1)), text),
  );
  return h("ol", { class: "steps" }, ...items);
}
