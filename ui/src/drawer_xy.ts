// Two rows of the plot against each other: what both were at the same times, with the time as colour.

import type { Chart, Size } from "./chart_axes.ts";
import type { Part } from "./chart_canvas.ts";
import { drawPairs, extent, isInSight } from "./charts.ts";
import type { DrawerActions } from "./drawer.ts";
import {
  isComing,
  nothingIn,
  numberText,
  Panel,
  readSpan,
  roundSeconds,
  spanAbout,
  spanAlong,
  spanText,
  WAITING,
  type Empty,
  type Row,
} from "./drawer_panel.ts";
import { h, set } from "./dom.ts";
import { button, emptyOf } from "./empty.ts";
import { BYS, csvOf, getPairs, pairsQuery, type By, type Pairs, type PairsWanted } from "./relations.ts";
import { lastAtOrBefore } from "./rows.ts";
import type { Range } from "./state.ts";
import { formatDuration } from "./time.ts";
import { drawerWords as words } from "./words/drawer.ts";

/** Where pairs are made at equal distances there are about so many. */
const PAIRS = 1000;
/** A pair is pointed at from so many pixels. */
const NEAR = 24;
/** As many as the archiver gives. */
const LIMIT = 1_000_000;
const FAR = 10;

/** An answer keeps the names of what was asked for, whatever is chosen meanwhile. */
type Wanted = PairsWanted & { titles: { x: string; y: string }; units: Pairs["units"] };

export class XyPanel extends Panel<Wanted, Pairs> {
  private by: HTMLSelectElement;
  private step = this.secondsField("step");
  private stepLabel = h("label", {}, this.step, h("span", {}, words.seconds));
  private places: { x: Float64Array; y: Float64Array } | null = null;
  private chart: Chart | null = null;

  constructor(actions: DrawerActions) {
    super("xy", actions, "xy");
    const swap = button("⇄", () => this.swap());
    set(swap, "aria-label", words.swap);
    swap.title = words.swap;
    const [by, select] = this.wordSelect("by", words.by, words.bys);
    this.by = select;
    const [x, y] = [this.rowSelect("x", words.x, ["xin"]), this.rowSelect("y", words.y, ["yin"])];
    this.addFields(x, swap, y, by, this.stepLabel);
  }

  private get pair(): [Row, Row] | null {
    const { rows } = this;
    const [first, second] = [this.rowOf("x"), this.rowOf("y")];
    const x = first ?? rows.find((row) => row !== second);
    const y = second ?? rows.find((row) => row !== x);
    return x && y ? [x, y] : null;
  }

  private swap(): void {
    const { pair } = this;
    const { xin, yin } = this.choices;
    if (pair) this.choose({ x: pair[1].name, y: pair[0].name, xin: yin, yin: xin });
  }

  /** The values in sight. */
  private get sight(): { x: [number, number] | null; y: [number, number] | null } {
    return { x: readSpan(this.choices.xin), y: readSpan(this.choices.yin) };
  }

  protected get isZoomed(): boolean {
    const { x, y } = this.sight;
    return x !== null || y !== null;
  }

  protected zoom(part: Part | null): void {
    if (part === null) return this.look(null, null);
    const { chart, sight } = this;
    if (!chart) return;
    const [x, y] = [part.x && spanAlong("x", chart, part.x), part.y && spanAlong("y", chart, part.y)];
    this.look(x ?? sight.x, y ?? sight.y);
  }

  protected zoomBy(factor: number): void {
    const { chart, answer } = this;
    if (!chart || !answer) return;
    const row = this.marked;
    const { sight } = this;
    const [x, y] = (["x", "y"] as const).map((axis) => {
      const shown = sight[axis] ?? spanAlong(axis, chart, [-Infinity, Infinity]);
      return spanAbout(row === null ? (shown[0] + shown[1]) / 2 : answer[axis][row]!, shown, factor);
    }) as [[number, number], [number, number]];
    const isAll = (span: [number, number], axis: "x" | "y") => {
      const [low, high] = extent(answer[axis]);
      return span[0] <= low && span[1] >= high;
    };
    if (isAll(x, "x") && isAll(y, "y")) this.look(null, null);
    else this.look(x, y);
  }

  private look(x: [number, number] | null, y: [number, number] | null): void {
    const isSpan = (span: [number, number] | null) => span !== null && span[0] < span[1];
    const [xin, yin] = [x, y].map((span) => (isSpan(span) ? spanText(span!) : undefined));
    this.choose({ xin, yin }, "replace");
  }

  protected showChoices(): void {
    const { pair } = this;
    this.showRow("x", pair?.[0] ?? null);
    this.showRow("y", pair?.[1] ?? null);
    this.by.value = BYS.find((by) => by === this.choices.by) ?? "";
    const isStepped = this.choices.by === "grid" || this.choices.by === "mean";
    this.stepLabel.hidden = !isStepped;
    if (document.activeElement !== this.step) this.step.value = this.choices.step ?? "";
    this.step.placeholder = String(this.roundStep);
  }

  private get roundStep(): number {
    const { from, to } = this.scene.range;
    return roundSeconds((to - from) / PAIRS);
  }

  protected want(): { wanted: Wanted } | { empty: Empty } {
    const { pair } = this;
    if (!pair) return { empty: this.isWaiting ? WAITING : this.tooFew() };
    if (pair.some(({ trace }) => isComing(trace))) return { empty: WAITING };
    const [x, y] = pair;
    const by = BYS.find((by) => by === this.choices.by) ?? this.usual(pair);
    const chosen = Number(this.choices.step ?? NaN);
    const step = by === "grid" || by === "mean" ? (chosen > 0 ? chosen : this.roundStep) : null;
    const titles = { x: x.title, y: y.title };
    const units = { x: x.units, y: y.units };
    return { wanted: { x: x.expression, y: y.expression, by, step, titles, units } };
  }

  /** Where the plot has each sample there are few enough; of a state there is no mean. */
  private usual(pair: Row[]): By {
    if (pair.every(({ trace }) => trace.history?.bins == null)) return "last";
    return pair.some(({ trace }) => trace.kind === "state") ? "grid" : "mean";
  }

  private tooFew(): Empty {
    const text = this.rows.length === 1 ? words.oneRow : words.noRow;
    const find = button(words.findOne, () => this.actions.find());
    return { key: text, nodes: () => emptyOf(text, [find]) };
  }

  /** Of a range before which units were never heard they are those of the plot. */
  protected async ask(wanted: Wanted, range: Range, signal: AbortSignal): Promise<Pairs> {
    const pairs = await getPairs(wanted, range, signal);
    const { x, y } = pairs.units;
    return { ...pairs, units: { x: x ?? wanted.units.x, y: y ?? wanted.units.y } };
  }

  protected tell(pairs: Pairs): { said: (Node | string)[] } | { empty: Empty } {
    const { by, step } = this.answered!.wanted;
    const { range } = this.answered!;
    if (pairs.x.length === 0) return { empty: this.noPairs(by, range) };
    const how = words.how[by];
    const { correlation, slope, intercept, unpaired, until } = pairs;
    const said: (Node | string)[] = [
      words.pairs(pairs.x.length, typeof how === "string" ? how : how(formatDuration(step ?? 0))),
    ];
    const { sight } = this;
    if (this.isZoomed) {
      const seen = pairs.x.reduce((sum, _, row) => sum + Number(isInSight(pairs, row, sight)), 0);
      said.push(words.inSight(seen));
    }
    if (correlation !== null) said.push(words.correlation(correlation.toFixed(3).replace("-", "−")));
    if (slope !== null && intercept !== null) {
      const sign = intercept < 0 ? "−" : "+";
      said.push(words.fit(numberText(slope), `${sign} ${numberText(Math.abs(intercept))}`));
    }
    if (unpaired > 0) said.push(words.unpaired(unpaired));
    if (pairs.damage > 0) said.push(words.damaged(pairs.damage));
    if (until !== null) {
      const means = button(words.means, () => this.choose({ by: "mean", step: undefined }));
      means.className = "link";
      said.push(h("span", {}, words.until(this.time(Date.parse(until) / 1000)), " ", means));
    }
    return { said };
  }

  private noPairs(by: By, range: Range): Empty {
    const text = words.noPairs(this.time(range.from), this.time(range.to));
    if (by !== "stamp" && by !== "pulse") return nothingIn(text, this.scene, this.actions);
    const held = button(words.held, () => this.choose({ by: "last", step: undefined }));
    return { key: text, nodes: () => emptyOf(text, [held]) };
  }

  protected draw(context: CanvasRenderingContext2D, size: Size, pairs: Pairs): void {
    const { from, to } = this.answered!.range;
    const { titles } = this.answered!.wanted;
    const chart = drawPairs(context, size, pairs, {
      titles: { x: words.and(titles.x, pairs.units.x), y: words.and(titles.y, pairs.units.y) },
      times: { from, to, ...this.ends(from, to) },
      ...this.sight,
      marked: this.mark,
      palette: this.scene.palette,
    });
    this.chart = chart;
    this.places = { x: Float64Array.from(pairs.x, chart.xOf), y: Float64Array.from(pairs.y, chart.yOf) };
  }

  /** Days, or times of the day. */
  private ends(from: number, to: number): { first: string; last: string } {
    const [a, b] = [this.time(from), this.time(to)];
    const isDays = to - from > 2 * 86_400;
    return isDays
      ? { first: a.slice(0, 10), last: b.slice(0, 10) }
      : { first: a.slice(11, 19), last: b.slice(11, 19) };
  }

  protected nearest(x: number, y: number): number | null {
    const { answer, sight } = this;
    if (!this.places || !answer) return null;
    let [best, least] = [null as number | null, NEAR ** 2];
    for (let i = 0; i < this.places.x.length; i++) {
      const away = (this.places.x[i]! - x) ** 2 + (this.places.y[i]! - y) ** 2;
      if (away <= least && isInSight(answer, i, sight)) [best, least] = [i, away];
    }
    return best;
  }

  protected stepped(by: 1 | -1, isFar: boolean): number | null {
    const { answer, sight } = this;
    if (!answer) return null;
    const count = answer.x.length;
    let [row, left] = [this.mark ?? (by > 0 ? -1 : count), isFar ? FAR : 1];
    let last = this.marked;
    // What is out of sight is passed over.
    while (left > 0 && row + by >= 0 && row + by < count) {
      row += by;
      if (!isInSight(answer, row, sight)) continue;
      [last, left] = [row, left - 1];
    }
    return last;
  }

  protected override restingMark({ time }: Pairs): number | null {
    const { at } = this.scene;
    const row = at === null ? -1 : lastAtOrBefore(time, at);
    return row < 0 ? null : row;
  }

  protected toldOf(row: number, { time, x, y, units }: Pairs): string {
    const [a, b] = [numberText(x[row]!), numberText(y[row]!)];
    return `${this.time(time[row]!, 3)}: X ${a}${units.x ? ` ${units.x}` : ""}, Y ${b}${units.y ? ` ${units.y}` : ""}`;
  }

  protected override chosen(): void {
    const row = this.marked;
    const at = row === null ? undefined : this.answer?.time[row];
    if (at !== undefined) this.actions.pin(at);
  }

  protected label({ titles }: Wanted): string {
    return words.labels.xy(titles.x, titles.y);
  }

  protected csvUrl(wanted: Wanted, range: Range): string | null {
    const { x, y } = wanted;
    return csvOf("xy", { x, y }, `${pairsQuery(wanted, range)}&limit=${LIMIT}`);
  }
}
