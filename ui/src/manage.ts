// The page for whoever runs the archiver, at /manage: its parts, the table of all PVs, and the orders over those that are marked.

import { ApiError, getStatus, type Right, type StateFilter, type Status } from "./api.ts";
import { byId, counted, h, setText } from "./dom.ts";
import { AddPart } from "./manage_add.ts";
import { ClusterPart, getCluster, type Cluster } from "./manage_cluster.ts";
import { auditPart } from "./manage_audit.ts";
import { iocsPart } from "./manage_iocs.ts";
import { policiesPart } from "./manage_policies.ts";
import { removedPart, reportsPart, type PartContext } from "./manage_parts.ts";
import { storagePart } from "./manage_storage.ts";
import { undoPart } from "./manage_undo.ts";
import { columnsOf } from "./pv_columns.ts";
import { NARROWED_BY, STATES } from "./pv_facets.ts";
import { isSortKey } from "./pv_order.ts";
import { PvTable, type Filter, type Sort } from "./pv_table.ts";
import { REPORTS } from "./reports.ts";
import { Sheet } from "./sheet.ts";
import type { Zone } from "./time.ts";
import { commonWords } from "./words/common.ts";
import { manageWords as words } from "./words/manage.ts";

export type Part =
  "pvs" | "iocs" | "add" | "reports" | "policies" | "removed" | "undo" | "storage" | "cluster" | "audit";

const PARTS: [Part, string, Right][] = [
  ["pvs", words.parts.pvs, "read"],
  ["iocs", words.parts.iocs, "read"],
  ["add", words.parts.add, "operate"],
  ["reports", words.parts.reports, "read"],
  ["policies", words.parts.policies, "read"],
  ["removed", words.parts.removed, "read"],
  ["undo", words.parts.undo, "read"],
  ["storage", words.parts.storage, "read"],
  ["cluster", words.parts.cluster, "read"],
  ["audit", words.parts.audit, "read"],
];

const REFRESH_MILLIS = 5000;

export interface ManageActions {
  may(right: Right): boolean;
  zone(): Zone;
  now(): number;
  /** Everything about one PV. */
  details(name: string): void;
}

export class Manage {
  private root = byId("manage");
  private part: Part = "pvs";
  private filter: Filter = {
    ...{ match: "", state: "any", narrow: {}, sort: null },
    ...{ list: null, columns: null },
  };
  private body = h("div", { class: "part" });
  private tabs = h("nav", { class: "sub", "aria-label": words.partsLabel });
  private came = h("p", { class: "came", role: "status", hidden: true });
  private table: PvTable;
  private sheet: Sheet;
  private add: AddPart;
  private said = h("div", { class: "said-bar", role: "status", hidden: true });
  private status: Status | null = null;
  /** None where the archiver records alone. */
  private cluster: Cluster | null = null;
  private isAsked = false;
  private nodes: ClusterPart;
  private timer = 0;

  constructor(private actions: ManageActions) {
    const { zone, now } = actions;
    this.sheet = new Sheet({ done: () => this.changed(), zone, now }, this.said);
    this.add = new AddPart(
      () => void this.refresh(),
      () => this.actions.may("administer"),
    );
    this.table = new PvTable(this.filter, {
      ...actions,
      order: (verb, names, bytes) => void this.sheet.open(verb, names, bytes),
      details: (name) => actions.details(name),
      narrowed: () => this.remember("replace"),
      status: () => this.status,
    });
    this.nodes = new ClusterPart({ ...actions, came: (cluster) => this.takeCluster(cluster) });
    this.root.append(this.tabs, this.came, this.said, this.body);
    window.addEventListener("popstate", () => this.read());
  }

  /** Takes over the page. */
  start(): void {
    this.root.hidden = false;
    this.read();
    void this.refresh();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** The status says whether there is a cluster; nobody becomes one while somebody looks on. */
  private async askCluster(): Promise<void> {
    if (this.isAsked) return;
    this.isAsked = true;
    try {
      const cluster = await getCluster();
      if (!cluster) return;
      this.takeCluster(cluster);
      if (new URLSearchParams(location.search).get("part") === "cluster") this.read();
    } catch (error) {
      // It is asked again with the next status.
      this.isAsked = false;
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private takeCluster(cluster: Cluster): void {
    const isNews = this.cluster === null;
    this.cluster = cluster;
    if (isNews) this.show();
    const count = this.tabs.querySelector<HTMLElement>('[data-tab="cluster"] b');
    if (count) setText(count, this.nodesText());
  }

  private nodesText(): string {
    const nodes = this.cluster?.nodes ?? [];
    return words.nodes(nodes.length, nodes.filter(({ state }) => state === "silent").length);
  }

  /** What one may do has changed. */
  rightsChanged(): void {
    if (!this.root.hidden) this.show();
  }

  private read(): void {
    const params = new URLSearchParams(location.search.replaceAll("+", "%2B"));
    const wanted = params.get("part");
    this.part = PARTS.find(([part]) => part === wanted)?.[0] ?? "pvs";
    this.filter.match = params.get("match") ?? "";
    const state = params.get("state");
    this.filter.state = STATES.find((one: StateFilter) => one === state) ?? "any";
    this.filter.narrow = Object.fromEntries(
      NARROWED_BY.flatMap((key) => (params.get(key) ? [[key, params.get(key)!]] : [])),
    );
    this.filter.sort = sortOf(params.get("sort"));
    this.filter.columns = columnsOf(params.get("cols"));
    this.tellWhereFrom(params.get("came"));
    this.show();
  }

  /** An address of the Archiver Appliance led here. */
  private tellWhereFrom(page: string | null): void {
    this.came.hidden = page === null;
    if (page === null) return;
    const [part, text] = words.came(page);
    const wanted = new URLSearchParams(location.search).get("part");
    if (wanted === null) this.part = part;
    setText(this.came, text);
  }

  private remember(step: "push" | "replace"): void {
    const params = new URLSearchParams(location.search);
    const keep = ["theme", "zone"].flatMap((key) => (params.has(key) ? [`${key}=${params.get(key)}`] : []));
    const parts = [
      ...(this.part === "pvs" ? this.filterParts() : [`part=${this.part}`]),
      ...(params.has("report") && this.part === "reports" ? [`report=${params.get("report")}`] : []),
      ...keep,
    ];
    const url = `${location.pathname}${parts.length > 0 ? `?${parts.join("&")}` : ""}`;
    if (step === "push") history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }

  /** What of an address says which PVs the table shows, and how. */
  private filterParts(): string[] {
    const { match, state, narrow, sort, columns } = this.filter;
    const part = (key: string, value: string | null | undefined) =>
      value === null || value === undefined || value === "" ? [] : [`${key}=${encodeURIComponent(value)}`];
    return [
      ...part("match", match),
      ...part("state", state === "any" ? null : state),
      ...NARROWED_BY.flatMap((key) => part(key, narrow[key])),
      ...part("sort", sort && sortText(sort)),
      ...(columns === null ? [] : [`cols=${columns.join(",")}`]),
    ];
  }

  private go(part: Part): void {
    this.part = part;
    this.came.hidden = true;
    this.remember("push");
    this.show();
    this.tabs.querySelector<HTMLElement>("[aria-current]")?.focus();
  }

  private show(): void {
    const shown = PARTS.filter(
      ([part, , right]) => this.actions.may(right) && (part !== "cluster" || this.cluster !== null),
    );
    if (!shown.some(([part]) => part === this.part)) this.part = "pvs";
    this.tabs.replaceChildren(
      ...shown.map(([part, text]) => {
        const click = (event: Event) => {
          event.preventDefault();
          this.go(part);
        };
        const link = h(
          "a",
          { href: part === "pvs" ? "manage" : `manage?part=${part}`, "data-tab": part, click },
          text,
        );
        const count = this.countOf(part);
        if (count !== null) link.append(" ", h("b", {}, counted(count)));
        if (part === "cluster") link.append(" ", h("b", {}, this.nodesText()));
        if (part === this.part) link.setAttribute("aria-current", "page");
        return link;
      }),
    );
    document.title = commonWords.pageTitle(words.parts[this.part]);
    const context: PartContext = {
      zone: this.actions.zone(),
      now: this.actions.now(),
      may: this.actions.may,
      order: (verb, names) => void this.sheet.open(verb, names),
      takeBack: (order) => void this.sheet.openUndo(order),
      carryOut: (act, outcome, nothing) => this.sheet.carryOutWhole(act, outcome, nothing),
      write: (key, value) => {
        const params = new URLSearchParams(location.search.replaceAll("+", "%2B"));
        if (value === "") params.delete(key);
        else params.set(key, value);
        params.delete("came");
        history.replaceState(null, "", `${location.pathname}?${params.toString().replaceAll("+", "%20")}`);
      },
      param: (key) => new URLSearchParams(location.search.replaceAll("+", "%2B")).get(key),
    };
    if (this.part === "pvs") {
      this.body.replaceChildren(this.table.element);
      this.table.show();
    } else if (this.part === "iocs") this.body.replaceChildren(iocsPart(context));
    else if (this.part === "add") this.body.replaceChildren(this.add.element);
    else if (this.part === "reports") this.body.replaceChildren(reportsPart(context));
    else if (this.part === "policies") this.body.replaceChildren(policiesPart(context));
    else if (this.part === "removed") this.body.replaceChildren(removedPart(context));
    else if (this.part === "undo") this.body.replaceChildren(undoPart(context));
    else if (this.part === "cluster") {
      this.body.replaceChildren(this.nodes.element);
      this.nodes.show();
    } else if (this.part === "storage") this.body.replaceChildren(storagePart(context));
    else this.body.replaceChildren(auditPart(context));
  }

  private countOf(part: Part): number | null {
    if (part === "pvs") return this.status?.pvs.total ?? null;
    return part === "reports" ? REPORTS.length : null;
  }

  /** An order was carried out: what is shown is asked for again. */
  private changed(): void {
    void this.refresh();
    if (this.part === "pvs") this.table.reload();
    else this.show();
  }

  private async refresh(): Promise<void> {
    window.clearTimeout(this.timer);
    try {
      this.status = await getStatus();
      if (this.status.clustered) void this.askCluster();
      const count = this.tabs.querySelector<HTMLElement>('[data-tab="pvs"] b');
      if (count) setText(count, counted(this.status.pvs.total));
      else this.show();
      this.table.counts();
      if (this.part === "pvs") this.table.renew();
    } catch (error) {
      // The bar below the header says that the archiver does not answer; the next answer comes by itself.
      if (!(error instanceof ApiError)) throw error;
    }
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MILLIS);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
    if (event.key === "/" && !event.ctrlKey && !event.altKey && this.part === "pvs") {
      event.preventDefault();
      this.table.focusSearch();
    }
  }
}

/** `bytes`, or `-bytes` for the largest first. */
function sortText({ key, falls }: Sort): string {
  return `${falls ? "-" : ""}${key}`;
}

function sortOf(text: string | null): Sort | null {
  const key = (text ?? "").replace(/^-/, "");
  return isSortKey(key) ? { key, falls: text!.startsWith("-") } : null;
}
