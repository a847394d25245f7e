// The nodes that record together: how each stands, which shards it has, what is not yet in the shared store, and orders to them.

import { ApiError, faultText, get, getAudit, send, type Right } from "./api.ts";
import { byId, counted, h, setText } from "./dom.ts";
import { table } from "./manage_parts.ts";
import { bytesText } from "./bytes.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { clusterWords as words } from "./words/cluster.ts";
import { commonWords } from "./words/common.ts";

interface Node {
  name: string;
  state: "lives" | "leaves" | "silent" | "stopped";
  address: string;
  version: string;
  format: number;
  shards: number[];
  /** What it says of itself; null while it does not answer. */
  figures: Figures | null;
}

interface Figures {
  seconds_old: number;
  pvs: { connected: number; searching: number; disconnected: number; paused: number };
  lost: number;
  samples_waiting: number;
  detached_seconds: number | null;
  free_bytes: number | null;
  refusal: string | null;
  problems: number;
  shards: ShardHere[];
}

/** A shard that the asked node records. */
interface ShardHere {
  shard: number;
  epoch: number;
  rows: number;
  samples_waiting: number;
  changes_waiting: number;
  /** For so long the shared store has given no answer. */
  detached_seconds: number | null;
}

export interface Cluster {
  node: string;
  /** The site, which has what belongs to no PV, is the shard behind the last. */
  shards: number;
  /** How many of the shards have a copy, whose number is higher by that of the site and one: all of them, or none. */
  copies?: number;
  format: number;
  nodes: Node[];
  here: ShardHere[];
}

export interface ClusterActions {
  may(right: Right): boolean;
  zone(): Zone;
  /** What the cluster is now. */
  came(cluster: Cluster): void;
}

/** None where the archiver records alone, or tells nothing of it. */
export async function getCluster(): Promise<Cluster | null> {
  try {
    return await get<Cluster>("/cluster");
  } catch (error) {
    if (error instanceof ApiError && ["conflict", "forbidden", "unauthorized"].includes(error.code))
      return null;
    throw error;
  }
}

const REFRESH_MILLIS = 3000;
const HAPPENED_SHOWN = 30;
/** So many colours there are for nodes. */
const COLOURS = 16;

/** An order, and where it goes. */
interface Order {
  title: string;
  what: string;
  follows: string;
  button: string;
  give(): Promise<unknown>;
}

export class ClusterPart {
  readonly element = h("div", { class: "cluster-part" });
  private said = h("p", { class: "said", role: "status" });
  private nodes = h("div", { class: "cluster-nodes" });
  private shards = h("div");
  private here = h("div");
  private happened = h("div");
  private dialog = byId<HTMLDialogElement>("sheet-dialog");
  private timer = 0;
  private shown = "";

  constructor(private actions: ClusterActions) {
    this.element.append(this.said, this.nodes, this.shards, this.here, this.happened);
  }

  show(): void {
    this.shown = "";
    void this.refresh();
  }

  private async refresh(): Promise<void> {
    window.clearTimeout(this.timer);
    try {
      const cluster = await getCluster();
      if (cluster) this.take(cluster);
      else this.element.replaceChildren(h("p", { class: "hint" }, words.alone));
    } catch (error) {
      setText(this.said, faultText(error));
    }
    // Whoever looks at another part is not asked for any more.
    if (this.element.isConnected) this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MILLIS);
  }

  private take(cluster: Cluster): void {
    this.actions.came(cluster);
    // What is the same stays, with the focus in it.
    const shown = JSON.stringify(cluster);
    if (shown === this.shown) return;
    this.shown = shown;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.order;
    const may = this.actions.may("administer");
    this.nodes.replaceChildren(...cluster.nodes.map((node) => this.card(node, cluster, may)));
    this.shards.replaceChildren(...this.strip(cluster, may));
    this.here.replaceChildren(...hereOf(cluster));
    if (focused) this.element.querySelector<HTMLElement>(`[data-order="${CSS.escape(focused)}"]`)?.focus();
    void this.tellHappened();
  }

  private card(node: Node, cluster: Cluster, may: boolean): HTMLElement {
    const isHere = node.name === cluster.node;
    const own = node.shards.filter((shard) => shard < cluster.shards);
    const copies = node.shards.filter((shard) => shard > cluster.shards);
    const hasSite = node.shards.includes(cluster.shards);
    const facts: [string, string][] = [
      [words.owns, words.shardsOf(own.length, cluster.shards, hasSite, copies.length)],
      [words.version, node.version],
      [words.format, words.formats(node.format, cluster.format)],
      ...factsOf(node.figures),
    ];
    const orders = may ? this.ordersFor(node, cluster) : [];
    return h(
      "section",
      { class: "cluster-node", "data-node": node.name, "data-stands": node.state, "aria-label": node.name },
      h(
        "header",
        {},
        h("span", { class: "state-mark", "data-state": markOf(node.state) }),
        h("h2", {}, node.name),
        h("span", { class: "faint" }, node.address),
      ),
      h("p", {}, words.stands(node.state, isHere)),
      h("dl", {}, ...facts.flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])),
      ...(orders.length > 0
        ? [
            h(
              "p",
              { class: "actions" },
              ...orders.map(([name, order]) =>
                h(
                  "button",
                  { type: "button", "data-order": `${name} ${node.name}`, click: () => this.open(order) },
                  words.verbs[name],
                ),
              ),
            ),
          ]
        : []),
    );
  }

  private ordersFor(node: Node, cluster: Cluster): ["drain" | "join" | "forget", Order][] {
    const path = `/cluster/nodes/${encodeURIComponent(node.name)}`;
    const of = (verb: "drain" | "join" | "forget", give: () => Promise<unknown>): ["drain", Order] => {
      const [title, what, follows] = words.orders[verb](
        node.name,
        node.shards.length,
        cluster.nodes.length - 1,
      );
      return [verb as "drain", { title, what, follows, button: title, give }];
    };
    if (node.state === "lives") return [of("drain", () => send("POST", `${path}/drain`))];
    if (node.state === "leaves") return [of("join", () => send("POST", `${path}/join`))];
    return [of("forget", () => send("DELETE", path))];
  }

  /** A square for each shard, in the colour of the node that has it; one that none has is hatched. */
  private strip({ shards, copies = 0, nodes }: Cluster, may: boolean): HTMLElement[] {
    const owner = new Map(nodes.flatMap((node, i) => node.shards.map((shard) => [shard, i] as const)));
    const alive = nodes.filter(({ state }) => state === "lives");
    const square = (shard: number) => {
      const i = owner.get(shard);
      const of = shard > shards ? shard - shards - 1 : null;
      const title = words.shard(shard, of, i === undefined ? null : nodes[i]!.name);
      // A shard and its copy are kept at two nodes.
      const other = copies > 0 ? owner.get(of ?? shard + shards + 1) : undefined;
      const targets = alive.filter((node) => nodes.indexOf(node) !== i && nodes.indexOf(node) !== other);
      const element =
        may && targets.length > 0
          ? h("button", {
              type: "button",
              "data-order": `move ${shard}`,
              click: () => this.openMove(shard, i === undefined ? null : nodes[i]!.name, targets),
            })
          : h("span", { role: "img" });
      element.classList.add("shard");
      element.title = title;
      element.setAttribute("aria-label", title);
      if (i === undefined) element.classList.add("is-nobodys");
      else element.style.setProperty("--of", `var(--trace-${(i % COLOURS) + 1})`);
      return element;
    };
    const squares = Array.from({ length: shards }, (_, shard) => square(shard));
    const ofCopies = Array.from({ length: copies }, (_, shard) => square(shards + 1 + shard));
    const legend = nodes.map((node, i) => {
      const mark = h("i", { class: "shard" });
      mark.style.setProperty("--of", `var(--trace-${(i % COLOURS) + 1})`);
      return h("span", {}, mark, node.name);
    });
    return [
      h("h3", {}, words.byOwner(shards)),
      h("div", { class: "shards", role: "group", "aria-label": words.byOwner(shards) }, ...squares),
      ...(copies > 0
        ? [
            h("h3", {}, words.copiesByOwner(copies)),
            h(
              "div",
              { class: "shards", role: "group", "aria-label": words.copiesByOwner(copies) },
              ...ofCopies,
            ),
          ]
        : []),
      h("p", { class: "shard-legend" }, ...legend),
    ];
  }

  private openMove(shard: number, from: string | null, targets: Node[]): void {
    const choice = h("select", { "aria-label": words.to });
    for (const { name } of targets) choice.append(h("option", { value: name }, name));
    const [title, what, follows] = words.orders.move(shard, from);
    const give = () => send("POST", `/cluster/shards/${shard}/move`, { to: choice.value });
    this.open(
      { title, what, follows, button: title, give },
      h("label", { class: "field" }, words.to, choice),
    );
  }

  /** Says beforehand what an order will do. */
  private open(order: Order, ...fields: HTMLElement[]): void {
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    const submit = h("button", { type: "submit", class: "primary" }, order.button);
    const form = h(
      "form",
      { class: "order", novalidate: true },
      h(
        "dl",
        {},
        h("dt", {}, words.what),
        h("dd", {}, order.what),
        h("dt", {}, words.follows),
        h("dd", {}, order.follows),
      ),
      ...fields,
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", click: () => this.dialog.close() }, words.cancel),
        submit,
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.dialog.close();
      void this.give(order);
    });
    this.dialog.replaceChildren(h("header", {}, h("h2", { id: "sheet-title" }, order.title), close), form);
    this.dialog.showModal();
    (form.querySelector<HTMLElement>("select") ?? submit).focus();
  }

  private async give(order: Order): Promise<void> {
    try {
      await order.give();
      setText(this.said, words.given(order.title));
    } catch (error) {
      setText(this.said, faultText(error));
    }
    await this.refresh();
  }

  /** The orders to nodes that the audit has. */
  private async tellHappened(): Promise<void> {
    try {
      const lines = (await getAudit({ action: "cluster_ordered" }, HAPPENED_SHOWN, null)).audit;
      const rows = lines.map((line) =>
        h(
          "tr",
          {},
          h("td", {}, formatTime(Date.parse(line.time) / 1000, this.actions.zone(), 0)),
          h("td", {}, line.by),
          h("th", { scope: "row" }, line.detail),
        ),
      );
      this.happened.replaceChildren(
        h("h3", {}, words.happened),
        rows.length > 0
          ? table(words.happenedHeads, rows, words.happened)
          : h("p", { class: "hint" }, words.nothing),
      );
    } catch (error) {
      // The nodes are told all the same.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

function markOf(state: Node["state"]): string {
  return { lives: "connected", leaves: "searching", silent: "disconnected", stopped: "paused" }[state];
}

/** What a node says of itself, with what is wrong before the rest. */
function factsOf(of: Figures | null): [string, string][] {
  if (!of) return [];
  const { connected, searching, disconnected, paused } = of.pvs;
  return [
    ...(of.refusal ? [[words.refuses, of.refusal] as [string, string]] : []),
    ...(of.detached_seconds === null
      ? []
      : [[words.detachedFor, formatDuration(of.detached_seconds)] as [string, string]]),
    [words.behind, behindText(of.shards)],
    [words.pvs, words.connectedOf(connected, connected + searching + disconnected + paused)],
    ...(of.free_bytes === null
      ? []
      : [[words.room, words.free(bytesText(of.free_bytes))] as [string, string]]),
    ...(of.problems > 0 ? [[words.problems, counted(of.problems)] as [string, string]] : []),
  ];
}

function behindText(here: ShardHere[]): string {
  const samples = here.reduce((sum, shard) => sum + shard.samples_waiting, 0);
  const changes = here.reduce((sum, shard) => sum + shard.changes_waiting, 0);
  return words.waiting(samples, changes);
}

/** What the asked node has recorded and the shared store has not. */
function hereOf({ node, here, shards }: Cluster): HTMLElement[] {
  const detached = here.filter(({ detached_seconds }) => detached_seconds !== null);
  const longest = Math.max(0, ...detached.map(({ detached_seconds }) => detached_seconds ?? 0));
  const worst = (of: ShardHere) =>
    (of.detached_seconds ?? -1) * 1e12 + of.samples_waiting + of.changes_waiting;
  const sorted = [...here].sort((a, b) => worst(b) - worst(a) || a.shard - b.shard);
  const rows = sorted.map((of) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, of.shard === shards ? words.site : String(of.shard)),
      ...[of.epoch, of.rows, of.samples_waiting, of.changes_waiting].map((count) =>
        h("td", { class: "num" }, counted(count)),
      ),
      h("td", {}, of.detached_seconds === null ? "" : formatDuration(of.detached_seconds)),
    ),
  );
  return [
    h("h3", {}, words.here(node)),
    ...(detached.length > 0
      ? [
          h(
            "p",
            { class: "verdict", role: "alert" },
            words.detached(detached.length, formatDuration(longest)),
          ),
        ]
      : []),
    table(words.hereHeads, rows, words.here(node)),
  ];
}
