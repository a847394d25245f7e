// The dialog that adds PVs to the archive and says what became of each.

import { addPvs, ApiError, getPv, type AddResult, type NewPv } from "./api.ts";
import { byId, h, setText } from "./dom.ts";
import { readNames } from "./names.ts";

const WORDS: Record<AddResult["status"], string> = {
  added: "is asked for; waits for an IOC",
  already_archived: "was being archived already",
  changed: "is being archived another way now",
  refused: "was refused",
};

/** Of so many new PVs the dialog asks again, so often, until an IOC has answered. */
const FOLLOWED_MAX = 20;
const FOLLOW_MILLIS = 1000;

export class AddDialog {
  private dialog = byId<HTMLDialogElement>("add");
  private names = byId<HTMLTextAreaElement>("add-names");
  private period = byId<HTMLInputElement>("add-period");
  private outcome = byId("add-outcome");
  private timer = 0;

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
    this.dialog.addEventListener("close", () => window.clearTimeout(this.timer));
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
    if (names.length === 0 && refused.length === 0) return this.refuse("Name at least one PV.");
    if (names.length === 0) return this.report(refused);
    const method = this.method();
    const period = Number(this.period.value);
    if (method === "scan" && !(period > 0))
      return this.refuse("The period must be a number of seconds above 0.");
    try {
      const { pvs } = await addPvs(
        names.map((name) => (method === "scan" ? { name, method, period } : { name, method })),
      );
      this.report([...refused, ...pvs]);
      this.added();
    } catch (error) {
      this.refuse(error instanceof ApiError ? error.sentence : String(error));
    }
  }

  private refuse(text: string): void {
    window.clearTimeout(this.timer);
    this.outcome.replaceChildren(h("p", { class: "is-error" }, text));
  }

  private report(results: AddResult[]): void {
    window.clearTimeout(this.timer);
    const waiting = new Map<string, HTMLElement>();
    const lines = results.map((result) => {
      const said = `${WORDS[result.status] ?? result.status}${result.message ? `: ${result.message}` : ""}`;
      const text = h("span", {}, said);
      if (result.status === "added" && waiting.size < FOLLOWED_MAX) waiting.set(result.name, text);
      return h("li", { "data-status": result.status }, h("b", {}, result.name), " ", text);
    });
    const taken = results.filter((result) => result.status !== "refused");
    const good = [...new Set(taken.map((result) => result.name))];
    const click = () => {
      this.dialog.close();
      this.plot(good);
    };
    const button = h(
      "button",
      { type: "button", class: "primary", click },
      good.length > 1 ? "Plot them" : "Plot it",
    );
    this.outcome.replaceChildren(h("ul", {}, ...lines), ...(good.length > 0 ? [button] : []));
    if (good.length > 0) button.focus();
    void this.follow(waiting);
  }

  /** Says of new PVs when an IOC has answered: only then is anything archived. */
  private async follow(waiting: Map<string, HTMLElement>): Promise<void> {
    const asked = [...waiting].map(async ([name, text]) => {
      const { state } = await getPv(name);
      if (state !== "connected") return;
      setText(text, "is connected and archived");
      waiting.delete(name);
    });
    await Promise.allSettled(asked);
    const isShown = [...waiting.values()].some((text) => text.isConnected);
    if (isShown && this.dialog.open)
      this.timer = window.setTimeout(() => void this.follow(waiting), FOLLOW_MILLIS);
  }
}
