// The times that a search has found, for the marks in a plot: those in the span of its overview, so that one sees what lies beside the one opened.

import { searchWhen, type WhenLine } from "./analysis.ts";
import { ApiError, isAbort } from "./api.ts";
import { exactOf } from "./decode.ts";
import type { Range } from "./state.ts";
import { floatOf } from "./time.ts";
import { plotWords as words } from "./words/plot.ts";

/** More of them nobody could tell apart. */
const SPANS_MAX = 2000;
/** It is searched once the view has rested so long. */
const REST_MILLIS = 700;

export class Found {
  /** The earliest first; another array whenever they are others. */
  spans: Range[] = [];
  /** How many they are, or why it is not known. */
  told = "";
  private wanted = "";
  private timer = 0;
  private asking: AbortController | null = null;

  constructor(private changed: () => void) {}

  /** Looks when the expression held in a range, unless that was looked for last. */
  want(expression: string, range: Range): void {
    const key = `${range.from} ${range.to} ${expression}`;
    if (key === this.wanted) return;
    if (!this.wanted.endsWith(` ${expression}`)) [this.spans, this.told] = [[], ""];
    this.wanted = key;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.ask(expression, range), REST_MILLIS);
  }

  private async ask(expression: string, range: Range): Promise<void> {
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    const spans: Range[] = [];
    const take = (line: WhenLine) => {
      if ("found" in line) spans.push({ from: timeOf(line.found.from), to: timeOf(line.found.to) });
    };
    try {
      // Whether units may differ was decided where it was searched first.
      const asked = { expression, range, limit: SPANS_MAX, anyUnits: true };
      await searchWhen(asked, take, controller.signal);
      [this.spans, this.told] = [spans, words.marked(expression, spans.length, spans.length >= SPANS_MAX)];
    } catch (error) {
      if (isAbort(error)) return;
      if (!(error instanceof ApiError)) throw error;
      [this.spans, this.told] = [[], error.sentence];
      // Asked for again with the next change of the view.
      this.wanted = "";
    }
    this.changed();
  }
}

function timeOf(time: string): number {
  const exact = exactOf(time);
  return exact ? floatOf(exact) : NaN;
}
