// What is said where there is nothing to show: one sentence, and below it what can be done.

import { h } from "./dom.ts";

/** The sentence stands out; `more` says what is behind it, where there is more to say. */
export function emptyOf(text: string, actions: Node[], more = ""): Node[] {
  return [
    h("p", {}, h("b", {}, text)),
    ...(more === "" ? [] : [h("p", { class: "faint" }, more)]),
    ...(actions.length === 0 ? [] : [h("p", { class: "actions" }, ...actions)]),
  ];
}

export function button(text: string, click: () => void): HTMLButtonElement {
  return h("button", { type: "button", click }, text);
}

/** What the archiver says as a sentence of its own. */
export function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!:]$/.test(whole) ? whole : `${whole}.`;
}
