// The histogram of a row of the plot: for how long it lay where, or how many of its samples did.

import type { Chart, Size } from "./chart_axes.ts";
import type { Part } from "./chart_canvas.ts";
import { drawHistogram } from "./charts.ts";
import type { DrawerActions } from "./drawer.ts";
import {
  nothingIn,
  numberText,
  Panel,
  readSpan,
  spanAbout,
  spanAlong,
  spanText,
  WAITING,
  type Empty,
  type Row,
} from "./drawer_panel.ts";
import { button, emptyOf } from "./empty.ts";
import { csvOf, getHistogram, histogramQuery, type Histogram, type HistogramWanted } from "./relations.ts";
import type { Range } from "./state.ts";
import { formatDuration } from "./time.ts";
import { drawerWords as words } from "./words/drawer.ts";

const BINS = ["10", "20", "50", "100", "200", "500"];
const FAR = 10;

/** An answer keeps the name of what was asked for, whatever is chosen meanwhile. */
type Wanted = HistogramWanted & { name: string; title: string; units: string | null };

export class HistogramPanel extends Panel<Wanted, Histogram> {
  private bins: HTMLSelectElement;
  private weight: HTMLSelectElement;
  private chart: Chart | null = null;

  constructor(actions: DrawerActions) {
    super("histogram", actions);
    const [bins, binsSelect] = this.wordSelect("bins", words.bins, {
      ...Object.fromEntries(BINS.map((count) => [count, count])),
    });
    const [weight, weightSelect] = this.wordSelect("weight", words.weight, words.weights);
    [this.bins, this.weight] = [binsSelect, weightSelect];
    this.addFields(this.rowSelect("of", words.of, ["within"]), bins, weight);
  }

  private get row(): Row | null {
    return this.rowOf("of") ?? this.rows[0] ?? null;
  }

  private get wanted(): Pick<HistogramWanted, "bins" | "weight" | "within"> {
    const bins = BINS.find((count) => count === this.choices.bins) ?? "50";
    const weight = this.choices.weight === "count" ? "count" : "time";
    return { bins: Number(bins), weight, within: readSpan(this.choices.within) };
  }

  protected get isZoomed(): boolean {
    return this.wanted.within !== null;
  }

  protected zoom(part: Part | null): void {
    if (part === null) return this.look(null);
    if (part.x && this.chart) this.look(spanAlong("x", this.chart, part.x));
  }

  protected zoomBy(factor: number): void {
    const { chart, answer } = this;
    if (!chart || !answer) return;
    const bin = this.marked === null ? undefined : answer.bins[this.marked];
    const [low, high] = this.wanted.within ?? spanAlong("x", chart, [-Infinity, Infinity]);
    // Where nothing lies beyond what is seen all is seen.
    const isAll = this.length(answer.below) + this.length(answer.above) === 0;
    if (factor > 1 && isAll) return this.look(null);
    this.look(spanAbout(bin ? (bin.low + bin.high) / 2 : (low + high) / 2, [low, high], factor));
  }

  private look(within: [number, number] | null): void {
    const isSpan = within !== null && within[0] < within[1];
    this.choose({ within: isSpan ? spanText(within) : undefined }, "replace");
  }

  protected showChoices(): void {
    this.showRow("of", this.row);
    this.bins.value = String(this.wanted.bins);
    this.weight.value = this.wanted.weight;
  }

  protected want(): { wanted: Wanted } | { empty: Empty } {
    const { row } = this;
    if (row)
      return {
        wanted: { of: row.expression, name: row.name, title: row.title, units: row.units, ...this.wanted },
      };
    if (this.isWaiting) return { empty: WAITING };
    const find = button(words.findOne, () => this.actions.find());
    return {
      empty: {
        key: words.noRow,
        nodes: () => emptyOf(words.noRow, [find]),
      },
    };
  }

  protected async ask(wanted: Wanted, range: Range, signal: AbortSignal): Promise<Histogram> {
    const found = await getHistogram(wanted, range, signal);
    return { ...found, units: found.units ?? wanted.units };
  }

  protected tell(found: Histogram): { said: (Node | string)[] } | { empty: Empty } {
    const { range, wanted } = this.answered!;
    const isCount = wanted.weight === "count";
    const all = this.all(found);
    const said = [isCount ? words.count(all) : words.known(formatDuration(all))];
    if (found.gaps.seconds > 0) said.push(words.notRecorded(formatDuration(found.gaps.seconds)));
    if (found.before.seconds > 0) said.push(words.notYet(formatDuration(found.before.seconds)));
    const [nan, infinite] = [
      this.length(found.nan),
      this.length(found.infinite) + this.length(found.minus_infinite),
    ];
    if (nan > 0) said.push(words.nan(this.lengthText(nan)));
    if (infinite > 0) said.push(words.infinite(this.lengthText(infinite)));
    const [below, above] = [this.length(found.below), this.length(found.above)];
    if (below > 0) said.push(words.below(this.lengthText(below)));
    if (above > 0) said.push(words.above(this.lengthText(above)));
    if (found.damage.length > 0) said.push(words.damaged(found.damage.length));
    if (all > 0) return { said };
    const nothing = words.nothing(this.time(range.from), this.time(range.to));
    return {
      empty: nothingIn([nothing, ...said.slice(1)].join(" "), this.scene, this.actions),
    };
  }

  private length({ seconds, count }: { seconds: number | null; count: number | null }): number {
    return (this.answered?.wanted.weight === "count" ? count : seconds) ?? 0;
  }

  private lengthText(length: number): string {
    return this.answered?.wanted.weight === "count" ? words.count(length) : formatDuration(length);
  }

  /** All that is known, in sight or not. */
  private all({ bins, below, above }: Histogram): number {
    return bins.reduce((sum, bin) => sum + this.length(bin), this.length(below) + this.length(above));
  }

  protected draw(context: CanvasRenderingContext2D, size: Size, found: Histogram): void {
    const { name, title, weight } = this.answered!.wanted;
    this.chart = drawHistogram(context, size, found, {
      title: words.and(title, found.units),
      stroke: this.strokeOf(name),
      isCount: weight === "count",
      samples: words.samples,
      marked: this.mark,
      palette: this.scene.palette,
    });
  }

  protected nearest(x: number): number | null {
    const { chart, answer } = this;
    if (!chart || !answer) return null;
    const found = answer.bins.findIndex(({ low, high }) => x >= chart.xOf(low) && x < chart.xOf(high));
    return found >= 0 ? found : answer.bins.length === 1 ? 0 : null;
  }

  protected stepped(by: 1 | -1, isFar: boolean): number | null {
    const count = this.answer?.bins.length ?? 0;
    if (count === 0) return null;
    const from = this.marked ?? (by > 0 ? -1 : count);
    return Math.min(Math.max(from + by * (isFar ? FAR : 1), 0), count - 1);
  }

  protected toldOf(i: number, found: Histogram): string {
    const bin = found.bins[i]!;
    const length = this.length(bin);
    const part = `${numberText((100 * length) / this.all(found))} %`;
    const units = found.units ? ` ${found.units}` : "";
    return words.bar(numberText(bin.low), `${numberText(bin.high)}${units}`, this.lengthText(length), part);
  }

  protected label({ title }: Wanted): string {
    return words.labels.histogram(title);
  }

  protected csvUrl(wanted: Wanted, range: Range): string | null {
    return csvOf("histogram", { expression: wanted.of }, histogramQuery(wanted, range));
  }
}
