// Notes on the plot: those of the range shown that are about its PVs, or about all; asked for when the view rests.

import { ApiError, isAbort } from "./api.ts";
import { exactOf } from "./decode.ts";
import { firstLine, notesIn, type Note } from "./memos.ts";
import type { Range } from "./state.ts";
import { floatOf } from "./time.ts";

/** A note as it stands on the time axis. */
export interface NoteMark {
  note: Note;
  from: number;
  /** None: a moment. */
  to: number | null;
  /** Its first line. */
  text: string;
}

const REST_MILLIS = 400;
/** What others write meanwhile comes with the next asking. */
const FRESH_MILLIS = 30_000;
/** Asked for is more than the range, so that a pan finds them there. */
const BESIDE = 1;

export class Notes {
  private marks: NoteMark[] = [];
  private had: { range: Range; at: number } | null = null;
  private wanted: Range | null = null;
  private timer = 0;
  private asking: AbortController | null = null;

  constructor(private changed: () => void) {}

  /** Asks for the notes of a range, unless they are there. */
  want(range: Range): void {
    this.wanted = range;
    const { had } = this;
    const isThere = had && had.range.from <= range.from && had.range.to >= range.to;
    if (isThere && performance.now() - had.at < FRESH_MILLIS) return;
    if (this.timer === 0) this.timer = window.setTimeout(() => void this.ask(), REST_MILLIS);
  }

  /** Something was written. */
  renew(): void {
    this.had = null;
    window.clearTimeout(this.timer);
    this.timer = 0;
    void this.ask();
  }

  /** Of a range those about some of these PVs, or about none in particular, the earliest first. */
  of(range: Range, names: string[]): NoteMark[] {
    return this.marks.filter(
      ({ note, from, to }) =>
        from < range.to &&
        (to ?? from) >= range.from &&
        (note.pvs.length === 0 || note.pvs.some((pv) => names.includes(pv))),
    );
  }

  private async ask(): Promise<void> {
    this.timer = 0;
    const range = this.wanted;
    if (!range) return;
    const beside = (range.to - range.from) * BESIDE;
    const wide = { from: range.from - beside, to: range.to + beside };
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    // Until an answer comes nobody asks again.
    this.had = { range: wide, at: performance.now() };
    try {
      const notes = await notesIn(wide, controller.signal);
      this.marks = notes.flatMap(markOf).sort((a, b) => a.from - b.from);
      this.changed();
    } catch (error) {
      if (isAbort(error)) return;
      // Without notes the plot is as good; they are asked for again with the next range.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

/** A note about no time stands nowhere on a plot. */
function markOf(note: Note): NoteMark[] {
  const at = (text: string | null) => {
    const exact = exactOf(text ?? "");
    return exact ? floatOf(exact) : null;
  };
  const [from, to] = [at(note.from), at(note.to)];
  if (from === null) return [];
  return [{ note, from, to: to !== null && to > from ? to : null, text: firstLine(note.text) }];
}

/** Where a flag stands, in CSS pixels; without room for its text it is a mark alone. */
export interface Flag {
  left: number;
  width: number;
  hasText: boolean;
}

const MARK = 12;
const FLAG_MAX = 220;
const APART = 4;
/** Farther from its line nobody would know what a flag belongs to. */
const BESIDE_MAX = 160;

/** Places flags from left to right so that none lies over another, nor over what is there already. */
export function placed(
  wanted: { x: number; width: number }[],
  taken: { left: number; right: number }[],
  edge: number,
): Flag[] {
  const boxes = [...taken];
  const isFree = (left: number, right: number) =>
    boxes.every((box) => left >= box.right + APART || right + APART <= box.left);
  const nextMark = (i: number) => wanted[i + 1]?.x ?? Infinity;
  return wanted.map(({ x, width }, i) => {
    const room = Math.min(width, FLAG_MAX);
    // At its line; beside the right edge it points the other way; where something stands it stands beside that.
    const there = boxes.filter((box) => box.left <= x + MARK && box.right > x);
    const beside = there.flatMap((box) => [box.right + APART, box.left - APART - room]);
    for (const left of [x, x - room, ...beside]) {
      const isWithin =
        left >= 0 && left + room <= edge && left - x < BESIDE_MAX && x - left - room < BESIDE_MAX;
      // The mark of the next one must not come to lie below the text of this one.
      const hides = left >= x && nextMark(i) < left + room + APART && nextMark(i) - x > MARK + APART;
      if (!isWithin || hides || !isFree(left, left + room)) continue;
      boxes.push({ left, right: left + room });
      return { left, width: room, hasText: true };
    }
    const left = Math.min(x, edge - MARK);
    // Where not even a mark has room its line stands alone.
    if (!isFree(left - APART, left + MARK + APART)) return { left, width: 0, hasText: false };
    boxes.push({ left, right: left + MARK });
    return { left, width: MARK, hasText: false };
  });
}
