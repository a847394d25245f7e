// The controls of the header: presets, typed times, live, zone and theme.

import { byId, h, setText } from "./dom.ts";
import { rangeOf, readSpan, type Range, type Span, type Theme, type View, type ViewStore } from "./state.ts";
import { formatTime, iso, zoneName } from "./time.ts";
import { Refusal, type End } from "./typed.ts";
import { agoText, refusalText, spanText } from "./understood.ts";

const DAY = 86_400;
/** What is written on a button, its title, and how long it is. */
const PRESETS: [string, string, number][] = [
  ["5 min", "Last 5 minutes", 300],
  ["1 h", "Last hour", 3600],
  ["8 h", "Last 8 hours", 8 * 3600],
  ["1 d", "Last day", DAY],
  ["1 w", "Last week", 7 * DAY],
  ["1 mo", "Last month", 30 * DAY],
  ["1 y", "Last year", 365 * DAY],
];

export class Controls {
  private ends: Record<End, HTMLInputElement> = { from: byId("from"), to: byId("to") };
  private form = byId("range");
  /** The line below the fields: how they are read, or why they are not taken. */
  private line = byId("range-line");
  private reading = byId("range-reading");
  private refusal = byId("range-refusal");
  private swap = byId<HTMLButtonElement>("swap");
  /** The fields whose text was typed and not yet taken: it stays until Go, Enter or Escape. */
  private typed = new Set<HTMLInputElement>();
  private live = byId<HTMLButtonElement>("live");
  private zone = byId<HTMLButtonElement>("zone");
  private theme = byId<HTMLButtonElement>("theme");
  private presets: [HTMLButtonElement, number][] = [];

  constructor(
    private store: ViewStore,
    private now: () => number,
    everything: () => Promise<Range | null>,
  ) {
    const root = byId("presets");
    for (const [text, title, seconds] of PRESETS) {
      const click = () => this.last(seconds);
      const button = h("button", { type: "button", "aria-label": `Last ${text}`, title, click }, text);
      this.presets.push([button, seconds]);
      root.append(button);
    }
    const all = async () => {
      const range = await everything();
      if (range) store.update({ span: { kind: "fixed", range } });
    };
    root.append(
      h(
        "button",
        { type: "button", title: "All that is archived of these PVs", click: () => void all() },
        "all",
      ),
    );
    this.live.addEventListener("click", () => this.toggleLive());
    this.zone.addEventListener("click", () => this.toggleZone());
    this.theme.addEventListener("click", () => this.toggleTheme());
    this.listenToFields();
  }

  private listenToFields(): void {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go();
    });
    for (const input of Object.values(this.ends)) {
      input.addEventListener("input", () => {
        this.typed.add(input);
        this.say();
      });
    }
    this.form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      (document.activeElement as HTMLElement | null)?.blur();
      this.forget();
    });
    this.form.addEventListener("focusin", () => {
      if (this.line.hidden && this.typed.size > 0) this.say();
    });
    // What is typed stays, but the line does not lie over the plot meanwhile.
    this.form.addEventListener("focusout", (event) => {
      if (!this.form.contains(event.relatedTarget as Node | null)) this.line.hidden = true;
    });
    // A press must not take the focus away, or the line would be gone before the click.
    this.swap.addEventListener("mousedown", (event) => event.preventDefault());
    this.swap.addEventListener("click", () => {
      const { from, to } = this.ends;
      [from.value, to.value] = [to.value, from.value];
      this.typed.add(from).add(to);
      this.go();
    });
  }

  /** The last so many seconds: following now if the view does so already. */
  last(seconds: number): void {
    const isLive = this.store.view.span.kind === "live";
    const now = this.now();
    this.store.update({
      span: isLive ? { kind: "live", seconds } : { kind: "fixed", range: { from: now - seconds, to: now } },
    });
  }

  toggleLive(): void {
    const { view } = this.store;
    const range = rangeOf(view, this.now());
    this.store.update({
      span:
        view.span.kind === "live"
          ? { kind: "fixed", range }
          : { kind: "live", seconds: range.to - range.from },
      pinned: null,
    });
  }

  toggleZone(): void {
    this.store.update({ zone: this.store.view.zone === "utc" ? "local" : "utc" }, "replace");
  }

  /** System, then the other one of light and dark, then back by way of the third. */
  toggleTheme(): void {
    const next: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
    this.store.update({ theme: next[this.store.view.theme] }, "replace");
  }

  /** Writes the view into the controls; a field with a typed text is left alone. */
  show(): void {
    const { view } = this.store;
    const isLive = view.span.kind === "live";
    const range = rangeOf(view, this.now());
    const digits = range.to - range.from < 10 ? 3 : 0;
    this.write(
      this.ends.from,
      isLive ? agoText(range.to - range.from) : formatTime(range.from, view.zone, digits),
    );
    this.write(this.ends.to, isLive ? "now" : formatTime(range.to, view.zone, digits));
    this.live.setAttribute("aria-pressed", String(isLive));
    this.live.textContent = isLive ? "● Live" : "○ Live";
    const name = zoneName(range.to, view.zone);
    this.zone.textContent = name;
    this.zone.setAttribute("aria-label", `Times are in ${name}; change`);
    const theme = { system: "auto", dark: "dark", light: "light" }[view.theme];
    this.theme.textContent = { system: "◐", dark: "●", light: "○" }[view.theme];
    this.theme.setAttribute("aria-label", `Theme: ${theme}; change`);
    for (const [button, seconds] of this.presets) {
      button.setAttribute("aria-pressed", String(isPreset(view, range, seconds, this.now())));
    }
  }

  private write(input: HTMLInputElement, text: string): void {
    if (!this.typed.has(input) && input.value !== text) input.value = text;
  }

  /** Gives the fields back to the view. */
  private forget(): void {
    this.typed.clear();
    this.mark([]);
    this.line.hidden = true;
    this.show();
  }

  private go(): void {
    const span = this.read(this.now());
    if (span instanceof Refusal) return this.refuse(span);
    (document.activeElement as HTMLElement | null)?.blur();
    this.forget();
    this.store.update({ span });
  }

  /** What the fields say, or why they say nothing. */
  private read(now: number): Span | Refusal {
    return this.spanOf(this.textOf("from"), this.textOf("to"), now);
  }

  private spanOf(from: string, to: string, now: number): Span | Refusal {
    try {
      return readSpan(from, to, this.store.view.zone, now);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  /** The text of a field; of one in which nobody typed, the exact end of the view that it stands for. */
  private textOf(end: End): string {
    const input = this.ends[end];
    const { span } = this.store.view;
    if (this.typed.has(input)) return input.value;
    if (span.kind === "fixed") return iso(span.range[end]);
    return end === "to" ? "now" : `-${span.seconds.toFixed(6)}s`;
  }

  /** Says below the fields how they are read while somebody types, without a word to who only listens for alarms. */
  private say(): void {
    const now = this.now();
    const span = this.read(now);
    this.mark([]);
    const isRefused = span instanceof Refusal;
    this.tell(isRefused ? refusalText(span) : spanText(span, this.store.view.zone, now), "", span);
  }

  /** Says why they are not taken; a field at fault has the focus then. */
  private refuse(refusal: Refusal): void {
    this.mark(refusal.ends);
    this.tell("", refusalText(refusal), refusal);
    const wrong = refusal.ends.map((end) => this.ends[end]);
    if (!wrong.includes(document.activeElement as HTMLInputElement)) wrong[0]?.focus();
  }

  private tell(reading: string, refusal: string, span: Span | Refusal): void {
    this.line.hidden = false;
    this.line.classList.toggle("is-refusing", refusal !== "");
    setText(this.reading, reading);
    setText(this.refusal, refusal);
    const isSwapped = span instanceof Refusal && span.ends.length === 2;
    const turned = () => this.spanOf(this.textOf("to"), this.textOf("from"), this.now());
    this.swap.hidden = !isSwapped || turned() instanceof Refusal;
  }

  private mark(wrong: End[]): void {
    for (const [end, input] of Object.entries(this.ends)) {
      if (wrong.includes(end as End)) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }
}

function isPreset(view: View, range: Range, seconds: number, now: number): boolean {
  const isLast = view.span.kind === "live" || Math.abs(range.to - now) < seconds / 100;
  return isLast && Math.abs(range.to - range.from - seconds) < seconds / 1000;
}
