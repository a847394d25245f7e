// The sheet of an order over many PVs: what it would do, to how many and which, what follows, then the button; afterwards what came of it, and undo.

import { faultText, renamePv } from "./api.ts";
import { byId, h, setText } from "./dom.ts";
import {
  foresee,
  foreseeUndo,
  give,
  justGiven,
  newestOrder,
  ORDER_MAX,
  refusedOf,
  takeBack,
  type Moved,
  type Order,
  type Outcome,
  type Undoable,
  type Undoing,
} from "./orders.ts";
import { bytesText } from "./bytes.ts";
import { formOf, type Form, type Renaming, type Verb } from "./sheet_forms.ts";
import { formatTime, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { pvsText } from "./words/counts.ts";
import { sheetWords as words } from "./words/sheet.ts";

/** So many names are told. */
const NAMES_TOLD = 3;
/** So many refusals are told. */
const REFUSED_TOLD = 200;
/** A plan is asked for once typing has rested so long. */
const TYPING_MILLIS = 300;

export interface SheetActions {
  /** Something was changed. */
  done(): void;
  zone(): Zone;
  now(): number;
}

export class Sheet {
  private dialog = byId<HTMLDialogElement>("sheet-dialog");
  private wrong = h("p", { class: "said", role: "alert" });
  private planning: AbortController | null = null;
  private timer = 0;

  constructor(
    private actions: SheetActions,
    private bar: HTMLElement,
  ) {
    this.dialog.addEventListener("close", () => {
      window.clearTimeout(this.timer);
      this.planning?.abort();
    });
  }

  /** Says beforehand what an order will do, and to how many PVs; `bytes` is what they take a day, where that is known. */
  async open(verb: Verb, names: string[], bytes = 0): Promise<void> {
    const head = this.head(words.titles[verb]);
    this.dialog.replaceChildren(head, h("p", { class: "hint" }, "…"));
    this.dialog.showModal();
    let form: Form;
    try {
      form = await formOf(verb, names);
    } catch (error) {
      this.dialog.replaceChildren(head, h("p", { class: "is-error", role: "alert" }, sentence(error)));
      return;
    }
    const plan = h("div", { class: "plan", role: "status" });
    const submit = h("button", { type: "submit", class: "primary" }, words.button(verb, names.length));
    const saves = bytes > 0 && (verb === "pause" || verb === "remove");
    const facts: [string, string][] = [
      [words.what, words.does[verb]],
      [words.toWhich, whichText(names)],
      [words.follows, words.then[verb]],
      ...(saves ? [[words.saved, words.savesADay(bytesText(bytes))] as [string, string]] : []),
      [words.undone, words.back[verb]],
    ];
    const body = this.form(facts, [...form.fields, plan], submit, () => {
      const order = form.order();
      if (typeof order === "string") return setText(this.wrong, order);
      this.dialog.close();
      void ("path" in order ? this.carryOut(verb, names, order) : this.rename(order));
    });
    const foresee = () => {
      setText(this.wrong, "");
      const order = form.order();
      if (typeof order === "string" || !("path" in order)) return plan.replaceChildren();
      void this.foresee(verb, names, order, plan, submit);
    };
    body.addEventListener("input", () => {
      // What the plan said was of other settings.
      submit.disabled = false;
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(foresee, TYPING_MILLIS);
    });
    this.dialog.replaceChildren(head, body);
    (body.querySelector<HTMLElement>("select, input") ?? submit).focus();
    foresee();
  }

  /** Says beforehand what taking an order back will do. */
  async openUndo(order: Undoable): Promise<void> {
    const head = this.head(words.takeBackTitle);
    this.dialog.replaceChildren(head, h("p", { class: "hint" }, "…"));
    this.dialog.showModal();
    try {
      const plan = await foreseeUndo(order.number);
      const submit = h("button", { type: "submit", class: "primary" }, words.takeBackButton(plan.changes));
      submit.disabled = plan.changes === 0;
      const refused = refusedOf(plan.pvs);
      const changed = plan.pvs.filter((pv) => !refused.includes(pv)).map(({ name }) => name);
      const facts: [string, string][] = [
        [words.what, words.takesBack(order.action, order.by, this.dayOf(order.time))],
        [words.toWhich, whichText(changed)],
        [words.follows, words.asBefore],
        [words.undone, words.takenBackAgain],
      ];
      const more = refused.length > 0 ? [this.refusals(words.staysAsItIs(refused.length), refused)] : [];
      const body = this.form(facts, more, submit, () => {
        this.dialog.close();
        void this.undo(order.number);
      });
      this.dialog.replaceChildren(head, body);
      submit.focus();
    } catch (error) {
      this.dialog.replaceChildren(head, h("p", { class: "is-error", role: "alert" }, sentence(error)));
    }
  }

  private head(title: string): HTMLElement {
    setText(this.wrong, "");
    return h("header", {}, h("h2", { id: "sheet-title" }, title), this.close());
  }

  private close(): HTMLElement {
    return h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
  }

  private form(
    facts: [string, string][],
    fields: HTMLElement[],
    submit: HTMLButtonElement,
    take: () => void,
  ): HTMLFormElement {
    const cancel = h("button", { type: "button", click: () => this.dialog.close() }, words.cancel);
    const body = h(
      "form",
      { class: "order", novalidate: true },
      h("dl", {}, ...facts.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])),
      ...fields,
      this.wrong,
      h("p", { class: "actions" }, cancel, submit),
    );
    body.addEventListener("submit", (event) => {
      event.preventDefault();
      take();
    });
    return body;
  }

  /** Asks what an order would do, says it, and has the button count it. */
  private async foresee(
    verb: Verb,
    names: string[],
    order: Order,
    said: HTMLElement,
    submit: HTMLButtonElement,
  ): Promise<void> {
    this.planning?.abort();
    const controller = new AbortController();
    this.planning = controller;
    said.replaceChildren(h("p", { class: "hint" }, words.planning));
    try {
      const { changes, pvs } = await foresee(order, names.slice(0, ORDER_MAX), controller.signal);
      if (controller.signal.aborted) return;
      const rest = Math.max(0, names.length - ORDER_MAX);
      submit.disabled = changes + rest === 0;
      setText(submit, words.button(verb, changes + rest));
      const refused = refusedOf(pvs);
      const text = h("p", {}, words.wouldChange(changes, names.length - rest, rest));
      said.replaceChildren(
        text,
        ...(refused.length > 0 ? [this.refusals(words.wouldNot(refused.length), refused)] : []),
      );
    } catch (error) {
      if (controller.signal.aborted) return;
      said.replaceChildren(h("p", { class: "is-error", role: "alert" }, sentence(error)));
    }
  }

  private refusals(title: string, refused: Moved[]): HTMLElement {
    return h("details", {}, h("summary", {}, title), refusedList(refused));
  }

  /** Gives the order, at once for as many PVs as the archiver takes in one change, and looks how it can be taken back. */
  private async carryOut(verb: Verb, names: string[], order: Order): Promise<void> {
    const results: Moved[] = [];
    let [broken, changes, since]: [string | null, number, number] = [null, 0, 0];
    const undo: Undoable[] = [];
    let isTraced = true;
    this.say(h("span", {}, words.progress(verb, 0, names.length)));
    for (let at = 0; at < names.length && broken === null; at += ORDER_MAX) {
      const part = names.slice(at, at + ORDER_MAX);
      let outcome: Outcome;
      try {
        since = await newestOrder();
        outcome = await give(order, part);
      } catch (error) {
        broken = sentence(error);
        break;
      }
      results.push(...outcome.pvs);
      changes += outcome.changes;
      if (outcome.changes > 0) {
        const given = await justGiven(since, order.actions, outcome.changes).catch(() => null);
        if (given) undo.push(given);
        else isTraced = false;
      }
      this.say(h("span", {}, words.progress(verb, results.length, names.length)));
    }
    this.tell(words.outcome(verb, changes), {
      broken: broken === null ? null : words.broken(names.length - results.length, broken),
      refused: refusedOf(results),
      undo: isTraced ? undo : null,
    });
    this.actions.done();
  }

  /** Carries out an order whose PVs the archiver finds itself, as the policies of its config file; `act` gives how many were changed. */
  async carryOutWhole(
    act: () => Promise<number>,
    outcome: (changes: number) => string,
    nothing: string,
  ): Promise<void> {
    try {
      const since = await newestOrder();
      const changes = await act();
      const given = changes > 0 ? await justGiven(since, ["changed"], changes).catch(() => null) : null;
      const undo = given ? [given] : changes > 0 ? null : [];
      this.tell(outcome(changes), { broken: null, refused: [], undo });
    } catch (error) {
      this.tell(nothing, { broken: sentence(error), refused: [], undo: [] });
    }
    this.actions.done();
  }

  /** Takes an order back, the same way. */
  private async undo(number: number): Promise<void> {
    this.say(h("span", {}, words.takingBack));
    let done: Undoing;
    let again: Undoable | null = null;
    try {
      const since = await newestOrder();
      done = await takeBack(number);
      if (done.changes > 0) again = await justGiven(since, ["undone"], done.changes).catch(() => null);
    } catch (error) {
      this.tell(words.notTakenBack, { broken: sentence(error), refused: [], undo: [] });
      return this.actions.done();
    }
    this.tell(words.takenBack(done.changes), {
      ...{ broken: null, refused: refusedOf(done.pvs) },
      undo: again ? [again] : done.changes > 0 ? null : [],
    });
    this.actions.done();
  }

  /** Another name is taken back by the name of before: the archiver does not list it. */
  private async rename({ from, to, alias }: Renaming): Promise<void> {
    this.say(h("span", {}, words.progress("rename", 0, 1)));
    try {
      await renamePv(from, to, alias);
      const back = () => void this.rename({ from: to, to: from, alias: false });
      this.say(
        h("b", {}, words.outcome("rename", 1)),
        h("span", { class: "space" }),
        this.undoButton(words.undo, back),
        this.hide(),
      );
    } catch (error) {
      this.tell(words.outcome("rename", 0), { broken: sentence(error), refused: [], undo: [] });
    }
    this.actions.done();
  }

  /** Says what came of an order; `undo` are those that take it back, none where it cannot be told which these are. */
  private tell(
    outcome: string,
    { broken, refused, undo }: { broken: string | null; refused: Moved[]; undo: Undoable[] | null },
  ): void {
    const parts: (Node | string)[] = [h("b", {}, outcome)];
    if (broken !== null) parts.push(h("span", {}, broken));
    if (refused.length > 0)
      parts.push(
        h(
          "button",
          { type: "button", click: () => this.showRefused(refused) },
          words.refused(refused.length),
        ),
      );
    parts.push(h("span", { class: "space" }));
    if (undo === null) parts.push(h("a", { class: "button", href: "manage?part=undo" }, words.undoIsListed));
    for (const order of undo ?? [])
      parts.push(
        h("span", {}, words.undoneUntil(this.dayOf(order.until))),
        this.undoButton(
          undo!.length > 1 ? `${words.undo} ${pvsText(order.pvs)}` : words.undo,
          () => void this.undo(order.number),
        ),
      );
    parts.push(this.hide());
    this.say(...parts);
  }

  private undoButton(text: string, click: () => void): HTMLElement {
    return h("button", { type: "button", class: "undo-order", click }, text);
  }

  private hide(): HTMLElement {
    return h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => (this.bar.hidden = true) },
      "✕",
    );
  }

  private dayOf(time: string): string {
    return dayText(Date.parse(time) / 1000, this.actions.now(), this.actions.zone());
  }

  private say(...parts: (Node | string)[]): void {
    this.bar.hidden = false;
    this.bar.replaceChildren(...parts);
  }

  private showRefused(refused: Moved[]): void {
    this.dialog.replaceChildren(
      h("header", {}, h("h2", { id: "sheet-title" }, words.refusedTitle(refused.length)), this.close()),
      refusedList(refused),
    );
    this.dialog.showModal();
  }
}

/** `tomorrow 03:14`: a moment of these days. */
export function dayText(at: number, now: number, zone: Zone): string {
  const [day, clock] = formatTime(at, zone, 0).split(" ") as [string, string];
  const isOf = (moment: number) => formatTime(moment, zone, 0).startsWith(day);
  const name = isOf(now) ? "today" : isOf(now + 86_400) ? "tomorrow" : isOf(now - 86_400) ? "yesterday" : day;
  return `${name} ${clock.slice(0, 5)}`;
}

function refusedList(refused: Moved[]): HTMLElement {
  const lines = refused
    .slice(0, REFUSED_TOLD)
    .map(({ name, status, message }) =>
      h("li", {}, h("b", {}, name), ` ${message ?? words.because(status)}`),
    );
  const rest = refused.length - lines.length;
  if (rest > 0) lines.push(h("li", {}, commonWords.andMore(rest)));
  return h("ul", {}, ...lines);
}

function whichText(names: string[]): string {
  if (names.length === 0) return words.toNone;
  const told = names.slice(0, NAMES_TOLD).join(", ");
  const rest = names.length - NAMES_TOLD;
  return `${pvsText(names.length)}: ${told}${rest > 0 ? ` ${commonWords.andMore(rest)}` : ""}`;
}

function sentence(error: unknown): string {
  return faultText(error);
}
