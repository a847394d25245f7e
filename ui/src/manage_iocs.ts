// IOCs: those that are lost, worst first, with what happened to each, and those that came back.

import { ApiError, getSteps, getWhy, type Explanation } from "./api.ts";
import { counted, h } from "./dom.ts";
import { download, quoted } from "./file.ts";
import {
  adviceOf,
  getIocs,
  getOutages,
  getRestarted,
  type KnownIoc,
  type Outage,
  type Restarted,
} from "./iocs.ts";
import { IocDays } from "./ioc_day.ts";
import { asking, table, type PartContext } from "./manage_parts.ts";
import type { Range } from "./state.ts";
import { formatDuration, formatTime } from "./time.ts";
import { missingOf, stepFor, updatesOf } from "./why_bars.ts";
import { commonWords } from "./words/common.ts";
import { iocWords as words } from "./words/ioc.ts";
import { GAP_TO_DO } from "./words/why.ts";

/** How far before its loss one looks at what happened to an IOC. */
const BEFORE_SECONDS = 900;
/** So many of its PVs are plotted. */
const PLOTTED = 12;
const IOCS_SHOWN = 500;

export function iocsPart(context: PartContext): HTMLElement {
  const side = h("aside", { class: "ioc-side", "aria-label": words.sideLabel, hidden: true });
  const main = h("div", { class: "table-side" });
  main.append(
    asking(async () => {
      const [outages, { found, isSome }, known] = await Promise.all([
        getOutages(),
        getRestarted(),
        getIocs(),
      ]);
      const body = [
        ...lostTable(outages, known, context, side),
        ...knownTable(known, context),
        ...backTable(found, isSome, context),
      ];
      return [h("p", { class: "told ioc-told" }, words.summary(outages.length, countOf(outages))), ...body];
    }),
  );
  return h("div", { class: "pvs-part iocs-part" }, main, side);
}

function countOf(outages: Outage[]): number {
  return outages.reduce((sum, { pvs }) => sum + pvs.length, 0);
}

function lostTable(outages: Outage[], known: KnownIoc[], context: PartContext, side: HTMLElement): Node[] {
  if (outages.length === 0) return [h("p", { class: "hint" }, words.allAnswer)];
  const rows = outages.map((one, i) => {
    const name = h("button", { type: "button", class: "link" }, one.address ?? words.unknown);
    const row = h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { "data-state": "disconnected", class: "state-mark" }), name),
      h("td", {}, one.detail ? words.protocols[one.detail.protocol as "ca" | "pva"] : ""),
      h("td", { class: "num" }, counted(one.pvs.length)),
      h("td", {}, formatTime(one.since, context.zone, 0)),
      h("td", {}, formatDuration(Math.max(0, Math.floor(context.now - one.since)))),
      h("td", { class: "num" }, one.detail?.reconnects ? counted(one.detail.reconnects) : "–"),
    );
    const open = () => {
      for (const other of row.parentElement?.children ?? []) other.classList.remove("is-marked");
      row.classList.add("is-marked");
      side.replaceChildren(...detailsOf(one, known.find(isIt(one)), context, side));
      side.hidden = false;
    };
    name.addEventListener("click", open);
    if (i === 0) open();
    return row;
  });
  return [table(words.lostHeads, rows, words.lostLabel)];
}

/** Whether an outage is that of an IOC: the report may know its host alone. */
function isIt({ address }: Outage): (ioc: KnownIoc) => boolean {
  return (ioc) => address !== null && (ioc.address === address || ioc.address.startsWith(`${address}:`));
}

function detailsOf(one: Outage, ioc: KnownIoc | undefined, context: PartContext, side: HTMLElement): Node[] {
  const { detail, pvs } = one;
  const time = (text: string | null | undefined) =>
    text ? formatTime(Date.parse(text) / 1000, context.zone, 3) : words.notKnown;
  const facts: [string, string][] = [
    [words.address, one.address ?? words.notKnown],
    [words.circuit, words.circuitWas(detail?.last_connected ? time(detail.last_connected) : null)],
    [words.lastSample, time(detail?.last?.time)],
    [words.lastBeacon, ioc ? beaconText(ioc, context) : words.notKnown],
    [words.restarts, ioc ? restartsText(ioc, context) : words.notKnown],
    [words.lostTimes, detail ? words.times(detail.reconnects ?? 0) : words.notKnown],
    [words.pvs, counted(pvs.length)],
  ];
  const csv = () =>
    download("lost.csv", "text/csv", ["name", ...pvs.map((name) => quoted(name)), ""].join("\r\n"));
  const plotted = pvs.slice(0, PLOTTED).map((name) => `pv=${encodeURIComponent(name)}`);
  const close = h(
    "button",
    {
      type: "button",
      "aria-label": words.close,
      click: () => {
        side.hidden = true;
      },
    },
    "✕",
  );
  const range = { from: one.since - BEFORE_SECONDS, to: context.now };
  return [
    h("header", {}, h("h2", {}, one.address ?? words.unknown), close),
    h("p", { class: "hint" }, words.searching),
    ...(ioc ? [h("p", { class: "advice" }, words.advice[adviceOf(ioc, context.now)])] : []),
    h("dl", {}, ...facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    asking(() => story(pvs[0]!, range, context)),
    h(
      "p",
      { class: "actions" },
      h("a", { class: "button primary", href: `./?${plotted.join("&")}` }, words.plot(plotted.length)),
      h("a", { class: "button", href: "manage?state=disconnected" }, words.list),
      h("button", { type: "button", click: csv }, commonWords.csv),
    ),
  ];
}

/** How long ago the last beacon came, and when. */
function beaconText({ protocols, last_beacon }: KnownIoc, { now, zone }: PartContext): string {
  if (last_beacon === null) return protocols.includes("ca") ? words.noBeacon : words.noBeaconsOfPva;
  const at = Date.parse(last_beacon) / 1000;
  return words.ago(formatDuration(Math.max(0, Math.floor(now - at))), formatTime(at, zone, 0));
}

function restartsText({ restarts, restarted }: KnownIoc, { zone }: PartContext): string {
  const last = restarted === null ? null : formatTime(Date.parse(restarted) / 1000, zone, 0);
  return restarts === null ? words.notKnown : words.restartsOf(restarts, last);
}

function circuitText({ circuits, since }: KnownIoc, { now }: PartContext): string {
  if (circuits === null || since === null) return words.notKnown;
  return words.circuitNow(circuits, formatDuration(Math.max(0, Math.floor(now - Date.parse(since) / 1000))));
}

/** Every IOC with its circuit, restarts and beacon, and what is to be done. */
function knownTable(known: KnownIoc[], context: PartContext): Node[] {
  if (known.length === 0) return [];
  const days = new IocDays(context.now);
  const rows = known.slice(0, IOCS_SHOWN).map((ioc) => {
    const advice = adviceOf(ioc, context.now);
    return h(
      "tr",
      { "data-ioc": ioc.address },
      h(
        "th",
        { scope: "row" },
        h("a", { href: `manage?ioc=${encodeURIComponent(ioc.address)}` }, ioc.address),
        h("small", { class: "advice" }, words.advice[advice]),
      ),
      h("td", {}, days.of(ioc)),
      h("td", { class: "num" }, counted(ioc.pvs)),
      h("td", { class: "num" }, counted(ioc.connected)),
      h("td", { class: "num" }, counted(ioc.disconnected)),
      h("td", {}, circuitText(ioc, context)),
      h("td", { class: "num" }, ioc.circuits_lost === null ? "–" : counted(ioc.circuits_lost)),
      h("td", {}, restartsText(ioc, context)),
      h("td", {}, beaconText(ioc, context)),
    );
  });
  const rest = known.length - rows.length;
  return [
    h("h2", { class: "part-head" }, words.allHead),
    table(words.allHeads, rows, words.allHead),
    ...(rest > 0 ? [h("p", { class: "hint" }, words.moreIocs(rest))] : []),
  ];
}

/** What became of one PV of an IOC around its loss: its updates as bars, then what happened. */
async function story(pv: string, range: Range, context: PartContext): Promise<Node[]> {
  const step = stepFor(range);
  const none = (error: unknown) => {
    if (error instanceof ApiError) return [];
    throw error;
  };
  const [why, steps] = await Promise.all([getWhy(pv, range), getSteps(pv, range, step).catch(none)]);
  const gaps = why.reasons.filter(({ kind }) => kind in GAP_TO_DO);
  const { zone } = context;
  const bars = updatesOf({ steps, step, range, gaps, zone, missing: missingOf(gaps, range) });
  return [...(bars ? [bars] : []), h("h3", {}, words.happened(pv)), ...happened(why, context)];
}

function happened(why: Explanation, context: PartContext): Node[] {
  if (why.reasons.length === 0) return [h("p", { class: "hint" }, why.text)];
  const lines = why.reasons.map((reason) =>
    h(
      "li",
      {},
      h("time", {}, formatTime(reason.from_seconds, context.zone, 3).slice(11)),
      h("span", {}, reason.text),
    ),
  );
  return [h("ol", { class: "happened" }, ...lines)];
}

function backTable(found: Restarted[], isSome: boolean, context: PartContext): Node[] {
  const head = h("h2", { class: "part-head" }, words.backHead);
  if (found.length === 0) return [head, h("p", { class: "hint" }, words.noneBack)];
  const rows = found.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.address),
      h("td", {}, words.protocols[one.protocol as "ca" | "pva"]),
      h("td", { class: "num" }, counted(one.times)),
      h("td", {}, one.back ? formatTime(Date.parse(one.back) / 1000, context.zone, 0) : ""),
    ),
  );
  return [
    head,
    table(words.backHeads, rows, words.backHead),
    ...(isSome ? [h("p", { class: "hint" }, words.notAllAsked)] : []),
  ];
}
