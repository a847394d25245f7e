// Axes: where ticks stand in either zone, what is written at them, and how far a value axis reaches.

import { fieldsOf, momentOf, offsetMinutes, type Zone } from "./time.ts";
import type { Range } from "./state.ts";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Tick distances of less than a day, in seconds. */
const CLOCK_STEPS = [
  ...[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
];
const DAY_STEPS = [1, 2, 5, 10];
const MONTH_STEPS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200];

/** Times at which ticks stand, at most `count` of them: round in the zone that is shown, across changes of its offset. */
export function timeTicks(range: Range, count: number, zone: Zone): number[] {
  const seconds = range.to - range.from;
  const clock = CLOCK_STEPS.find((step) => seconds / step <= count);
  if (clock !== undefined) return clockTicks(range, clock, zone);
  const days = DAY_STEPS.find((step) => seconds / (step * DAY) <= count);
  if (days !== undefined) return dayTicks(range, days, zone);
  const months = MONTH_STEPS.find((step) => seconds / (step * 30.44 * DAY) <= count) ?? 1200;
  return monthTicks(range, months, zone);
}

function clockTicks(range: Range, step: number, zone: Zone): number[] {
  const offset = offsetMinutes(range.from, zone) * MINUTE;
  // Where clocks change within the range, a tick may move by an hour: one more at the end may move into it.
  const spare = step >= HOUR ? 1 : 0;
  const first = Math.ceil((range.from + offset) / step);
  const last = Math.floor((range.to + offset) / step) + spare;
  const ticks: number[] = [];
  for (let n = first; n <= last; n++) {
    // Multiplying a fraction of a second adds its rounding error to every tick; dividing by its inverse does not.
    const tick = step < 1 ? n / Math.round(1 / step) - offset : n * step - offset;
    const drift = step >= HOUR ? offset - offsetMinutes(tick, zone) * MINUTE : 0;
    if (tick + drift <= range.to) ticks.push(tick + drift);
  }
  return ticks;
}

function dayTicks(range: Range, step: number, zone: Zone): number[] {
  const f = fieldsOf(range.from, zone);
  const ticks: number[] = [];
  // Days are counted from the first of each month, so that ticks stay where they are when the view moves.
  for (let month = f.month; ; month++) {
    for (let day = 1; day <= 31 - (step > 1 ? step - 1 : 0); day += step) {
      const tick = momentOf({ year: f.year, month, day, hour: 0, minute: 0, second: 0 }, zone);
      if (tick > range.to) return ticks;
      if (tick >= range.from && fieldsOf(tick, zone).day === day) ticks.push(tick);
    }
  }
}

function monthTicks(range: Range, step: number, zone: Zone): number[] {
  const f = fieldsOf(range.from, zone);
  const years = step > 12 ? step / 12 : 1;
  const year = Math.floor(f.year / years) * years;
  const ticks: number[] = [];
  for (let month = 1; ; month += step) {
    const tick = momentOf({ year, month, day: 1, hour: 0, minute: 0, second: 0 }, zone);
    if (tick > range.to) return ticks;
    if (tick >= range.from) ticks.push(tick);
  }
}

/** What is written at ticks: the clock, and below it the date at the first tick and wherever it changes. */
export function timeLabels(ticks: number[], zone: Zone): string[] {
  const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : 1;
  let dateBefore = "";
  return ticks.map((tick) => {
    // A tick that rounding left a hair before its second belongs to that second.
    const nudged = tick + Math.min(step / 1000, 1e-3);
    const f = fieldsOf(nudged, zone);
    const date = `${f.year}-${two(f.month)}-${two(f.day)}`;
    if (step >= 27 * DAY) return `${f.year}-${two(f.month)}`;
    if (step >= 0.9 * DAY) return date;
    let clock = `${two(f.hour)}:${two(f.minute)}`;
    if (step < MINUTE) clock += `:${two(f.second)}`;
    if (step < 1) {
      const digits = Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
      clock += (nudged - Math.floor(nudged)).toFixed(digits + 3).slice(1, digits + 2);
    }
    const label = date === dateBefore ? clock : `${clock}\n${date}`;
    dateBefore = date;
    return label;
  });
}

/** Where ticks of a value axis stand, at most about `count` of them: at round numbers, or at powers of ten. */
export function valueTicks([low, high]: [number, number], count: number, isLog: boolean): number[] {
  const most = Math.max(2, count);
  if (isLog && low > 0) {
    const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const step = Math.max(1, Math.ceil((last - first) / most));
    const powers: number[] = [];
    for (let power = first; power <= last; power += step) powers.push(10 ** power);
    if (powers.length > 1) return powers;
  }
  const raw = (high - low) / most;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((size) => size >= raw * (1 - 1e-9))!;
  const ticks: number[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    // By their inverse fractions are exact to the last digit.
    ticks.push(step < 1 ? n / Math.round(1 / step) || n * step : n * step);
    if (ticks.length > 4 * most) break;
  }
  return isLog ? ticks.filter((tick) => tick > 0) : ticks;
}

/** What is written at the ticks of a value axis: as many digits as tell them apart, powers of ten beyond reason. */
export function valueLabels(ticks: (number | null)[]): string[] {
  const numbers = ticks.filter((tick): tick is number => tick !== null);
  const largest = Math.max(...numbers.map(Math.abs), 0);
  const steps = numbers.slice(1).map((tick, i) => Math.abs(tick - numbers[i]!));
  const step = Math.min(...steps, largest || 1) || 1;
  const coarse = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  // Steps like 2.5 need a digit more than their size says.
  const isWhole =
    Math.abs(step * 10 ** coarse - Math.round(step * 10 ** coarse)) < 1e-6 * step * 10 ** coarse;
  const decimals = isWhole ? coarse : coarse + 1;
  const exponential = largest >= 1e7 || decimals > 5;
  return ticks.map((tick) => {
    if (tick === null) return "";
    if (tick === 0) return "0";
    if (!exponential) return tick.toFixed(decimals);
    const digits = Math.max(
      0,
      Math.floor(Math.log10(Math.abs(tick)) + 1e-9) - Math.floor(Math.log10(step) + 1e-9),
    );
    return tick.toExponential(Math.min(digits, 6)).replace("e+", "e");
  });
}

/** What is written at the ticks of a normalised axis. */
export function percents(ticks: number[]): string[] {
  return ticks.map((tick) => `${Math.round(tick * 100)} %`);
}

/** What is written at the ticks of a logarithmic axis: the powers of ten, and the numbers between if there are few. */
export function logLabels(ticks: (number | null)[]): string[] {
  const numbers = ticks.filter((tick): tick is number => tick !== null && tick > 0);
  const decades = Math.log10(Math.max(...numbers) / Math.min(...numbers));
  return ticks.map((tick) => {
    if (tick === null || tick <= 0) return "";
    const power = Math.log10(tick);
    if (Math.abs(power - Math.round(power)) > 1e-6 && decades > 2.1) return "";
    return power >= -3.001 && power < 5
      ? String(Number(tick.toPrecision(3)))
      : tick.toExponential(0).replace("e+", "e");
  });
}

/** An axis is at least this part of its numbers long: 128 times the distance between two floats. */
const APART = 128 * Number.EPSILON;

/** How far an axis reaches to show values from `low` to `high` with some air; a flat line stands in the middle. */
export function valueRange(low: number, high: number, isLog: boolean): [number, number] {
  if (!(low <= high)) return isLog ? [0.1, 10] : [0, 1];
  if (isLog) {
    const floor = low > 0 ? low : Math.min(high > 0 ? high / 1000 : 1, 1);
    const ceiling = high > 0 ? high : 10;
    return [10 ** Math.floor(Math.log10(floor) + 1e-9), 10 ** Math.ceil(Math.log10(ceiling * 1.0001))];
  }
  if (low === high) {
    const air = Math.abs(low) * 0.05 || 1;
    return [low - air, high + air];
  }
  // Ticks that floats cannot tell apart would never end.
  const lacking = Math.max(Math.abs(low), Math.abs(high)) * APART - (high - low);
  const air = Math.max((high - low) * 0.06, lacking / 2);
  return [low - air, high + air];
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
