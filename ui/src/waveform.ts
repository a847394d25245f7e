// Panels for values that are more than a number: a waveform against its index and over time, a table, an image, anything else as JSON.

import { faultText, getSampleAfter, getSampleAt, isAbort, type Json } from "./api.ts";
import {
  ArrayBins,
  lessReference,
  SIDES,
  sideOf,
  type ArrayBin,
  type Loaded,
  type Side,
} from "./array_bins.ts";
import { decodeSamples, formatNumber, numberOf, severityName, type Samples } from "./decode.ts";
import { h, set, setText } from "./dom.ts";
import { HeatMap, type Column, type Pointed } from "./heat.ts";
import { ImageView } from "./image_view.ts";
import { imageOf } from "./nt_image.ts";
import { tableOf } from "./nt_table.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { TableView } from "./table_view.ts";
import {
  floatOf,
  formatDuration,
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
  /** Shows another range. */
  go(range: Range): void;
  /** Shows all of them, or their names alone. */
  turn(): void;
}

const JSON_CHARACTERS_MAX = 20_000;
const MOVING_MILLIS = 120;
/** A live view asks anew when such a part of it has passed. */
const RENEWALS = 120;
/** The slider of tables and images has so many places. */
const PLACES = 1000;

/** The panel of one PV: the value that held at the cursor, and buttons to its neighbours. */
export class Waveform {
  readonly element: HTMLElement;
  private caption = h("span", { class: "moment" });
  private pointed = h("span", { class: "pointed" });
  private body = h("div", { class: "body" });
  private chart: WaveChart | null = null;
  private table: TableView | null = null;
  private image: ImageView | null = null;
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
  private sides = h(
    "select",
    { "aria-label": words.sides, change: () => this.showColumns() },
    ...SIDES.map((side) => h("option", { value: side }, words.side[side])),
  );
  private told = h("span", { role: "status" });
  private below = h("p", { class: "hint heat-told", hidden: true }, this.sides, this.told);
  private bins: ArrayBins;
  private loaded: Loaded = { bins: [], isEach: true };
  private loadedFor = "";
  private loading: AbortController | null = null;
  private last: { at: number | null; range: Range; zone: Zone; palette: Palette } | null = null;
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
    this.bins = new ArrayBins(trace.name);
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
          {
            ...{ type: "button", class: "fold", "aria-label": words.fold, title: words.fold },
            click: () => actions.turn(),
          },
          "▾",
        ),
      ),
      this.body,
      this.slider,
      this.below,
    );
    this.slider.addEventListener("input", () => this.slide(Number(this.slider.value)));
  }

  /** Shows the value that held at a moment; the newest live one if there is none. Nothing happens if it does so already. */
  show(at: number | null, range: Range, zone: Zone, palette: Palette): void {
    const { tail } = this.trace;
    this.last = { at, range, zone, palette };
    this.over.hidden = this.trace.kind !== "array";
    if (this.heat) this.showHeat(at);
    else this.placeSlider(at);
    set(this.slider, "aria-valuetext", formatTime(at ?? range.to, zone, 0));
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
    this.chart = this.table = this.image = null;
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
      this.loadedFor = "";
      setText(this.pointed, "");
    } else {
      this.heat = new HeatMap({
        choose: (column) => this.actions.pin(instantOf(column.at)),
        zoom: ({ at, to }) => this.actions.go({ from: at, to }),
        point: (pointed) => this.pointHeat(pointed),
      });
      this.body.append(this.heat.element);
    }
    this.over.setAttribute("aria-pressed", String(this.heat !== null));
    this.slider.hidden = this.below.hidden = this.heat === null;
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

  /** To the waveform of that place of the slider, or of tables and images to that part of the range. */
  private slide(place: number): void {
    const range = this.last?.range;
    if (!range) return;
    const bin = this.loaded.bins[place];
    const at = this.heat
      ? bin && Math.max(bin.from, range.from)
      : range.from + (place / PLACES) * (range.to - range.from);
    if (at !== undefined) this.actions.pin(instantOf(at));
  }

  /** Tables and images have a slider over the range from the beginning. */
  private placeSlider(at: number | null): void {
    const { from, to } = this.last!.range;
    this.slider.hidden = !this.table && !this.image;
    if (this.slider.hidden || document.activeElement === this.slider) return;
    this.slider.max = String(PLACES);
    const part = ((at ?? to) - from) / (to - from);
    this.slider.value = String(Math.round(Math.min(Math.max(part, 0), 1) * PLACES));
  }

  private showHeat(at: number | null): void {
    this.heat!.mark(at);
    const { range } = this.last!;
    this.placeOver();
    const step = (range.to - range.from) / RENEWALS;
    const wanted = `${Math.round(range.from / step)} ${Math.round(step * 1e6)}`;
    if (wanted === this.loadedFor) return;
    this.loadedFor = wanted;
    void this.load({ ...range });
  }

  /** The slider stands at the waveform, or the bin, of the moment that is shown. */
  private placeOver(): void {
    const at = this.last?.at ?? null;
    const place = this.loaded.bins.findLastIndex(({ from }) => at !== null && from <= at);
    if (place >= 0 && document.activeElement !== this.slider) this.slider.value = String(place);
  }

  private async load(range: Range): Promise<void> {
    this.loading?.abort();
    const controller = new AbortController();
    this.loading = controller;
    const { signal } = controller;
    await new Promise((resolve) => window.setTimeout(resolve, MOVING_MILLIS));
    if (signal.aborted) return;
    const soon = (bins: ArrayBin[], part: number) => {
      if (signal.aborted) return;
      if (part < 1) setText(this.told, words.loading(Math.round(100 * part)));
      this.take({ bins, isEach: false });
    };
    try {
      const loaded = await this.bins.load(range, signal, soon);
      if (signal.aborted) return;
      this.take(loaded);
      setText(this.told, toldOf(loaded));
    } catch (error) {
      if (!isAbort(error)) setText(this.told, faultText(error));
    }
  }

  private take(loaded: Loaded): void {
    this.loaded = loaded;
    this.sides.hidden = loaded.isEach;
    this.slider.max = String(Math.max(0, loaded.bins.length - 1));
    this.placeOver();
    this.showColumns();
  }

  private showColumns(): void {
    if (!this.heat || !this.last) return;
    const { range, zone, palette } = this.last;
    const label = words.heatLabel(
      this.trace.name,
      formatTime(range.from, zone, 0),
      formatTime(range.to, zone, 0),
    );
    this.heat.show(this.columns(), this.trace.holes, range, zone, palette, label);
  }

  private columns(): Column[] {
    const { reference } = this;
    const side = this.sides.value as Side;
    return this.loaded.bins.map((bin) => {
      const numbers = sideOf(bin, side);
      const { from: at, to, length, each } = bin;
      return {
        ...{ at, to, length, each },
        numbers: reference ? lessReference(numbers, each, reference.numbers) : numbers,
      };
    });
  }

  private draw(value: Json, palette: Palette): void {
    if (Array.isArray(value) && value.every((element) => typeof element !== "object" || element === null)) {
      const numbers = value.map((element) => numberOf(element));
      if (value.length === 0 || numbers.some((number) => !Number.isNaN(number)))
        return this.drawNumbers(numbers, palette);
    }
    const [table, image] = [tableOf(value), imageOf(value)];
    if (table) {
      if (!this.table) {
        this.clear();
        this.table = new TableView(this.trace.name, (text) => setText(this.pointed, text));
        this.body.replaceChildren(this.table.element);
      }
      this.table.show(table, palette.trace(this.trace.colour).stroke, palette);
    } else if (image) {
      if (!this.image) {
        this.clear();
        this.image = new ImageView(this.trace.name, (text) => setText(this.pointed, text));
        this.body.replaceChildren(this.image.element);
      }
      this.image.show(image);
    } else {
      this.clear();
      const text = JSON.stringify(value, null, 2);
      const cut =
        text.length > JSON_CHARACTERS_MAX ? words.cutHere(text.slice(0, JSON_CHARACTERS_MAX)) : text;
      this.body.replaceChildren(h("pre", { tabindex: "0" }, cut));
    }
    if (!this.heat) this.placeSlider(this.shown && floatOf(this.shown));
  }

  private drawNumbers(numbers: number[], palette: Palette): void {
    if (!this.chart) {
      this.clear();
      this.chart = new WaveChart((index) => this.point(index));
      this.body.replaceChildren(this.chart.element, ...(this.heat ? [this.heat.element] : []));
    }
    this.numbers = numbers;
    this.against.hidden = false;
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
    const text = value === undefined ? "" : this.numberText(value);
    setText(this.pointed, text === "" ? "" : `[${index}] ${reference ? "Δ" : "="} ${text}`);
  }

  /** Says which elements of which bin are under the mouse. */
  private pointHeat(pointed: Pointed | null): void {
    if (!pointed || !this.last) return setText(this.pointed, "");
    const { column, row } = pointed;
    const { zone } = this.last;
    const [first, last] = [row * column.each, Math.min((row + 1) * column.each, column.length) - 1];
    const digits = column.to - column.at < 10 ? 3 : 0;
    const text = words.pointed(
      first < last ? `${first}–${last}` : String(first),
      `${this.reference ? "Δ" : "="} ${this.numberText(column.numbers[row]!)}`,
      formatTime(column.at, zone, digits),
      this.loaded.isEach ? "" : formatTime(column.to, zone, digits).slice(11),
    );
    setText(this.pointed, text);
  }

  private numberText(value: number): string {
    return `${Number.isNaN(value) ? "NaN" : formatNumber(value, null)} ${unitsOf(this.trace)}`.trim();
  }

  /** Goes to the sample before or after the one shown, exactly. */
  async step(by: 1 | -1): Promise<void> {
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
      // The next step goes on from there, though it is shown only in a moment.
      this.shown = { seconds: found.seconds[0]!, nanos: found.nanos[0]! };
      this.actions.pin(this.shown);
    } catch (error) {
      this.say(faultText(error));
    }
  }
}

/** What the heat-map shows, and what not. */
function toldOf({ bins, isEach }: Loaded): string {
  if (bins.length === 0) return words.none;
  if (isEach) return words.eachOf(bins.length);
  const total = bins.reduce((sum, { arrays }) => sum + arrays, 0);
  const each = bins.reduce((most, bin) => Math.max(most, bin.each), 1);
  return words.binned(total, formatDuration(bins[0]!.to - bins[0]!.from), each);
}

/** Element by element; where one of them has none there is no difference. */
export function less(numbers: number[], reference: number[]): number[] {
  return numbers.map((value, i) => value - (reference[i] ?? NaN));
}
