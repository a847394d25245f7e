// A snapshot: what a list of PVs had at one moment, and what of that differs from another, the largest change first.

import { getCsv, getDiff, getKnown, getSnapshot, type Asked } from "./analysis.ts";
import { ApiError, isAbort } from "./api.ts";
import { counted, h, setText } from "./dom.ts";
import { download } from "./file.ts";
import { readList } from "./list.ts";
import { findViews, viewNamed } from "./memos.ts";
import { MomentField } from "./moment_field.ts";
import { partParams, rememberPart } from "./part.ts";
import { rowsAt, rowsBetween, shownRows, type Shown, type SnapshotRow } from "./snapshot_rows.ts";
import { snapshotTable } from "./snapshot_table.ts";
import { iso, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { snapshotWords as words } from "./words/snapshot.ts";

/** More PVs are not compared at once: nobody reads so many rows. */
const PVS_MAX = 2000;
/** No more PVs are plotted together. */
const PLOTTED_MAX = 50;
/** Servers and mails take no addresses that are much longer. */
const ADDRESS_LETTERS_MAX = 10_000;
/** So many saved views are offered as lists. */
const NAMED_MAX = 500;
const TOLERANCES = [0, 1, 3, 10];
/** How many seconds before A a gap may lie that is told of a PV. */
const BEFORE_A = 1;

export interface SnapshotActions {
  zone(): Zone;
  now(): number;
  /** What is known of a PV around a moment. */
  details(name: string, at: number): void;
}

export class Snapshot {
  private list = h("input", {
    type: "text",
    class: "pv-list",
    "aria-label": words.list,
    placeholder: words.listHint,
    autocomplete: "off",
    spellcheck: "false",
  });
  private names: string[] | null = null;
  /** The saved view whose PVs these are. */
  private named: string | null = null;
  private views = h("select", { "aria-label": words.named, hidden: true });
  private a: MomentField;
  private b: MomentField;
  private shown: Shown = "changed";
  private byNames = false;
  private tolerance = h("select", { "aria-label": words.tolerance });
  private filters = h("div", { class: "segments", role: "group", "aria-label": words.which });
  private files = h("div", { class: "files" });
  private told = h("p", { class: "told", role: "status" });
  private error = h("p", { class: "is-error", role: "alert", hidden: true });
  private table = h("div", {
    class: "snapshot-table",
    tabindex: "0",
    role: "region",
    "aria-label": words.table,
  });
  private rows: SnapshotRow[] = [];
  private taken: { asked: Asked; at: number; before: number | null; unknown: string[] } | null = null;
  private asking: AbortController | null = null;
  /** What is said where the address does not hold the list. */
  private notKept = "";

  constructor(
    private root: HTMLElement,
    private actions: SnapshotActions,
  ) {
    this.a = new MomentField(words.a, actions, "now");
    this.b = new MomentField(words.b, actions, words.bHint);
    this.list.addEventListener("paste", (event) => this.paste(event));
    this.list.addEventListener("input", () => {
      this.names = null;
      this.setNamed(null);
    });
    this.views.addEventListener("change", () => void this.takeNamed(this.views.value));
    this.tolerance.append(
      ...TOLERANCES.map((many) => h("option", { value: `${many}` }, words.tolerances(many))),
    );
    this.tolerance.value = "1";
    this.tolerance.addEventListener("change", () => void this.take());
    const go = h("button", { type: "submit", class: "primary" }, words.take);
    const quick = (field: MomentField, texts: readonly string[]) =>
      texts.map((text) =>
        h(
          "button",
          { type: "button", click: () => (field.set(text), void this.take()) },
          words.quick[text] ?? text,
        ),
      );
    const form = h(
      "form",
      { class: "snapshot-form", novalidate: true },
      h("label", { class: "list-label" }, h("span", {}, words.list), this.list),
      h("div", { class: "of-moment named-list" }, this.views),
      h("div", { class: "of-moment" }, this.a.element, ...quick(this.a, ["now"])),
      h("div", { class: "of-moment" }, this.b.element, ...quick(this.b, ["-1 h", "-1 d", "-1 w"])),
      go,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.take();
    });
    root.append(
      form,
      h("div", { class: "snapshot-tools" }, this.filters, this.tolerance, this.files),
      this.error,
      this.table,
      this.told,
    );
  }

  start(): void {
    this.root.hidden = false;
    document.title = commonWords.pageTitle(words.title);
    const params = partParams();
    const names = params.getAll("pv").filter((name) => name !== "");
    this.takeNames(names.length > 0 ? names : null, params.get("match") ?? "");
    this.a.read(params.get("a"), "now");
    this.b.read(params.get("b"), "");
    const shown = params.get("show");
    if (shown === "all" || shown === "lacking") this.shown = shown;
    const tolerance = params.get("tol");
    if (TOLERANCES.some((many) => `${many}` === tolerance)) this.tolerance.value = tolerance!;
    void this.offerNamed();
    const named = params.get("list");
    if (named !== null) void this.takeNamed(named);
    else if (this.asked() !== null) void this.take();
    else {
      setText(this.told, words.begin);
      this.list.focus();
    }
  }

  /** Views that somebody saved, as lists: their PVs are those that were plotted in them. */
  private async offerNamed(): Promise<void> {
    const views = await findViews("", NAMED_MAX).catch((error: unknown) => {
      // They are offered to whoever may see them; a list can be named all the same.
      if (error instanceof ApiError) return [];
      throw error;
    });
    const lists = views.filter(({ pvs }) => pvs.length > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
    this.views.replaceChildren(
      h("option", { value: "" }, words.namedFirst),
      ...lists.map(({ name, pvs }) => h("option", { value: name }, words.namedOf(name, pvs.length))),
    );
    this.views.hidden = lists.length === 0;
    this.views.value = this.named ?? "";
  }

  private async takeNamed(name: string): Promise<void> {
    if (name === "") return;
    try {
      const view = await viewNamed(name);
      if (!view || view.pvs.length === 0) return this.refuse(words.noNamed(name), this.list);
      this.takeNames(view.pvs, "");
      this.setNamed(name);
      await this.take();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.refuse(error.sentence, null);
    }
  }

  private setNamed(name: string | null): void {
    this.named = name;
    this.views.value = name ?? "";
  }

  private takeNames(names: string[] | null, match: string): void {
    this.names = names;
    this.list.value =
      names === null ? match : names.length <= 4 ? names.join(" ") : words.names(names.length);
  }

  /** A pasted list is taken whole; a line with names between blanks, too. */
  private paste(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!/\s/.test(text.trim())) return;
    event.preventDefault();
    this.setNamed(null);
    this.takeNames(namesIn(text), "");
    void this.take();
  }

  private asked(): Asked | null {
    if (this.names !== null) return { names: this.names };
    const text = this.list.value.trim();
    if (text === "") return null;
    const names = /\s/.test(text) && !text.startsWith("~") ? namesIn(text) : [];
    return names.length > 1 ? { names } : { match: text };
  }

  private remember(): void {
    const asked = this.asked();
    const names = asked && "names" in asked ? asked.names : [];
    const isKept = this.named === null && names.join("&pv=").length <= ADDRESS_LETTERS_MAX;
    this.notKept = isKept || this.named !== null ? "" : words.notKept;
    rememberPart([
      ["list", this.named ?? ""],
      ...(isKept ? names.map((name): [string, string] => ["pv", name]) : []),
      ["match", asked && "match" in asked ? asked.match : ""],
      ["a", this.a.written() === "now" ? "" : this.a.written()],
      ["b", this.b.written()],
      ["show", this.shown === "changed" ? "" : this.shown],
      ["tol", this.tolerance.value === "1" ? "" : this.tolerance.value],
    ]);
  }

  private async take(): Promise<void> {
    const asked = this.asked();
    const at = this.a.moment();
    const before = this.b.moment();
    if (asked === null) return this.refuse(words.noList, this.list);
    if (at === null) return this.refuse(words.noMoment("A"), this.a.input);
    if (before === null && this.b.input.value.trim() !== "")
      return this.refuse(words.noMoment("B"), this.b.input);
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    this.remember();
    this.error.hidden = true;
    setText(this.told, words.taking);
    this.table.setAttribute("aria-busy", "true");
    try {
      await this.fetch(asked, at, before, controller.signal);
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.taken = null;
      this.rows = [];
      this.show();
      this.refuse(error.sentence, null);
    }
    this.table.removeAttribute("aria-busy");
  }

  private async fetch(asked: Asked, at: number, before: number | null, signal: AbortSignal): Promise<void> {
    const { pvs, unknown } = await getSnapshot(asked, at, signal);
    if (pvs.length === 0) throw new ApiError("bad_request", words.none(unknown), null);
    if (pvs.length > PVS_MAX) throw new ApiError("too_large", words.tooMany(pvs.length, PVS_MAX), null);
    const names = pvs.map(({ pv }) => pv);
    const [known, differences] = await Promise.all([
      getKnown(names, { from: at - BEFORE_A, to: at }, signal),
      before === null ? null : getDiff({ names }, before, at, signal),
    ]);
    this.rows = differences
      ? rowsBetween(differences, known, at, Number(this.tolerance.value))
      : rowsAt(pvs, known, at);
    this.taken = { asked, at, before, unknown };
    this.show();
  }

  private refuse(text: string, field: HTMLElement | null): void {
    setText(this.error, text);
    this.error.hidden = false;
    setText(this.told, "");
    field?.focus();
  }

  private show(): void {
    const { taken, rows } = this;
    const isCompared = taken?.before != null;
    this.tolerance.hidden = !isCompared;
    const which: Shown = isCompared || this.shown === "lacking" ? this.shown : "all";
    const count = (shown: Shown) => (shown === "all" ? rows.length : shownRows(rows, shown).length);
    const choices: Shown[] = isCompared ? ["changed", "all", "lacking"] : ["all", "lacking"];
    this.filters.replaceChildren(
      ...choices.map((shown) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(shown === which),
            "data-show": shown,
            click: () => this.choose(shown),
          },
          `${words.shown[shown]} `,
          h("b", {}, counted(count(shown))),
        ),
      ),
    );
    if (!taken) {
      this.files.replaceChildren();
      return this.table.replaceChildren();
    }
    const lackingRows = which === "lacking" ? [] : shownRows(rows, "lacking");
    const found = shownRows(rows, which);
    this.table.replaceChildren(
      snapshotTable(found, lackingRows, {
        ...{ at: taken.at, before: taken.before, zone: this.actions.zone(), byNames: this.byNames },
        details: (name) => this.actions.details(name, taken.at),
        sort: (byNames) => {
          this.byNames = byNames;
          this.show();
        },
      }),
    );
    this.showFiles(found);
    const lacking = count("lacking");
    const changed = isCompared ? count("changed") : null;
    setText(this.told, words.told(rows.length, changed, lacking, taken.unknown) + this.notKept);
  }

  private choose(shown: Shown): void {
    this.shown = shown;
    this.remember();
    this.show();
    this.filters.querySelector<HTMLElement>(`[data-show="${shown}"]`)?.focus();
  }

  private showFiles(found: SnapshotRow[]): void {
    const { asked, at, before } = this.taken!;
    const file = (text: string, name: string, path: "/at" | "/diff", pairs: string[]) =>
      h(
        "button",
        { type: "button", "data-save": name, click: () => void this.save(`${name}.csv`, path, asked, pairs) },
        text,
      );
    const plotted = found.slice(0, PLOTTED_MAX).map(({ pv }) => `pv=${encodeURIComponent(pv)}`);
    this.files.replaceChildren(
      file(words.csvAt(before === null ? "" : " A"), "snapshot", "/at", [`time=${iso(at)}`]),
      ...(before === null
        ? []
        : [
            file(words.csvAt(" B"), "snapshot-b", "/at", [`time=${iso(before)}`]),
            file(words.csvDiff, "changes", "/diff", [`before=${iso(before)}`, `after=${iso(at)}`]),
          ]),
      ...(plotted.length > 0
        ? [
            h(
              "a",
              { class: "button", href: `./?${plotted.join("&")}&${spanOf(at, before)}` },
              words.plot(plotted.length, found.length),
            ),
          ]
        : []),
    );
  }

  private async save(name: string, path: "/at" | "/diff", asked: Asked, pairs: string[]): Promise<void> {
    try {
      download(name, "text/csv", await getCsv(path, asked, pairs));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.refuse(error.sentence, null);
    }
  }
}

/** The plot around one moment, or from before the earlier to behind the later of two. */
function spanOf(at: number, before: number | null): string {
  const [from, to] = before === null ? [at, at] : [Math.min(at, before), Math.max(at, before)];
  const aside = Math.max(600, (to - from) * 0.1);
  const marks = before === null ? `at=${iso(at)}` : `at=${iso(at)}&b=${iso(before)}`;
  return `from=${iso(from - aside)}&to=${iso(to + aside)}&${marks}`;
}

function namesIn(text: string): string[] {
  const lines = text.includes("\n") ? text : text.replace(/[\s,;]+/g, "\n");
  return readList(lines)
    .filter((line) => line.reason === null)
    .map((line) => line.name.replace(/^(ca|pva):\/\//, ""));
}
