// Typed times: what people write for a moment or for the two ends of a range, in the page's fields and in its URL.
//
// testdata/times.json holds what is read and what is refused; every reader of typed times is held to it.

import type { Range } from "./state.ts";
import { fieldsOf, momentOf, type Fields, type Zone } from "./time.ts";
import { timeWords as words } from "./words/time.ts";

export type End = "from" | "to";

/** Why a text is no time, or two are no range, in a sentence for who typed them. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The ends at fault; none for a single moment. */
    readonly ends: End[] = [],
  ) {
    super(message);
  }
}

/** A length of time behind its sign: before, after, or around something else. */
interface Length {
  sign: "-" | "+" | "±";
  months: number;
  seconds: number;
}

/** What a text says: a moment by itself, or a length that needs something to count from. */
type Typed = { at: number } | Length;

/** How long before its end a range begins whose beginning is not given. */
const USUAL: Length = { sign: "-", months: 0, seconds: 3600 };

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };
const UNIT_MONTHS: Record<string, number> = { mo: 1, y: 12 };
const PART = /(\d+(?:\.\d+)?)\s*(mo|min|[smhdwy])(?![a-z])\s*/g;
const LENGTH = new RegExp(`^([-+±])\\s*((?:${PART.source})+)$`);

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const CLOCK = /(\d{1,2}):(\d{2})(?::(\d{2})(\.\d+)?)?/.source;
const CLOCK_ALONE = new RegExp(`^${CLOCK}$`);
// A URL turns + into a space, and people do the reverse: between date and clock, and before the zone, either will do.
const DATE = new RegExp(
  `^(\\d{4})-(\\d{2})-(\\d{2})(?:(?:t|\\+|\\s+)${CLOCK}(?:\\s*(z|[+-]\\d{2}:?\\d{2})|\\s(\\d{2}:\\d{2}))?)?$`,
);
const SECONDS_SINCE_1970 = /^\d{9,10}(\.\d+)?$/;

const [YEAR_MIN, YEAR_MAX] = [1900, 9999];

/** The moment that a text says, in float seconds; `null` for what is none. */
export function parseTime(text: string, zone: Zone, now: number): number | null {
  try {
    return fixed(read(text, zone, now), zone, now);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** The range between two texts; `null` stands for an end that is not given. Throws a `Refusal`. */
export function readRange(from: string | null, to: string | null, zone: Zone, now: number): Range {
  const begin = from === null ? null : blaming("from", () => read(from, zone, now));
  const end = blaming("to", () => read(to ?? "now", zone, now));
  if (isLength(end, "±")) {
    const middle = begin && blaming("to", () => fixed(begin, zone, now));
    if (middle === null) throw new Refusal(words.aroundNoBeginning(to!), ["to"]);
    return around(middle, end, zone);
  }
  if (begin && isLength(begin, "±")) {
    const middle = blaming("to", () => fixed(end, zone, now));
    if (middle === null) throw new Refusal(words.aroundNoEnd(from!), ["from"]);
    return around(middle, begin, zone);
  }
  if (begin && isLength(begin, "+")) throw new Refusal(words.countsFromBeginning(from!), ["from"]);
  return inOrder(isLength(end, "+") ? after(begin, end) : before(begin, end));

  function after(begin: Typed | null, end: Length): Range {
    const start = begin && blaming("from", () => fixed(begin, zone, now));
    if (start === null) throw new Refusal(words.lacksBeginning(to!), ["to"]);
    return { from: start, to: blaming("to", () => moved(start, end, 1, zone)) };
  }

  function before(begin: Typed | null, end: Typed): Range {
    const stop = blaming("to", () => fixed(end, zone, now)!);
    if (begin && "at" in begin) return { from: begin.at, to: stop };
    // Of two lengths before now each counts from now; a length before a moment counts from that.
    const anchor = begin && !("at" in end) ? now : stop;
    return { from: blaming("from", () => moved(anchor, begin ?? USUAL, -1, zone)), to: stop };
  }
}

/** Whether the end of a range is now itself, and moves on with it. */
export function isNow(to: string | null): boolean {
  return to === null || to.trim().toLowerCase() === "now";
}

function inOrder(range: Range): Range {
  if (range.from > range.to) throw new Refusal(words.beginsAfterEnd, ["from", "to"]);
  if (range.from === range.to) throw new Refusal(words.endsAtBeginning, ["from", "to"]);
  return range;
}

function around(middle: number, length: Length, zone: Zone): Range {
  return inOrder({ from: moved(middle, length, -1, zone), to: moved(middle, length, 1, zone) });
}

/** Lays what goes wrong within at the door of one end. */
function blaming<T>(end: End, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof Refusal ? new Refusal(error.message, [end]) : error;
  }
}

function isLength(typed: Typed, sign: Length["sign"]): typed is Length {
  return "sign" in typed && typed.sign === sign;
}

/** The moment of what needs no other end: one by itself, or a length before now. */
function fixed(typed: Typed, zone: Zone, now: number): number | null {
  if ("at" in typed) return typed.at;
  return typed.sign === "-" ? moved(now, typed, -1, zone) : null;
}

/** A moment moved by a length: months by the calendar, to the last day where the month has no such day. */
function moved(at: number, { months, seconds }: Length, by: 1 | -1, zone: Zone): number {
  if (months === 0) return within(at + by * seconds);
  const f = fieldsOf(at, zone);
  const count = f.year * 12 + f.month - 1 + by * months;
  const [year, month] = [Math.floor(count / 12), (((count % 12) + 12) % 12) + 1];
  const day = Math.min(f.day, daysIn(year, month));
  return within(zoned({ ...f, year, month, day }, zone) + (at - Math.floor(at)) + by * seconds);
}

function read(text: string, zone: Zone, now: number): Typed {
  const typed = text.trim().toLowerCase();
  const today = { ...fieldsOf(now, zone), hour: 0, minute: 0, second: 0 };
  if (typed === "now") return { at: now };
  if (typed === "today") return { at: momentOf(today, zone) };
  if (typed === "yesterday") return { at: momentOf({ ...today, day: today.day - 1 }, zone) };
  if (DAYS.includes(typed)) {
    const weekday = new Date(Date.UTC(today.year, today.month - 1, today.day)).getUTCDay();
    const ago = (weekday - DAYS.indexOf(typed) + 7) % 7;
    return { at: momentOf({ ...today, day: today.day - ago }, zone) };
  }
  if (SECONDS_SINCE_1970.test(typed)) return { at: Number(typed) };
  const length = LENGTH.exec(typed.replace(/^\+\s*-/, "±"));
  if (length) return lengthOf(length[1] as Length["sign"], length[2]!);
  const clock = CLOCK_ALONE.exec(typed);
  if (clock) {
    const at = onDay(typed, today, clock.slice(1), zone);
    return { at: at <= now ? at : onDay(typed, { ...today, day: today.day - 1 }, clock.slice(1), zone) };
  }
  const date = DATE.exec(typed);
  if (date) return { at: dated(text.trim(), date, zone) };
  if (typed === "") throw new Refusal(words.nothingWritten);
  throw new Refusal(words.noTime(text.trim()));
}

function lengthOf(sign: Length["sign"], parts: string): Length {
  const length = { sign, months: 0, seconds: 0 };
  for (const [, count, unit] of parts.matchAll(PART)) {
    const months = UNIT_MONTHS[unit!];
    if (months === undefined) length.seconds += Number(count) * UNIT_SECONDS[unit!]!;
    else if (/^\d+$/.test(count!)) length.months += Number(count) * months;
    else throw new Refusal(words.partOfMonth(count, unit));
  }
  return length;
}

/** The moment of a date, with or without a clock and a zone of its own. */
function dated(text: string, found: RegExpExecArray, zone: Zone): number {
  const [year, month, day] = found.slice(1, 4).map(Number) as [number, number, number];
  if (month < 1 || month > 12) throw new Refusal(words.wrongMonth(text, month));
  if (day < 1 || day > daysIn(year, month)) throw new Refusal(words.wrongDay(text, day));
  const date = { year, month, day, hour: 0, minute: 0, second: 0 };
  const own = found[8] ?? found[9];
  const at = onDay(text, date, found.slice(4, 8), own === undefined ? zone : "utc");
  return within(at - (own === undefined || own === "z" ? 0 : offsetOf(text, own)));
}

/** Seconds that `+02:00`, `-0500` or `02:00` is ahead of UTC. */
function offsetOf(text: string, zone: string): number {
  const [hours, minutes] = zone.replace(/\D/g, "").match(/../g)!.map(Number) as [number, number];
  if (hours > 23 || minutes > 59) throw new Refusal(words.wrongZone(text, hours));
  return (zone.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** The moment of a clock on a day; 24:00 is the end of it. */
function onDay(text: string, day: Fields, clock: (string | undefined)[], zone: Zone): number {
  const [hour, minute, second, fraction] = [0, 1, 2, 3].map((part) => Number(clock[part] ?? 0)) as [
    number,
    number,
    number,
    number,
  ];
  const isEndOfDay = hour === 24 && minute + second + fraction === 0;
  if (hour > 23 && !isEndOfDay) throw new Refusal(words.wrongHour(text, hour));
  if (minute > 59) throw new Refusal(words.wrongMinute(text, minute));
  if (second > 59) throw new Refusal(words.wrongSecond(text, second));
  return zoned({ ...day, hour, minute, second }, zone) + fraction;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function zoned(fields: Fields, zone: Zone): number {
  // Years below 100 would be taken for those of the twentieth century.
  return within(fields.year < YEAR_MIN ? NaN : momentOf(fields, zone));
}

function within(at: number): number {
  if (at >= Date.UTC(YEAR_MIN) / 1000 && at < Date.UTC(YEAR_MAX + 1) / 1000) return at;
  throw new Refusal(words.wrongYear(YEAR_MIN, YEAR_MAX));
}
