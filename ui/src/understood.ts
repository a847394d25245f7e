// How typed times were understood: one line for whoever types them, before and after they are taken.

import type { Span } from "./state.ts";
import { fieldsOf, formatDuration, formatTime, zoneName, type Zone } from "./time.ts";
import type { Refusal } from "./typed.ts";
import { timeWords as words } from "./words/time.ts";

const [HOUR, DAY] = [3600, 86_400];

/** `Tue 2026-11-24 08:00:00 – now, 25 h · UTC`; the day of the end is said only where it is another one. */
export function spanText(span: Span, zone: Zone, now: number): string {
  const range = span.kind === "live" ? { from: now - span.seconds, to: now } : span.range;
  const length = range.to - range.from;
  const hasParts = span.kind === "fixed" && Math.abs(range.from - Math.round(range.from)) > 1e-6;
  const digits = length < 10 || hasParts ? 3 : 0;
  const [from, to] = [momentText(range.from, zone, digits), momentText(range.to, zone, digits)];
  const end = span.kind === "live" ? "now" : isSameDay(from, to) ? to.slice(DAY_LETTERS + 1) : to;
  return `${from} – ${end}, ${lengthText(length)} · ${zoneName(range.to, zone)}`;
}

/** Why times are not taken, with the field at fault where it is one of the two. */
export function refusalText({ message, ends }: Refusal): string {
  const [end, other] = ends;
  return end === undefined || other !== undefined ? message : `${words.ends[end]}: ${message}`;
}

/** How long before now, in words that can be typed again and mean the same: no years, which the calendar counts. */
export function agoText(seconds: number): string {
  if (seconds < 1) return `-${Number(seconds.toPrecision(3))} s`;
  if (seconds < 365 * DAY) return `-${formatDuration(seconds)}`;
  const hours = Math.floor((seconds % DAY) / HOUR);
  return `-${Math.floor(seconds / DAY)} d${hours > 0 ? ` ${hours} h` : ""}`;
}

/** `Tue 2026-11-24`. */
const DAY_LETTERS = 14;

function momentText(at: number, zone: Zone, digits: number): string {
  const { year, month, day } = fieldsOf(at, zone);
  const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  return `${words.days[weekday]} ${formatTime(at, zone, digits)}`;
}

function isSameDay(from: string, to: string): boolean {
  return from.slice(0, DAY_LETTERS) === to.slice(0, DAY_LETTERS);
}

/** Up to two days in hours: a day of 25 of them is told from one of 24. */
function lengthText(seconds: number): string {
  if (seconds <= DAY || seconds >= 2 * DAY) return formatDuration(seconds);
  const minutes = Math.floor((seconds % HOUR) / 60);
  return words.hoursAnd(Math.floor(seconds / HOUR), minutes);
}
