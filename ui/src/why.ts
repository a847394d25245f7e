// Why there is no data in a range, or not all: a verdict, what became of each update, the causes, how sure that is, and what to do.

import {
  ApiError,
  getSteps,
  getWhy,
  type Account,
  type Explanation,
  type PvDetail,
  type Reason,
} from "./api.ts";
import { copyText } from "./copy.ts";
import { exactOf } from "./decode.ts";
import { counted, h, setText } from "./dom.ts";
import type { Range } from "./state.ts";
import { floatOf, formatDuration, formatTime, iso, zoneName, type Zone } from "./time.ts";
import { missingOf, stepFor, sumOf, updatesOf } from "./why_bars.ts";
import { commonWords } from "./words/common.ts";
import { GAP_TO_DO, whyWords as words } from "./words/why.ts";

/** More reasons than this are counted, not listed. */
const REASONS_LISTED_MAX = 50;

/** Times that differ by less are the same to an operator, and to a clock of the browser. */
const SAME_SECONDS = 1;

/** A gap is zoomed to with so much of it beside it. */
const BESIDE = 0.25;
const BESIDE_SECONDS = 10;

interface WhyContext {
  range: Range;
  zone: Zone;
  now: number;
  /** Shows another range in the plot; none where there is no plot. */
  zoom: ((range: Range) => void) | null;
}

/** The section about a range. */
export async function whySection(name: string, detail: PvDetail, context: WhyContext): Promise<HTMLElement> {
  const range = { from: context.range.from, to: Math.min(context.range.to, context.now) };
  const step = stepFor(range);
  // Without the account the rest is told all the same.
  const steps = getSteps(name, range, step).catch((error: unknown) => {
    if (error instanceof ApiError) return [];
    throw error;
  });
  const told = await getWhy(name, context.range);
  const gaps = told.reasons.filter(({ kind }) => kind in GAP_TO_DO);
  const title = extentText(context.range.from, context.range.to, context.zone);
  const lines = [nowText(told, context), outsideText(detail, told, context)];
  const section: HTMLElement = h(
    "section",
    { id: "why", "data-complete": told.complete },
    h("p", { class: "faint" }, words.title(title)),
    h(
      "div",
      { class: "why-verdict" },
      h("p", {}, h("b", {}, verdictText(told, gaps, range))),
      h("p", {}, told.text),
      ...lines.filter((line) => line !== null).map((line) => h("p", {}, line)),
    ),
    updatesOf({ steps: await steps, step, range, gaps, zone: context.zone, missing: missingOf(gaps, range) }),
    ...causes(told.reasons, context),
    h("h3", {}, words.sure),
    h("p", {}, sureText(told, range)),
    h("h3", {}, words.toDo),
    ...toDo(gaps),
    actions(gaps, context, () => textOf(name, section, context)),
  );
  return section;
}

/** All that is told, as a text for a logbook or a mail: with the zone of its times, and with a link to what is plotted. */
function textOf(name: string, section: HTMLElement, { range, zone }: WhyContext): string {
  const lines = [...section.querySelectorAll<HTMLElement>("h3, p, li, .why-bars")].flatMap((part) => {
    // What stands beside the bars their label has, too.
    if (part.matches(".actions, .said, .why-updates :is(h3, p)")) return [];
    const text = part.textContent!.trim();
    if (part.matches("h3")) return ["", text];
    return [part.matches("li") ? `- ${text}` : (part.getAttribute("aria-label") ?? text)];
  });
  const span = `from=${iso(range.from)}&to=${iso(range.to)}`;
  const link = new URL(`./?pv=${encodeURIComponent(name)}&${span}`, location.href).href;
  return [`${name}, ${words.timesIn(zoneName(range.to, zone))}`, ...lines, "", link, ""].join("\n");
}

function verdictText(told: Explanation, gaps: Reason[], range: Range): string {
  if (told.complete !== "incomplete") return words.verdicts[told.complete];
  const missing = missingOf(gaps, range);
  if (missing >= SAME_SECONDS)
    return words.missing(formatDuration(missing), formatDuration(range.to - range.from));
  const lost = sumOf(told.account.lost);
  return lost > 0 ? words.lost(counted(lost)) : words.verdicts.incomplete;
}

function causes(reasons: Reason[], context: WhyContext): HTMLElement[] {
  if (reasons.length === 0) return [];
  const items = reasons.slice(0, REASONS_LISTED_MAX).map((reason) => item(reason, context));
  const rest = reasons.length - items.length;
  if (rest > 0) items.push(h("li", {}, commonWords.andMore(rest)));
  return [h("h3", {}, words.causes), h("ul", { class: "gaps" }, ...items)];
}

/** The sum, and what proves it. */
function sureText(told: Explanation, range: Range): string {
  const { account, proof, covered_seconds: covered } = told;
  const said = [account.received === 0 ? words.noUpdates : sumText(account)];
  if (!account.adds_up) said.push(words.sumIsWrong);
  const length = range.to - range.from;
  if (account.received > 0 && covered < length - 60)
    said.push(words.covered(formatDuration(covered), formatDuration(length)));
  if (proof && proof.missing > 0) said.push(words.holes(counted(proof.missing)));
  else said.push(proof && told.complete === "proved" ? words.proofs[proof.by] : words.unproved);
  return said.join(" ");
}

function sumText({ received, stored, skipped, waiting, lost }: Account): string {
  const parts = [
    words.stored(counted(stored)),
    ...(skipped > 0 ? [words.skipped(counted(skipped))] : []),
    ...(waiting > 0 ? [words.waiting(counted(waiting))] : []),
    ...(sumOf(lost) > 0 ? [words.lostOf(counted(sumOf(lost)))] : []),
  ];
  return words.sum(counted(received), parts.join(" + "));
}

function toDo(gaps: Reason[]): HTMLElement[] {
  const advice = [...new Set(gaps.map(({ kind }) => GAP_TO_DO[kind]!))];
  return (advice.length > 0 ? advice : [words.nothingToDo]).map((line) => h("p", {}, line));
}

function actions(gaps: Reason[], { zoom, range }: WhyContext, text: () => string): HTMLElement {
  const first = gaps.find(({ from_seconds: from, to_seconds: to }) => from > range.from || to < range.to);
  const buttons: HTMLElement[] = [];
  if (zoom && first) {
    const { from_seconds: from, to_seconds: to } = first;
    const beside = Math.max(BESIDE_SECONDS, (to - from) * BESIDE);
    const click = () => zoom({ from: from - beside, to: to + beside });
    buttons.push(h("button", { type: "button", click }, words.zoom));
  }
  if (gaps.some(({ kind }) => kind === "disconnected" || kind === "never_connected"))
    buttons.push(h("a", { class: "button", href: "manage?part=iocs" }, words.iocs));
  const said = h("span", { class: "faint", role: "status" });
  const copy = h(
    "button",
    { type: "button", class: "link", click: () => void copied(text(), said) },
    words.copy,
  );
  return h("p", { class: "actions" }, ...buttons, h("span", { class: "space" }), said, copy);
}

/** Where there is no clipboard the text is there to be copied by hand. */
async function copied(text: string, said: HTMLElement): Promise<void> {
  if (await copyText(text)) return setText(said, words.copied);
  const field = h("textarea", { rows: "8", readonly: true, "aria-label": words.copy });
  field.value = text;
  said.replaceChildren(field);
  field.select();
}

/** Where the PV stands at this moment, which is what can still be mended. */
function nowText(told: Explanation, { zone, now }: WhyContext): string | null {
  if (!told.now) return null;
  const { connection, since, server, refusal } = told.now;
  const at = Date.parse(since) / 1000;
  const length = Number.isFinite(at) ? words.since(formatTime(at, zone, 0), formatDuration(now - at)) : "";
  const by = server ? words.servedBy(server) : "";
  return words.now(connection, length, by, refusal ? words.iocSays(refusal) : "");
}

/** Of a range without samples: where there are some. */
function outsideText(detail: PvDetail, told: Explanation, context: WhyContext): string | null {
  if (told.samples > 0) return null;
  const first = exactOf(detail.extent?.first ?? "");
  const last = exactOf(detail.extent?.last ?? "");
  if (!first || !last) return words.nothingEver;
  const text = (moment: typeof first) => formatTime(floatOf(moment), context.zone, 0);
  return words.extent(text(first), text(last));
}

function item(reason: Reason, { range, zone }: WhyContext): HTMLElement {
  const { from_seconds: from, to_seconds: to } = reason;
  const isWhole = from <= range.from + SAME_SECONDS && to >= range.to - SAME_SECONDS;
  const extent =
    to - from < SAME_SECONDS
      ? formatTime(from, zone, 0)
      : `${extentText(from, to, zone)} (${formatDuration(to - from)})`;
  const text = isWhole ? reason.text : `${extent}: ${reason.text}`;
  return h("li", { "data-kind": reason.kind }, text);
}

/** The day is said once where it is the same. */
function extentText(from: number, to: number, zone: Zone): string {
  const [first, last] = [formatTime(from, zone, 0), formatTime(to, zone, 0)];
  return `${first} – ${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last}`;
}
