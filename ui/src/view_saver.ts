// Saves what is shown under a name, within the dialog of share and export: it says whose view it would replace, then its short link.

import { ApiError, faultText } from "./api.ts";
import { h, setText } from "./dom.ts";
import { linkOf, saveView, viewNamed } from "./memos.ts";
import { viewWords as words } from "./words/view.ts";

export interface Saving {
  /** What the page shows, as it was chosen in the dialog. */
  query(): string;
  pvs: string[];
  saved(link: string): void;
}

const TYPING_MILLIS = 300;

/** A button that becomes the fields for a name. */
export function viewSaver(saving: Saving): HTMLElement {
  const element = h("div", { class: "view-saver operates" });
  const open = h("button", { type: "button", class: "link" }, words.saveAs);
  open.addEventListener("click", () => {
    const form = formOf(saving);
    element.replaceChildren(form);
    form.querySelector("input")!.focus();
  });
  element.append(open);
  return element;
}

function formOf({ query, pvs, saved }: Saving): HTMLFormElement {
  const name = h("input", {
    type: "text",
    "aria-label": words.nameLabel,
    placeholder: words.name,
    spellcheck: "false",
    autocomplete: "off",
  });
  const text = h("input", { type: "text", "aria-label": words.text, placeholder: words.text });
  const said = h("p", { class: "hint", role: "status" });
  const submit = h("button", { type: "submit", class: "primary" }, words.save);
  let timer = 0;
  /** How often the name has been another: of one that is no more, or is saved by now, nothing is told. */
  let turn = 0;
  name.addEventListener("input", () => {
    window.clearTimeout(timer);
    const own = ++turn;
    const tell = (text: string) => {
      if (own === turn) setText(said, text);
    };
    timer = window.setTimeout(() => void tellWhose(name.value.trim(), tell), TYPING_MILLIS);
  });
  const form = h("form", { class: "view-save", novalidate: true }, name, text, submit, said);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.clearTimeout(timer);
    turn += 1;
    void save();
  });
  const save = async () => {
    if (name.value.trim() === "") return setText(said, words.nameWanted);
    try {
      const view = await saveView({
        ...{ name: name.value.trim(), text: text.value.trim() },
        ...{ query: query(), pvs },
      });
      setText(said, words.saved(linkOf(view)));
      saved(linkOf(view));
    } catch (error) {
      setText(said, faultText(error));
    }
  };
  return form;
}

/** Says beforehand whose view a name has. */
async function tellWhose(name: string, tell: (text: string) => void): Promise<void> {
  try {
    const view = name === "" ? null : await viewNamed(name);
    tell(view ? words.replaces(view.by) : "");
  } catch (error) {
    // Saving will say what is wrong.
    if (!(error instanceof ApiError)) throw error;
  }
}
