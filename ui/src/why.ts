// Why there is no data in a range, or not all: the archive's own account of it, for somebody who has to decide what to do.

import { getWhy, type Explanation, type PvDetail, type Reason } from "./api.ts";
import { exactOf } from "./decode.ts";
import { h } from "./dom.ts";
import type { Range } from "./state.ts";
import { floatOf, formatDuration, formatTime, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { whyWords as words } from "./words/why.ts";

/** More reasons than this are counted, not listed. */
const REASONS_LISTED_MAX = 50;

/** Times that differ by less are the same to an operator, and to a clock of the browser. */
const SAME_SECONDS = 1;

interface WhyContext {
  range: Range;
  zone: Zone;
  now: number;
}

/** The section about a range. It says that it asks until the answer is there. */
export async function whySection(name: string, detail: PvDetail, context: WhyContext): Promise<HTMLElement> {
  const told = await getWhy(name, context.range);
  const items = told.reasons.slice(0, REASONS_LISTED_MAX).map((reason) => item(reason, context));
  const rest = told.reasons.length - items.length;
  if (rest > 0) items.push(h("li", {}, commonWords.andMore(rest)));
  const range = extentText(context.range.from, context.range.to, context.zone);
  const lines = [nowText(told, context), told.text, outsideText(detail, told, context)];
  return h(
    "section",
    { id: "why", "data-complete": told.complete },
    h("h3", {}, words.title(range)),
    ...lines.filter((line) => line !== null).map((line) => h("p", {}, line)),
    items.length > 0 ? h("ul", { class: "gaps" }, ...items) : null,
  );
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
