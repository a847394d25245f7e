// A field for one moment, typed as people write times: it says how it was read, or that it is none.

import { h, setText } from "./dom.ts";
import { formatTime, iso, zoneName, type Zone } from "./time.ts";
import { parseTime } from "./typed.ts";
import { analysisWords as words } from "./words/analysis.ts";

export class MomentField {
  readonly input: HTMLInputElement;
  private reading = h("small", { class: "moment-reading", role: "status" });
  readonly element: HTMLElement;

  constructor(
    label: string,
    private clock: { zone(): Zone; now(): number },
    hint = "",
  ) {
    this.input = h("input", {
      type: "text",
      class: "moment-input",
      "aria-label": label,
      placeholder: hint,
      size: "19",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.say(),
    });
    this.element = h("label", { class: "moment" }, h("span", {}, label), this.input, this.reading);
  }

  /** Takes what an address says. */
  read(text: string | null, without: string): void {
    const at = text === null ? null : parseTime(text, "utc", this.clock.now());
    this.input.value =
      text === null || at === null ? without : isRelative(text) ? text : formatTime(at, this.clock.zone(), 3);
    this.say();
  }

  /** For the address: the same moment to all who open it. */
  written(): string {
    const text = this.input.value.trim();
    const at = this.moment();
    return at === null ? "" : isRelative(text) ? text : iso(at);
  }

  /** What is typed; none if that is no moment. */
  moment(): number | null {
    const text = this.input.value.trim();
    return text === "" ? null : parseTime(text, this.clock.zone(), this.clock.now());
  }

  set(text: string): void {
    this.input.value = text;
    this.say();
  }

  private say(): void {
    const text = this.input.value.trim();
    const at = this.moment();
    const zone = this.clock.zone();
    this.input.setAttribute("aria-invalid", String(text !== "" && at === null));
    const read = at === null ? words.noTime : `${formatTime(at, zone, 0)} ${zoneName(at, zone)}`;
    // What is written out needs no reading.
    setText(this.reading, text === "" || (at !== null && /^\d{4}-/.test(text)) ? "" : read);
  }
}

function isRelative(text: string): boolean {
  return /^(now|today|yesterday|-|mon|tue|wed|thu|fri|sat|sun)/i.test(text.trim());
}
