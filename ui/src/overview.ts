// The dialog about the archiver as a whole: what is wrong, which PVs are not there, what arrives, what is lost, and what lies on disk.

import {
  faultText,
  getGroups,
  getStatus,
  listPvs,
  type Group,
  type PvList,
  type PvState,
  type Status,
} from "./api.ts";
import { bytesText } from "./bytes.ts";
import { byId, h } from "./dom.ts";
import { lackElement, missingText } from "./missing.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { overviewWords as words } from "./words/overview.ts";

/** While the dialog is open it asks again so often. */
const REFRESH_MILLIS = 2000;

/** More PVs than this are counted, not listed; the search finds the others. */
const PVS_LISTED_MAX = 200;

/** The states in the order in which an operator wants to hear of them. */
const STATES: PvState[] = ["disconnected", "searching", "paused", "connected"];

/** What happens to updates apart from being stored, and how bad it is. */
const FATES: [keyof typeof words.fates, "bad" | "warn" | ""][] = [
  ["dropped_queue", "bad"],
  ["dropped_store", "bad"],
  ["overruns", "bad"],
  ["rate_capped", "warn"],
  ["skipped", ""],
  ["bad_stamps", "warn"],
];

/** What is shown at one moment. */
interface Shown {
  status: Status;
  groups: Group[];
  pvs: PvList;
  /** Updates a second between this answer and the one before. */
  rate: number | null;
}

export class Overview {
  private dialog = byId<HTMLDialogElement>("overview");
  private content = byId("overview-content");
  private chosen: PvState | null = null;
  private before: Status | null = null;
  private timer = 0;

  constructor(
    private zone: () => Zone,
    private plot: (name: string) => void,
  ) {
    byId("overview-close").addEventListener("click", () => this.dialog.close());
    byId("chip").addEventListener("click", () => this.open());
    this.dialog.addEventListener("close", () => window.clearTimeout(this.timer));
  }

  open(): void {
    if (this.dialog.open) return;
    this.before = null;
    this.chosen = null;
    this.content.replaceChildren(h("p", { class: "hint" }, words.asking));
    this.dialog.showModal();
    void this.refresh();
  }

  private async refresh(): Promise<void> {
    window.clearTimeout(this.timer);
    try {
      const status = await getStatus();
      this.chosen ??= STATES.find((state) => status.pvs[state] > 0) ?? "connected";
      const [groups, pvs] = await Promise.all([getGroups(), listPvs(this.chosen, PVS_LISTED_MAX)]);
      this.show({ status, groups, pvs, rate: rateOf(this.before, status) });
      this.before = status;
    } catch (error) {
      const text = faultText(error);
      this.content.replaceChildren(h("p", { class: "is-error", role: "alert" }, text));
    }
    window.clearTimeout(this.timer);
    if (this.dialog.open) this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MILLIS);
  }

  private show(shown: Shown): void {
    const { status } = shown;
    const focused = document.activeElement?.getAttribute("data-focus");
    const scrolled = this.dialog.scrollTop;
    this.content.replaceChildren(
      problems(status),
      this.states(shown),
      this.pvs(shown),
      updatesOf(status, shown.rate),
      storageOf(status, this.zone()),
      ...(shown.groups.length > 0 ? [groupTable(shown.groups)] : []),
    );
    // What was made anew keeps the place and the focus of what it replaces.
    this.dialog.scrollTop = scrolled;
    if (focused) this.content.querySelector<HTMLElement>(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }

  private states({ status }: Shown): HTMLElement {
    const buttons = STATES.map((state) =>
      h(
        "button",
        {
          type: "button",
          "data-focus": `state ${state}`,
          "aria-pressed": String(state === this.chosen),
          click: () => {
            this.chosen = state;
            void this.refresh();
          },
        },
        `${status.pvs[state]} ${state}`,
      ),
    );
    return h("p", { class: "group", role: "group", "aria-label": words.byState }, ...buttons);
  }

  private pvs({ status, pvs }: Shown): HTMLElement {
    const lacks = lackElement(missingText(pvs.incomplete));
    if (pvs.total === 0)
      return h(
        "div",
        {},
        lacks,
        h("p", { class: "hint" }, lacks ? words.noOther(this.chosen!) : words.none(this.chosen!)),
      );
    const now = Date.parse(status.now) / 1000;
    const rows = pvs.pvs.map((pv) => {
      const since = Date.parse(pv.since ?? "") / 1000;
      const plot = () => {
        this.dialog.close();
        this.plot(pv.name);
      };
      const name = h(
        "button",
        { type: "button", "data-focus": `pv ${pv.name}`, title: commonWords.plotIt, click: plot },
        pv.name,
      );
      const length = Number.isFinite(since) ? formatDuration(Math.max(0, now - since)) : "";
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, name),
        h("td", {}, length),
        h("td", {}, Number.isFinite(since) ? formatTime(since, this.zone(), 0) : ""),
        h("td", {}, pv.last ? formatTime(Date.parse(pv.last.time) / 1000, this.zone(), 0) : words.never),
      );
    });
    const rest = pvs.total - rows.length;
    const list = table("pvs", [words.pv, words.stateFor(this.chosen!), words.since, words.last], rows);
    return h(
      "div",
      { class: "scrolled" },
      lacks,
      list,
      rest > 0 ? h("p", { class: "hint" }, commonWords.andMore(rest)) : null,
    );
  }
}

function rateOf(before: Status | null, status: Status): number | null {
  const seconds = before === null ? 0 : (Date.parse(status.now) - Date.parse(before.now)) / 1000;
  return before !== null && seconds > 0
    ? (status.samples.received - before.samples.received) / seconds
    : null;
}

function problems(status: Status): HTMLElement {
  const problems = problemsOf(status);
  if (problems.length === 0) return h("p", { class: "verdict", "data-level": "ok" }, words.nothingWrong);
  return h("ul", { class: "problems" }, ...problems.map((problem) => h("li", {}, problem)));
}

/** What the archiver says is wrong, and the PVs that it waits for without calling that a problem. */
export function problemsOf({ problems, pvs }: Pick<Status, "problems" | "pvs">): string[] {
  if (pvs.searching === 0) return problems;
  const searching = words.notConnected(whole(pvs.searching), whole(pvs.total));
  return [...problems, searching];
}

/** What arrives, and what is lost of it. */
export function updatesOf(status: Status, rate: number | null): HTMLElement {
  const { samples, queue, durable } = status;
  const rows: [string, string, string][] = [
    [
      words.received,
      rate === null ? whole(samples.received) : words.receivedNow(whole(samples.received), whole(rate)),
      "",
    ],
    [words.stored, whole(samples.stored), ""],
    [words.onTheirWay, whole(durable.lag), ""],
    [
      words.queue,
      words.of(bytesText(queue.bytes), bytesText(queue.bytes_max)),
      queue.bytes * 2 > queue.bytes_max ? "warn" : "",
    ],
  ];
  for (const [key, level] of FATES) {
    const count = samples[key];
    if (count > 0) rows.push([words.fates[key], whole(count), level]);
  }
  return h("section", {}, h("h3", {}, words.updates), facts(rows));
}

/** What lies in memory and on disk. */
export function storageOf({ store }: Status, zone: Zone): HTMLElement {
  const samples = store.weeks.reduce((sum, week) => sum + week.samples, 0);
  const inWeeks = store.weeks.reduce((sum, week) => sum + week.bytes, 0);
  const scrubbed = store.scrub.last_pass === null ? null : Date.parse(store.scrub.last_pass) / 1000;
  const rows: [string, string, string][] = [
    [words.inMemory, words.samplesAnd(whole(store.head_samples), bytesText(store.head_bytes)), ""],
    [words.log, bytesText(store.log_bytes), ""],
    ...store.places.map((place): [string, string, string] => [
      place.name === "" ? words.dataFolder : words.place(place.name),
      place.trouble ?? words.inSegments(bytesText(place.bytes), whole(place.segments)),
      place.trouble === null ? "" : "bad",
    ]),
    ...(samples > 0
      ? [[words.aSample, words.bytes((inWeeks / samples).toFixed(2)), ""] as [string, string, string]]
      : []),
    [words.scrubbed, scrubbed === null ? words.notYet : formatTime(scrubbed, zone, 0), ""],
    ...store.work.map((work): [string, string, string] => [
      work.doing,
      words.workOf(work.key, bytesText(work.bytes), bytesText(work.bytes_total)),
      "",
    ]),
  ];
  const weeks = store.weeks
    .slice()
    .reverse()
    .map((week) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, week.week),
        h("td", {}, week.state),
        h("td", {}, whole(week.samples)),
        h("td", {}, bytesText(week.bytes)),
        h("td", {}, whole(week.segments)),
      ),
    );
  const list =
    weeks.length > 0
      ? table("weeks", [words.week, words.state, words.samples, words.size, words.segments], weeks)
      : null;
  return h("section", {}, h("h3", {}, words.storage), facts(rows), list);
}

function groupTable(groups: Group[]): HTMLElement {
  const rows = groups.map((group) => {
    const by = group.enabled ? "" : group.disabled_now_by.join(", ");
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, group.name),
      h(
        "td",
        { "data-level": group.enabled ? "ok" : "warn" },
        group.enabled ? words.enabled : words.disabled,
      ),
      h("td", {}, by),
      h("td", {}, whole(group.pvs)),
    );
  });
  return h(
    "section",
    {},
    h("h3", {}, words.groups),
    table("groups", [words.group, words.state, words.by, words.pvs], rows),
  );
}

function table(name: string, heads: string[], rows: HTMLElement[]): HTMLElement {
  const head = h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)));
  return h("table", { class: "list", "data-table": name }, h("thead", {}, head), h("tbody", {}, ...rows));
}

function facts(rows: [string, string, string][]): HTMLElement {
  const list = h("dl");
  for (const [term, text, level] of rows)
    list.append(h("dt", {}, term), h("dd", { "data-level": level }, text));
  return list;
}

function whole(count: number): string {
  return Math.round(count).toLocaleString("en").replaceAll(",", "\u202f");
}
