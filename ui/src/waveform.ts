// Panels for values that are more than a number: a waveform as value against index and over time, anything else as JSON.

import { faultText, getSampleAfter, getSampleAt, isAbort, type Json } from "./api.ts";
import { decodeSamples, formatNumber, numberOf, severityName, type Samples } from "./decode.ts";
import { h, setText } from "./dom.ts";
import { HeatMap, type Column } from "./heat.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import {
  floatOf,
  formatInstant,
  formatTime,
  instantOf,
  shiftNanos,
  type Instant,
  type Zone,
} from "./time.ts";
import { unitsOf, type Trace } from "./trace.ts";
import { WaveChart } from "./wave_chart.ts";
import { waveWords as words } from "./words/wave.ts";

export interface WaveformActions {
  /** Marks the moment of the sample that was stepped to. */
  pin(at: Instant): void;
  /** Shows all of them, or their names alone. */
  turn(): void;
}

const JSON_CHARACTERS_MAX = 20_000;
const MOVING_MILLIS = 120;
/** Over time so many waveforms are shown, and so many of them asked for at once. */
const COLUMNS = 120;
const AT_ONCE = 4;

/** The panel of one PV: the value that held at the cursor, and buttons to its neighbours. */
export class Waveform {
  readonly element: HTMLElement;
  private caption = h("span", { class: "moment" });
  private pointed = h("span", { class: "pointed" });
  private body = h("div", { class: "body" });
  private chart: WaveChart | null = null;
  private heat: HeatMap | null = null;
  private over = h(
    "button",
    { type: "button", "aria-pressed": "false", click: () => this.turn() },
    words.over,
  );
  private against = h(
    "button",
    { type: "button", "aria-pressed": "false", hidden: true, click: () => this.compare() },
    words.reference,
  );
  private slider = h("input", {
    type: "range",
    class: "slider",
    hidden: true,
    "aria-label": words.slider,
    min: "0",
    value: "0",
  });
  private told = h("p", { class: "hint heat-told", role: "status", hidden: true });
  private columns: Column[] = [];
  private loadedFor = "";
  private loading: AbortController | null = null;
  private last: { range: Range; zone: Zone; palette: Palette } | null = null;
  /** What the newest waveform shown is compared with, and when that was taken. */
  private reference: { numbers: number[]; at: Instant } | null = null;
  private numbers: number[] | null = null;
  private timer = 0;
  private asking: AbortController | null = null;
  private shown: Instant | null = null;
  private key = "";

  constructor(
    private trace: Trace,
    private actions: WaveformActions,
  ) {
    const step = (label: string, text: string, by: 1 | -1) =>
      h(
        "button",
        { type: "button", "aria-label": label, title: label, click: () => void this.step(by) },
        text,
      );
    this.element = h(
      "section",
      { class: "waveform", "aria-label": trace.name },
      h(
        "header",
        {},
        h("h2", {}, trace.name),
        this.caption,
        this.pointed,
        h("button", { type: "button", class: "unfold", click: () => actions.turn() }, words.unfold),
        this.against,
        this.over,
        step(words.before, "◂", -1),
        step(words.next, "▸", 1),
        h(
          "button",
          { type: "button", "aria-label": words.fold, title: words.fold, click: () => actions.turn() },
          "▾",
        ),
      ),
      this.body,
      this.slider,
      this.told,
    );
    this.slider.addEventListener("input", () => {
      const column = this.columns[Number(this.slider.value)];
      if (column) this.actions.pin(instantOf(column.at));
    });
  }

  /** Shows the value that held at a moment; the newest live one if there is none. Nothing happens if it does so already. */
  show(at: number | null, range: Range, zone: Zone, palette: Palette): void {
    const { tail } = this.trace;
    this.last = { range, zone, palette };
    this.over.hidden = this.trace.kind !== "array";
    if (this.heat) this.showHeat(at);
    const newest = tail.x.length - 1;
    const key = `${at ?? `live ${tail.x[newest] ?? ""}`} ${zone} ${palette.dark}`;
    if (key === this.key) return;
    if (!this.key.endsWith(String(palette.dark))) this.clear();
    this.key = key;
    this.element.style.setProperty("--trace", palette.trace(this.trace.colour).stroke);
    window.clearTimeout(this.timer);
    if (at === null && newest >= 0) this.showRow(tail, newest, zone, palette);
    else
      this.timer = window.setTimeout(
        () => void this.fetch(instantOf(at ?? Date.now() / 1000), zone, palette),
        MOVING_MILLIS,
      );
  }

  close(): void {
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.loading?.abort();
    this.element.remove();
  }

  private async fetch(at: Instant, zone: Zone, palette: Palette): Promise<void> {
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    try {
      const samples = decodeSamples(await getSampleAt(this.trace.name, at, controller.signal));
      if (samples.x.length === 0) this.say(words.noSample);
      else this.showRow(samples, 0, zone, palette);
    } catch (error) {
      if (!isAbort(error)) this.say(faultText(error));
    }
  }

  private showRow(samples: Samples, row: number, zone: Zone, palette: Palette): void {
    const time = { seconds: samples.seconds[row]!, nanos: samples.nanos[row]! };
    this.shown = time;
    const severity = samples.severity[row]! > 0 ? ` · ${severityName(samples.severity[row]!)}` : "";
    setText(this.caption, `${formatInstant(time, zone, 9)}${severity}`);
    this.draw(samples.values[row] ?? null, palette);
  }

  private say(text: string): void {
    this.shown = null;
    setText(this.caption, text);
    this.clear();
  }

  private clear(): void {
    this.chart = null;
    this.numbers = null;
    this.against.hidden = true;
    this.body.replaceChildren(...(this.heat ? [this.heat.element] : []));
  }

  /** From the waveform at the cursor to those of the whole range, and back. */
  private turn(): void {
    if (this.heat) {
      this.loading?.abort();
      this.heat.element.remove();
      this.heat = null;
      this.columns = [];
      this.loadedFor = "";
    } else {
      this.heat = new HeatMap((column) => this.actions.pin(instantOf(column.at)));
      this.body.append(this.heat.element);
    }
    this.over.setAttribute("aria-pressed", String(this.heat !== null));
    this.slider.hidden = this.told.hidden = this.heat === null;
    if (this.heat) this.showHeat(this.shown ? floatOf(this.shown) : null);
  }

  /** The waveform shown is what the others are compared with, or no longer. */
  private compare(): void {
    this.reference =
      this.reference || !this.numbers || !this.shown ? null : { numbers: this.numbers, at: this.shown };
    this.against.setAttribute("aria-pressed", String(this.reference !== null));
    setText(
      this.against,
      this.reference && this.last
        ? words.against(formatInstant(this.reference.at, this.last.zone, 3).slice(11))
        : words.reference,
    );
    this.key = "";
    if (this.numbers && this.last) this.drawNumbers(this.numbers, this.last.palette);
    if (this.heat) this.showColumns();
  }

  private showHeat(at: number | null): void {
    this.heat!.mark(at);
    const { range } = this.last!;
    const place = this.columns.findLastIndex((column) => at !== null && column.at <= at);
    if (place >= 0 && document.activeElement !== this.slider) this.slider.value = String(place);
    // A live view asks anew only when a column's worth has passed.
    const step = (range.to - range.from) / COLUMNS;
    const wanted = `${Math.round(range.from / step)} ${Math.round(step * 1e6)}`;
    if (wanted === this.loadedFor) return;
    this.loadedFor = wanted;
    void this.load({ ...range }, step);
  }

  /** A waveform at each of so many moments: what is between them is not looked at, and that is said. */
  private async load(range: Range, step: number): Promise<void> {
    this.loading?.abort();
    const controller = new AbortController();
    this.loading = controller;
    const { signal } = controller;
    await new Promise((resolve) => window.setTimeout(resolve, MOVING_MILLIS));
    const found = new Map<string, Column>();
    let [next, asked] = [0, 0];
    const worker = async () => {
      while (next < COLUMNS && !signal.aborted) {
        const at = range.from + (next++ + 1) * step;
        const samples = decodeSamples(await getSampleAt(this.trace.name, instantOf(at), signal));
        asked += 1;
        const row = samples.x.length - 1;
        const value = samples.values[row];
        if (row >= 0 && Array.isArray(value))
          found.set(`${samples.seconds[row]} ${samples.nanos[row]}`, {
            at: samples.x[row]!,
            numbers: value.map(numberOf),
          });
        if (!signal.aborted) setText(this.told, words.loading(asked, COLUMNS));
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    } catch (error) {
      if (!isAbort(error)) setText(this.told, faultText(error));
      return;
    }
    if (signal.aborted) return;
    this.columns = [...found.values()].sort((a, b) => a.at - b.at);
    this.slider.max = String(Math.max(0, this.columns.length - 1));
    setText(this.told, words.columns(this.columns.length));
    this.showColumns();
  }

  private showColumns(): void {
    if (!this.heat || !this.last) return;
    const { range, zone, palette } = this.last;
    const { reference } = this;
    const columns = reference
      ? this.columns.map(({ at, numbers }) => ({ at, numbers: less(numbers, reference.numbers) }))
      : this.columns;
    this.heat.show(
      columns,
      this.trace.holes,
      range,
      zone,
      palette,
      words.heatLabel(this.trace.name, formatTime(range.from, zone, 0), formatTime(range.to, zone, 0)),
    );
  }

  private draw(value: Json, palette: Palette): void {
    if (Array.isArray(value) && value.every((element) => typeof element !== "object" || element === null)) {
      const numbers = value.map((element) => numberOf(element));
      if (value.length === 0 || numbers.some((number) => !Number.isNaN(number)))
        return this.drawNumbers(numbers, palette);
    }
    this.clear();
    const text = JSON.stringify(value, null, 2);
    const cut = text.length > JSON_CHARACTERS_MAX ? words.cutHere(text.slice(0, JSON_CHARACTERS_MAX)) : text;
    this.body.replaceChildren(h("pre", { tabindex: "0" }, cut));
  }

  private drawNumbers(numbers: number[], palette: Palette): void {
    this.numbers = numbers;
    this.against.hidden = false;
    if (!this.chart) {
      this.chart = new WaveChart((index) => this.point(index));
      this.body.replaceChildren(this.chart.element, ...(this.heat ? [this.heat.element] : []));
    }
    const { reference } = this;
    const shown = reference ? less(numbers, reference.numbers) : numbers;
    this.chart.show(
      shown,
      palette.trace(this.trace.colour).stroke,
      palette,
      words.chartLabel(this.trace.name, numbers.length),
    );
  }

  /** Says which element is under the mouse. */
  private point(index: number | null): void {
    const { numbers, reference } = this;
    const value =
      index === null
        ? undefined
        : (reference && numbers ? less(numbers, reference.numbers) : numbers)?.[index];
    const units = unitsOf(this.trace);
    const text =
      value === undefined
        ? ""
        : `${Number.isFinite(value) ? formatNumber(value, null) : "NaN"} ${units}`.trim();
    setText(this.pointed, text === "" ? "" : `[${index}] ${reference ? "Δ" : "="} ${text}`);
  }

  /** Goes to the sample before or after the one shown, exactly. */
  private async step(by: 1 | -1): Promise<void> {
    if (!this.shown) return;
    const { signal } = new AbortController();
    const beside = shiftNanos(this.shown, by);
    try {
      const found = decodeSamples(
        by < 0
          ? await getSampleAt(this.trace.name, beside, signal)
          : await getSampleAfter(this.trace.name, beside, instantOf(Date.now() / 1000 + 60), signal),
      );
      if (found.x.length === 0) return;
      this.actions.pin({ seconds: found.seconds[0]!, nanos: found.nanos[0]! });
    } catch (error) {
      this.say(faultText(error));
    }
  }
}

/** Element by element; where one of them has none there is no difference. */
export function less(numbers: number[], reference: number[]): number[] {
  return numbers.map((value, i) => value - (reference[i] ?? NaN));
}
