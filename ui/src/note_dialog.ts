// The dialog of a note: what it says, on which time and PVs, who wrote it; written, changed, taken away and brought back.

import { faultText } from "./api.ts";
import { byId, h, setText } from "./dom.ts";
import { changeNote, removeNote, writeNote, type Note, type NoteText } from "./memos.ts";
import { MomentField } from "./moment_field.ts";
import type { Range } from "./state.ts";
import { formatTime, iso, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { noteWords as words } from "./words/note.ts";

export interface NoteActions {
  zone(): Zone;
  now(): number;
  /** The PVs of the page. */
  pvs(): string[];
  mayWrite(): boolean;
  /** Whether somebody may change what this one wrote. */
  mayChange(by: string): boolean;
  changed(): void;
}

/** More PVs than this are not offered one by one. */
const OFFERED_MAX = 50;

export class NoteDialog {
  private dialog = byId<HTMLDialogElement>("note");
  private said = h("p", { class: "said", role: "alert" });

  constructor(private actions: NoteActions) {}

  /** A new note on a stretch, or on a moment where both its ends are the same; about these PVs, or about none in particular. */
  write(range: Range, pvs: string[]): void {
    if (!this.actions.mayWrite()) return;
    const to = range.to > range.from ? iso(range.to) : null;
    this.edit(null, { text: "", pvs, from: iso(range.from), to });
  }

  /** What somebody wrote. */
  open(note: Note): void {
    const { zone } = this.actions;
    const time = (text: string) => formatTime(Date.parse(text) / 1000, zone(), 3).replace(/\.000$/, "");
    const when = note.from === null ? "" : `${time(note.from)}${note.to ? ` – ${time(note.to)}` : ""}`;
    const facts: [string, string][] = [
      [words.when, when],
      [words.about, note.pvs.length > 0 ? note.pvs.join(", ") : words.everything],
      [words.by, words.written(note.by, time(note.time))],
      ...(note.changed
        ? [[words.changed, words.written(note.changed_by ?? "", time(note.changed))] as [string, string]]
        : []),
    ];
    const mayChange = this.actions.mayWrite() && this.actions.mayChange(note.by);
    const edit = () => this.edit(note.number, note);
    this.show(
      words.title,
      h("p", { class: "note-text" }, note.text),
      h("dl", {}, ...facts.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])),
      this.said,
      ...(mayChange
        ? [
            h(
              "p",
              { class: "actions" },
              h("button", { type: "button", click: () => void this.remove(note) }, words.remove),
              h("button", { type: "button", class: "primary", click: edit }, words.edit),
            ),
          ]
        : []),
    );
  }

  private show(title: string, ...content: Node[]): void {
    setText(this.said, "");
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    this.dialog.replaceChildren(h("header", {}, h("h2", { id: "note-title" }, title), close), ...content);
    if (!this.dialog.open) this.dialog.showModal();
  }

  private edit(number: number | null, note: NoteText): void {
    const { zone, now } = this.actions;
    const clock = { zone, now };
    const text = h("textarea", { rows: "3", "aria-label": words.text, placeholder: words.hint });
    text.value = note.text;
    const [from, to] = [new MomentField(words.from, clock), new MomentField(words.to, clock, words.toHint)];
    from.read(note.from, "");
    to.read(note.to, "");
    // A field shows milliseconds: what nobody touches keeps all of its digits.
    const [shownFrom, shownTo] = [from.input.value, to.input.value];
    const written = (field: MomentField, shown: string, had: string | null) =>
      field.input.value === shown ? had : field.written() || null;
    const offered = [...new Set([...note.pvs, ...this.actions.pvs()])].slice(0, OFFERED_MAX);
    const boxes = offered.map((pv) => {
      const input = h("input", { type: "checkbox", value: pv });
      input.checked = note.pvs.includes(pv);
      return { input, label: h("label", { class: "check" }, input, pv) };
    });
    const submit = h("button", { type: "submit", class: "primary" }, words.save);
    const form = h(
      "form",
      { class: "note-form", novalidate: true },
      text,
      h("div", { class: "note-times" }, from.element, to.element),
      ...(boxes.length > 0
        ? [
            h(
              "fieldset",
              {},
              h("legend", {}, words.aboutWhich),
              h("div", { class: "note-pvs" }, ...boxes.map(({ label }) => label)),
            ),
          ]
        : []),
      this.said,
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", click: () => this.dialog.close() }, words.cancel),
        submit,
      ),
    );
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.ctrlKey) form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const begin = from.moment();
      const end = to.moment();
      if (text.value.trim() === "") return setText(this.said, words.nothing);
      if (begin === null || (end === null && to.input.value.trim() !== ""))
        return setText(this.said, words.noTime);
      if (end !== null && end < begin) return setText(this.said, words.endsBefore);
      const pvs = boxes.filter(({ input }) => input.checked).map(({ input }) => input.value);
      void this.save(number, {
        ...{ text: text.value.trim(), pvs },
        ...{ from: written(from, shownFrom, note.from), to: written(to, shownTo, note.to) },
      });
    });
    this.show(number === null ? words.newTitle : words.editTitle, form);
    text.focus();
  }

  private async save(number: number | null, note: NoteText): Promise<void> {
    try {
      await (number === null ? writeNote(note) : changeNote(number, note));
      this.dialog.close();
      this.actions.changed();
    } catch (error) {
      setText(this.said, faultText(error));
    }
  }

  /** It is gone at once, and can be brought back while the dialog is open. */
  async remove(note: Note): Promise<void> {
    const { text, pvs, from, to } = note;
    try {
      await removeNote(note.number);
      this.actions.changed();
      const undo = h(
        "button",
        { type: "button", class: "primary", click: () => void this.save(null, { text, pvs, from, to }) },
        words.undo,
      );
      this.show(
        words.removedTitle,
        h("p", { class: "note-text" }, text),
        this.said,
        h("p", { class: "actions" }, undo),
      );
      undo.focus();
    } catch (error) {
      setText(this.said, faultText(error));
    }
  }
}
