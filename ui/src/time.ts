// Times: as text, in UTC or in the browser's zone. What people type is read by typed.ts.
//
// A moment on the wire is whole seconds and nanoseconds, and stays so wherever it is printed or sent back. As an
// x coordinate it is one float of seconds, good to a quarter of a microsecond in this century: enough to draw.

import { timeWords as words } from "./words.ts";

export type Zone = "utc" | "local";

/** A moment, exact: seconds since 1970 and the nanoseconds after them. */
export interface Instant {
  seconds: number;
  nanos: number;
}

/** The nearest moment that a float of seconds can name, to the microsecond. */
export function instantOf(x: number): Instant {
  const micros = Math.round((x - Math.floor(x)) * 1e6);
  return micros === 1e6
    ? { seconds: Math.floor(x) + 1, nanos: 0 }
    : { seconds: Math.floor(x), nanos: micros * 1000 };
}

/** The moment as a float of seconds, for drawing. */
export function floatOf(instant: Instant): number {
  return instant.seconds + instant.nanos / 1e9;
}

/** A nanosecond later or earlier. */
export function shiftNanos(instant: Instant, by: 1 | -1): Instant {
  const nanos = instant.nanos + by;
  if (nanos < 0) return { seconds: instant.seconds - 1, nanos: 999_999_999 };
  if (nanos > 999_999_999) return { seconds: instant.seconds + 1, nanos: 0 };
  return { seconds: instant.seconds, nanos };
}

/** So many seconds later, or earlier, to the nanosecond. */
export function shiftSeconds({ seconds, nanos }: Instant, by: number): Instant {
  const whole = Math.floor(by);
  const sum = nanos + Math.round((by - whole) * 1e9);
  return { seconds: seconds + whole + Math.floor(sum / 1e9), nanos: sum % 1e9 };
}

/** ISO 8601 in UTC with as many digits as it takes: what the server reads and what stands in the page's URL. */
export function isoOf(instant: Instant): string {
  const whole = new Date(instant.seconds * 1000).toISOString().slice(0, 19);
  const fraction = String(instant.nanos).padStart(9, "0").replace(/0+$/, "");
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`;
}

/** ISO 8601 in UTC of a float of seconds. */
export function iso(x: number): string {
  return isoOf(instantOf(x));
}

/** The calendar fields of a moment in a zone. */
export interface Fields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

export function fieldsOf(seconds: number, zone: Zone): Fields {
  const date = new Date(Math.floor(seconds) * 1000);
  const shifted = new Date(date.getTime() + offsetMinutes(seconds, zone) * 60_000);
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    minute: shifted.getUTCMinutes(),
    second: shifted.getUTCSeconds(),
  };
}

/** The moment at which a zone's clocks show these fields; months and days may run over. */
export function momentOf(fields: Fields, zone: Zone): number {
  const { year, month, day, hour, minute, second } = fields;
  const millis =
    zone === "utc"
      ? Date.UTC(year, month - 1, day, hour, minute, second)
      : new Date(year, month - 1, day, hour, minute, second).getTime();
  return millis / 1000;
}

/** How far a zone is ahead of UTC at a moment. */
export function offsetMinutes(seconds: number, zone: Zone): number {
  return zone === "utc" ? 0 : -new Date(seconds * 1000).getTimezoneOffset();
}

/** `UTC` or `UTC+01:00`. */
export function zoneName(seconds: number, zone: Zone): string {
  if (zone === "utc") return "UTC";
  const minutes = offsetMinutes(seconds, zone);
  const absolute = Math.abs(minutes);
  const clock = `${pad(Math.floor(absolute / 60))}:${pad(absolute % 60)}`;
  return `UTC${minutes < 0 ? "−" : "+"}${clock}`;
}

/** ISO 8601 with the zone's distance from UTC, to the millisecond: what any reader of times takes, and people read as their own. */
export function isoOfZone(x: number, zone: Zone): string {
  const name = zoneName(x, zone).slice(3).replace("−", "-");
  return `${formatTime(x, zone, 3).replace(" ", "T")}${name === "" ? "Z" : name}`;
}

/** `2026-11-20 21:19:00.317`, with so many digits after the point (0 to 9). */
export function formatInstant(instant: Instant, zone: Zone, digits: number): string {
  const f = fieldsOf(instant.seconds, zone);
  const date = `${pad(f.year, 4)}-${pad(f.month)}-${pad(f.day)}`;
  const clock = `${pad(f.hour)}:${pad(f.minute)}:${pad(f.second)}`;
  const fraction = digits > 0 ? `.${pad(instant.nanos, 9).slice(0, digits)}` : "";
  return `${date} ${clock}${fraction}`;
}

/** A float of seconds as text, see `formatInstant`. */
export function formatTime(x: number, zone: Zone, digits: number): string {
  return formatInstant(instantOf(x), zone, digits);
}

/** `45 s`, `3 min 20 s`, `2 d 4 h`: a length of time for people, in its two largest units. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return words.millis((seconds * 1000).toPrecision(3));
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const units: [string, number][] = [
    ["y", 31_557_600],
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  const [name, size] = units[first]!;
  const count = Math.floor(seconds / size);
  const next = units[first + 1];
  const rest = next ? Math.floor((seconds - count * size) / next[1]) : 0;
  return rest > 0 && next ? `${count} ${name} ${rest} ${next[0]}` : `${count} ${name}`;
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}
