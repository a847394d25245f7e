// What a row of the view stands for, by its name: a PV, a PV as it was at another time, laid over, or a formula over PVs.

import { fieldsOf, momentOf } from "./time.ts";
import { timeWords as words } from "./words/time.ts";

export type Source =
  | { kind: "pv"; pv: string }
  | { kind: "over"; pv: string; by: string }
  | { kind: "formula"; expression: string };

/** `SR:CURRENT @-1w`: no PV has a blank in its name. */
const OVER = /^(\S+) @-(\d+(?:\.\d+)?)(mo|y|w|d|h|min|s)$/;
/** `SR:CURRENT @2026-11-08T03:12:41Z/2026-11-20T10:00:00Z`: what was at the first moment lies at the second. */
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z/.source;
const LAID = new RegExp(`^(\\S+) @(${MOMENT}/${MOMENT})$`);

export function sourceOf(name: string): Source {
  if (name.startsWith("=")) return { kind: "formula", expression: name.slice(1).trim() };
  const [, laid, moments] = LAID.exec(name) ?? [];
  if (laid && secondsEarlier(moments!, 0) > 0) return { kind: "over", pv: laid, by: moments! };
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

/** Lays what was at one moment at a later one; none if it is no later. */
export function laidName(pv: string, moment: number, at: number): string | null {
  const text = (x: number) => new Date(Math.round(x * 1000)).toISOString().replace(".000Z", "Z");
  const name = `${pv} @${text(moment)}/${text(at)}`;
  return sourceOf(name).kind === "over" ? name : null;
}

/** None if that is no length of time: `1w`, `1 w`, `-1w`; or one that laid another PV over. */
export function overName(pv: string, by: string): string | null {
  if (by.includes("/")) return `${pv} @${by}`;
  const name = `${pv} @-${by.replace(/^-/, "").replace(/\s+/g, "")}`;
  const source = sourceOf(name);
  return source.kind === "over" && Number.parseFloat(source.by) > 0 ? name : null;
}

/** What is written for people. */
export function titleOfName(name: string): string {
  const source = sourceOf(name);
  if (source.kind !== "over") return name;
  const [moment] = source.by.split("/");
  if (moment !== source.by) return words.atMoment(source.pv, moment!.replace("T", " ").replace("Z", ""));
  const [, count, unit] = /^([\d.]+)(\w+)$/.exec(source.by)!;
  return words.earlier(source.pv, count!, unit!);
}

const SECONDS: Record<string, number> = { w: 604_800, d: 86_400, h: 3600, min: 60, s: 1 };

/** How much earlier it was, for a range that begins then: months and years go by the calendar. */
export function secondsEarlier(by: string, from: number): number {
  const [moment, at] = by.split("/");
  if (at !== undefined) return (Date.parse(at) - Date.parse(moment!)) / 1000;
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
