// The dialog that adds PVs to the archive and says what became of each.

import { addPvs, ApiError, type AddResult, type NewPv } from "./api.ts";
import { byId, h } from "./dom.ts";

const WORDS: Record<AddResult["status"], string> = {
  added: "is being archived now",
  already_archived: "was being archived already",
  changed: "is being archived another way now",
  refused: "was refused",
};

export class AddDialog {
  private dialog = byId<HTMLDialogElement>("add");
  private names = byId<HTMLTextAreaElement>("add-names");
  private period = byId<HTMLInputElement>("add-period");
  private outcome = byId("add-outcome");

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
    const names = this.names.value.split(/[\s,;]+/).filter((name) => name !== "");
    if (names.length === 0) return this.refuse("Name at least one PV.");
    const method = this.method();
    const period = Number(this.period.value);
    if (method === "scan" && !(period > 0))
      return this.refuse("The period must be a number of seconds above 0.");
    try {
      const { pvs } = await addPvs(
        names.map((name) => (method === "scan" ? { name, method, period } : { name, method })),
      );
      this.report(pvs);
      this.added();
    } catch (error) {
      this.refuse(error instanceof ApiError ? error.sentence : String(error));
    }
  }

  private refuse(text: string): void {
    this.outcome.replaceChildren(h("p", { class: "is-error" }, text));
  }

  private report(results: AddResult[]): void {
    const lines = results.map((result) =>
      h(
        "li",
        { "data-status": result.status },
        h("b", {}, result.name),
        ` ${WORDS[result.status] ?? result.status}${result.message ? `: ${result.message}` : ""}`,
      ),
    );
    const good = results.filter((result) => result.status !== "refused").map((result) => result.name);
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
  }
}
