// The server's HTTP API v1: one function per URL, its answers as types, its refusals as one error.

import { patternOf } from "./list.ts";
import { iso, isoOf, type Instant } from "./time.ts";
import type { Range } from "./state.ts";
import { answerWords as words } from "./words/answer.ts";

export type PvState = "connected" | "searching" | "disconnected" | "paused";

/** Any value of a sample as JSON carries it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Pv {
  name: string;
  protocol: string;
  method: string;
  period: number | null;
  /** Unknown where nobody answers for the PV, as the shard of a cluster in which it lies has no node. */
  state: PvState | "unknown";
  /** Why, then. */
  unanswered?: string;
  since: string | null;
  type: string | null;
  units: string | null;
  last: { time: string; value: Json; severity: string; status: number } | null;
  /** Updates a second and bytes a day, in lists that the archiver sorts; null where it does not know them. */
  rate?: number | null;
  bytes_per_day?: number | null;
  /** In the same lists: the IOC that serves it, or did, its policy and groups, and when it was added, and by whom. */
  ioc?: string | null;
  policy?: string | null;
  groups?: string[];
  added?: string | null;
  added_by?: string | null;
}

/** How many PVs there are of a kind; those without any have no name. */
export interface Count {
  name: string | null;
  pvs: number;
}

/** How many PVs of a list there are of each kind, as if it were not narrowed to one of that kind. */
export interface Facets {
  state: Partial<Record<PvState | "unknown", number>>;
  ioc: Count[];
  policy: Count[];
  group: Count[];
  added_by: Count[];
}

/** To what a list is narrowed beside its names and a state; `-` stands for none. */
export type Narrow = Partial<Record<"ioc" | "policy" | "group" | "added_by", string | undefined>>;

/** A part of the archive for which nobody answers, as a shard of a cluster that has no node. */
export interface Missing {
  part: string;
  /** How many PVs it has; none where nobody here has read its list, or whoever asks may not see all PVs. */
  names: number | null;
  why: string;
}

export interface PvList {
  total: number;
  pvs: Pv[];
  /** What it is made without; not there where it is whole. */
  incomplete?: Missing[];
  /** Where the next page of a sorted list begins; null behind the last. */
  next?: string | null;
  facets?: Facets;
}

/** To which state a list is narrowed. */
export type StateFilter = PvState | "unknown" | "any";

export interface Limits {
  low: number | null;
  high: number | null;
}

export interface Metadata {
  type?: string | null;
  units?: string | null;
  precision?: number | null;
  labels?: string[] | null;
  display?: Limits | null;
  warning?: Limits | null;
  alarm?: Limits | null;
  description?: string | null;
  server?: string | null;
}

export interface PvDetail extends Pv {
  added?: string | null;
  server?: string | null;
  first_connected?: string | null;
  last_connected?: string | null;
  reconnects?: number;
  counters?: Record<string, number>;
  metadata?: Metadata | null;
  extent?: { first: string; last: string; samples: number } | null;
  refusal?: string | null;
  lacking?: string[];
}

export interface Status {
  version: string;
  started: string;
  now: string;
  durable: { appended: number; durable: number; lag: number };
  pvs: { total: number } & Record<PvState, number>;
  /** It is a node of a cluster. */
  clustered: boolean;
  /** The zone in which people of the site read times, if the config says one. */
  zone?: string | null;
  problems: string[];
  queue: { bytes: number; bytes_max: number };
  samples: {
    received: number;
    stored: number;
    skipped: number;
    dropped_queue: number;
    dropped_store: number;
    rate_capped: number;
    overruns: number;
    bad_stamps: number;
  };
  store: {
    head_bytes: number;
    head_samples: number;
    log_bytes: number;
    places: {
      name: string;
      trouble: string | null;
      segments: number;
      bytes: number;
      /** Of the disk that it lies on; null where that cannot be told. */
      free_bytes?: number | null;
      disk_bytes?: number | null;
    }[];
    /** What retention took away in this run, and purges that are not done yet. */
    expired_segments?: number;
    expired_bytes?: number;
    purging?: number;
    weeks: { week: string; state: string; segments: number; bytes: number; samples: number }[];
    work: { doing: string; key: string; bytes: number; bytes_total: number }[];
    scrub: { last_pass: string | null };
  };
}

/** PVs that are recorded while others say so. */
export interface Group {
  name: string;
  enabled: boolean;
  pvs: number;
  disabled_now_by: string[];
}

export interface WireChunk {
  type: string;
  seconds: number[];
  nanos: number[];
  values: Json[];
  severity: number[];
  status: number[];
}

export interface WireSamples {
  metadata: Metadata | null;
  chunks: WireChunk[];
  truncated: boolean;
}

type Column = (number | string | null)[];

export interface WireBins {
  type: string | null;
  metadata: Metadata | null;
  bins: {
    start: number[];
    end: number[];
    count: number[];
    min: Column;
    max: Column;
    mean: Column;
    first: Column;
    last: Column;
    severity: number[];
  };
  before: { time: string; seconds: number; value: Json; severity: string | number } | null;
  raw: boolean;
}

export interface WireGap {
  from: string;
  to: string | null;
  from_seconds: number;
  to_seconds: number | null;
  cause: string;
  lost: number;
  scope: string;
}

/** One reason why there is no data, or not all. */
export interface Reason {
  kind: string;
  from_seconds: number;
  to_seconds: number;
  lost: number;
  text: string;
}

/** What became of updates. */
export interface Account {
  received: number;
  stored: number;
  skipped: number;
  waiting: number;
  lost: Record<string, number>;
  adds_up: boolean;
}

/** What became of the updates of one step of the ledger. */
export interface Step extends Account {
  from_seconds: number;
}

export interface Explanation {
  samples: number;
  complete: "incomplete" | "suspected" | "unproved" | "proved";
  text: string;
  reasons: Reason[];
  account: Account;
  /** For so much of the range the account tells. */
  covered_seconds: number;
  proof: { by: "pulse" | "counter"; missing: number } | null;
  now: { connection: string; since: string; server: string | null; refusal: string | null } | null;
}

export interface NewPv {
  name: string;
  method?: "monitor" | "scan";
  period?: number;
  policy?: string;
  fields?: string[];
}

/** A PV that a list, a database of an IOC, or an export of the Archiver Appliance names. */
export interface NamedPv {
  line: number;
  name: string;
  status: "new" | "known" | "refused";
  /** Why it is refused. */
  message: string | null;
  /** By which policy it would be archived. */
  policy: string | null;
  /** The Appliance had paused it. */
  paused: boolean;
  /** What adds it just so. */
  pv: NewPv | null;
}

export interface NamesRead {
  form: "list" | "database" | "appliance";
  names: NamedPv[];
  incomplete?: Missing[];
}

export interface AddResult {
  name: string;
  status: "added" | "already_archived" | "changed" | "refused";
  message?: string;
}

/** What may be done; each contains those before it. */
export type Right = "read" | "operate" | "administer";

/** Who asks, as far as the archiver knows, and what they may do. */
export interface Me {
  /** `oidc:ana`, `anonymous`. */
  who: string;
  how: string;
  groups: string[];
  /** To every PV. */
  all: Right | null;
  /** The most to any. */
  most: Right | null;
  /** What more to some. */
  some: { right: Right; pvs: string[] }[];
  /** The most that anybody may at this address. */
  here: Right;
  /** Nobody is asked who they are. */
  open: boolean;
  /** There is a session, which can be ended. */
  session: boolean;
  /** How one can log in: at the OpenID provider of this host, by a name and a password. */
  login: { oidc: string | null; password: boolean };
}

/** A refusal by the server, or no answer at all (code `unreachable`). The message is for an operator. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | null,
    /** In how many seconds to try again, where the server says it. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }

  /** The message and, if there is one, the hint. */
  get sentence(): string {
    return refusalText(this);
  }
}

/** A refusal in one sentence, wherever it stands in an answer. */
export function refusalText({ message, hint }: { message: string; hint: string | null }): string {
  return hint ? `${message} (${hint})` : message;
}

/** What went wrong, for whoever reads the page. */
export function faultText(error: unknown): string {
  return error instanceof ApiError ? error.sentence : String(error);
}

export const ROOT = "api/v1";

/** What no page of another site can send: by it the archiver knows its own page, through any proxy. */
const OURS = { "X-Pvark": "1" };

let doubt = (): void => undefined;

/** Calls back when an answer says that whoever asks may not, or is not known any more. Refused logins say nothing of that. */
export function onDoubt(listener: () => void): void {
  doubt = listener;
}

/** Whether a refusal is about the rights of whoever asks. */
export function isBarred(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "unauthorized" || error.code === "forbidden");
}

/** Asks, and gives the answer unless it is a refusal, which is thrown. */
export async function answered(path: string, init: RequestInit = {}, root = ROOT): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${root}${path}`, { ...init, headers: { ...OURS, ...init.headers } });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("unreachable", words.none, null);
  }
  if (response.ok || response.type === "opaqueredirect") return response;
  const refusal = refusalOf(response, await jsonOf(response));
  if (isBarred(refusal) && !path.startsWith("/login")) doubt();
  throw refusal;
}

/** Sends a text, or what is written as JSON, and gives the answer as it comes. */
export function postRaw(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const isText = typeof body === "string";
  const headers = { "Content-Type": isText ? "text/plain" : "application/json" };
  return answered(path, { method: "POST", headers, body: isText ? body : JSON.stringify(body), signal });
}

async function request<T>(path: string, init: RequestInit = {}, root = ROOT): Promise<T> {
  const response = await answered(path, init, root);
  // Where it leads is not told, and need not be known.
  if (response.type === "opaqueredirect") return undefined as T;
  const body = await jsonOf(response);
  const without = response.headers.get("pvark-incomplete");
  if (without !== null && body !== null && typeof body === "object")
    for (const part of [body, ...Object.values(body)])
      if (part !== null && typeof part === "object") LACKS.set(part as object, without);
  return body as T;
}

/** Answers, and the lists in them, that are made without something. */
const LACKS = new WeakMap<object, string>();

/** What an answer, or a list in it, is made without, as the archiver says it; none where it is whole. */
export function lackOf(answer: object): string | null {
  return LACKS.get(answer) ?? null;
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("not_json", words.notJson(response.status), null);
  }
}

function refusalOf(response: Response, body: unknown): ApiError {
  const error = (body as { error?: { code?: string; message?: string; hint?: string } } | null)?.error;
  const message = error?.message ?? words.status(response.status);
  const seconds = Number(response.headers.get("Retry-After") ?? "");
  return new ApiError(error?.code ?? "internal", message, error?.hint ?? null, seconds > 0 ? seconds : null);
}

export function getMe(): Promise<Me> {
  return request("/me");
}

export function logIn(user: string, password: string): Promise<{ who: string }> {
  return request("/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ user, password }),
  });
}

export function logOut(): Promise<void> {
  return request("/logout", { method: "POST" });
}

/** Where a login by the OpenID provider begins, which ends at a path of ours. */
export function oidcUrl(path: string): string {
  return `${ROOT}/login/oidc?return=${encodeURIComponent(path)}`;
}

/** Asks whether the archiver would lead there, so that its refusal can be told in the page. */
export function tryOidc(path: string): Promise<void> {
  return request(oidcUrl(path).slice(ROOT.length), { redirect: "manual" });
}

function pvPath(name: string): string {
  return `/pvs/${encodeURIComponent(name)}`;
}

export function rangeQuery(range: Range): string {
  return `from=${iso(range.from)}&to=${iso(range.to)}`;
}

/** Whether an error only says that nobody waits for the answer any more. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function getStatus(signal?: AbortSignal): Promise<Status> {
  return request("/status", { signal });
}

export async function getGroups(): Promise<Group[]> {
  return (await request<{ groups: Group[] }>("/groups")).groups;
}

/** How many PVs there are, with what is missing of the list. */
export function countPvs(): Promise<PvList> {
  return request("/pvs?limit=1");
}

/** The PVs that are in a state, by their names. */
export function listPvs(state: PvState, limit: number): Promise<PvList> {
  return request(`/pvs?state=${state}&limit=${limit}`);
}

/** PVs that were found, and what may have been meant where there are none. */
export interface FoundPvs extends PvList {
  pvs: (Pv & { description?: string | null })[];
  near?: string[];
}

/** Whether a search is a glob or a regular expression: these fit names, words fit whatever is known of a PV. */
export function isPattern(match: string): boolean {
  return /[*?]|^~/.test(match);
}

/** PVs by a pattern of names, or by words in any order of names, descriptions, units and groups; of nothing all. */
export function findPvs(match: string, limit: number, signal: AbortSignal): Promise<FoundPvs> {
  const how = match === "" || isPattern(match) ? "match" : "words";
  return request(`/pvs?${how}=${encodeURIComponent(match)}&limit=${limit}`, { signal });
}

/** So many near names are told. */
const NEAR_MAX = 3;

/** What may have been meant by a name that nobody has: names that have it as a part, else those that are most like it. */
export async function nearNames(name: string): Promise<string[]> {
  const path = `/pvs?words=${encodeURIComponent(name)}&limit=${NEAR_MAX}`;
  const { pvs, near = [] } = await request<FoundPvs>(path);
  return pvs.length > 0 ? pvs.map((pv) => pv.name) : namesOf(near);
}

/** Those of near texts that are names. */
export async function namesOf(near: string[]): Promise<string[]> {
  if (near.length === 0) return [];
  // Words of names may be near as well: only those are told that PVs have.
  const match = encodeURIComponent(patternOf(near));
  const found = await request<{ pvs: Pv[] }>(`/pvs?match=${match}&limit=${NEAR_MAX}`);
  const names = found.pvs.map((pv) => pv.name);
  return near.filter((text) => names.includes(text));
}

export function getPv(name: string, signal?: AbortSignal): Promise<PvDetail> {
  return request(pvPath(name), { signal });
}

/** At most so many bins of a round length, which the server has at hand; they may reach beyond the range at both ends. */
export function getBins(name: string, range: Range, bins: number, signal: AbortSignal): Promise<WireBins> {
  return request(`${pvPath(name)}/bins?${rangeQuery(range)}&bins=${bins}&align=true`, { signal });
}

export function getSamples(
  name: string,
  range: Range,
  limit: number,
  signal: AbortSignal,
): Promise<WireSamples> {
  return request(`${pvPath(name)}/samples?${rangeQuery(range)}&limit=${limit}`, { signal });
}

/** The newest sample at or before a moment. */
export function getSampleAt(name: string, at: Instant, signal: AbortSignal): Promise<WireSamples> {
  const time = isoOf(at);
  return request(`${pvPath(name)}/samples?from=${time}&to=${time}&before=true&limit=1`, { signal });
}

/** The first sample at or after a moment, before another. */
export function getSampleAfter(
  name: string,
  at: Instant,
  to: Instant,
  signal: AbortSignal,
): Promise<WireSamples> {
  const path = `${pvPath(name)}/samples?from=${isoOf(at)}&to=${isoOf(to)}&before=false&limit=1`;
  return request(path, { signal });
}

/** So many samples at or after a moment, before another. */
export function getSamplesFrom(
  name: string,
  from: Instant,
  to: Instant,
  limit: number,
  signal: AbortSignal,
): Promise<WireSamples> {
  const path = `${pvPath(name)}/samples?from=${isoOf(from)}&to=${isoOf(to)}&before=false&limit=${limit}`;
  return request(path, { signal });
}

export function getGaps(name: string, range: Range, signal: AbortSignal): Promise<{ gaps: WireGap[] }> {
  return request(`${pvPath(name)}/gaps?${rangeQuery(range)}`, { signal });
}

/** Why there is no data in a range, or not all. */
export function getWhy(name: string, range: Range): Promise<Explanation> {
  return request(`${pvPath(name)}/explain?${rangeQuery(range)}`);
}

/** What became of updates in steps of so many seconds, which are whole minutes; those of which nothing is known are left out. */
export async function getSteps(name: string, range: Range, step: number): Promise<Step[]> {
  const ledger = `${pvPath(name)}/ledger?${rangeQuery(range)}&step=${step}`;
  return (await request<{ steps: Step[] }>(ledger)).steps;
}

/** What a text names, and what adding it would do; nothing is changed. */
export async function readNames(text: string): Promise<NamesRead> {
  return (await (await postRaw("/names", text)).json()) as NamesRead;
}

export function addPvs(pvs: NewPv[]): Promise<{ pvs: AddResult[] }> {
  return request("/pvs", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ pvs }),
  });
}

/** The newest value of each of many PVs; its time is none where there is no value. */
export function getNewest(names: string[]): Promise<{ pvs: { pv: string; time: string | null }[] }> {
  return request("/at", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(names),
  });
}

/** The value that a PV had at a moment. */
export interface ValueAt {
  pv: string;
  time: string | null;
  value: Json;
  severity: string | number | null;
}

/** The values that many PVs had at a moment. */
export function getAt(names: string[], at: Instant, signal: AbortSignal): Promise<{ pvs: ValueAt[] }> {
  return request(`/at?time=${isoOf(at)}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(names),
    signal,
  });
}

export function pausePv(name: string): Promise<{ status: string }> {
  return request(`${pvPath(name)}/pause`, { method: "POST" });
}

export function resumePv(name: string): Promise<{ status: string }> {
  return request(`${pvPath(name)}/resume`, { method: "POST" });
}

/** PVs by their names, a page at a time. */
export function pagePvs(
  ask: { match: string; state: StateFilter; offset: number; limit: number },
  signal?: AbortSignal,
): Promise<PvList> {
  const { match, state, offset, limit } = ask;
  return request(`/pvs?match=${encodeURIComponent(match)}&state=${state}&limit=${limit}&offset=${offset}`, {
    signal,
  });
}

/** Which PVs the archiver gives, in what order, and from the how many-th on. */
export interface SortedAsk {
  match: string;
  state: StateFilter;
  narrow: Narrow;
  by: string;
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

/** PVs in an order that the archiver makes over all of them, a page at a time, with how many there are of each kind. */
export function sortedPvs(ask: SortedAsk, signal?: AbortSignal): Promise<PvList> {
  const { match, state, narrow, by, order, offset, limit } = ask;
  const params = new URLSearchParams({
    sort: by,
    order,
    state,
    limit: String(limit),
    offset: String(offset),
  });
  if (match !== "") params.set("match", match);
  for (const [key, value] of Object.entries(narrow)) if (value !== undefined) params.set(key, value);
  // A plus sign of a name is one.
  return request(`/pvs?${params.toString().replaceAll("+", "%20")}`, { signal });
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request(path, { signal });
}

export function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return send("POST", path, body, signal);
}

export function send<T>(
  method: "POST" | "PUT" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const sent =
    body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return request(path, { method, ...sent, signal });
}

/** A call below /mgmt/bpl, whose answers are not enveloped. */
export function appliance<T>(call: string, init: RequestInit = {}): Promise<T> {
  return request(`mgmt/bpl/${call}`, init, "");
}

export function renamePv(
  name: string,
  to: string,
  alias: boolean,
): Promise<{ name: string; status: string }> {
  return post(`${pvPath(name)}/rename`, { to, alias });
}

export interface RemovedPv {
  number: number;
  name: string;
  aliases: string[];
  data: "kept" | "deleted";
  since: string;
  by: string;
}

export async function getRemoved(): Promise<RemovedPv[]> {
  return (await request<{ removed: RemovedPv[] }>("/removed")).removed;
}

export interface AuditLine {
  number: number;
  time: string;
  by: string;
  principal: string;
  action: string;
  /** What it was called; of a line about several how many there are, and the first of their names. */
  name: string;
  pvs: number | null;
  names: string[] | null;
  detail: string;
  from: string | null;
  to: string | null;
}

/** By what lines of the audit are looked for; what is not given is any. */
export type AuditAsk = Partial<Record<"pv" | "who" | "action" | "from" | "to", string>>;

export interface AuditPage {
  audit: AuditLine[];
  /** With this it goes on to older lines; none where there are none. */
  next: number | null;
}

function auditQuery(ask: AuditAsk): string {
  const given = Object.entries(ask).filter(([, value]) => value !== "");
  return given.map(([key, value]) => `&${key}=${encodeURIComponent(value)}`).join("");
}

export function getAudit(ask: AuditAsk, limit: number, before: number | null): Promise<AuditPage> {
  return request(`/audit?limit=${limit}${before === null ? "" : `&before=${before}`}${auditQuery(ask)}`);
}

/** Where to download lines of the audit as a table, as many as one answer has. */
export function auditCsvUrl(ask: AuditAsk): string {
  return `${ROOT}/audit?limit=10000&format=csv${auditQuery(ask)}`;
}

/** What a policy says, without how many PVs it is for. */
export interface PolicyText {
  name: string;
  match: string[];
  settings: string;
}

export interface Policy extends PolicyText {
  pvs: number;
}

export async function getPolicies(): Promise<Policy[]> {
  return (await request<{ policies: Policy[] }>("/policies")).policies;
}

export interface PolicyPlan {
  total: number;
  by_hand: number;
  policies: { name: string | null; pvs: number; changes: number }[];
  /** Groups of the file that are new, changed or gone. */
  groups: string[];
  /** The policies as they stand in the file now; programs before this one did not tell them. */
  file?: PolicyText[];
  changes: { name: string; policy: string | null; from: string; to: string }[];
}

/** What the config file would change, of which at most so many PVs are listed; nothing is changed. */
export function planPolicies(limit: number): Promise<PolicyPlan> {
  return post(`/policies/plan?limit=${limit}`, {});
}

/** Changes the PVs as the config file says now: all in one order, which can be taken back. */
export function applyPolicies(): Promise<PolicyPlan> {
  return post("/policies/apply?limit=0", {});
}

/** Where to download the samples of a range as a table. */
export function csvUrl(name: string, range: Range): string {
  return `${ROOT}${pvPath(name)}/samples?${rangeQuery(range)}&format=csv`;
}

export function liveUrl(names: string[], from: Instant): string {
  const pvs = names.map((name) => `pv=${encodeURIComponent(name)}`);
  return `${ROOT}/live?${pvs.join("&")}&from=${isoOf(from)}`;
}
