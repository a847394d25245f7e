// What a row of the view stands for, by its name: a PV, a PV as it was at another time, laid over, or a formula over PVs.

import { fieldsOf, momentOf } from "./time.ts";
import { timeWords as words } from "./words.ts";

export type Source =
  | { kind: "pv"; pv: string }
  | { kind: "over"; pv: string; by: string }
  | { kind: "formula"; expression: string };

/** `SR:CURRENT @-1w`: no PV has a blank in its name. */
const OVER = /^(\S+) @-(\d+(?:\.\d+)?)(mo|y|w|d|h|min|s)$/;

export function sourceOf(name: string): Source {
  if (name.startsWith("=")) return { kind: "formula", expression: name.slice(1).trim() };
  const [, pv, count, unit] = OVER.exec(name) ?? [];
  return pv ? { kind: "over", pv, by: `${count}${unit}` } : { kind: "pv", pv: name };
}

export function isPv(name: string): boolean {
  return sourceOf(name).kind === "pv";
}

/** The PVs that are shown as they are now: those that can be followed, looked up, and named to others. */
export function pvsOf(names: string[]): string[] {
  return names.filter(isPv);
}

export function formulaName(expression: string): string {
  return `= ${expression.replace(/^=/, "").trim()}`;
}

/** None if that is no length of time: `1w`, `1 w`, `-1w`. */
export function overName(pv: string, by: string): string | null {
  const name = `${pv} @-${by.replace(/^-/, "").replace(/\s+/g, "")}`;
  const source = sourceOf(name);
  return source.kind === "over" && Number.parseFloat(source.by) > 0 ? name : null;
}

/** What is written for people. */
export function titleOfName(name: string): string {
  const source = sourceOf(name);
  if (source.kind !== "over") return name;
  const [, count, unit] = /^([\d.]+)(\w+)$/.exec(source.by)!;
  return words.earlier(source.pv, count!, unit!);
}

const SECONDS: Record<string, number> = { w: 604_800, d: 86_400, h: 3600, min: 60, s: 1 };

/** How much earlier it was, for a range that begins then: months and years go by the calendar. */
export function secondsEarlier(by: string, from: number): number {
  const [, count, unit] = /^([\d.]+)(\w+)$/.exec(by)!;
  const seconds = SECONDS[unit!];
  if (seconds !== undefined) return Number(count) * seconds;
  const whole = Math.floor(from);
  const fields = fieldsOf(whole, "utc");
  const months = Math.round(Number(count) * (unit === "y" ? 12 : 1));
  const wanted = fields.year * 12 + (fields.month - 1) - months;
  const [year, month] = [Math.floor(wanted / 12), (wanted % 12) + 1];
  // The 31st of a month that has 30 days is its last.
  const last = fieldsOf(momentOf({ ...fields, year, month: month + 1, day: 0 }, "utc"), "utc").day;
  return whole - momentOf({ ...fields, year, month, day: Math.min(fields.day, last) }, "utc");
}

const FUNCTIONS =
  /^(abs|sqrt|exp|log|log10|sin|cos|round|min|max|severity|missing|isnan|silent|previous|change|derivative|average|shift|integral|element|length|sum|mean)\s*\(/;

/** Whether what is typed where names are is a formula: it begins with =, joins by a sign with blanks beside it, or is a function. */
export function isFormula(text: string): boolean {
  return /^=/.test(text) || /\s(?:[-+*/%^<>=]|<=|>=|!=)\s/.test(text) || FUNCTIONS.test(text);
}
