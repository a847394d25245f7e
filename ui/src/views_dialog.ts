// The dialog of named views: in their folders, found by words, opened, renamed, taken away and brought back.

import { faultText } from "./api.ts";
import { copyText } from "./copy.ts";
import { byId, h, setText } from "./dom.ts";
import { changeView, findViews, linkOf, removeView, saveView, type SavedView } from "./memos.ts";
import { commonWords } from "./words/common.ts";
import { viewWords as words } from "./words/view.ts";

export interface ViewsActions {
  open(view: SavedView): void;
  mayWrite(): boolean;
  /** Whether somebody may change what this one saved. */
  mayChange(by: string): boolean;
}

const VIEWS_MAX = 1000;
const TYPING_MILLIS = 150;

export class ViewsDialog {
  private dialog = byId<HTMLDialogElement>("views");
  private search = h("input", {
    type: "text",
    "aria-label": words.search,
    placeholder: words.searchHint,
    spellcheck: "false",
    autocomplete: "off",
  });
  private list = h("div", { class: "view-folders" });
  private said = h("p", { class: "said", role: "status" });
  private timer = 0;
  private asking: AbortController | null = null;

  constructor(private actions: ViewsActions) {
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    this.dialog.append(
      h("header", {}, h("h2", { id: "views-title" }, words.title), close),
      this.search,
      this.said,
      this.list,
    );
    this.search.addEventListener("input", () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.ask(), TYPING_MILLIS);
    });
    this.dialog.addEventListener("close", () => this.asking?.abort());
  }

  show(): void {
    setText(this.said, "");
    this.search.value = "";
    if (!this.dialog.open) this.dialog.showModal();
    this.search.focus();
    void this.ask();
  }

  private async ask(): Promise<void> {
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    try {
      const views = await findViews(this.search.value.trim(), VIEWS_MAX, controller.signal);
      this.fill(views);
    } catch (error) {
      if (controller.signal.aborted) return;
      this.list.replaceChildren(h("p", { class: "is-error", role: "alert" }, sentence(error)));
    }
  }

  private fill(views: SavedView[]): void {
    if (views.length === 0) {
      const text = this.search.value.trim() === "" ? words.none : words.noneFits;
      return this.list.replaceChildren(h("p", { class: "hint" }, text));
    }
    const folders = [...new Set(views.map(({ name }) => folderOf(name)))].sort();
    this.list.replaceChildren(
      ...folders.map((folder) => {
        const within = views
          .filter(({ name }) => folderOf(name) === folder)
          .sort((a, b) => (a.name < b.name ? -1 : 1));
        const title = folder === "" ? words.loose : folder;
        return h(
          "details",
          { open: true },
          h("summary", {}, title, " ", h("span", { class: "faint" }, String(within.length))),
          h("ul", {}, ...within.map((view) => this.row(view))),
        );
      }),
    );
  }

  private row(view: SavedView): HTMLElement {
    const open = () => {
      this.dialog.close();
      this.actions.open(view);
    };
    const copy = async () => {
      const link = linkOf(view);
      setText(this.said, (await copyText(link)) ? words.copied : link);
    };
    const row = h("li", { "data-view": view.name });
    const mayChange = this.actions.mayWrite() && this.actions.mayChange(view.by);
    row.append(
      h(
        "button",
        { type: "button", class: "link view-name", "aria-label": words.open(view.name), click: open },
        view.name.slice(folderOf(view.name).length).replace(/^\//, ""),
      ),
      h(
        "span",
        { class: "faint" },
        [view.text, words.view(view.pvs.length, view.by)].filter(Boolean).join(" · "),
      ),
      h("span", { class: "space" }),
      h("button", { type: "button", class: "link", click: () => void copy() }, words.copy),
      ...(mayChange
        ? [
            h("button", { type: "button", class: "link", click: () => this.edit(view, row) }, words.edit),
            h("button", { type: "button", class: "link", click: () => void this.remove(view) }, words.remove),
          ]
        : []),
    );
    return row;
  }

  private edit(view: SavedView, row: HTMLElement): void {
    const name = h("input", { type: "text", "aria-label": words.name, spellcheck: "false" });
    const text = h("input", { type: "text", "aria-label": words.text });
    [name.value, text.value] = [view.name, view.text];
    const form = h(
      "form",
      { class: "view-edit", novalidate: true },
      name,
      text,
      h("button", { type: "submit", class: "primary" }, words.save),
      h("button", { type: "button", click: () => void this.ask() }, words.cancel),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (name.value.trim() === "") return setText(this.said, words.nameWanted);
      const { query, pvs } = view;
      void this.order(() =>
        changeView(view.number, { name: name.value.trim(), text: text.value.trim(), query, pvs }),
      );
    });
    row.replaceChildren(form);
    name.focus();
  }

  /** It is gone at once; until the dialog says something else it can be brought back. */
  private async remove(view: SavedView): Promise<void> {
    const { name, text, query, pvs } = view;
    if (!(await this.order(() => removeView(view.number)))) return;
    const undo = h(
      "button",
      { type: "button", click: () => void this.order(() => saveView({ name, text, query, pvs })) },
      words.undo,
    );
    this.said.replaceChildren(words.removed(name), " ", undo);
    undo.focus();
  }

  private async order(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      setText(this.said, "");
      await this.ask();
      return true;
    } catch (error) {
      setText(this.said, sentence(error));
      return false;
    }
  }
}

function folderOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

function sentence(error: unknown): string {
  return faultText(error);
}
