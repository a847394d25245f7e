// A small server with the archiver's HTTP API and computed data: what the browser tests talk to.
//
// It can misbehave on demand (`down`, `refusals`, `delay`) and remembers what it was asked.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import type { AddressInfo } from "node:net";
import { floatOf, isoOf, instantOf, type Instant } from "../src/time.ts";
import type { Cluster } from "../src/manage_cluster.ts";
import type { Json, Me, Missing, PvState, Right, WireChunk, WireGap } from "../src/api.ts";
import { exactOf } from "../src/decode.ts";
import { arrayBinsOf, arrowOf, tableOf } from "./arrow.ts";
import { Exports } from "./exports.ts";
import {
  atCsv,
  diffOf,
  formulaBins,
  formulaOf,
  formulaSteps,
  histogramOf,
  knownOf,
  pairsOf,
  spectrumOf,
  statisticsOf,
  whenLines,
  WrongFormula,
  type Row,
  type Source,
} from "./computed.ts";
import { Memos } from "./memos.ts";
import { Orders, type Step } from "./orders.ts";
import { readList } from "../src/list.ts";
import { FIRST, fixturePvs, type FixtureGap, type FixturePv } from "./pvs.ts";

/** The server steps over samples of a range that has more than this, to answer for years in no time. */
const STEPS_MAX = 400_000;
/** So many rows of a PV are kept until another range of it is asked for. */
const ROWS_KEPT = 40_000;
/** What a record says with each severity: none, HIGH, HIHI, UDF. */
const STATUSES = [0, 4, 3, 17];
const SEVERITIES = ["NO_ALARM", "MINOR", "MAJOR", "INVALID", "UNDEFINED"];
/** What the archiver tells browsers of every answer; a test of the program compares it. */
const POLICY =
  "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** What the archive says of the causes of gaps. */
const SENTENCES: Record<string, string> = {
  disconnected: "The connection to the IOC was lost.",
  archiver_stopped: "The archiver was not running.",
};

const COMPUTED = ["at", "diff", "view", "when", "formula", "stats", "samples", "xy", "histogram", "fft"];

const SLOW = [
  {
    ...{ time: "2026-11-20T08:30:00.000000000Z", seconds: 2.5, who: "oidc:ana", rows: null },
    what: "GET /api/v1/pvs/SR:CURRENT/samples from=-1y",
  },
];
const KEPT = [
  { of: "setting", rule: null, pvs: 5, policies: ["slow"], keep_seconds: 30 * 86_400, next: null },
  {
    ...{ of: "rule", rule: "TEST:*", pvs: null, policies: [], keep_seconds: 90 * 86_400 },
    next: { week: "2026-W36", at: "2026-12-05T00:00:00.000000000Z" },
  },
  { of: "others", rule: null, pvs: null, policies: [], keep_seconds: null, next: null },
];
const POLICIES = [
  { name: "vacuum", match: ["VAC:*"], settings: "monitor, deadband 1%", pvs: 1 },
  { name: "slow", match: ["~^LAB:"], settings: "scan 10s", pvs: 5 },
];

/** As they stand in the file: one has a dead band in place of a scan, one is new. */
const POLICIES_OF_FILE = [
  { name: "vacuum", match: ["VAC:*"], settings: "monitor, deadband 1%" },
  { name: "rf", match: ["RF:*"], settings: "monitor" },
  { name: "slow", match: ["~^LAB:"], settings: "monitor, deadband 1%" },
];

/** What the config file would change: settings of a PV, from what to what. */
export interface PolicyChange {
  name: string;
  policy: string | null;
  from: string;
  to: string;
}

const AUDIT = [
  {
    ...{
      number: 2,
      time: "2026-11-20T09:00:00.000000000Z",
      by: "oidc:ana",
      principal: "oidc:ana",
      action: "paused",
    },
    ...{ name: "SR:CURRENT", pvs: null, names: null, detail: "", from: null, to: null },
  },
  {
    ...{
      number: 1,
      time: "2026-11-20T08:00:00.000000000Z",
      by: "oidc:ana",
      principal: "oidc:ana",
      action: "changed",
    },
    ...{ name: "", pvs: 5000, names: ["LAB:TEMP1", "LAB:TEMP2", "LAB:TEMP3", "LAB:TEMP4"] },
    ...{ detail: "scan to monitor", from: null, to: null },
  },
];

/** What the list says of a PV beside its values. */
function knownOfPv({ name, protocol }: FixturePv): {
  ioc: string;
  policy: string | null;
  groups: string[];
  added_by: string | null;
} {
  const policy = name.startsWith("VAC:") ? "vacuum" : name.startsWith("LAB:") ? "slow" : null;
  const ioc =
    protocol === "pva" ? "192.0.2.30:5075" : name.startsWith("SR:") ? "192.0.2.17:5064" : "192.0.2.18:5064";
  const groups = name === "SR:CURRENT" ? ["beam", "orbit"] : name.startsWith("SR:") ? ["beam"] : [];
  return { ioc, policy, groups, added_by: name.startsWith("LAB:") ? "oidc:ana" : "token:ingest" };
}

/** Somebody, as the archiver tells it, who may so much with all PVs. */
export function somebody(how: string, name: string, may: Right | null, login: Me["login"]): Me {
  const who = how === "anonymous" ? how : `${how}:${name}`;
  const groups = how === "anonymous" ? [] : ["operators", "rf"];
  const session = how === "oidc" || how === "ldap";
  return { who, how, groups, all: may, most: may, some: [], here: "administer", open: false, session, login };
}

/** Three nodes, of which one has fallen silent, and its shards are taken over. */
export function threeNodes(): Cluster {
  const shards = Array.from({ length: 32 }, (_, shard) => shard);
  const own = shards.filter((shard) => shard % 2 === 0);
  const here = [...own, 32].map((shard) => ({
    ...{ shard, epoch: 3, rows: 86_000 + shard, samples_waiting: shard === 4 ? 1240 : 0 },
    ...{ changes_waiting: 0, detached_seconds: shard === 4 ? 75 : null },
  }));
  const figures = (name: string, shards: typeof here, free_bytes: number) => ({
    page: `http://${name}.test/pvark/`,
    ...{ seconds_old: 1, pvs: { connected: 1200, searching: 3, disconnected: 0, paused: 1 }, lost: 0 },
    ...{ samples_waiting: shards.reduce((sum, shard) => sum + shard.samples_waiting, 0), shards },
    ...{
      detached_seconds: shards.find((shard) => shard.detached_seconds !== null)?.detached_seconds ?? null,
    },
    ...{ free_bytes, refusal: free_bytes === 0 ? "no space is left" : null, problems: 2 },
  });
  const of = (name: string, state: "lives" | "silent", shards: number[]) => ({
    ...{ name, state, address: `192.0.2.1${name.at(-1)}:17670`, version: "0.1.0", format: 1, shards },
    figures:
      state === "silent"
        ? null
        : figures(name, name === "archiver1" ? here : [], name === "archiver1" ? 52e9 : 0),
  });
  return {
    ...{ node: "archiver1", shards: 32, format: 1 },
    nodes: [
      of("archiver1", "lives", [...own, 32]),
      of("archiver2", "silent", []),
      of(
        "archiver3",
        "lives",
        shards.filter((shard) => shard % 2 === 1 && shard !== 31),
      ),
    ],
    here,
  };
}

/** All that came was stored. */
function accountOf(stored: number): object {
  return { received: stored, stored, skipped: 0, waiting: 0, lost: { queue_full: 0 }, adds_up: true };
}

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

export class TestServer {
  pvs: FixturePv[] = fixturePvs();
  /** So many children of a branch are given at most. */
  treePage = 200;
  /** What it was told of backups: the newest three hours ago, and another folder's of a damaged archive. */
  backups = [
    {
      at: new Date(Date.now() - 3 * 3_600_000).toISOString(),
      to: "/backup/pvark",
      bytes: 7.1e9,
      whole: true,
    },
    { at: new Date(Date.now() - 9 * 86_400_000).toISOString(), to: "/mnt/usb", bytes: 6.9e9, whole: false },
  ];
  /** So many lines of the audit are given at most. */
  auditPage = 1000;
  /** Answers nothing at all, as if the archiver had gone. */
  down = false;
  /** PVs whose data is refused, with the reason. */
  refusals = new Map<string, string>();
  problems: string[] = [];
  /** PVs whose IOC was lost and came back. */
  restarted: string[] = [];
  policies = POLICIES;
  /** What the config file would change now. */
  policyChanges: PolicyChange[] = [
    { name: "LAB:TEMP1", policy: "slow", from: "monitor", to: "monitor, deadband 1%" },
    { name: "LAB:TEMP2", policy: "slow", from: "monitor", to: "monitor, deadband 1%" },
    { name: "LAB:RAW", policy: null, from: "ca, scan 10s", to: "pva, monitor" },
  ];
  removed: { pv: FixturePv; data: "kept" | "deleted" }[] = [];
  /** What PVs were given, in order. */
  given: { name: string }[] = [];
  delay = 0;
  /** Between two lines of a search. */
  searchMillis = 0;
  /** Samples have no distance of which a spectrum could be made. */
  isUneven = false;
  /** Formulas need too many samples to be computed step by step. */
  stepsRefused = false;
  /** Somebody waits for a search. */
  isSearching = false;
  /** So many seconds the archiver's clock is ahead of the machine's. */
  ahead = 0;
  /** Its clock goes so many times as fast as the machine's, from when that is said. */
  private quick = { since: 0, times: 1 };
  /** Where PVs stand that are added. */
  addedState: PvState = "connected";
  groups = [{ name: "beam", enabled: false, pvs: 2, disabled_now_by: ["SR:MAINT"] }];
  /** Who asks: nobody is asked for that, unless a test says otherwise. */
  me: Me = {
    ...somebody("anonymous", "", "administer", { oidc: null, password: false }),
    open: true,
  };
  /** Who that becomes by logging out, and by logging in: at the provider, with a name and a password. */
  nobody: Me | null = null;
  byProvider: Me | null = null;
  passwords = new Map<string, Me>();
  /** So many seconds nobody can log in by a password. */
  lockedOut = 0;
  /** The browser shows a session that is over. */
  isOver = false;
  /** The site's zone, if the config says one. */
  zone: string | null = null;
  /** Since when it runs. */
  started = isoOf({ seconds: FIRST, nanos: 0 });
  /** Every request path with its query, in order. */
  requests: string[] = [];

  private kept = new WeakMap<FixturePv, { key: string; rows: Row[] }>();
  private orders = new Orders(() => this.now());
  /** None: it records alone. */
  cluster: Cluster | null = null;
  /** Parts for which nobody answers, and the PVs in them that every node knows of. */
  missing: Missing[] = [];
  unanswered = new Set<string>();
  /** Those that this node records itself; none: all of them. */
  recorded: FixturePv[] | null = null;
  /** Orders to nodes, in order. */
  nodeOrders: string[] = [];
  exports = new Exports(() => this.now());
  notes = new Memos("notes", () => this.now());
  views = new Memos("views", () => this.now());
  private server: Server;
  private startedAt = Math.floor(Date.now() / 10);
  private streams = new Set<ServerResponse>();
  /** Each live stream is ended as soon as it begins. */
  areStreamsBarred = false;

  constructor(private dist: string) {
    this.server = createServer((request, response) => void this.answer(request, response));
    // The last sample of a PV that is offline was taken ten minutes before the server started.
    const since = Math.floor(Date.now() / 1000) - 600;
    const open: FixtureGap = { from: since, to: null, cause: "disconnected", lost: 0, scope: "pv" };
    this.pvs.find((pv) => pv.name === "LAB:OFFLINE")!.gaps.push(open);
    const never: FixtureGap = { from: FIRST, to: null, cause: "never_connected", lost: 0, scope: "pv" };
    this.pvs.find((pv) => pv.name === "LAB:NEVER")!.gaps.push(never);
  }

  async start(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.dropStreams();
    // First nobody new comes in: a page that is still open would connect anew, and be waited for.
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private now(): number {
    const { since, times } = this.quick;
    return (since + (Date.now() - since) * times) / 1000 + this.ahead;
  }

  /** From now on its clock goes so many times as fast, and gives when that began, in milliseconds of the machine's. */
  hurry(times: number): number {
    this.quick = { since: Date.now(), times };
    return this.quick.since;
  }

  /** Ends the session, and the streams with what the archiver says then. */
  endSession(): void {
    this.me = this.nobody!;
    this.isOver = true;
    this.endStreams();
  }

  /** The same, where a question for whose answer nobody waited was the first after it: the browser shows nothing any more. */
  forgetSession(): void {
    this.me = this.nobody!;
  }

  endStreams(): void {
    for (const stream of this.streams) bar(stream);
    this.streams.clear();
  }

  /** Ends all live streams, as a restart of the archiver would. */
  dropStreams(): void {
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    this.requests.push(url.pathname + url.search);
    const isApi = url.pathname.startsWith("/api/v1/");
    const isAppliance = url.pathname.startsWith("/mgmt/bpl/");
    if (this.down && (isApi || isAppliance)) return void request.socket.destroy();
    if (this.delay > 0 && isApi) await new Promise((resolve) => setTimeout(resolve, this.delay));
    // Whoever asked may have gone meanwhile: a stream for nobody would never end.
    if (response.destroyed) return;
    if (isApi && this.missing.length > 0)
      response.setHeader(
        "pvark-incomplete",
        this.missing.map(({ part, why }) => `without ${part}: ${why}`).join(", "),
      );
    try {
      if (isAppliance) this.appliance(url, response);
      else if (!isApi) await this.file(url.pathname, response);
      else await this.api(request, url, response);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, "internal", String(error));
      const { code, message, hint, retryAfter } = refusal;
      if (retryAfter !== undefined) response.setHeader("Retry-After", retryAfter);
      send(response, refusal.status, { error: { code, message, ...(hint ? { hint } : {}) } });
    }
  }

  private async file(path: string, response: ServerResponse): Promise<void> {
    const name = ["/", "/login", "/manage"].includes(path)
      ? "index.html"
      : normalize(path).replace(/^(\.\.[/\\])+/, "");
    const bytes = await readFile(join(this.dist, name)).catch(() => null);
    if (!bytes) throw new Refusal(404, "unknown_url", `there is no ${path}`);
    response.writeHead(200, {
      "Content-Type": TYPES[extname(name)] ?? "application/octet-stream",
      "Content-Security-Policy": POLICY,
      "Referrer-Policy": "same-origin",
      "X-Content-Type-Options": "nosniff",
    });
    response.end(bytes);
  }

  /** The calls of the Archiver Appliance that the page uses. */
  private appliance(url: URL, response: ServerResponse): void {
    const call = url.pathname.split("/").at(-1)!;
    this.need(["read", "operate", "administer"]);
    const digits = (pv: FixturePv) => (1 / pv.period).toFixed(6);
    if (call === "getEventRateReport")
      return send(
        response,
        200,
        this.pvs.map((pv) => ({ eventRate: digits(pv), pvName: pv.name })),
      );
    if (call === "getStorageRateReport")
      return send(
        response,
        200,
        this.pvs.map((pv) => ({
          pvName: pv.name,
          storageRate_MBperday: ((86_400 / pv.period) * 8) / 1024 ** 2,
        })),
      );
    if (call === "getLostConnectionsReport")
      return send(
        response,
        200,
        this.restarted.map((name) => ({ currentlyConnected: "Yes", lostConnections: 3, pvName: name })),
      );
    const lost = this.pvs.filter((pv) => pv.state === "disconnected");
    const since = (pv: FixturePv) => pv.gaps.find((gap) => gap.to === null)?.from ?? FIRST;
    const of =
      call === "getCurrentlyDisconnectedPVs"
        ? lost
        : call === "getNeverConnectedPVs"
          ? this.pvs.filter((pv) => pv.state === "searching")
          : [];
    send(
      response,
      200,
      of.map((pv) => ({
        hostName: "127.0.0.1",
        connectionLostAt: "Nov/20/2026 03:12:41 UTC",
        noConnectionAsOfEpochSecs: String(since(pv)),
        pvName: pv.name,
      })),
    );
  }

  /** An order over many PVs, or what it would do. */
  private order(verb: string, body: Json, isPlan: boolean): object {
    const { pvs, data } = body as { pvs: string[]; data?: string };
    const right = verb === "remove" || verb === "restore" ? "administer" : "operate";
    const action = { pause: "paused", resume: "resumed", remove: "removed", restore: "restored" }[verb]!;
    const step = (name: string): Step => {
      const from = verb === "restore" ? this.removed.map(({ pv }) => pv) : this.pvs;
      const pv = from.find((pv) => pv.name === name);
      if (!pv) return { name, status: "unknown", message: `no PV is called "${name}"`, take: null };
      if (verb === "remove") return { name, status: action, take: () => this.out(pv, data) };
      if (verb === "restore") return { name, status: action, take: () => this.back(pv) };
      const to = verb === "pause";
      if ((pv.state === "paused") === to)
        return { name, status: to ? "already_paused" : "already_active", take: null };
      return { name, status: action, take: () => this.switch(pv, to) };
    };
    return this.orders.give(action, right, pvs.map(step), isPlan);
  }

  private switch(pv: FixturePv, paused: boolean): Step["take"] {
    const was = pv.state;
    this.setPaused(pv, paused);
    return () => {
      pv.state = was;
      return () => this.switch(pv, paused);
    };
  }

  private out(pv: FixturePv, data?: string): Step["take"] {
    this.removed.push({ pv, data: data === "delete" ? "deleted" : "kept" });
    this.pvs = this.pvs.filter((other) => other !== pv);
    return () => this.back(pv);
  }

  private back(pv: FixturePv): Step["take"] {
    this.pvs.push(pv);
    this.removed = this.removed.filter((other) => other.pv !== pv);
    return () => this.out(pv);
  }

  /** What the policies of the file change, or change now: then nothing is left that they would. */
  private policyPlan(url: URL, isApplied: boolean): object {
    const changes = this.policyChanges;
    const limit = Number(url.searchParams.get("limit") ?? 100);
    const take = (given: PolicyChange): Step["take"] => {
      this.policyChanges = this.policyChanges.filter((other) => other !== given);
      return () => {
        this.policyChanges = [...this.policyChanges, given];
        return () => take(given);
      };
    };
    const steps = changes.map((one): Step => ({ name: one.name, status: "changed", take: () => take(one) }));
    if (isApplied) {
      this.orders.give("changed", "operate", steps, false);
      this.policies = POLICIES_OF_FILE.map((policy) => ({ ...policy, pvs: 1 }));
    }
    const policies = [...new Set(changes.map(({ policy }) => policy))].map((name) => {
      const many = changes.filter(({ policy }) => policy === name).length;
      return { name, pvs: many, changes: many };
    });
    return {
      ...{ total: changes.length, by_hand: 2, policies, groups: [], file: POLICIES_OF_FILE },
      changes: changes.slice(0, limit),
    };
  }

  private removedList(): object {
    const since = isoOf({ seconds: FIRST, nanos: 0 });
    const rows = this.removed.map(({ pv, data }, number) => ({
      ...{ number, name: pv.name, aliases: [], data, since, decided: since, by: "127.0.0.1" },
    }));
    return { removed: rows };
  }

  private async rename(pv: FixturePv, request: IncomingMessage): Promise<object> {
    const { to } = (await bodyOf(request)) as { to: string };
    if (this.pvs.some((other) => other.name === to))
      throw new Refusal(409, "name_taken", `there is a PV ${to} already`);
    pv.name = to;
    return { name: to, status: "renamed" };
  }

  private async api(request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
    const [, , , noun, name, verb] = url.pathname.split("/").map(decodeURIComponent);
    if (noun === "me") return send(response, 200, this.me);
    if (noun === "login" && name === "oidc") return this.toProvider(request, url, response);
    if (noun === "login") return send(response, 200, this.logIn(await bodyOf(request)));
    if (noun === "logout") return send(response, 200, this.logOut());
    const isPost = request.method === "POST";
    const isPlan = url.searchParams.get("plan") === "true";
    const isSwitch = noun === "pause" || noun === "resume";
    const isOrder =
      (isPost &&
        (isSwitch || name === "apply" || ["pvs", "names", "undo", "notes", "views"].includes(noun!))) ||
      ["PUT", "DELETE"].includes(request.method!);
    const isLast =
      noun === "remove" ||
      noun === "restore" ||
      verb === "rename" ||
      (noun === "cluster" && request.method !== "GET");
    this.need(
      isLast ? ["administer"] : isOrder ? ["operate", "administer"] : ["read", "operate", "administer"],
    );
    if (isSwitch || noun === "remove" || noun === "restore")
      return send(response, 200, this.order(noun, await bodyOf(request), isPlan));
    if (noun === "cluster") return send(response, 200, await this.nodes(request, url));
    if (noun === "notes" || noun === "views") return this.memos(this[noun], request, url, response);
    if (noun === "undo" && !name) return send(response, 200, this.orders.list());
    if (noun === "undo") {
      const undone = this.orders.undo(Number(name), !isPost);
      if (!undone) throw new Refusal(404, "unknown_pv", `no order ${name} can be taken back`);
      return send(response, 200, undone);
    }
    if (noun === "removed") return send(response, 200, this.removedList());
    if (noun === "names") return send(response, 200, this.readNames(await textOf(request)));
    if (noun === "tree") return send(response, 200, this.tree(url));
    if (noun === "upkeep") return send(response, 200, { retention: KEPT, backups: this.backups });
    if (noun === "slow") return send(response, 200, { slow: SLOW });
    if (noun === "iocs") return send(response, 200, { iocs: this.iocs() });
    if (noun === "audit") return send(response, 200, this.auditOf(url));
    if (noun === "policies" && name) return send(response, 200, this.policyPlan(url, name === "apply"));
    if (noun === "policies") return send(response, 200, { policies: this.policies });
    if (noun === "status") return send(response, 200, this.status());
    if (noun === "exports") return this.exported(request, url, response);
    if (noun === "groups") return send(response, 200, { groups: this.groups });
    if (noun === "live") return this.live(url, response);
    if (COMPUTED.includes(noun!)) return this.computed(noun!, request, url, response);
    if (noun !== "pvs") throw new Refusal(404, "unknown_url", `there is no ${url.pathname}`);
    if (!name) {
      const answer = isPost ? this.add(await bodyOf(request), isPlan) : this.list(url);
      return send(response, 200, answer);
    }
    const pv = this.pvs.find((pv) => pv.name === name);
    if (!pv)
      throw new Refusal(404, "unknown_pv", `no PV of this archive is called "${name}"`, "add it first");
    if (!verb) return send(response, 200, this.detail(pv));
    if (verb === "rename") return send(response, 200, await this.rename(pv, request));
    if (verb === "pause" || verb === "resume")
      return send(response, 200, this.setPaused(pv, verb === "pause"));
    const refusal = this.refusals.get(name);
    if (refusal) throw new Refusal(500, "internal", refusal);
    if (verb === "explain") return send(response, 200, this.explain(pv, rangeOf(url)));
    if (verb === "ledger") return send(response, 200, this.ledger(pv, rangeOf(url), url));
    if (verb === "gaps") return send(response, 200, this.gaps(pv, rangeOf(url)));
    if (verb === "bins" && pv.type?.endsWith("[]")) {
      response.writeHead(200, { "Content-Type": "application/vnd.apache.arrow.stream" });
      response.end(this.arrayBins(pv, url));
      return;
    }
    if (verb === "bins") return send(response, 200, this.bins(pv, url));
    if (verb === "samples") return send(response, 200, this.samples(pv, url));
    throw new Refusal(404, "unknown_url", `there is no ${url.pathname}`);
  }

  /** A level of the names, split at colons; no more children than `treePage`, whatever is asked for. */
  private tree(url: URL): object {
    const prefix = url.searchParams.get("prefix") ?? "";
    const within = this.pvs.map(({ name }) => name).filter((name) => name.startsWith(prefix));
    const counts = new Map<string, number>();
    for (const name of within.sort()) {
      const end = name.indexOf(":", prefix.length);
      const key = end < 0 ? name : name.slice(0, end + 1);
      counts.set(key, (counts.get(key) ?? 0) + (end < 0 ? 0 : 1));
    }
    const all = [...counts];
    const after = url.searchParams.get("after");
    const first = after === null ? 0 : all.findIndex(([key]) => key === after) + 1;
    const most = Math.min(Number(url.searchParams.get("limit") ?? 100), this.treePage);
    const given = all.slice(first, first + most);
    const next = first + most < all.length ? given.at(-1)![0] : null;
    const children = given.map(([key, names]) => (names > 0 ? { prefix: key, names } : { name: key }));
    const missing = this.missing.length > 0 ? { incomplete: this.missing } : {};
    return { prefix, separators: ":", names: within.length, next, children, ...missing };
  }

  /** How the nodes stand, and orders to them. */
  private async nodes(request: IncomingMessage, url: URL): Promise<object> {
    const { cluster } = this;
    const alone = "this archiver records alone: it is no node of a cluster";
    if (!cluster) throw new Refusal(409, "conflict", alone, "docs/cluster.md says what makes it one");
    if (request.method === "GET") return cluster;
    const [, , what, which, verb] = url.pathname.split("/").slice(2).map(decodeURIComponent);
    const node = cluster.nodes.find(({ name }) => name === which);
    if (what === "nodes" && verb === "drain") node!.state = "leaves";
    if (what === "nodes" && verb === "join") node!.state = "lives";
    if (what === "nodes" && verb === undefined) {
      if (node!.state === "lives") throw new Refusal(409, "conflict", `${which} lives`);
      cluster.nodes = cluster.nodes.filter((other) => other !== node);
    }
    if (what === "shards") {
      const shard = Number(which);
      const { to } = (await bodyOf(request)) as { to: string };
      for (const { shards, name } of cluster.nodes) {
        if (shards.includes(shard)) shards.splice(shards.indexOf(shard), 1);
        if (name === to) shards.push(shard);
      }
    }
    const order = `${request.method} ${url.pathname}`;
    this.nodeOrders.push(order);
    return { order, status: "begun" };
  }

  /** Files of samples: planned, ordered, listed, handed over, removed. */
  private async exported(request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
    const [number, part] = url.pathname.split("/").slice(4);
    if (this.exports.isNowhere)
      throw new Refusal(409, "conflict", "this archiver makes no exports", "give it a folder for them");
    if (!number && request.method === "GET") return send(response, 200, this.exports.list());
    if (!number) {
      const names = (await bodyOf(request)) as string[];
      this.named(names);
      const isPlan = url.searchParams.get("plan") === "true";
      if (isPlan) return send(response, 200, this.exports.plan(url.searchParams, names));
      return send(response, 201, this.exports.order(url.searchParams, names));
    }
    if (part === "file") {
      const file = this.exports.file(Number(number));
      if (!file) throw new Refusal(409, "conflict", "the file is not made yet");
      const disposition = `attachment; filename="${file.name}"`;
      response.writeHead(200, { "Content-Disposition": disposition }).end(file.content);
      return;
    }
    const gone = this.exports.remove(Number(number));
    if (!gone) throw new Refusal(404, "unknown_pv", `there is no export ${number}`);
    send(response, 200, gone);
  }

  private async memos(memos: Memos, request: IncomingMessage, url: URL, response: ServerResponse) {
    const [noun, number] = url.pathname.split("/").slice(3);
    const { method } = request;
    if (!number && method === "GET") return send(response, 200, memos.find(url.searchParams));
    if (!number)
      return send(response, 200, {
        [noun!]: [memos.write((await bodyOf(request)) as object, this.me.who)],
      });
    const had = memos.one(Number(number));
    if (!had) throw new Refusal(404, "unknown_pv", `there is no ${number} among the ${noun}`);
    if (method !== "GET" && this.me.most !== "administer" && had.by !== this.me.who)
      throw new Refusal(403, "forbidden", `${had.by} wrote it`, "ask an administrator");
    const row =
      method === "PUT"
        ? memos.change(had.number, (await bodyOf(request)) as object, this.me.who)
        : method === "DELETE"
          ? memos.remove(had.number)
          : had;
    send(response, 200, row!);
  }

  /** What is computed of many PVs: those of the list that is sent, or those that fit. */
  private async computed(
    noun: string,
    request: IncomingMessage,
    url: URL,
    response: ServerResponse,
  ): Promise<void> {
    const source: Source = {
      pv: (name) => this.pvs.find((pv) => pv.name === name) ?? null,
      held: (pv, at) => this.lastBefore(pv, instantOf(at))[0] ?? null,
      gaps: (pv, from, to) =>
        (this.gaps(pv, { from, to, exactFrom: instantOf(from) }) as { gaps: WireGap[] }).gaps,
    };
    const text = await textOf(request);
    if (noun === "when") return this.when(source, text, url, response);
    const isSteps = noun === "formula" && !url.searchParams.has("bins");
    if (isSteps && this.stepsRefused)
      throw new Refusal(413, "too_large", "more than 4000000000 numbers would have to be read");
    if (noun === "formula" || noun === "stats")
      return send(
        response,
        200,
        formula(source, text || (url.searchParams.get("expression") ?? ""), url, noun === "stats"),
      );
    if (noun === "xy" || noun === "histogram" || noun === "fft")
      return this.related(noun, source, text === "" ? {} : (JSON.parse(text) as object), url, response);
    const match = url.searchParams.get("match");
    const names = match === null ? (JSON.parse(text) as string[]) : null;
    const isAsked = (pv: FixturePv) =>
      names ? names.includes(pv.name) : matches(pv.name, match!.toLowerCase());
    const pvs = this.pvs.filter(isAsked);
    const time = (key: string) => {
      const exact = exactOf(url.searchParams.get(key) ?? "");
      return exact ? floatOf(exact) : this.now();
    };
    if (noun === "diff") return send(response, 200, diffOf(source, pvs, time("before"), time("after")));
    if (noun === "view" && url.searchParams.get("format") === "json")
      return send(response, 200, knownOf(source, pvs, time("from"), time("to")));
    if (noun === "view") {
      const bytes = this.view(source, names ?? [], url);
      return void response
        .writeHead(200, { "Content-Type": "application/vnd.apache.arrow.stream" })
        .end(bytes);
    }
    if (noun === "samples") return send(response, 200, this.samplesOf(names ?? [], url));
    if (url.searchParams.get("format") === "csv")
      return void response
        .writeHead(200, { "Content-Type": "text/csv" })
        .end(atCsv(source, pvs, time("time")));
    const unknown = (names ?? []).filter((name) => source.pv(name) === null);
    const found = this.newest(
      pvs.map(({ name }) => name),
      url,
    );
    send(response, 200, { ...found, unknown });
  }

  /** Pairs, a histogram, a spectrum. */
  private related(
    noun: "xy" | "histogram" | "fft",
    source: Source,
    body: { x?: string; y?: string; expression?: string },
    url: URL,
    response: ServerResponse,
  ): void {
    const { from, to } = rangeOf(url);
    const asked = url.searchParams;
    const of = (key: "x" | "y" | "expression") => {
      try {
        return formulaOf(source, body[key] ?? asked.get(key) ?? "");
      } catch (error) {
        if (error instanceof WrongFormula) throw new Refusal(400, "bad_request", error.message);
        throw error;
      }
    };
    const arrow = (facts: Record<string, string>, columns: Record<string, number[]>) =>
      void response
        .writeHead(200, { "Content-Type": "application/vnd.apache.arrow.stream" })
        .end(tableOf(facts, columns));
    if (noun === "histogram") {
      const count = Number(asked.get("bins") ?? 50);
      const isCount = asked.get("weight") === "count";
      const end = (key: string) => (asked.has(key) ? Number(asked.get(key)) : null);
      const ends: [number | null, number | null] = [end("low"), end("high")];
      return send(response, 200, histogramOf(of("expression"), { from, to, count, isCount, ends }));
    }
    if (noun === "xy") {
      const by = asked.get("by") ?? "last";
      if (by === "pulse") {
        const facts = { units: '{"x":null,"y":null}', unpaired: "0", damage: "[]" };
        return arrow(facts, { time: [], x: [], y: [] });
      }
      const step = Number(asked.get("step") ?? (to - from) / 1000);
      const { facts, columns } = pairsOf([of("x"), of("y")], { from, to, by, step });
      return arrow(facts, columns);
    }
    const formula = of("expression");
    const step = Number(asked.get("step") ?? 0);
    if (step === 0 && this.isUneven) {
      const message = `the samples are not even: 900 samples lie 4 s apart by the mean, 1 s at least and 9 s at most`;
      throw new Refusal(409, "conflict", message, "say step=4&resample=previous, linear or mean");
    }
    const lost = Array.from({ length: 600 }, (_, i) => from + (i * (to - from)) / 600).find((t) =>
      Number.isNaN(formula.at(t)),
    );
    if (lost !== undefined) {
      const stretch = `from ${isoOf(instantOf(from))} to ${isoOf(instantOf(Math.floor(lost)))}, 512 points`;
      const message = `the value is not known at ${isoOf(instantOf(lost))}, and for longest ${stretch}`;
      throw new Refusal(409, "conflict", message, "ask for a range in which it is known");
    }
    const points = 512;
    const { frequency, strength } = spectrumOf(formula, { from, step: (to - from) / points, points });
    const output = asked.get("output") ?? "amplitude";
    const output_units = formula.units ?? "";
    const facts = { output_units, points: String(points), step: String((to - from) / points), damage: "[]" };
    arrow(facts, { frequency, [output]: strength });
  }

  /** Lines as they are found, so far apart as `searchMillis` says. */
  private async when(source: Source, expression: string, url: URL, response: ServerResponse): Promise<void> {
    const missing = /[A-Z][\w:{}-]*\w/g;
    for (const [name] of expression.matchAll(missing))
      if (source.pv(name) === null)
        throw new Refusal(404, "unknown_pv", `no PV of this archive is called "${name}"`, "look at its name");
    const { from, to } = rangeOf(url);
    this.isSearching = true;
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.on("close", () => (this.isSearching = false));
    for (const line of whenLines(source, expression, from, to)) {
      if (this.searchMillis > 0) await new Promise((resolve) => setTimeout(resolve, this.searchMillis));
      if (response.destroyed) return;
      response.write(`${JSON.stringify(line)}\n`);
    }
    response.end();
  }

  private need(rights: Right[]): void {
    if (this.isOver) throw new Refusal(401, "unauthorized", "the session is over; log in again");
    if (rights.includes(this.me.most!)) return;
    if (this.me.how === "anonymous") throw new Refusal(401, "unauthorized", `this needs ${rights[0]}`);
    throw new Refusal(403, "forbidden", `${this.me.who} may not ${rights[0]}`, "ask an administrator");
  }

  private logIn(body: Json): object {
    const { user, password } = body as { user: string; password: string };
    const message = "there were too many wrong passwords; wait a minute";
    if (this.lockedOut > 0) throw new Refusal(429, "too_many_requests", message, undefined, this.lockedOut);
    const me = this.passwords.get(`${user}:${password}`);
    if (!me) throw new Refusal(401, "unauthorized", "the name or the password is wrong");
    this.me = me;
    this.isOver = false;
    return { who: me.who };
  }

  private logOut(): object {
    this.me = this.nobody!;
    this.isOver = false;
    return { who: "anonymous" };
  }

  /** The provider lets everybody in at once. */
  private toProvider(request: IncomingMessage, url: URL, response: ServerResponse): void {
    const message = "the OpenID provider does not answer, so that nobody can say who this is";
    if (!this.byProvider) throw new Refusal(503, "busy", message, undefined, 10);
    // The page only looks whether it would lead there; then the browser goes.
    if (!request.headers["x-pvark"]) [this.me, this.isOver] = [this.byProvider, false];
    response.writeHead(302, { Location: url.searchParams.get("return") ?? "/" }).end();
  }

  private status(): object {
    const recorded = this.recorded ?? this.pvs;
    const count = (state: string) => recorded.filter((pv) => pv.state === state).length;
    return {
      version: "0.0.0-test",
      started: this.started,
      now: new Date(this.now() * 1000).toISOString(),
      durable: { appended: 1000, durable: 1000, lag: 0 },
      pvs: {
        total: recorded.length,
        connected: count("connected"),
        searching: count("searching"),
        disconnected: count("disconnected"),
        paused: count("paused"),
      },
      clustered: this.cluster !== null,
      zone: this.zone,
      problems: this.problems,
      queue: { bytes: 1000, bytes_max: 256e6 },
      samples: {
        ...{ received: 5000 + Math.floor(Date.now() / 10) - this.startedAt, stored: 4990, skipped: 0 },
        ...{ dropped_queue: 10, dropped_store: 0, rate_capped: 0, overruns: 0, bad_stamps: 3 },
      },
      store: {
        ...{ head_bytes: 1_234_567, head_samples: 4321, log_bytes: 999 },
        places: [
          { name: "", trouble: null, segments: 3, bytes: 41_000_000, free_bytes: 3e9, disk_bytes: 9e9 },
          { name: "long", trouble: "/mnt/lts is not mounted", segments: 0, bytes: 0 },
        ],
        weeks: [
          { week: "2026-W46", state: "sealed", segments: 1, bytes: 30_000_000, samples: 10_000_000 },
          { week: "2026-W47", state: "open", segments: 2, bytes: 11_000_000, samples: 3_000_000 },
        ],
        work: [],
        scrub: { last_pass: "2026-11-19T00:00:00.000000000Z" },
      },
    };
  }

  private list(url: URL): object {
    if (url.searchParams.has("sort")) return this.sortedList(url);
    const match = (url.searchParams.get("match") ?? "").toLowerCase();
    const state = url.searchParams.get("state") ?? "any";
    const words = (url.searchParams.get("words") ?? "").toLowerCase().split(/\s+/);
    const description = (pv: FixturePv) => pv.metadata.description ?? "";
    const isWanted = (pv: FixturePv) =>
      matches(pv.name, match) &&
      (state === "any" || this.stateOf(pv) === state) &&
      words.every((word) =>
        `${pv.name} ${description(pv)} ${pv.metadata.units ?? ""}`.toLowerCase().includes(word),
      );
    const found = this.pvs.filter(isWanted).sort((a, b) => (a.name < b.name ? -1 : 1));
    const limit = Number(url.searchParams.get("limit") ?? 100);
    const offset = Number(url.searchParams.get("offset") ?? 0);
    const near = found.length > 0 ? {} : { near: this.near(words[0]!) };
    return {
      ...{ total: found.length, ...near },
      pvs: found.slice(offset, offset + limit).map((pv) => ({
        ...this.entry(pv),
        ...(url.searchParams.has("words") ? { description: description(pv) } : {}),
      })),
      ...(this.missing.length > 0 ? { incomplete: this.missing } : {}),
    };
  }

  /** A page of a list that is sorted as the archiver sorts; its cursor is how many rows stand before it. */
  private sortedList(url: URL): object {
    const told = (name: string) => url.searchParams.get(name);
    const numbers: Record<string, (pv: FixturePv) => number> = {
      rate: (pv) => 1 / pv.period,
      bytes_per_day: (pv) => (86_400 / pv.period) * 8,
      name: () => 0,
      state: (pv) => ["connected", "searching", "lost", "paused", "unknown"].indexOf(this.stateOf(pv)),
      since: (pv) => pv.gaps.find((gap) => gap.to === null)?.from ?? FIRST,
      last: (pv) => this.lastBefore(pv, instantOf(this.now()))[0]?.seconds ?? 0,
      ioc: (pv) => Number(pv.name.startsWith("SR:")),
      policy: (pv) => ["vacuum", "slow"].indexOf(knownOfPv(pv).policy ?? ""),
      added_by: (pv) => Number(pv.name.startsWith("LAB:")),
    };
    const number = numbers[told("sort")!];
    if (!number) throw new Refusal(400, "bad_request", `it is not sorted by ${told("sort")} here`);
    const sign = told("order") === "desc" ? -1 : 1;
    const [match, state] = [(told("match") ?? "").toLowerCase(), told("state") ?? "any"];
    const kinds = ["ioc", "policy", "group", "added_by"] as const;
    const kindsOf = (pv: FixturePv, kind: (typeof kinds)[number]): string[] => {
      const { groups, ...one } = knownOfPv(pv);
      const has = kind === "group" ? groups : [one[kind] ?? "-"];
      return has.length > 0 ? has : ["-"];
    };
    const narrowed = kinds.filter((kind) => told(kind) !== null);
    const passes = (pv: FixturePv, but: string) =>
      matches(pv.name, match) &&
      (but === "state" || state === "any" || this.stateOf(pv) === state) &&
      narrowed.every((kind) => kind === but || kindsOf(pv, kind).includes(told(kind)!));
    const found = this.pvs
      .filter((pv) => passes(pv, ""))
      .sort(
        (a, b) =>
          sign * (number(a) - number(b) || (told("sort") === "name" ? (a.name < b.name ? -1 : 1) : 0)) ||
          (a.name < b.name ? -1 : 1),
      );
    const counts = (kind: string, of: (pv: FixturePv) => string[]) => {
      const all = new Map<string, number>();
      for (const pv of this.pvs.filter((pv) => passes(pv, kind)))
        for (const one of of(pv)) all.set(one, (all.get(one) ?? 0) + 1);
      return [...all].sort((a, b) => b[1] - a[1]);
    };
    const facets = {
      state: Object.fromEntries(counts("state", (pv) => [this.stateOf(pv)])),
      ...Object.fromEntries(
        kinds.map((kind) => [
          kind,
          counts(kind, (pv) => kindsOf(pv, kind))
            .filter(([name]) => kind !== "group" || name !== "-")
            .map(([name, pvs]) => ({ name: name === "-" ? null : name, pvs })),
        ]),
      ),
    };
    const [begin, limit] = [Number(told("offset") ?? 0), Number(told("limit") ?? 100)];
    const row = (pv: FixturePv) => ({
      ...this.entry(pv),
      ...knownOfPv(pv),
      added: isoOf(instantOf(FIRST)),
      ...{ rate: numbers.rate!(pv), bytes_per_day: numbers.bytes_per_day!(pv) },
    });
    return {
      ...{ total: found.length, facets },
      next: begin + limit < found.length ? String(begin + limit) : null,
      pvs: found.slice(begin, begin + limit).map(row),
      ...(this.missing.length > 0 ? { incomplete: this.missing } : {}),
    };
  }

  /** What a text names: a list, records of a database, or entries of an export. */
  private readNames(text: string): object {
    const form = /^\s*[[{]/.test(text) ? "appliance" : /^\s*record\s*\(/m.test(text) ? "database" : "list";
    type Given = {
      line: number;
      name: string;
      period?: number | null;
      paused?: boolean;
      reason?: string | null;
    };
    const given: Given[] =
      form === "list"
        ? readList(text)
        : form === "database"
          ? [...text.matchAll(/record\s*\(\s*\w+\s*,\s*"([^"]+)"/g)].map(([, name], i) => ({
              ...{ line: i + 1, name: name! },
              reason: name!.includes("$(") ? "it has a macro that is not resolved" : null,
            }))
          : (JSON.parse(text) as { pvName: string; samplingPeriod?: string; paused?: string }[]).map(
              (entry, i) => ({
                ...{ line: i + 1, name: entry.pvName, paused: entry.paused === "true" },
                period: entry.samplingPeriod ? Number(entry.samplingPeriod) : null,
              }),
            );
    const names = given.map(({ line, name, period = null, paused = false, reason = null }) => {
      const bare = name.replace(/^(ca|pva):\/\//, "");
      const isKnown = this.pvs.some((pv) => pv.name === bare);
      const method = period === null ? {} : { method: "scan", period };
      return {
        ...{ line, name, status: reason !== null ? "refused" : isKnown ? "known" : "new", message: reason },
        ...{ policy: knownOfPv({ ...fixturePvs()[1]!, name: bare }).policy, paused },
        pv: reason !== null ? null : { name, ...method },
      };
    });
    return {
      form,
      total: names.length,
      ...(this.missing.length > 0 ? { incomplete: this.missing } : {}),
      names,
    };
  }

  /** The IOCs of the PVs, those with the most that are lost first. */
  private iocs(): object[] {
    const found = new Map<string, FixturePv[]>();
    for (const pv of this.pvs) {
      const { ioc } = knownOfPv(pv);
      found.set(ioc, [...(found.get(ioc) ?? []), pv]);
    }
    const time = (seconds: number) => isoOf(instantOf(seconds));
    const iocs = [...found].map(([address, pvs]) => {
      const count = (state: PvState) => pvs.filter((pv) => pv.state === state).length;
      const isCa = address.endsWith(":5064");
      return {
        ...{ address, protocols: [isCa ? "ca" : "pva"], pvs: pvs.length, connected: count("connected") },
        ...{
          disconnected: count("disconnected"),
          searching: count("searching"),
          paused: count("paused"),
          rate: 12,
        },
        ...{ circuits: count("disconnected") > 0 ? 0 : 1, since: time(this.now() - 7230) },
        ...{ circuits_opened: 3, circuits_lost: 2, restarts: 1, restarted: time(this.now() - 7290) },
        last_beacon: isCa ? time(this.now() - (count("disconnected") > 0 ? 7350 : 9)) : null,
      };
    });
    return iocs.sort((a, b) => b.disconnected - a.disconnected);
  }

  /** Lines of the audit by what is looked for, a page at a time. */
  private auditOf(url: URL): object {
    const told = (name: string) => (url.searchParams.get(name) ?? "").toLowerCase();
    if (told("from") === "tomorow")
      throw new Refusal(400, "bad_request", 'from is "tomorow", expected a time', "say -7d or 2026-06-01");
    const fits = (line: (typeof AUDIT)[number]) =>
      [line.name, ...(line.names ?? [])].some((name) => name.toLowerCase().includes(told("pv"))) &&
      line.by.includes(told("who")) &&
      (told("action") === "" || line.action === told("action")) &&
      line.number < Number(told("before") || "Infinity");
    const found = AUDIT.filter(fits);
    const limit = Math.min(Number(told("limit")), this.auditPage);
    return { next: found.length > limit ? found[limit - 1]!.number : null, audit: found.slice(0, limit) };
  }

  private stateOf(pv: FixturePv): PvState | "unknown" {
    return this.unanswered.has(pv.name) ? "unknown" : pv.state;
  }

  /** Names that differ by a letter or two, and words of names that do. */
  private near(word: string): string[] {
    const texts = new Set(this.pvs.flatMap(({ name }) => [name, ...name.split(":")]));
    const distance = (a: string, b: string): number =>
      a === "" || b === ""
        ? a.length + b.length
        : a[0] === b[0]
          ? distance(a.slice(1), b.slice(1))
          : Math.abs(a.length - b.length) > 2
            ? 9
            : 1 +
              Math.min(distance(a.slice(1), b), distance(a, b.slice(1)), distance(a.slice(1), b.slice(1)));
    return [...texts].filter((text) => distance(word, text.toLowerCase()) <= 2).slice(0, 3);
  }

  private entry(pv: FixturePv): object {
    const isKnown = !this.unanswered.has(pv.name);
    const [last] = !isKnown ? [] : this.lastBefore(pv, instantOf(this.now()));
    return {
      ...{
        name: pv.name,
        protocol: pv.protocol,
        method: "monitor",
        period: null,
        state: this.stateOf(pv),
        type: pv.type,
      },
      since: isoOf({ seconds: pv.gaps.find((gap) => gap.to === null)?.from ?? FIRST, nanos: 0 }),
      ...(isKnown ? {} : { unanswered: "no node has it" }),
      units: pv.metadata.units ?? null,
      last: last && { time: isoOf(last), value: last.value, severity: SEVERITIES[last.severity], status: 0 },
    };
  }

  private detail(pv: FixturePv): object {
    const [last] = this.lastBefore(pv, instantOf(this.now()));
    return {
      ...this.entry(pv),
      ...{ added: "2026-01-01T00:00:00.000000000Z", server: "127.0.0.1:5064", reconnects: 1, refusal: null },
      counters: { received: 1234, stored: 1234, dropped_queue: 0 },
      metadata: pv.metadata,
      extent: last
        ? { first: isoOf({ seconds: pv.first ?? FIRST, nanos: 0 }), last: isoOf(last), samples: 1234 }
        : null,
    };
  }

  /** A PV that is searched for has no value yet. */
  private newest(names: string[], url: URL): object {
    const at = exactOf(url.searchParams.get("time") ?? "") ?? instantOf(this.now());
    const pvs = this.pvs.filter((pv) => names.includes(pv.name));
    const row = (pv: FixturePv) => {
      const [last] = pv.state === "searching" ? [] : this.lastBefore(pv, at);
      return last
        ? { pv: pv.name, time: isoOf(last), value: last.value, severity: SEVERITIES[last.severity] }
        : { pv: pv.name, time: null, value: null, severity: null };
    };
    return { time: isoOf(at), pvs: pvs.map(row), unknown: [] };
  }

  private add(body: Json, isPlan: boolean): object {
    const wanted = (body as { pvs: { name: string }[] }).pvs;
    const added = new Set<string>();
    const steps = wanted.map((given): Step => {
      const { name } = given;
      const bare = name.replace(/^(ca|pva):\/\//, "");
      if (bare === "" || bare.length > 60)
        return { name, status: "refused", message: "a PV name has 1 to 60 bytes", take: null };
      const give = (): Step["take"] => {
        this.given.push(given);
        return () => give;
      };
      if (added.has(bare)) return { name: bare, status: "already_archived", take: null };
      if (this.pvs.some((pv) => pv.name === bare)) {
        const isChange = Object.keys(given).length > 2 || "policy" in given;
        return isChange
          ? { name: bare, status: "changed", take: give }
          : { name: bare, status: "already_archived", take: null };
      }
      added.add(bare);
      const take = () => {
        this.given.push(given);
        this.pvs.push({ ...fixturePvs()[1]!, name: bare, gaps: [], state: this.addedState });
        // What was new is not taken back but removed.
        return null;
      };
      return { name: bare, status: "added", take };
    });
    return this.orders.give("changed", "operate", steps, isPlan);
  }

  private setPaused(pv: FixturePv, paused: boolean): object {
    pv.state = paused ? "paused" : "connected";
    return { name: pv.name, status: paused ? "paused" : "resumed" };
  }

  /** The updates of each step: as many as samples are taken outside of gaps. */
  private ledger(pv: FixturePv, range: Range, url: URL): object {
    const step = Number(url.searchParams.get("step") ?? 60);
    const steps = [];
    for (let from = Math.floor(range.from / step) * step; from < range.to && pv.type !== null; from += step) {
      const lost = pv.gaps.reduce(
        (sum, gap) => sum + Math.max(0, Math.min(gap.to ?? Infinity, from + step) - Math.max(gap.from, from)),
        0,
      );
      const stored = Math.round(Math.max(0, step - lost) / pv.period);
      steps.push({ ...accountOf(stored), from_seconds: from });
    }
    return { steps };
  }

  /** Every gap is a reason; without any nothing is known to be missing. */
  private explain(pv: FixturePv, range: Range): object {
    const gaps = pv.gaps.filter((gap) => gap.from < range.to && (gap.to ?? Infinity) > range.from);
    const [last] = this.lastBefore(pv, instantOf(range.to));
    return {
      samples: last && floatOf(last) >= range.from ? 1234 : 0,
      complete: gaps.length > 0 ? "incomplete" : "unproved",
      text:
        gaps.length > 0
          ? "Not everything was recorded."
          : "Nothing is known to be lost; nothing proves it either.",
      reasons: gaps.map((gap) => ({
        kind: gap.cause,
        from_seconds: Math.max(gap.from, range.from),
        to_seconds: Math.min(gap.to ?? Infinity, range.to),
        lost: gap.lost,
        text: SENTENCES[gap.cause] ?? `The archive says ${gap.cause}.`,
      })),
      account: accountOf(last && floatOf(last) >= range.from ? 1234 : 0),
      covered_seconds: range.to - range.from,
      proof: null,
      now: { connection: pv.state, since: isoOf({ seconds: FIRST, nanos: 0 }), server: null, refusal: null },
    };
  }

  private gaps(pv: FixturePv, range: Range): object {
    const gaps = pv.gaps.filter((gap) => gap.from < range.to && (gap.to ?? Infinity) > range.from);
    return {
      pv: pv.name,
      gaps: gaps
        .sort((a, b) => a.from - b.from)
        .map((gap) => ({
          ...{ from: isoOf(instantOf(gap.from)), to: gap.to === null ? null : isoOf(instantOf(gap.to)) },
          ...{
            from_seconds: gap.from,
            to_seconds: gap.to,
            cause: gap.cause,
            lost: gap.lost,
            scope: gap.scope,
          },
        })),
    };
  }

  private samples(pv: FixturePv, url: URL): object {
    const range = rangeOf(url);
    const limit = Number(url.searchParams.get("limit") ?? 100_000);
    const before = url.searchParams.get("before") === "false" ? [] : this.lastBefore(pv, range.exactFrom);
    const within = [...this.rows(pv, range, limit + 1)].filter((row) => row.t !== before[0]?.t);
    const rows = [...before, ...within];
    const chunks = rows.length > 0 ? [chunkOf(pv, rows.slice(0, limit))] : [];
    return { pv: pv.name, metadata: pv.metadata, chunks, truncated: rows.length > limit };
  }

  /** The PVs of a list, none of which may be unknown or refused. */
  private named(names: string[]): FixturePv[] {
    const unknown = names.find((name) => !this.pvs.some((pv) => pv.name === name));
    if (unknown !== undefined)
      throw new Refusal(404, "unknown_pv", `no PV of this archive is called "${unknown}"`, "add it first");
    const refused = names.find((name) => this.refusals.has(name));
    if (refused !== undefined) throw new Refusal(500, "internal", this.refusals.get(refused)!);
    return names.map((name) => this.pvs.find((pv) => pv.name === name)!);
  }

  /** Bins of all on edges that neighbouring views share: multiples of a round width. */
  private view(source: Source, names: string[], url: URL): Buffer {
    const range = rangeOf(url);
    const most = Number(url.searchParams.get("bins") ?? 1000);
    const least = (range.to - range.from) / Math.max(1, most - 1);
    const width = Number(url.searchParams.get("width") ?? roundWidth(least));
    const [first, last] = [Math.floor(range.from / width + 1e-6), Math.ceil(range.to / width - 1e-6)];
    const edges = { from: first * width, to: last * width, exactFrom: instantOf(first * width) };
    const parts = this.named(names).map((pv) => {
      const isNumber = !(pv.type === "string" || pv.type === "structure" || pv.type?.endsWith("[]"));
      const bins = isNumber ? this.binned(pv, edges, last - first) : emptyBins(edges, last - first);
      const [before] = isNumber ? this.lastBefore(pv, edges.exactFrom) : [];
      // Before its first sample nobody knows of what type it will be.
      const isBegun = this.lastBefore(pv, instantOf(range.to)).length > 0;
      const [type, metadata] = isBegun ? [pv.type, pv.metadata] : [null, null];
      const told = {
        ...{ pv: pv.name, type, metadata, before: before ? beforeOf(before) : null },
        ...{ raw: bins.count.every((count) => count <= 1), gaps: source.gaps(pv, range.from, range.to) },
      };
      return { told, bins };
    });
    const facts = { width: String(width), pvs: JSON.stringify(parts.map(({ told }) => told)) };
    return arrowOf(
      facts,
      parts.map(({ bins }) => bins),
    );
  }

  private samplesOf(names: string[], url: URL): object {
    return { pvs: this.named(names).map((pv) => this.samples(pv, url)) };
  }

  private bins(pv: FixturePv, url: URL): object {
    if (pv.type === "string" || pv.type === "structure" || pv.type?.endsWith("[]")) {
      throw new Refusal(400, "bad_request", `"${pv.name}" is not a number`, "ask for its samples instead");
    }
    const range = rangeOf(url);
    const bins = this.binned(pv, range, Number(url.searchParams.get("bins") ?? 1000));
    const [last] = this.lastBefore(pv, range.exactFrom);
    const raw = bins.count.every((count) => count <= 1);
    const before = last ? beforeOf(last) : null;
    return { ...{ pv: pv.name, type: pv.type, metadata: pv.metadata, bins, raw }, before };
  }

  /** What each element was in each bin, or some neighbouring ones together. */
  private arrayBins(pv: FixturePv, url: URL): Buffer {
    const range = rangeOf(url);
    const count = Number(url.searchParams.get("bins") ?? 1000);
    const most = Number(url.searchParams.get("elements") ?? 65_536);
    const width = (range.to - range.from) / count;
    const found = new Map<number, number[][]>();
    for (const row of this.rows(pv, range, Infinity)) {
      const bin = Math.min(count - 1, Math.floor((row.t - range.from) / width + 1e-9));
      found.set(bin, [...(found.get(bin) ?? []), row.value as number[]]);
    }
    const bins = [...found].map(([bin, arrays]) => {
      const length = Math.max(...arrays.map((array) => array.length));
      let each = 1;
      while (Math.ceil(length / each) > most) each *= 2;
      const rows = Array.from({ length: Math.ceil(length / each) }, (_, row) =>
        arrays.flatMap((array) => array.slice(row * each, (row + 1) * each)),
      );
      const of = (number: (numbers: number[], row: number) => number) => rows.map(number);
      return {
        ...{ start: of(() => range.from + bin * width), end: of(() => range.from + (bin + 1) * width) },
        ...{ arrays: of(() => arrays.length), severity: of(() => 0) },
        ...{
          element: of((_, row) => row * each),
          elements: of((_, row) => Math.min(each, length - row * each)),
        },
        ...{ count: of((numbers) => numbers.length), min: of((numbers) => Math.min(...numbers)) },
        max: of((numbers) => Math.max(...numbers)),
        mean: of((numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length),
      };
    });
    return arrayBinsOf(bins);
  }

  private binned(pv: FixturePv, range: Range, n: number): ReturnType<typeof emptyBins> {
    const bins = emptyBins(range, n);
    for (const row of this.rows(pv, range, Infinity)) {
      const i = Math.min(n - 1, Math.floor(((row.t - range.from) / (range.to - range.from)) * n));
      const y = Number(row.value);
      const count = (bins.count[i] = bins.count[i]! + 1);
      bins.min[i] = Math.min(bins.min[i] ?? Infinity, y);
      bins.max[i] = Math.max(bins.max[i] ?? -Infinity, y);
      bins.mean[i] = (bins.mean[i] ?? 0) + (y - (bins.mean[i] ?? 0)) / count;
      bins.first[i] ??= y;
      bins.last[i] = y;
      bins.severity[i] = Math.max(bins.severity[i]!, row.severity);
    }
    return bins;
  }

  /** The samples of a range; of very many only some, but always the spikes. */
  private rows(pv: FixturePv, range: Range, limit: number): Iterable<Row> {
    // What is over does not change, and is asked for again at each width of the window.
    const isOver = limit === Infinity && range.to < this.now() - 1;
    if (!isOver || (range.to - range.from) / pv.period > ROWS_KEPT) return this.computeRows(pv, range, limit);
    const key = `${range.from} ${range.to} ${JSON.stringify(pv.gaps)}`;
    const had = this.kept.get(pv);
    if (had?.key === key) return had.rows;
    const rows = [...this.computeRows(pv, range, limit)];
    this.kept.set(pv, { key, rows });
    return rows;
  }

  private *computeRows(pv: FixturePv, range: Range, limit: number): Generator<Row> {
    if (pv.type === null) return;
    const first = Math.ceil(Math.max(range.from, pv.first ?? FIRST) / pv.period);
    const last = Math.ceil(Math.min(range.to, this.now()) / pv.period);
    const stride = limit === Infinity ? Math.max(1, Math.ceil((last - first) / STEPS_MAX)) : 1;
    let left = limit;
    for (let k = first; k < last && left > 0; k += stride) {
      const row = rowOf(pv, k);
      if (!row || isBefore(row, range.exactFrom)) continue;
      left--;
      yield row;
    }
  }

  private lastBefore(pv: FixturePv, at: Instant): Row[] {
    if (pv.type === null) return [];
    const newest = Math.min(floatOf(at), this.now());
    for (let k = Math.floor(newest / pv.period + 1e-6); k * pv.period >= (pv.first ?? FIRST); k--) {
      const row = rowOf(pv, k);
      if (row && !isBefore(at, row)) return [row];
      const gap = pv.gaps.find((gap) => isWithin(gap, k * pv.period));
      if (gap) k = Math.min(k, Math.ceil(gap.from / pv.period));
    }
    return [];
  }

  private live(url: URL, response: ServerResponse): void {
    const names = url.searchParams.getAll("pv");
    const pvs = names.map((name) => this.pvs.find((pv) => pv.name === name));
    const missing = names.find((_, i) => !pvs[i]);
    if (missing) throw new Refusal(404, "unknown_pv", `no PV of this archive is called "${missing}"`);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    if (this.areStreamsBarred) return bar(response);
    this.streams.add(response);
    let from = Date.parse(url.searchParams.get("from") ?? "") / 1000 || this.now();
    const states = new Map<string, string>();
    const push = () => {
      const to = this.now();
      from = Math.min(from, to);
      for (const pv of pvs) {
        if (!pv) continue;
        if (states.get(pv.name) !== pv.state) {
          states.set(pv.name, pv.state);
          write(response, "state", { pv: pv.name, state: pv.state, since: new Date().toISOString() });
        }
        const rows =
          pv.state === "connected"
            ? [...this.rows(pv, { from, to, exactFrom: instantOf(from) }, 10_000)]
            : [];
        if (rows.length > 0) write(response, "samples", { pv: pv.name, ...chunkOf(pv, rows) });
      }
      from = to;
    };
    push();
    const timer = setInterval(push, 200);
    response.on("close", () => {
      clearInterval(timer);
      this.streams.delete(response);
    });
  }
}

/** What a formula comes to, or amounts to. */
function formula(source: Source, text: string, url: URL, isStatistics: boolean): object {
  const { from, to } = rangeOf(url);
  const count = Number(url.searchParams.get("bins") ?? 0);
  try {
    const of = formulaOf(source, text);
    if (isStatistics) return statisticsOf(of, { from, to });
    const extremes = url.searchParams.get("extremes") === "true";
    if (count > 0) return formulaBins(of, { from, to, count, extremes });
    return formulaSteps(of, { from, to, limit: Number(url.searchParams.get("limit") ?? 100_000) });
  } catch (error) {
    if (error instanceof WrongFormula) throw new Refusal(400, "bad_request", error.message);
    throw error;
  }
}

interface Range {
  from: number;
  to: number;
  exactFrom: Instant;
}

function isWithin(gap: FixtureGap, t: number): boolean {
  return t >= gap.from && t < (gap.to ?? Infinity);
}

function isBefore(a: Instant, b: Instant): boolean {
  return a.seconds < b.seconds || (a.seconds === b.seconds && a.nanos < b.nanos);
}

function rowOf(pv: FixturePv, k: number): Row | null {
  const t = k * pv.period;
  if (pv.gaps.some((gap) => isWithin(gap, t))) return null;
  const nanos = Math.round((k * Math.round(pv.period * 1000)) % 1000) * 1_000_000;
  const value = pv.value(k, t);
  return { t, seconds: Math.floor(t + 1e-6), nanos, value, severity: pv.severity(value, k) };
}

function chunkOf(pv: FixturePv, rows: Row[]): WireChunk {
  return {
    type: pv.type!,
    seconds: rows.map((row) => row.seconds),
    nanos: rows.map((row) => row.nanos),
    values: rows.map((row) => row.value),
    severity: rows.map((row) => row.severity),
    status: rows.map((row) => STATUSES[row.severity] ?? 0),
  };
}

function beforeOf(row: Row): object {
  const severity = SEVERITIES[row.severity];
  return { time: isoOf(row), seconds: row.t, value: Number(row.value), severity };
}

/** The shortest of 1, 2, 5, 10, … that is no shorter. */
function roundWidth(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((step) => step * power >= least * (1 - 1e-9))!;
}

function emptyBins(range: Range, n: number) {
  const edge = (i: number) => range.from + (i * (range.to - range.from)) / n;
  const none = (): (number | null)[] => new Array<number | null>(n).fill(null);
  return {
    start: Array.from({ length: n }, (_, i) => edge(i)),
    end: Array.from({ length: n }, (_, i) => edge(i + 1)),
    ...{ count: new Array<number>(n).fill(0), severity: new Array<number>(n).fill(0) },
    ...{ min: none(), max: none(), mean: none(), first: none(), last: none() },
  };
}

function matches(name: string, match: string): boolean {
  const lower = name.toLowerCase();
  if (match.startsWith("~")) return new RegExp(match.slice(1), "i").test(name);
  if (!/[*?]/.test(match)) return lower.includes(match);
  const glob = match
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*/g, ".*")
    .replace(/\?/g, ".");
  return new RegExp(`^${glob}$`).test(lower);
}

function rangeOf(url: URL): Range {
  const time = (key: string) => {
    const text = url.searchParams.get(key) ?? "";
    const instant = exactOf(text);
    if (!instant) throw new Refusal(400, "bad_time", `"${text}" is not a time`);
    return instant;
  };
  const exactFrom = time("from");
  const range = { from: floatOf(exactFrom), to: floatOf(time("to")), exactFrom };
  if (range.from > range.to) throw new Refusal(400, "bad_range", "the range ends before it begins");
  return range;
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  return JSON.parse(await textOf(request)) as Json;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += String(part);
  return text;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(JSON.stringify(body));
}

/** Ends a stream as the archiver does where its reader may not have it any more. */
function bar(stream: ServerResponse): void {
  write(stream, "error", { code: "unauthorized", message: "what you may do here has changed; ask again" });
  stream.end();
}

function write(response: ServerResponse, name: string, data: object): void {
  response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
