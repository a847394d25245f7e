// What each PV amounts to between the cursors A and B, as the archiver computes it: each value counts for as long as it held.

import { faultText, getAt } from "./api.ts";
import { formatNumber, numberOf } from "./decode.ts";
import { h } from "./dom.ts";
import { expressionOf, formulaAt, getStatistics, type Statistics } from "./formula.ts";
import { secondsEarlier, titleOfName } from "./source.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { formatDuration, instantOf } from "./time.ts";
import { unitsOf, type Trace } from "./trace.ts";
import { betweenWords as words } from "./words/between.ts";

/** Cursors that are being moved are waited for. */
const REST_MILLIS = 250;
/** Every sample is read for each: of more PVs nobody looks at all numbers. */
const TRACES_MAX = 24;
const AT_ONCE = 3;
/** Of what has no precision of its own. */
const DIGITS = 5;

interface Known {
  statistics: Statistics | null;
  /** What it was at A, and at B. */
  ends: [number, number];
  error: string | null;
}

export class Between {
  private key = "";
  private timer = 0;
  private asking: AbortController | null = null;
  private cells = new Map<string, HTMLElement>();

  constructor(private element: HTMLElement) {}

  show(range: Range | null, all: Trace[], palette: Palette): void {
    const traces = all.filter((trace) => !trace.hidden && !trace.unknown && trace.kind === "number");
    const isThere = range !== null && traces.length > 0;
    const key = isThere
      ? JSON.stringify([range, traces.map((trace) => [trace.name, trace.colour]), palette.dark])
      : "";
    if (key === this.key) return;
    this.key = key;
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.element.hidden = !isThere;
    if (!isThere) return this.element.replaceChildren();
    const shown = traces.slice(0, TRACES_MAX);
    this.lay(range, shown, traces.length, palette);
    this.timer = window.setTimeout(() => void this.ask(range, shown), REST_MILLIS);
  }

  private lay(range: Range, shown: Trace[], total: number, palette: Palette): void {
    this.cells.clear();
    const rows = shown.map((trace) => {
      const swatch = h("span", { class: "swatch" });
      const { stroke, border } = palette.trace(trace.colour);
      swatch.style.setProperty("--trace", stroke);
      swatch.style.setProperty("--border", border);
      const cells = h("div", { class: "numbers" }, "…");
      this.cells.set(trace.name, cells);
      return h("li", { "data-of": trace.name }, swatch, h("b", {}, titleOfName(trace.name)), cells);
    });
    const rest = total - shown.length;
    this.element.replaceChildren(
      h("h2", {}, words.title, " ", h("span", { class: "faint" }, formatDuration(range.to - range.from))),
      h("ul", {}, ...rows),
      ...(rest > 0 ? [h("p", { class: "faint" }, words.rest(rest))] : []),
    );
  }

  private async ask(range: Range, traces: Trace[]): Promise<void> {
    const controller = new AbortController();
    this.asking = controller;
    const ends = this.endsOf(range, traces, controller.signal);
    // Whatever waits for it says what is wrong; perhaps nothing does.
    ends.catch(() => null);
    const left = [...traces];
    const work = async () => {
      for (let trace = left.shift(); trace && !controller.signal.aborted; trace = left.shift()) {
        const known = await knownOf(trace, range, ends, controller.signal);
        const cells = this.cells.get(trace.name);
        if (!controller.signal.aborted) cells?.replaceChildren(...numbersOf(trace, known, range));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** What all PVs were at A and at B, in one request each. */
  private async endsOf(range: Range, traces: Trace[], signal: AbortSignal): Promise<Map<string, number>[]> {
    const names = traces.filter(({ source }) => source.kind === "pv").map(({ name }) => name);
    if (names.length === 0) return [new Map(), new Map()];
    const at = async (moment: number) => {
      const { pvs } = await getAt(names, instantOf(moment), signal);
      return new Map(pvs.map(({ pv, time, value }) => [pv, time === null ? NaN : numberOf(value)]));
    };
    return Promise.all([at(range.from), at(range.to)]);
  }
}

async function knownOf(
  trace: Trace,
  range: Range,
  ends: Promise<Map<string, number>[]>,
  signal: AbortSignal,
): Promise<Known> {
  const { source } = trace;
  const earlier = source.kind === "over" ? secondsEarlier(source.by, range.from) : 0;
  const then = { from: range.from - earlier, to: range.to - earlier };
  const expression = source.kind === "formula" ? source.expression : expressionOf(source.pv);
  try {
    const statistics = await getStatistics(expression, then, signal);
    const values =
      source.kind === "pv"
        ? (await ends).map((of) => of.get(trace.name) ?? NaN)
        : await Promise.all([then.from, then.to].map((at) => formulaAt(expression, at, signal)));
    return { statistics, ends: values as [number, number], error: null };
  } catch (error) {
    const text = faultText(error);
    return { statistics: null, ends: [NaN, NaN], error: text };
  }
}

function numbersOf(trace: Trace, { statistics, ends, error }: Known, range: Range): Node[] {
  if (!statistics) return [h("span", { class: "is-error" }, error ?? "")];
  const units = statistics.units ?? unitsOf(trace);
  const precision = trace.metadata?.precision ?? null;
  const text = (value: number, digits = precision) => {
    if (Number.isNaN(value)) return "–";
    const short = digits === null ? Number(value.toPrecision(DIGITS)) : value;
    return formatNumber(short, digits).replace(/^-/, "−").replace(/e-/, "e−");
  };
  const { mean, std, min, max, covered } = statistics;
  const length = range.to - range.from;
  const cells: [string, string][] = [
    [words.mean, text(mean)],
    [words.std, text(std, null)],
    [words.min, text(min)],
    [words.max, text(max)],
    [words.change, text(ends[1] - ends[0])],
    [words.integral, `${text(mean * covered, null)} ${units === "" ? "s" : `${units}·s`}`],
  ];
  const list = h("dl", {}, ...cells.flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
  const isWhole = covered > length * 0.999;
  const known = words.known(formatDuration(covered), formatDuration(length));
  return isWhole ? [list] : [list, h("small", { class: "faint" }, known)];
}
