// The spectrum of a row of the plot: which frequencies it has, and how strong each is.

import type { ApiError } from "./api.ts";
import type { Chart, Size } from "./chart_axes.ts";
import type { Part } from "./chart_canvas.ts";
import { drawSpectrum, peaks, rowsInSight } from "./charts.ts";
import type { DrawerActions } from "./drawer.ts";
import {
  hintedStep,
  numberText,
  Panel,
  readSpan,
  roundSeconds,
  spanAbout,
  spanAlong,
  spanText,
  toldStretch,
  WAITING,
  type Empty,
  type Row,
} from "./drawer_panel.ts";
import { h } from "./dom.ts";
import { button, emptyOf } from "./empty.ts";
import { csvOf, FILLS, getSpectrum, spectrumQuery, type Spectrum, type SpectrumWanted } from "./relations.ts";
import type { Range } from "./state.ts";
import { formatDuration } from "./time.ts";
import { drawerWords as words } from "./words/drawer.ts";

/** The panel names this many of the strongest frequencies. */
const TOLD = 3;
/** Shift and an arrow step through this many. */
const LED = 200;
/** What is pointed at may lie so many pixels beside the pointer. */
const BESIDE = 4;
/** Where points are to be made and nobody says how far apart, there are about so many. */
const POINTS = 10_000;

/** An answer keeps the name of what was asked for, whatever is chosen meanwhile. */
type Wanted = SpectrumWanted & { name: string; title: string; units: string | null };

export class FftPanel extends Panel<Wanted, Spectrum> {
  private window: HTMLSelectElement;
  private output: HTMLSelectElement;
  private axes: HTMLSelectElement;
  private fill: HTMLSelectElement;
  private step = this.secondsField("step");
  private stepLabel = h("label", {}, this.step, h("span", {}, words.seconds));
  private chart: Chart | null = null;

  constructor(actions: DrawerActions) {
    super("fft", actions);
    const [fill, fillSelect] = this.wordSelect("fill", words.fill, words.fills);
    const [window, windowSelect] = this.wordSelect("window", words.window, words.windows);
    const [output, outputSelect] = this.wordSelect("output", words.output, words.outputs);
    const [axes, axesSelect] = this.wordSelect("axes", words.axes, words.axesOf);
    [this.fill, this.window, this.output, this.axes] = [fillSelect, windowSelect, outputSelect, axesSelect];
    this.addFields(this.rowSelect("of", words.of), fill, this.stepLabel, window, output, axes);
  }

  private get row(): Row | null {
    return this.rowOf("of") ?? this.rows[0] ?? null;
  }

  private get fillOf(): SpectrumWanted["fill"] | null {
    return FILLS.find((fill) => fill === this.choices.fill) ?? null;
  }

  private get roundStep(): number {
    const { from, to } = this.scene.range;
    return roundSeconds((to - from) / POINTS);
  }

  private get band(): [number, number] | null {
    const band = readSpan(this.choices.band);
    return band && band[0] >= 0 ? band : null;
  }

  private get logs(): { logX: boolean; logY: boolean } {
    const { axes } = this.choices;
    return { logX: axes === "both", logY: axes !== "linear" };
  }

  protected showChoices(): void {
    const { choices } = this;
    this.showRow("of", this.row);
    this.fill.value = this.fillOf ?? "";
    this.window.value = choices.window === "hann" ? "hann" : "none";
    this.output.value = choices.output === "density" ? "density" : "amplitude";
    this.axes.value = choices.axes === "both" || choices.axes === "linear" ? choices.axes : "";
    this.stepLabel.hidden = this.fillOf === null;
    if (document.activeElement !== this.step) this.step.value = choices.step ?? "";
    this.step.placeholder = String(this.roundStep);
  }

  protected want(): { wanted: Wanted } | { empty: Empty } {
    const { row, choices } = this;
    if (!row) {
      if (this.isWaiting) return { empty: WAITING };
      const find = button(words.findOne, () => this.actions.find());
      const nodes = () => emptyOf(words.noRow, [find]);
      return { empty: { key: words.noRow, nodes } };
    }
    const fill = this.fillOf;
    const chosen = Number(choices.step ?? NaN);
    return {
      wanted: {
        ...{ of: row.expression, name: row.name, title: row.title, units: row.units },
        window: choices.window === "hann" ? "hann" : "none",
        output: choices.output === "density" ? "density" : "amplitude",
        step: fill === null ? null : chosen > 0 ? chosen : this.roundStep,
        fill: fill ?? "previous",
      },
    };
  }

  protected async ask(wanted: Wanted, range: Range, signal: AbortSignal): Promise<Spectrum> {
    const found = await getSpectrum(wanted, range, signal);
    const units = wanted.units && wanted.output === "density" ? `${wanted.units}²/Hz` : wanted.units;
    return { ...found, units: found.units ?? units };
  }

  /** What the archiver says would do is a press away. */
  protected override remedies(error: ApiError): Node[] {
    const step = hintedStep(error);
    const stretch = toldStretch(error);
    const found: Node[] = [];
    if (step !== null) {
      // A mean of distances is no round number, and need not be one to the last digit.
      const seconds = error.code === "too_large" ? roundSeconds(step) : Number(step.toPrecision(6));
      const isMean = error.code === "too_large";
      const text = formatDuration(seconds);
      found.push(
        button(isMean ? words.meansOf(text) : words.makeEven(text), () =>
          this.choose({ fill: isMean ? "mean" : "previous", step: String(seconds) }),
        ),
      );
    }
    if (stretch)
      found.push(
        button(words.stretch(this.time(stretch.from), this.time(stretch.to)), () => this.actions.go(stretch)),
      );
    return found;
  }

  protected tell(spectrum: Spectrum): { said: (Node | string)[] } | { empty: Empty } {
    const said: string[] = [words.points(spectrum.points, formatDuration(spectrum.step))];
    const found = peaks(spectrum, TOLD).map((row) => this.toldOf(row, spectrum));
    if (found.length > 0) said.push(`${words.strongest} ${found.join(", ")}`);
    if (spectrum.damage > 0) said.push(words.damaged(spectrum.damage));
    return { said };
  }

  protected draw(context: CanvasRenderingContext2D, size: Size, spectrum: Spectrum): void {
    const { band } = this;
    const { output, name, title } = this.answered!.wanted;
    this.chart = drawSpectrum(context, size, spectrum, {
      titles: {
        x: words.frequency,
        y: `${title}: ${words.strengthOf(output, spectrum.units)}`,
      },
      ...{ band, stroke: this.strokeOf(name), ...this.logs },
      marked: this.mark,
      palette: this.scene.palette,
    });
  }

  private get inSight(): [number, number] {
    return this.answer ? rowsInSight(this.answer, { band: this.band, ...this.logs }) : [0, -1];
  }

  /** The strongest near by. */
  protected nearest(x: number): number | null {
    const { chart, answer } = this;
    if (!chart || !answer) return null;
    const [first, last] = this.inSight;
    // They lie at equal distances, from 0 on.
    const apart = answer.frequency[1] ?? 1;
    const inside = (row: number) => Math.min(Math.max(row, first), last);
    let best = inside(Math.round(chart.xAt(x) / apart));
    const to = inside(Math.floor(chart.xAt(x + BESIDE) / apart));
    for (let i = inside(Math.ceil(chart.xAt(x - BESIDE) / apart)); i <= to; i++)
      if (answer.strength[i]! > answer.strength[best]!) best = i;
    return best;
  }

  protected stepped(by: 1 | -1, isFar: boolean): number | null {
    const { answer, marked } = this;
    if (!answer) return null;
    const [first, last] = this.inSight;
    const from = marked ?? (by > 0 ? first - 1 : last + 1);
    if (!isFar) return Math.min(Math.max(from + by, first), last);
    const led = peaks(answer, LED)
      .filter((row) => row >= first && row <= last)
      .sort((a, b) => a - b);
    return (by > 0 ? led.find((row) => row > from) : led.findLast((row) => row < from)) ?? marked;
  }

  protected get isZoomed(): boolean {
    return this.band !== null;
  }

  protected zoom(part: Part | null): void {
    const { chart } = this;
    if (part === null) return this.setBand(null);
    if (part.x && chart) this.setBand(spanAlong("x", chart, part.x));
  }

  protected zoomBy(factor: number): void {
    const { answer, chart } = this;
    if (!answer || !chart) return;
    const [first, last] = this.inSight;
    const [low, high] = this.band ?? [answer.frequency[first]!, answer.frequency[last]!];
    const about = this.marked === null ? (low + high) / 2 : answer.frequency[this.marked]!;
    this.setBand(spanAbout(about, [low, high], factor));
  }

  private setBand(band: [number, number] | null): void {
    const { frequency } = this.answer ?? { frequency: new Float64Array(0) };
    const highest = frequency.at(-1) ?? 0;
    const cut: [number, number] | null = band && [Math.max(0, band[0]), Math.min(highest, band[1])];
    const isWhole = !cut || (cut[0] <= (frequency[0] ?? 0) && cut[1] >= highest) || !(cut[0] < cut[1]);
    this.choose({ band: isWhole ? undefined : spanText(cut) }, "replace");
  }

  protected toldOf(row: number, { frequency, strength, units }: Spectrum): string {
    const told = `${numberText(strength[row]!)}${units ? ` ${units}` : ""}`;
    const hertz = frequency[row]!;
    if (hertz === 0) return words.constant(told);
    return words.peak(numberText(hertz), formatDuration(Number((1 / hertz).toPrecision(6))), told);
  }

  protected label({ title }: Wanted): string {
    return words.labels.fft(title);
  }

  protected csvUrl(wanted: Wanted, range: Range): string | null {
    return csvOf("fft", { expression: wanted.of }, spectrumQuery(wanted, range));
  }
}
