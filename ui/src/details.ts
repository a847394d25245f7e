// The dialog about one PV: what is missing in the range and why, how it is archived, what it means, and what can be done with it.

import { csvUrl, faultText, getPv, pausePv, resumePv, type Limits, type PvDetail } from "./api.ts";
import { exactOf, kindOf, type Gap } from "./decode.ts";
import { byId, h } from "./dom.ts";
import { gapText } from "./bands.ts";
import { bring } from "./later.ts";
import type { Range } from "./state.ts";
import { formatInstant, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { detailsWords as words } from "./words/details.ts";
import { iocWords } from "./words/ioc.ts";

/** What the page knows that the server's answer does not say. */
export interface DetailsContext {
  range: Range;
  zone: Zone;
  now: number;
  gaps: Gap[];
  log: boolean;
  /** Whose turn it is after this one, and what tells of it; none where there is no other. */
  next: { name: string; open(): void } | null;
}

/** More gaps than this are counted, not listed. */
const GAPS_LISTED_MAX = 50;

export class Details {
  private dialog = byId<HTMLDialogElement>("details");
  /** What is told of: an answer about another one comes too late. */
  private context: DetailsContext | null = null;

  constructor(
    private toggleLog: (name: string) => void,
    private changed: (detail: PvDetail) => void,
    /** Shows another range in the plot; none where there is no plot. */
    private zoom: ((range: Range) => void) | null,
  ) {}

  async open(name: string, context: DetailsContext): Promise<void> {
    const wasNext = document.activeElement?.classList.contains("next-pv") === true;
    this.context = context;
    const fill = (...content: HTMLElement[]) => {
      if (this.context === context) this.fill(name, context, ...content);
    };
    if (!this.dialog.open) this.dialog.replaceChildren();
    fill(h("p", { class: "hint" }, commonWords.loading));
    if (!this.dialog.open) this.dialog.showModal();
    // Whoever goes from one to the next goes on.
    if (wasNext) this.dialog.querySelector<HTMLElement>(".next-pv, header button")!.focus();
    try {
      const detail = await getPv(name);
      this.changed(detail);
      const why = h("section", { role: "status" }, h("p", { class: "hint" }, words.asking));
      fill(why, this.actions(detail, context), facts(detail, context.zone));
      const zoom = this.zoom && ((range: Range) => this.go(range));
      const { whySection } = await bring(why, () => import("./why.ts"));
      const told = whySection(name, detail, { ...context, zoom });
      why.replaceChildren(
        await told.catch((error: unknown) => h("div", {}, errorText(error), gapList(context))),
      );
    } catch (error) {
      fill(errorText(error));
    }
  }

  private go(range: Range): void {
    this.dialog.close();
    this.zoom?.(range);
  }

  /** What stands at the top stays, with the focus that is on it. */
  private fill(name: string, { next }: DetailsContext, ...content: HTMLElement[]): void {
    const had = this.dialog.querySelector("header");
    const key = `${name} ${next?.name ?? ""}`;
    if (had?.dataset.key === key) {
      while (had.nextSibling) had.nextSibling.remove();
      return this.dialog.append(...content);
    }
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    const title = next ? words.nextTitle(next.name) : "";
    const go = h(
      "button",
      { type: "button", class: "next-pv", title, click: () => next?.open() },
      words.next,
    );
    const head = [h("h2", { id: "details-title" }, name), ...(next ? [go] : []), close];
    this.dialog.replaceChildren(h("header", { "data-key": key }, ...head), ...content);
  }

  private actions(detail: PvDetail, context: DetailsContext): HTMLElement {
    const isPaused = detail.state === "paused";
    const outcome = h("span", { role: "status" });
    const change = async () => {
      try {
        await (isPaused ? resumePv : pausePv)(detail.name);
        await this.open(detail.name, context);
      } catch (error) {
        outcome.replaceChildren(errorText(error));
      }
    };
    const pause = h(
      "button",
      { type: "button", class: "operates", click: () => void change() },
      isPaused ? words.resume : words.pause,
    );
    const csv = h(
      "a",
      { href: csvUrl(detail.name, context.range), download: `${detail.name}.csv` },
      words.download,
    );
    const buttons = h("p", { class: "actions" }, pause, csv);
    if (kindOf(detail.type) === "number") {
      const click = () => {
        this.dialog.close();
        this.toggleLog(detail.name);
      };
      buttons.append(h("button", { type: "button", click }, context.log ? words.linear : words.logarithmic));
    }
    buttons.append(outcome);
    return buttons;
  }
}

function errorText(error: unknown): HTMLElement {
  return h("p", { class: "is-error", role: "alert" }, faultText(error));
}

function facts(detail: PvDetail, zone: Zone): HTMLElement {
  const moment = (text: string | null | undefined) => {
    const exact = exactOf(text ?? "");
    return exact ? formatInstant(exact, zone, 3) : null;
  };
  const { metadata, extent } = detail;
  const method = detail.period === null ? detail.method : words.methodEvery(detail.method, detail.period);
  const since = moment(detail.since);
  const rows: [string, string | null | undefined][] = [
    [words.state, `${detail.state}${since === null ? "" : words.since(since)}`],
    [words.refusal, detail.refusal],
    [words.lacking, detail.lacking?.join(", ")],
    [words.description, metadata?.description],
    [words.by, `${method}, ${detail.protocol === "pva" ? iocWords.protocols.pva : iocWords.protocols.ca}`],
    [words.server, detail.server ?? metadata?.server],
    [words.type, detail.type],
    [words.units, detail.units],
    [words.states, metadata?.labels?.join(", ")],
    [words.display, limitsText(metadata?.display)],
    [words.warning, limitsText(metadata?.warning)],
    [words.alarm, limitsText(metadata?.alarm)],
    [words.added, moment(detail.added)],
    [words.firstConnected, moment(detail.first_connected)],
    [words.lastConnected, moment(detail.last_connected)],
    [words.reconnects, detail.reconnects === undefined ? null : String(detail.reconnects)],
    [
      words.samples,
      extent ? `${extent.samples}, ${moment(extent.first)} – ${moment(extent.last)}` : commonWords.none,
    ],
    ...Object.entries(detail.counters ?? {}).map(([key, n]): [string, string] => [
      key.replace(/_/g, " "),
      String(n),
    ]),
  ];
  const list = h("dl");
  for (const [term, text] of rows) if (text) list.append(h("dt", {}, term), h("dd", {}, text));
  return list;
}

function limitsText(limits: Limits | null | undefined): string | null {
  if (!limits || (limits.low === null && limits.high === null)) return null;
  return `${limits.low ?? commonWords.none} … ${limits.high ?? commonWords.none}`;
}

function gapList(context: DetailsContext): HTMLElement {
  const { gaps } = context;
  if (gaps.length === 0) return h("p", { class: "hint" }, words.noGaps);
  const items = gaps.slice(0, GAPS_LISTED_MAX).map((gap) => h("li", {}, gapText(gap, context)));
  const rest = gaps.length - items.length;
  if (rest > 0) items.push(h("li", {}, commonWords.andMore(rest)));
  return h("section", {}, h("h3", {}, words.gaps(gaps.length)), h("ul", { class: "gaps" }, ...items));
}
