// A small server with the archiver's HTTP API and computed data: what the browser tests talk to.
//
// It can misbehave on demand (`down`, `refusals`, `delay`) and remembers what it was asked.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import type { AddressInfo } from "node:net";
import { floatOf, isoOf, instantOf, type Instant } from "../src/time.ts";
import type { Json, Me, PvState, Right, WireChunk, WireGap } from "../src/api.ts";
import { exactOf } from "../src/decode.ts";
import { atCsv, diffOf, knownOf, whenLines, type Row, type Source } from "./computed.ts";
import { FIRST, fixturePvs, type FixtureGap, type FixturePv } from "./pvs.ts";

/** The server steps over samples of a range that has more than this, to answer for years in no time. */
const STEPS_MAX = 400_000;
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

const POLICIES = [
  { name: "vacuum", match: ["VAC:*"], settings: "every change, dead band 1%", pvs: 1 },
  { name: "slow", match: ["~^LAB:"], settings: "scan every 10 s", pvs: 5 },
];
const PLAN = {
  total: 1,
  by_hand: 2,
  policies: [],
  changes: [{ name: "LAB:TEMP1", policy: "slow", from: "every change", to: "scan every 10 s" }],
  groups: [],
};
const AUDIT = [
  {
    ...{
      number: 2,
      time: "2026-11-20T09:00:00.000000000Z",
      by: "oidc:ana",
      principal: "oidc:ana",
      action: "paused",
    },
    ...{ name: "SR:CURRENT", detail: "", from: null, to: null },
  },
];

/** Somebody, as the archiver tells it, who may so much with all PVs. */
export function somebody(how: string, name: string, may: Right | null, login: Me["login"]): Me {
  const who = how === "anonymous" ? how : `${how}:${name}`;
  const groups = how === "anonymous" ? [] : ["operators", "rf"];
  const session = how === "oidc" || how === "ldap";
  return { who, how, groups, all: may, most: may, some: [], here: "administer", open: false, session, login };
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
  /** Answers nothing at all, as if the archiver had gone. */
  down = false;
  /** PVs whose data is refused, with the reason. */
  refusals = new Map<string, string>();
  problems: string[] = [];
  /** PVs whose IOC was lost and came back. */
  restarted: string[] = [];
  removed: { pv: FixturePv; data: "kept" | "deleted" }[] = [];
  /** What PVs were given, in order. */
  given: { name: string }[] = [];
  delay = 0;
  /** Between two lines of a search. */
  searchMillis = 0;
  /** Somebody waits for a search. */
  isSearching = false;
  /** So many seconds the archiver's clock is ahead of the machine's. */
  ahead = 0;
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
  /** Every request path with its query, in order. */
  requests: string[] = [];

  private server: Server;
  private startedAt = Math.floor(Date.now() / 10);
  private streams = new Set<ServerResponse>();

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
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private now(): number {
    return Date.now() / 1000 + this.ahead;
  }

  /** Ends the session, and the streams with what the archiver says then. */
  endSession(): void {
    this.me = this.nobody!;
    this.isOver = true;
    this.endStreams();
  }

  endStreams(): void {
    const error = { code: "unauthorized", message: "what you may do here has changed; ask again" };
    for (const stream of this.streams) {
      write(stream, "error", error);
      stream.end();
    }
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
    try {
      if (isAppliance) await this.appliance(request, url, response);
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
  private async appliance(request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
    const call = url.pathname.split("/").at(-1)!;
    this.need(request.method === "POST" ? ["operate", "administer"] : ["read", "operate", "administer"]);
    if (call === "pauseArchivingPV" || call === "resumeArchivingPV") {
      const paused = call.startsWith("pause");
      const names = (await bodyOf(request)) as string[];
      const rows = names.map((pvName) => {
        const pv = this.pvs.find((pv) => pv.name === pvName);
        if (!pv) return { pvName, validation: `PV ${pvName} is not being archived` };
        if ((pv.state === "paused") === paused)
          return { pvName, validation: `PV ${pvName} is ${paused ? "already" : "not"} paused` };
        this.setPaused(pv, paused);
        return { pvName, status: "ok" };
      });
      return send(response, 200, rows);
    }
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

  private move(body: Json, verb: "removed" | "restored"): object {
    const { pvs, data } = body as { pvs: string[]; data?: string };
    const from = verb === "removed" ? this.pvs : this.removed.map(({ pv }) => pv);
    const moved = pvs.map((name) => {
      const pv = from.find((pv) => pv.name === name);
      if (!pv) return { name, status: "unknown", message: "there is no such PV" };
      if (verb === "removed") {
        this.removed.push({ pv, data: data === "delete" ? "deleted" : "kept" });
        this.pvs = this.pvs.filter((other) => other !== pv);
      } else {
        this.pvs.push(pv);
        this.removed = this.removed.filter((other) => other.pv !== pv);
      }
      return { name, status: verb };
    });
    return { pvs: moved };
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
    const isOrder = request.method === "POST" && noun === "pvs";
    const isLast = noun === "remove" || noun === "restore" || verb === "rename";
    this.need(
      isLast ? ["administer"] : isOrder ? ["operate", "administer"] : ["read", "operate", "administer"],
    );
    if (noun === "remove" || noun === "restore")
      return send(
        response,
        200,
        this.move(await bodyOf(request), noun === "remove" ? "removed" : "restored"),
      );
    if (noun === "removed") return send(response, 200, this.removedList());
    if (noun === "audit") return send(response, 200, { audit: AUDIT });
    if (noun === "policies" && name === "plan") return send(response, 200, PLAN);
    if (noun === "policies") return send(response, 200, { policies: POLICIES });
    if (noun === "status") return send(response, 200, this.status());
    if (noun === "groups") return send(response, 200, { groups: this.groups });
    if (noun === "live") return this.live(url, response);
    if (["at", "diff", "view", "when"].includes(noun!)) return this.computed(noun!, request, url, response);
    if (noun !== "pvs") throw new Refusal(404, "unknown_url", `there is no ${url.pathname}`);
    if (!name) {
      const answer = request.method === "POST" ? this.add(await bodyOf(request)) : this.list(url);
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
    if (verb === "gaps") return send(response, 200, this.gaps(pv, rangeOf(url)));
    if (verb === "bins") return send(response, 200, this.bins(pv, url));
    if (verb === "samples") return send(response, 200, this.samples(pv, url));
    throw new Refusal(404, "unknown_url", `there is no ${url.pathname}`);
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
    if (noun === "view") return send(response, 200, knownOf(source, pvs, time("from"), time("to")));
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
    const count = (state: string) => this.pvs.filter((pv) => pv.state === state).length;
    return {
      version: "0.0.0-test",
      started: isoOf({ seconds: FIRST, nanos: 0 }),
      now: new Date(this.now() * 1000).toISOString(),
      durable: { appended: 1000, durable: 1000, lag: 0 },
      pvs: {
        total: this.pvs.length,
        connected: count("connected"),
        searching: count("searching"),
        disconnected: count("disconnected"),
        paused: count("paused"),
      },
      problems: this.problems,
      queue: { bytes: 1000, bytes_max: 256e6 },
      samples: {
        ...{ received: 5000 + Math.floor(Date.now() / 10) - this.startedAt, stored: 4990, skipped: 0 },
        ...{ dropped_queue: 10, dropped_store: 0, rate_capped: 0, overruns: 0, bad_stamps: 3 },
      },
      store: {
        ...{ head_bytes: 1_234_567, head_samples: 4321, log_bytes: 999 },
        places: [
          { name: "", trouble: null, segments: 3, bytes: 41_000_000 },
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
    const match = (url.searchParams.get("match") ?? "").toLowerCase();
    const state = url.searchParams.get("state") ?? "any";
    const isWanted = (pv: FixturePv) => matches(pv.name, match) && (state === "any" || pv.state === state);
    const found = this.pvs.filter(isWanted).sort((a, b) => (a.name < b.name ? -1 : 1));
    const limit = Number(url.searchParams.get("limit") ?? 100);
    const offset = Number(url.searchParams.get("offset") ?? 0);
    return { total: found.length, pvs: found.slice(offset, offset + limit).map((pv) => this.entry(pv)) };
  }

  private entry(pv: FixturePv): object {
    const [last] = this.lastBefore(pv, instantOf(this.now()));
    return {
      ...{
        name: pv.name,
        protocol: pv.protocol,
        method: "monitor",
        period: null,
        state: pv.state,
        type: pv.type,
      },
      since: isoOf({ seconds: pv.gaps.find((gap) => gap.to === null)?.from ?? FIRST, nanos: 0 }),
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
      extent: last ? { first: isoOf({ seconds: FIRST, nanos: 0 }), last: isoOf(last), samples: 1234 } : null,
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

  private add(body: Json): object {
    const wanted = (body as { pvs: { name: string }[] }).pvs;
    const pvs = wanted.map((given) => {
      const { name } = given;
      const bare = name.replace(/^(ca|pva):\/\//, "");
      if (bare === "" || bare.length > 60)
        return { name, status: "refused", message: "a PV name has 1 to 60 bytes" };
      this.given.push(given);
      if (this.pvs.some((pv) => pv.name === bare))
        return {
          name: bare,
          status: Object.keys(given).length > 2 || "policy" in given ? "changed" : "already_archived",
        };
      this.pvs.push({ ...fixturePvs()[1]!, name: bare, gaps: [], state: this.addedState });
      return { name: bare, status: "added" };
    });
    return { pvs };
  }

  private setPaused(pv: FixturePv, paused: boolean): object {
    pv.state = paused ? "paused" : "connected";
    return { name: pv.name, status: paused ? "paused" : "resumed" };
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

  private bins(pv: FixturePv, url: URL): object {
    if (pv.type === "string" || pv.type === "structure" || pv.type?.endsWith("[]")) {
      throw new Refusal(400, "bad_request", `"${pv.name}" is not a number`, "ask for its samples instead");
    }
    const range = rangeOf(url);
    const n = Number(url.searchParams.get("bins") ?? 1000);
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
    const [last] = this.lastBefore(pv, range.exactFrom);
    const before = last && {
      ...{
        time: isoOf(last),
        seconds: last.t,
        value: Number(last.value),
        severity: SEVERITIES[last.severity],
      },
    };
    const raw = bins.count.every((count) => count <= 1);
    return { ...{ pv: pv.name, type: pv.type, metadata: pv.metadata, bins, raw }, before: before ?? null };
  }

  /** The samples of a range; of very many only some, but always the spikes. */
  private *rows(pv: FixturePv, range: Range, limit: number): Generator<Row> {
    if (pv.type === null) return;
    const first = Math.ceil(Math.max(range.from, FIRST) / pv.period);
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
    for (let k = Math.floor(newest / pv.period + 1e-6); k * pv.period >= FIRST; k--) {
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
    status: rows.map(() => 0),
  };
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

function write(response: ServerResponse, name: string, data: object): void {
  response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
