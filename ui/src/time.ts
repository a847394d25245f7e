// Times: as text, in UTC, in the browser's zone, or in another by its name. What people type is read by typed.ts.
//
// A moment on the wire is whole seconds and nanoseconds, and stays so wherever it is printed or sent back. As an
// x coordinate it is one float of seconds, good to a quarter of a microsecond in this century: enough to draw.

import { timeWords as words } from "./words/time.ts";

/** Besides these two any zone of the IANA database, by its name: `Europe/Stockholm`. */
export type Zone = "utc" | "local" | (string & {});

/** The zone that an address names; the browser's where it names none that there is. */
export function zoneOf(text: string | null): Zone {
  if (text === null || text === "" || text === "local") return "local";
  if (text.toLowerCase() === "utc") return "utc";
  return clockOf(text) ? text : "local";
}

/** How an address says a zone; nothing of the browser's. */
export function zonePart(zone: Zone): string[] {
  return zone === "local" ? [] : [`zone=${zone}`];
}

const clocks = new Map<string, Intl.DateTimeFormat | null>();
/** More names than this nobody asks for. */
const CLOCKS_MAX = 50;

function clockOf(name: string): Intl.DateTimeFormat | null {
  const had = clocks.get(name);
  if (had !== undefined) return had;
  let clock: Intl.DateTimeFormat | null = null;
  try {
    // A bare offset, which some browsers take, is no name.
    if (/^[A-Za-z]/.test(name))
      clock = new Intl.DateTimeFormat("en", {
        ...{ timeZone: name, hourCycle: "h23", era: "narrow" },
        ...{ year: "numeric", month: "numeric", day: "numeric" },
        ...{ hour: "numeric", minute: "numeric", second: "numeric" },
      });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  if (clocks.size >= CLOCKS_MAX) clocks.clear();
  clocks.set(name, clock);
  return clock;
}

/** Offsets change at quarters of an hour, nowhere else. */
const QUARTER = 900;
const offsets = new Map<string, number>();
const OFFSETS_MAX = 20_000;

/** How far the clocks of a zone are ahead of UTC, in minutes: what they show, taken for UTC, less the moment. */
function namedOffset(seconds: number, name: string): number {
  const quarter = Math.floor(seconds / QUARTER);
  const key = `${quarter} ${name}`;
  const had = offsets.get(key);
  if (had !== undefined) return had;
  const clock = clockOf(name);
  const at = quarter * QUARTER;
  const shown = Object.fromEntries(
    (clock?.formatToParts(at * 1000) ?? []).map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second } = shown as unknown as Fields;
  const offset = clock ? (Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - at) / 60 : 0;
  if (offsets.size >= OFFSETS_MAX) offsets.clear();
  offsets.set(key, offset);
  return offset;
}

/** The moment at which clocks of a zone show what UTC shows at another; of two the first, of none that by the clock before. */
function namedMoment(shown: number, name: string): number {
  const [before, after] = [-86_400, 86_400].map((by) => namedOffset(shown + by, name) * 60) as [
    number,
    number,
  ];
  if (namedOffset(shown - before, name) * 60 === before) return shown - before;
  return namedOffset(shown - after, name) * 60 === after ? shown - after : shown - before;
}

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
  if (zone === "local") return new Date(year, month - 1, day, hour, minute, second).getTime() / 1000;
  const shown = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  return zone === "utc" ? shown : namedMoment(shown, zone);
}

/** How far a zone is ahead of UTC at a moment. */
export function offsetMinutes(seconds: number, zone: Zone): number {
  if (zone === "utc") return 0;
  return zone === "local" ? -new Date(seconds * 1000).getTimezoneOffset() : namedOffset(seconds, zone);
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
