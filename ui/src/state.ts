// The view: everything that decides what the page shows, and its form as the page's URL.
//
// Nothing else is remembered anywhere, so a URL that is mailed, bookmarked or gone back to shows the same again.

import { drawerParts, readDrawer, type DrawerState } from "./drawer_state.ts";
import { isPlain, lookText, readLook, type Look } from "./look.ts";
import { shownPart } from "./part.ts";
import { isPressed, onRelease } from "./pressed.ts";
import { iso, zoneOf, zonePart, type Zone } from "./time.ts";
import { isNow, parseTime, readRange, Refusal } from "./typed.ts";

/** A stretch of time, in float seconds since 1970. */
export interface Range {
  from: number;
  to: number;
}

/** What the time axis does: stand still, or end at now and move with it. */
export type Span = { kind: "fixed"; range: Range } | { kind: "live"; seconds: number };

export type Theme = "system" | "light" | "dark";

/** One PV of the view. */
export interface Shown {
  name: string;
  hidden: boolean;
  /** What was set for this PV alone; not there while nothing was. */
  look?: Look;
}

export interface View {
  pvs: Shown[];
  span: Span;
  zone: Zone;
  theme: Theme;
  /** Axes drawn logarithmically, by their units or, where there are none, the PV's name. */
  log: string[];
  /** A moment that was clicked, cursor A: the values and the waveforms stay there. */
  pinned: number | null;
  /** Cursor B. */
  second: number | null;
  /** A lane of alarms for each PV. */
  lanes: boolean;
  /** The panel of values is folded away. */
  folded: boolean;
  /** What is computed of the rows below the plot; none while nothing is. */
  drawer: DrawerState | null;
  /** The condition whose times are marked; none where none are. */
  found: string | null;
  /** What of the page is there: all, the plot alone, as within another page, or tiles for a wall. */
  frame: Frame;
}

export type Frame = "whole" | "embed" | "wall";

/** A wall shows so much, if its link does not say otherwise. */
const WALL_SECONDS = 8 * 3600;

/** The shortest range: below it a float of seconds could no longer tell pixels apart. */
export const RANGE_SECONDS_MIN = 0.001;
/** The longest range: a century. */
export const RANGE_SECONDS_MAX = 3.2e9;

export const FIRST_VIEW: View = {
  pvs: [],
  span: { kind: "live", seconds: 3600 },
  zone: "local",
  theme: "system",
  log: [],
  pinned: null,
  second: null,
  lanes: false,
  folded: false,
  drawer: null,
  found: null,
  frame: "whole",
};

/** The range that a view shows at this moment. */
export function rangeOf(view: View, now: number): Range {
  return view.span.kind === "fixed" ? view.span.range : { from: now - view.span.seconds, to: now };
}

/** The query string of a view, without its question mark; what has its first value is left out. */
export function toQuery(view: View): string {
  const parts: string[] = [];
  for (const pv of view.pvs) {
    parts.push(`${pv.hidden ? "hidden" : "pv"}=${encodeName(pv.name)}`);
    if (pv.look && !isPlain(pv.look)) parts.push(`set=${lookText(pv.look)}`);
  }
  if (view.span.kind === "fixed") {
    parts.push(`from=${iso(view.span.range.from)}`, `to=${iso(view.span.range.to)}`);
  } else if (view.span.seconds !== firstSeconds(view.frame)) {
    parts.push(`live=${Number(view.span.seconds.toPrecision(6))}`);
  }
  parts.push(...zonePart(view.zone));
  if (view.theme !== "system") parts.push(`theme=${view.theme}`);
  for (const axis of view.log) parts.push(`log=${encodeName(axis)}`);
  if (view.pinned !== null) parts.push(`at=${iso(view.pinned)}`);
  if (view.second !== null) parts.push(`b=${iso(view.second)}`);
  if (view.lanes) parts.push("lanes=1");
  if (view.folded) parts.push("panel=0");
  parts.push(...drawerParts(view.drawer, encodeName));
  if (view.found !== null) parts.push(`found=${encodeName(view.found)}`);
  if (view.frame !== "whole") parts.push(`${view.frame}=1`);
  return parts.join("&");
}

/**
 * The view of a query string. What cannot be understood keeps its first value: an old link still opens. Times are in
 * UTC unless they say otherwise, so that a link means the same to all.
 */
export function fromQuery(query: string, now: number): View {
  // A + stands for itself: names and times have it, and no name has a space.
  const params = new URLSearchParams(query.replaceAll("+", "%2B"));
  const pvs: Shown[] = [];
  // What is set stands behind the PV that it is set for.
  let newest: Shown | null = null;
  for (const [key, text] of params) {
    if (key === "pv" || key === "hidden") {
      newest = null;
      if (text === "" || pvs.some((pv) => pv.name === text)) continue;
      newest = { name: text, hidden: key === "hidden" };
      pvs.push(newest);
    } else if (key === "set" && newest) {
      const look = readLook(text);
      if (!isPlain(look)) newest.look = look;
    }
  }
  const theme = params.get("theme");
  return {
    pvs,
    span: spanOf(params, now),
    zone: zoneOf(params.get("zone")),
    theme: theme === "light" || theme === "dark" ? theme : "system",
    log: params.getAll("log"),
    pinned: parseTime(params.get("at") ?? "", "utc", now),
    second: parseTime(params.get("b") ?? "", "utc", now),
    lanes: params.get("lanes") === "1",
    folded: params.get("panel") === "0",
    drawer: readDrawer(params),
    found: params.get("found") || null,
    frame: frameOf(params),
  };
}

function frameOf(params: URLSearchParams): Frame {
  return params.get("wall") === "1" ? "wall" : params.get("embed") === "1" ? "embed" : "whole";
}

/** How much a live view shows of which nothing is said. */
function firstSeconds(frame: Frame): number {
  return frame === "wall" ? WALL_SECONDS : 3600;
}

function spanOf(params: URLSearchParams, now: number): Span {
  const [from, to] = [params.get("from"), params.get("to")];
  try {
    if (from !== null || to !== null) return readSpan(from, to, "utc", now);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
  const seconds = Number(params.get("live") ?? "");
  return seconds > 0 && seconds <= RANGE_SECONDS_MAX
    ? { kind: "live", seconds }
    : { kind: "live", seconds: firstSeconds(frameOf(params)) };
}

/** The span between two typed times: it follows now if it ends there. Throws a `Refusal`. */
export function readSpan(from: string | null, to: string | null, zone: Zone, now: number): Span {
  const typed = readRange(from, to, zone, now);
  const range = clampRange(typed);
  return isNow(to) && typed.to === now
    ? { kind: "live", seconds: range.to - range.from }
    : { kind: "fixed", range };
}

/** Names keep the characters that EPICS likes to use, so that the URL can be read. */
function encodeName(name: string): string {
  return encodeURIComponent(name)
    .replace(/%3A/g, ":")
    .replace(/%2F/g, "/")
    .replace(/%7B/g, "{")
    .replace(/%7D/g, "}");
}

/** The range scaled about one of its moments; a factor below 1 shows less. */
export function zoomed(range: Range, about: number, factor: number): Range {
  return clampRange({ from: about - (about - range.from) * factor, to: about + (range.to - about) * factor });
}

/** The range moved by a part of its length. */
export function panned(range: Range, part: number): Range {
  const by = (range.to - range.from) * part;
  return { from: range.from + by, to: range.to + by };
}

/** The range with a length within the limits, about the same middle. */
export function clampRange(range: Range): Range {
  const seconds = range.to - range.from;
  const allowed = Math.min(Math.max(seconds, RANGE_SECONDS_MIN), RANGE_SECONDS_MAX);
  if (allowed === seconds) return range;
  const middle = (range.from + range.to) / 2;
  return { from: middle - allowed / 2, to: middle + allowed / 2 };
}

/** How a change enters the browser's history: as a new step, or in place of the newest. */
export type Step = "push" | "replace";

/** Changes closer together than this (a turning wheel) are one step of the history. */
const STEP_MILLIS = 700;

/** Behind the first of several changes the URL waits for them to end: browsers slow down a page that writes it at each move. */
const REST_MILLIS = 200;

/** Holds the view, keeps the URL equal to it and tells listeners of changes. */
export class ViewStore {
  private current: View;
  private listeners: ((view: View, before: View) => void)[] = [];
  private lastPush = 0;
  private lastChange = 0;
  private depth: number;
  /** The wait for changes to end after which the URL is written. */
  private resting = 0;
  /** A drag has changed the view: all of it is one step, however long its moves are apart. */
  private isDragged = false;

  constructor(private now: () => number) {
    this.current = this.read();
    this.depth = depthOf(history.state);
    window.addEventListener("popstate", (pop) => {
      this.forget();
      this.depth = depthOf(pop.state);
      this.lastPush = 0;
      this.set(this.read());
    });
    onRelease(() => this.drop());
    // Whoever leaves or reloads the page in the middle of a change finds the view as it was.
    window.addEventListener("pagehide", () => this.settle());
  }

  /** Takes the view from the URL again, as when the archiver's clock has become known: its times may be relative. */
  reread(): void {
    this.current = this.read();
  }

  get view(): View {
    return this.current;
  }

  onChange(listener: (view: View, before: View) => void): void {
    this.listeners.push(listener);
  }

  update(change: Partial<View>, step: Step = "push"): void {
    const next = { ...this.current, ...change };
    const now = Date.now();
    const isMoving = this.isDragged || now - this.lastChange < REST_MILLIS;
    const isStep = step === "push" && !this.isDragged && now - this.lastPush > STEP_MILLIS;
    this.lastChange = now;
    this.isDragged = isPressed();
    if (step === "push") this.lastPush = now;
    if (isStep) {
      this.settle();
      this.depth += 1;
      history.pushState({ depth: this.depth }, "", urlOf(next));
    } else {
      window.clearTimeout(this.resting);
      this.resting = window.setTimeout(() => this.rest(), REST_MILLIS);
    }
    this.set(next);
    if (!isMoving) this.settle();
  }

  private rest(): void {
    if (!this.isDragged) this.settle();
  }

  /** A drag is over. */
  private drop(): void {
    this.settle();
    this.isDragged = false;
  }

  /** Writes the URL of the view so far, if it is still to be written. */
  private settle(): void {
    if (this.resting === 0) return;
    this.forget();
    history.replaceState({ depth: this.depth }, "", urlOf(this.current));
  }

  private forget(): void {
    window.clearTimeout(this.resting);
    this.resting = 0;
  }

  /** One step back, as far as this page has made steps. */
  undo(): void {
    this.settle();
    if (this.depth > 0) history.back();
  }

  /** One step forward again. */
  redo(): void {
    this.settle();
    history.forward();
  }

  private read(): View {
    // Links that were written by hand may carry the view behind a #.
    const view = fromQuery(location.search || location.hash.slice(1), this.now());
    // Other parts name PVs of their own.
    return shownPart() === "plot" ? view : { ...view, pvs: [], frame: "whole" };
  }

  private set(next: View): void {
    const before = this.current;
    this.current = next;
    for (const listener of this.listeners) listener(next, before);
  }
}

function urlOf(view: View): string {
  // In other parts the view is not shown: of it only theme and zone are said, beside what that part says itself.
  if (shownPart() !== "plot") {
    const params = new URLSearchParams(location.search);
    for (const key of ["theme", "zone"]) params.delete(key);
    if (view.theme !== "system") params.set("theme", view.theme);
    if (view.zone !== "local") params.set("zone", view.zone);
    return params.size > 0 ? `?${params}` : location.pathname;
  }
  const query = toQuery(view);
  return query === "" ? location.pathname : `?${query}`;
}

function depthOf(state: unknown): number {
  const depth = (state as { depth?: unknown } | null)?.depth;
  return typeof depth === "number" ? depth : 0;
}
