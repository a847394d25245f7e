// The dialog that adds PVs to the archive and says what became of each.

import { addPvs, faultText, getPv, type AddResult, type NewPv } from "./api.ts";
import { byId, counted, h, setText } from "./dom.ts";
import { Firsts } from "./firsts.ts";
import { readNames } from "./names.ts";
import { archiveWords as words } from "./words/archive.ts";
import { commonWords } from "./words/common.ts";

/** Of so many new PVs each has a line of its own; the dialog asks for each, so often, until an IOC has answered. */
const FOLLOWED_MAX = 20;
const FOLLOW_MILLIS = 1000;

/** Of more, those that were refused have a line each, up to so many, and the others are counted. */
const REFUSED_TOLD_MAX = 200;

/** No more PVs than this are offered to be plotted together. */
const PLOTTED_MAX = 40;

export class AddDialog {
  private dialog = byId<HTMLDialogElement>("add");
  private names = byId<HTMLTextAreaElement>("add-names");
  private period = byId<HTMLInputElement>("add-period");
  private outcome = byId("add-outcome");
  private timer = 0;
  private firsts: Firsts | null = null;

  /** `plot` is called with names that shall be shown; `added` after something changed. */
  constructor(
    private plot: (names: string[]) => void,
    private added: () => void,
  ) {
    byId("add-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    byId("add-close").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.leave());
    for (const radio of this.dialog.querySelectorAll<HTMLInputElement>("input[name=method]")) {
      radio.addEventListener("change", () => (this.period.disabled = this.method() === "monitor"));
    }
  }

  open(name: string): void {
    this.names.value = name;
    this.outcome.replaceChildren();
    this.period.disabled = this.method() === "monitor";
    this.dialog.showModal();
    this.names.focus();
  }

  private method(): NewPv["method"] {
    const scan = this.dialog.querySelector<HTMLInputElement>("input[name=method][value=scan]");
    return scan?.checked ? "scan" : "monitor";
  }

  private async submit(): Promise<void> {
    const { names, refused } = readNames(this.names.value);
    if (names.length === 0 && refused.length === 0) return this.refuse(words.noName);
    if (names.length === 0) return this.report(refused);
    const method = this.method();
    const period = Number(this.period.value);
    if (method === "scan" && !(period > 0)) return this.refuse(words.wrongPeriod);
    this.leave();
    this.outcome.replaceChildren(h("p", {}, words.asking(counted(names.length))));
    try {
      const { pvs } = await addPvs(
        names.map((name) => (method === "scan" ? { name, method, period } : { name, method })),
      );
      this.report([...refused, ...pvs]);
      this.added();
    } catch (error) {
      this.refuse(faultText(error));
    }
  }

  /** What came of the PVs before is not followed any more. */
  private leave(): void {
    window.clearTimeout(this.timer);
    this.firsts?.stop();
    this.firsts = null;
  }

  private refuse(text: string): void {
    this.leave();
    this.outcome.replaceChildren(h("p", { class: "is-error" }, text));
  }

  private report(results: AddResult[]): void {
    this.leave();
    const waiting = new Map<string, HTMLElement>();
    const lines = results.length > FOLLOWED_MAX ? this.summary(results) : [each(results, waiting)];
    const taken = results.filter((result) => result.status !== "refused");
    const good = [...new Set(taken.map((result) => result.name))];
    const click = () => {
      this.dialog.close();
      this.plot(good);
    };
    const button = h(
      "button",
      { type: "button", class: "primary", click },
      good.length > 1 ? words.plotThem : commonWords.plotIt,
    );
    const isPlotted = good.length > 0 && good.length <= PLOTTED_MAX;
    this.outcome.replaceChildren(...lines, ...(isPlotted ? [button] : []));
    if (isPlotted) button.focus();
    void this.follow(waiting);
  }

  /** Of many: how many, those that were refused with their reasons, and how far the others are. */
  private summary(results: AddResult[]): HTMLElement[] {
    const of = (status: AddResult["status"]) => results.filter((result) => result.status === status);
    const counts = (Object.keys(words.becameMany) as AddResult["status"][])
      .filter((status) => of(status).length > 0)
      .map((status) => `${counted(of(status).length)} ${words.becameMany[status]}`);
    const refused = of("refused");
    const told = refused
      .slice(0, REFUSED_TOLD_MAX)
      .map((result) => line(result, h("span", {}, saidOf(result))));
    const rest = refused.length - told.length;
    if (rest > 0) told.push(h("li", {}, commonWords.andMore(rest)));
    const parts: HTMLElement[] = [h("p", { class: "counts" }, `${counts.join(", ")}.`)];
    if (told.length > 0) parts.push(h("ul", {}, ...told));
    const added = of("added").map((result) => result.name);
    if (added.length === 0) return parts;
    this.firsts = new Firsts(added);
    return [...parts, this.firsts.element];
  }

  /** Says of new PVs when an IOC has answered: only then is anything archived. */
  private async follow(waiting: Map<string, HTMLElement>): Promise<void> {
    const asked = [...waiting].map(async ([name, text]) => {
      const { state } = await getPv(name);
      if (state !== "connected") return;
      setText(text, words.isConnected);
      waiting.delete(name);
    });
    await Promise.allSettled(asked);
    const isShown = [...waiting.values()].some((text) => text.isConnected);
    if (isShown && this.dialog.open)
      this.timer = window.setTimeout(() => void this.follow(waiting), FOLLOW_MILLIS);
  }
}

function saidOf(result: AddResult): string {
  return `${words.became[result.status] ?? result.status}${result.message ? `: ${result.message}` : ""}`;
}

function line(result: AddResult, said: HTMLElement): HTMLElement {
  return h("li", { "data-status": result.status }, h("b", {}, result.name), " ", said);
}

/** Of few: a line for each; those that wait for an IOC are put by. */
function each(results: AddResult[], waiting: Map<string, HTMLElement>): HTMLElement {
  const lines = results.map((result) => {
    const said = h("span", {}, saidOf(result));
    if (result.status === "added") waiting.set(result.name, said);
    return line(result, said);
  });
  return h("ul", {}, ...lines);
}
