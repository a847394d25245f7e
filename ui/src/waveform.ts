// Panels for values that are more than a number: a waveform as value against index, anything else as JSON.

import uPlot from "uplot";
import { ApiError, getSampleAfter, getSampleAt, isAbort, type Json } from "./api.ts";
import { decodeSamples, formatNumber, numberOf, severityName, type Samples } from "./decode.ts";
import { h, setText } from "./dom.ts";
import { valueLabels } from "./axis.ts";
import type { Palette } from "./style.ts";
import { formatInstant, instantOf, shiftNanos, type Instant, type Zone } from "./time.ts";
import { unitsOf, type Trace } from "./trace.ts";

export interface WaveformActions {
  /** Marks the moment of the sample that was stepped to. */
  pin(at: Instant): void;
}

const JSON_CHARACTERS_MAX = 20_000;
const MOVING_MILLIS = 120;

/** The panel of one PV: the value that held at the cursor, and buttons to its neighbours. */
export class Waveform {
  readonly element: HTMLElement;
  private caption = h("span", { class: "moment" });
  private pointed = h("span", { class: "pointed" });
  private body = h("div", { class: "body" });
  private chart: uPlot | null = null;
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
        step("The sample before", "◂", -1),
        step("The next sample", "▸", 1),
      ),
      this.body,
    );
    new ResizeObserver(() => this.chart?.setSize({ width: this.body.clientWidth, height: 190 })).observe(
      this.body,
    );
  }

  /** Shows the value that held at a moment; the newest live one if there is none. Nothing happens if it does so already. */
  show(at: number | null, zone: Zone, palette: Palette): void {
    const { tail } = this.trace;
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
    this.chart?.destroy();
    this.element.remove();
  }

  private async fetch(at: Instant, zone: Zone, palette: Palette): Promise<void> {
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    try {
      const samples = decodeSamples(await getSampleAt(this.trace.name, at, controller.signal));
      if (samples.x.length === 0) this.say("no sample before this moment");
      else this.showRow(samples, 0, zone, palette);
    } catch (error) {
      if (!isAbort(error)) this.say(error instanceof ApiError ? error.sentence : String(error));
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
    this.chart?.destroy();
    this.chart = null;
    this.body.replaceChildren();
  }

  private draw(value: Json, palette: Palette): void {
    if (Array.isArray(value) && value.every((element) => typeof element !== "object" || element === null)) {
      const numbers = value.map((element) => numberOf(element));
      if (value.length === 0 || numbers.some((number) => !Number.isNaN(number)))
        return this.drawNumbers(numbers, palette);
    }
    this.clear();
    const text = JSON.stringify(value, null, 2);
    const cut =
      text.length > JSON_CHARACTERS_MAX ? `${text.slice(0, JSON_CHARACTERS_MAX)}\n… cut here` : text;
    this.body.replaceChildren(h("pre", { tabindex: "0" }, cut));
  }

  private drawNumbers(numbers: number[], palette: Palette): void {
    const data: uPlot.AlignedData = [
      numbers.map((_, i) => i),
      numbers.map((number) => (Number.isFinite(number) ? number : null)),
    ];
    if (this.chart) return this.chart.setData(data);
    const axis = {
      stroke: palette.text,
      font: "12px system-ui, sans-serif",
      grid: { stroke: palette.grid, width: 1 },
      ticks: { stroke: palette.grid, width: 1, size: 5 },
    };
    this.body.replaceChildren();
    this.chart = new uPlot(
      {
        width: Math.max(this.body.clientWidth, 100),
        height: 190,
        legend: { show: false },
        cursor: { drag: { x: true, y: false } },
        hooks: { setCursor: [(u) => this.point(u)] },
        scales: { x: { time: false } },
        series: [
          { label: "index" },
          {
            label: unitsOf(this.trace) || "value",
            stroke: palette.trace(this.trace.colour).stroke,
            width: 1.5,
          },
        ],
        axes: [axis, { ...axis, size: 64, values: (_u, ticks) => valueLabels(ticks) }],
      },
      data,
      this.body,
    );
  }

  /** Says which element is under the mouse. */
  private point(u: uPlot): void {
    const index = u.cursor.idx ?? null;
    const value = index === null ? undefined : u.data[1]?.[index];
    const isKnown = value !== undefined && (u.cursor.left ?? -1) >= 0;
    setText(
      this.pointed,
      isKnown ? `[${index}] = ${value === null ? "NaN" : formatNumber(value, null)}` : "",
    );
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
      this.say(error instanceof ApiError ? error.sentence : String(error));
    }
  }
}
