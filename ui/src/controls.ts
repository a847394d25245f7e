// The controls of the header: typed times, lengths, live, zone and theme.

import { byId, h, set, setText } from "./dom.ts";
import {
  panned,
  rangeOf,
  readSpan,
  type Range,
  type Span,
  type Theme,
  type View,
  type ViewStore,
} from "./state.ts";
import { formatDuration, formatTime, iso, zoneName, type Zone } from "./time.ts";
import { Refusal, type End } from "./typed.ts";
import { agoText, refusalText, spanText } from "./understood.ts";
import { timeWords as words } from "./words/time.ts";

const DAY = 86_400;
/** What the menu of lengths says, and how long each is; keys 1 to 8. The ninth is all there is. */
export const LENGTHS: [string, number][] = [
  ["5 min", 300],
  ["20 min", 1200],
  ["1 h", 3600],
  ["8 h", 8 * 3600],
  ["1 d", DAY],
  ["1 w", 7 * DAY],
  ["1 mo", 30 * DAY],
  ["1 y", 365 * DAY],
];
const ALL = "all";

/** What a zone is called where one is chosen: UTC and the browser's by their distance, others by their names. */
export function zoneTitle(at: number, zone: Zone): string {
  return zone === "local" || zone === "utc" ? zoneName(at, zone) : zone.replaceAll("_", " ");
}

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
  private zone = byId<HTMLSelectElement>("zone");
  private theme = byId<HTMLButtonElement>("theme");
  private lengths = byId<HTMLSelectElement>("length");
  private opener = byId<HTMLButtonElement>("range-open");
  private backToNow = byId<HTMLButtonElement>("back-to-now");
  /** The view followed now before it was moved away from it. */
  private wasLive = 0;

  constructor(
    private store: ViewStore,
    private now: () => number,
    private everything: () => Promise<Range | null>,
    /** That of the site, as the archiver tells it. */
    private site: () => string | null,
  ) {
    this.lengths.addEventListener("change", () => {
      if (this.lengths.value === ALL) void this.all();
      else this.last(Number(this.lengths.value));
    });
    this.live.addEventListener("click", () => this.toggleLive());
    this.zone.addEventListener("change", () =>
      this.store.update({ zone: this.zone.value as View["zone"] }, "replace"),
    );
    this.theme.addEventListener("click", () => this.toggleTheme());
    for (const [id, by] of [
      ["earlier", -0.5],
      ["later", 0.5],
    ] as const)
      byId(id).addEventListener("click", () =>
        this.store.update({
          span: { kind: "fixed", range: panned(rangeOf(this.store.view, this.now()), by) },
        }),
      );
    this.opener.addEventListener("click", () => {
      const isOpen = this.form.classList.toggle("is-open");
      this.opener.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) this.ends.from.focus();
    });
    this.backToNow.addEventListener("click", () => this.toggleLive());
    this.listenToFields();
  }

  /** Everything that is archived of the PVs on the page. */
  async all(): Promise<void> {
    const range = await this.everything();
    if (range) this.store.update({ span: { kind: "fixed", range } });
    else this.show();
  }

  /** The n-th of the menu of lengths, from 1. */
  nth(n: number): void {
    const chosen = LENGTHS[n - 1];
    if (chosen) this.last(chosen[1]);
    else void this.all();
  }

  private listenToFields(): void {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go();
    });
    for (const input of Object.values(this.ends)) {
      input.addEventListener("input", () => {
        this.typed.add(input);
        this.form.classList.add("is-typed");
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

  /** So many seconds before the end that stands: a view that follows now goes on doing so. */
  last(seconds: number): void {
    const { span } = this.store.view;
    if (span.kind === "live") return this.store.update({ span: { kind: "live", seconds } });
    const { to } = span.range;
    this.store.update({ span: { kind: "fixed", range: { from: to - seconds, to } } });
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

  /** The browser's, UTC, the site's, and the one that is shown. */
  get zones(): Zone[] {
    return [...new Set(["local", "utc", this.site() ?? "local", this.store.view.zone])];
  }

  toggleZone(): void {
    const { zones } = this;
    const next = zones[(zones.indexOf(this.store.view.zone) + 1) % zones.length]!;
    this.store.update({ zone: next }, "replace");
  }

  /** Offers what zones there are. */
  showZones(): void {
    const { zones } = this;
    const at = rangeOf(this.store.view, this.now()).to;
    zones.forEach((zone, i) => {
      const option = this.zone.options[i] ?? this.zone.appendChild(h("option"));
      if (option.value !== zone) option.value = zone;
      setText(option, zoneTitle(at, zone));
    });
    while (this.zone.options.length > zones.length) this.zone.options[zones.length]!.remove();
    if (this.zone.value !== this.store.view.zone) this.zone.value = this.store.view.zone;
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
    set(this.live, "aria-pressed", String(isLive));
    this.wasLive = isLive ? Date.now() : this.wasLive;
    this.backToNow.hidden = isLive || this.wasLive === 0 || range.to > this.now();
    this.showZones();
    setText(this.theme, words.themes[view.theme]);
    this.showLength(range);
    const [from, to] = [formatTime(range.from, view.zone, 0), formatTime(range.to, view.zone, 0)];
    const isOneDay = from.slice(0, 10) === to.slice(0, 10);
    const text = isLive
      ? words.untilNow(agoText(range.to - range.from))
      : `${from.slice(5, 16)} – ${isOneDay ? to.slice(11, 16) : to.slice(5, 16)}`;
    setText(this.opener, text);
    set(this.opener, "aria-label", words.range(text));
  }

  private showLength(range: Range): void {
    const seconds = range.to - range.from;
    const known = LENGTHS.find(([, length]) => Math.abs(length - seconds) < length / 1000);
    const own = known ? "" : formatDuration(seconds);
    const texts: [string, string][] = [
      ...(known ? [] : [["", own] as [string, string]]),
      ...LENGTHS.map(([text, length]): [string, string] => [String(length), text]),
      [ALL, ALL],
    ];
    const key = own;
    if (this.lengths.dataset.own !== key || this.lengths.options.length === 0) {
      this.lengths.dataset.own = key;
      this.lengths.replaceChildren(...texts.map(([value, text]) => h("option", { value }, text)));
    }
    const value = known ? String(known[1]) : "";
    if (this.lengths.value !== value) this.lengths.value = value;
  }

  private write(input: HTMLInputElement, text: string): void {
    if (!this.typed.has(input) && input.value !== text) input.value = text;
  }

  /** Gives the fields back to the view. */
  private forget(): void {
    this.typed.clear();
    this.form.classList.remove("is-typed", "is-open");
    this.opener.setAttribute("aria-expanded", "false");
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
