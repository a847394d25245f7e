// The page: keeps the traces equal to the view, loads what they lack, and draws them.

import { ApiError, getAt, getPv, isAbort, type WireChunk } from "./api.ts";
import { gapText } from "./bands.ts";
import { settleColours } from "./colours.ts";
import { exactOf, noSamples, severityOf } from "./decode.ts";
import { byId, h, set, setText } from "./dom.ts";
import { DrawerHost } from "./drawer_host.ts";
import type { DrawerState } from "./drawer_state.ts";
import { nextAt } from "./events.ts";
import type { Found } from "./found.ts";
import { bring } from "./later.ts";
import { Live } from "./live.ts";
import { Loader } from "./load.ts";
import { PLAIN } from "./look.ts";
import { Notes, type NoteMark } from "./notes.ts";
import { nothingLines, type Said } from "./nothing.ts";
import { OverviewStrip } from "./strip.ts";
import { Between } from "./between.ts";
import { Panel, PANEL_PARTS, type PanelActions } from "./panel.ts";
import { layoutOf, type ValueScale } from "./panes.ts";
import { isPlotless, mainPart, setPlotless } from "./plotless.ts";
import { Plot, type Drawn, type PlotActions, type Scene } from "./plot.ts";
import { isPressed, onRelease } from "./pressed.ts";
import type { Shared } from "./share.ts";
import { rangeOf, type Range, type View, type ViewStore } from "./state.ts";
import { applyTheme, reducesMotion, type Palette } from "./style.ts";
import { floatOf, instantOf } from "./time.ts";
import {
  appendLive,
  gapsAt,
  isLacking,
  newTrace,
  noteState,
  sampleParts,
  TAIL_ROWS_MAX,
  type Trace,
} from "./trace.ts";
import type { Wall, WallNews } from "./wall.ts";
import { isWave, Waves } from "./waves.ts";
import { commonWords } from "./words/common.ts";
import { plotWords as words } from "./words/plot.ts";

/** While a view is being changed loads wait so long, after it was drawn, for the next change. */
const CHANGING_MILLIS = 120;

/** While a button is held down they wait longer: a slow machine may let moves of one drag come far apart. */
const HELD_MILLIS = 400;

/** During a drag that does not pause, what is missing at the edge is asked for this often. */
const EDGE_MILLIS = 1000;

/** While the view is panned each row of the panel follows so often. */
const PANEL_MILLIS = 250;

/** After news of a PV loads wait so long: the archive may still be writing them down. */
const NEWS_MILLIS = 500;

/** A live history is loaded anew after a twentieth of its length, within these limits. */
const RELOAD_SECONDS_MIN = 10;
const RELOAD_SECONDS_MAX = 300;

/** A live formula is computed anew after a two-hundredth of the range, within these limits. */
const COMPUTED_SECONDS_MIN = 5;
const COMPUTED_SECONDS_MAX = 60;

/** The server sends no more PVs than this by one stream; the others are only reloaded. */
const LIVE_PVS_MAX = 50;

/** A note is pointed at from so many pixels. */
const NOTE_PIXELS = 6;

/** A menu of what stands below the plot opens so far below its upper edge. */
const MENU_BELOW = 40;

/** More gaps under the cursor than this are counted. */
const HINTS_MAX = 6;

/** What the page tells of when answers do not come as they should. */
export interface Trouble {
  /** The archiver seems to have gone. */
  doubt(): void;
  /** Whoever looks on may not any more. */
  barred(): void;
}

/** The archiver's clock, and how far it is to be trusted. */
export interface Clock {
  now(): number;
  /** Up to when anything is known: now, or the last answer of an archiver that is silent. */
  known(): number;
  readonly isSilent: boolean;
  /** The archiver has just been heard of. */
  hear(): void;
}

const NONE: Range[] = [];

export class Page {
  traces: Trace[] = [];
  private palette: Palette;
  private plot: Plot;
  private scene: Scene | null = null;
  private panel: Panel;
  private strip: OverviewStrip;
  private notes = new Notes(() => this.draw());
  private found: Found | null = null;
  private isFoundWanted = false;
  private between = new Between(byId("between"));
  private drawer: DrawerHost;
  private wall: Wall | null = null;
  private isWallWanted = false;
  private loader: Loader;
  private live: Live;
  private waves: Waves;
  private pointed: Trace | null = null;
  /** The moment of cursor A for which values were asked for last. */
  private pinnedAsked: number | null = null;
  private pinnedAsking: AbortController | null = null;
  /** Whether the waveforms are shown, once somebody has said so. */
  private isDrawerOpen: boolean | null = null;
  private loadTimer = 0;
  /** The view has changed and is still to be drawn: only then does the wait for the next change begin. */
  private isChanging = false;
  /** The view is being panned. */
  private isMoving = false;
  /** Something waits for the end of a drag to be loaded. */
  private isHeldBack = false;
  /** When the panel was filled last. */
  private panelAt = -Infinity;
  private askedAt = -Infinity;
  private settleTimer = 0;
  private frame = 0;
  /** Nothing of the view can be drawn in the plot, which takes no room. */
  private plotless = false;
  /** What is said where nothing is drawn. */
  private nothing: Said[] = [];
  /** The lines themselves are to be drawn again, not only what follows the cursor. */
  private isStale = true;
  /** What each trace was last loaded for, and with how many bins. */
  private loadedFor = new Map<Trace, { view: string; pixels: number }>();
  private generation = 0;
  private loadedAt = 0;
  private computedAt = 0;
  /** Nothing may be read: what is there stays, and nothing is asked for. */
  private isBarred = false;
  private doubt: () => void;
  private go: (range: Range) => void;

  constructor(
    private store: ViewStore,
    private clock: Clock,
    mouse: Omit<PlotActions, "cursor" | "again">,
    panel: Omit<PanelActions, "point" | "goTo">,
    trouble: Trouble,
    private news: () => WallNews,
  ) {
    this.palette = applyTheme(store.view.theme);
    this.doubt = trouble.doubt;
    this.go = mouse.zoom;
    const changed = (trace: Trace) => {
      if (trace.unknown) this.follow();
      this.draw();
    };
    this.loader = new Loader(changed, trouble.doubt, () => this.clock.known());
    this.plot = new Plot(byId("plot"), {
      ...mouse,
      cursor: () => this.cursorMoved(),
      again: () => this.draw(),
    });
    this.drawer = new DrawerHost({
      now: () => this.store.view.drawer,
      change: (drawer, step) => this.store.update({ drawer }, step),
      pin: (at) => this.store.update({ pinned: at }, "replace"),
      between: ({ from, to }) => this.store.update({ pinned: from, second: to }, "replace"),
      mark: (span) => this.plot.mark(span),
      find: () => byId("search").focus(),
      go: mouse.zoom,
      waveforms: () => this.showWaveforms(),
      close: () => this.toggleDrawer(),
    });
    this.waves = new Waves(
      {
        pin: (at) => this.store.update({ pinned: floatOf(at) }),
        go: mouse.zoom,
        turn: () => this.turnWaveforms(!this.isOpen),
      },
      () => this.draw(),
    );
    this.strip = new OverviewStrip(byId("overview-strip"), {
      ...{ move: mouse.pan, doubt: trouble.doubt },
      unmark: () => this.store.update({ found: null }),
    });
    this.panel = new Panel({
      ...panel,
      point: (name) => this.pointTrace(name),
      goTo: (at) => this.store.update({ pinned: at }, "replace"),
    });
    this.live = new Live(
      {
        heard: () => clock.hear(),
        samples: (pv, chunk) => this.withTrace(pv, (trace) => this.takeSamples(trace, chunk)),
        state: (pv, state, since) => this.withTrace(pv, (trace) => this.takeState(trace, { state, since })),
        resumed: () => this.reload(),
        lost: trouble.doubt,
        barred: trouble.barred,
      },
      () => clock.now(),
    );
    for (const id of ["plot", "wall"]) new ResizeObserver(() => this.load(CHANGING_MILLIS)).observe(byId(id));
    onRelease(() => {
      if (this.isMoving) this.settle();
      if (this.isChanging) this.rest();
    });
    document.addEventListener("visibilitychange", () => this.visibility());
    this.tick();
  }

  /** Takes over a changed view. */
  take(view: View, before: View | null): void {
    if (before?.theme !== view.theme) this.retheme();
    if (before && isPan(before, view, this.clock.now())) this.move();
    this.syncTraces(view);
    const title = [...view.pvs.map((pv) => pv.name), "pvark"].join(" · ");
    if (document.title !== title) document.title = title;
    document.body.classList.toggle("is-folded", view.folded);
    document.body.dataset.frame = view.frame;
    document.body.classList.toggle("is-empty", view.pvs.length === 0);
    const isFirst = before === null || before.pvs.length !== view.pvs.length;
    this.load(isFirst ? 0 : CHANGING_MILLIS);
    this.draw();
  }

  /** The view was panned, and may be panned on at once: axes are held, and the panel follows now and then. */
  private move(): void {
    // A drag is to go on for a while before its edge is asked for.
    if (!this.isMoving) this.askedAt = performance.now();
    this.isMoving = true;
    window.clearTimeout(this.settleTimer);
    this.settleTimer = window.setTimeout(() => this.settle(), changingMillis());
  }

  /** It has come to rest. */
  private settle(): void {
    window.clearTimeout(this.settleTimer);
    this.isMoving = false;
    if (this.isHeldBack) this.load(CHANGING_MILLIS);
    this.draw();
  }

  /** Reads the theme's colours again. */
  retheme(): void {
    this.palette = applyTheme(this.store.view.theme);
    this.draw();
  }

  /** Loads everything again, as after an interruption. */
  reload(): void {
    this.generation += 1;
    this.load(0);
  }

  /** The same where the archiver's clock was set back: what came live has later times than what comes now. */
  loadAfresh(): void {
    for (const trace of this.traces) trace.tail = noSamples();
    this.live.stop();
    this.reload();
  }

  /** Asks for nothing any more, or for everything again. */
  setBarred(isBarred: boolean): void {
    this.isBarred = isBarred;
    if (isBarred) this.live.stop();
  }

  trace(name: string): Trace | undefined {
    return this.traces.find((trace) => trace.name === name);
  }

  /** The first PV of which something is missing in the range shown. */
  lacking(): string | undefined {
    return this.traces.find((trace) => isLacking(trace, this.range()))?.name;
  }

  /** The row after one of which something is missing, too; where there is none the next that is no formula. */
  after(name: string): string | undefined {
    const at = this.traces.findIndex((trace) => trace.name === name);
    if (at < 0) return undefined;
    const rest = [...this.traces.slice(at + 1), ...this.traces.slice(0, at)].filter(
      ({ source, unknown }) => source.kind !== "formula" && !unknown,
    );
    return (rest.find((trace) => isLacking(trace, this.range())) ?? rest[0])?.name;
  }

  /** From the oldest sample of the PVs on the page until now; none if they have none. */
  async everything(): Promise<Range | null> {
    const names = new Set(
      this.traces.flatMap(({ source }) => (source.kind === "formula" ? [] : [source.pv])),
    );
    const details = await Promise.allSettled([...names].map((name) => getPv(name)));
    const firsts = details
      .map((detail) =>
        detail.status === "fulfilled" ? Date.parse(detail.value.extent?.first ?? "") / 1000 : NaN,
      )
      .filter((first) => Number.isFinite(first));
    if (firsts.length === 0) return null;
    const to = this.clock.now();
    const from = Math.min(...firsts, to - 1);
    return { from: from - (to - from) * 0.01, to };
  }

  /** The moment under the cursor, if it is in the plot. */
  moment(): number | null {
    return this.plot.hover;
  }

  /** All that can be shared; nothing before anything was drawn. */
  shared(): Shared | null {
    const { scene, palette } = this;
    if (!scene) return null;
    return {
      view: this.store.view,
      range: this.range(),
      traces: this.traces,
      layout: scene.layout,
      colour: (trace) => palette.trace(trace.colour).stroke,
      picture: this.plotless ? null : (ratio) => this.plot.picture(ratio),
      svg: this.plotless ? null : () => this.plot.svg(),
    };
  }

  get colours(): Palette {
    return this.palette;
  }

  get letters(): string[] {
    return this.scene?.layout.panes.map((pane) => pane.letter) ?? [];
  }

  /** The PV whose row has the focus, or the first. */
  get chosen(): string | undefined {
    return this.panel.focused ?? this.traces[0]?.name;
  }

  /** What is drawn at a place of the window, for a menu. */
  under(x: number, y: number): Drawn | null {
    return this.store.view.frame === "whole" && !this.plotless ? this.plot.under(x, y) : null;
  }

  /** Where there is no plot: what is shown instead, of which moment, and a place for a menu of it. */
  besidePlot(): { trace: Trace; at: number; x: number; y: number } | null {
    const trace = this.traces.find((trace) => !trace.hidden && isWave(trace));
    if (!this.plotless || !trace) return null;
    const { left, top, width } = byId("under").getBoundingClientRect();
    const at = this.store.view.pinned ?? this.range().to;
    return { trace, at, x: left + width / 2, y: top + MENU_BELOW };
  }

  noteOfFlag(flag: Element): NoteMark | null {
    return this.plot.noteOf(flag);
  }

  placeOfRow(name: string): { x: number; y: number } | null {
    return this.panel.placeOf(name);
  }

  /** Where the cursor is in the window, or the middle of the plot. */
  cursorPlace(): { x: number; y: number } | null {
    const { from, to } = this.range();
    const pinned = this.store.view.pinned ?? NaN;
    const isThere = pinned >= from && pinned <= to;
    return this.plot.placeOf(this.plot.hover ?? (isThere ? pinned : (from + to) / 2));
  }

  get focused(): string | undefined {
    return this.panel.focused;
  }

  /** Moves the cursor by a sample, where the samples themselves are drawn; else by some pixels. */
  moveCursor(by: -1 | 1): void {
    if (this.plotless) return void this.stepWaveform(by);
    const range = this.range();
    const step = ((range.to - range.from) / this.plot.area.width) * 4;
    const from = this.plot.hover ?? this.store.view.pinned ?? (range.from + range.to) / 2;
    const sample = this.nextSample(from, by);
    const at = Math.min(Math.max(sample ?? from + by * step, range.from), range.to);
    this.plot.point(at);
    this.cursorMoved();
    this.drawNow();
    this.speak();
  }

  private async stepWaveform(by: -1 | 1): Promise<void> {
    await this.waves.step(by);
    this.drawNow();
    this.speak();
  }

  private nextSample(at: number, by: -1 | 1): number | null {
    const shown = this.traces.filter((trace) => !trace.hidden && trace.history && !trace.history.bins);
    const chosen = shown.filter((trace) => trace.name === this.panel.focused);
    const moments = (chosen.length > 0 ? chosen : shown).flatMap((trace) =>
      sampleParts(trace).flatMap(({ x }) => x),
    );
    return nextAt(moments, at, by);
  }

  /** Says what stands at the cursor. */
  private speak(): void {
    const readings = byId("legend").querySelectorAll<HTMLElement>("[data-pv]");
    const textOf = (row: HTMLElement, cell: string) => row.querySelector(cell)?.textContent ?? "";
    const spoken = [...readings].map((row) =>
      [row.dataset.pv, textOf(row, ".value"), textOf(row, ".units"), textOf(row, ".severity")]
        .filter(Boolean)
        .join(" "),
    );
    setText(byId("spoken"), [byId("moment").textContent ?? "", ...spoken].join(". "));
  }

  /** Leads the cursor to the next or previous gap, or to whatever happened next or before. */
  leap(to: "gap" | "event", by: -1 | 1): void {
    const range = this.range();
    const from = this.plot.hover ?? this.store.view.pinned ?? (by > 0 ? range.from : range.to);
    const found = this.panel.happenings.filter((one) => to === "event" || one.kind === "gap");
    const at = nextAt(
      found.map((one) => one.at),
      from,
      by,
    );
    const happening = found.find((one) => one.at === at);
    if (happening?.within !== undefined) return void this.panel.go(happening);
    if (at === null) return setText(byId("spoken"), words.noOther(to, by > 0 ? "later" : "earlier"));
    this.plot.point(null);
    this.store.update({ pinned: at }, "replace");
    this.drawNow();
    this.speak();
  }

  /** Zooms the axes of the pane of the PV whose row has the focus, else of the one that the mouse is over. */
  zoomHeight(factor: number): { scales: ValueScale[]; part: { low: number; high: number } } {
    const half = factor / 2;
    const focused = this.scene?.layout.panes.find(({ scales }) =>
      scales.some(({ traces }) => traces.some(({ name }) => name === this.panel.focused)),
    );
    return { scales: focused?.scales ?? this.plot.paneScales, part: { low: 0.5 - half, high: 0.5 + half } };
  }

  private range(): Range {
    return rangeOf(this.store.view, this.clock.now());
  }

  /** How many bins are worth asking for. */
  private get pixels(): number {
    if (this.store.view.frame !== "wall") return this.plot.pixels;
    return this.wall?.pixels ?? Math.round((innerWidth / 2) * devicePixelRatio);
  }

  private isLive(): boolean {
    return this.store.view.span.kind === "live";
  }

  private withTrace(name: string, change: (trace: Trace) => void): void {
    const trace = this.trace(name);
    if (!trace) return;
    change(trace);
    if (trace.tail.x.length > TAIL_ROWS_MAX && !trace.loading) this.reload();
  }

  /** Drawn with the next tick: a hundred PVs at ten samples a second must not mean a thousand drawings. */
  private takeSamples(trace: Trace, chunk: WireChunk): void {
    appendLive(trace, chunk);
    // The first value of a PV says of what type it is, and one within a gap that is still open says that it is over.
    const isOver = trace.gaps.some(
      (gap) => gap.to === Infinity && gap.from < (trace.tail.x.at(-1) ?? -Infinity),
    );
    const isNews = trace.kind === "unknown" || isOver || trace.untoldSince !== null;
    if (isNews && !trace.loading) this.loadAnew(trace);
  }

  private loadAnew(trace: Trace): void {
    if (this.loadedFor.delete(trace)) this.load(NEWS_MILLIS);
  }

  /** A PV that connects or disconnects begins or ends a gap: its history is asked for again. */
  private takeState(trace: Trace, state: Pick<Trace, "state" | "since">): void {
    const isNews = trace.state !== null && trace.state !== state.state;
    noteState(trace, { state: state.state!, since: state.since });
    this.draw();
    if (!isNews) return;
    this.loadAnew(trace);
    // Others may have gone with it: the archiver is asked how many at once.
    if (state.state === "disconnected") this.doubt();
  }

  private syncTraces(view: View): void {
    const before = this.traces;
    // Those that leave the page leave their colours to those that come.
    const kept = before.filter((trace) => view.pvs.some((pv) => pv.name === trace.name));
    this.traces = view.pvs.map((pv) => {
      const trace =
        before.find((trace) => trace.name === pv.name) ??
        newTrace(pv.name, pv.look?.colour ?? this.freeColour(kept, view));
      if (!kept.includes(trace)) kept.push(trace);
      // A hidden trace is not kept up to date; when it is shown again it is loaded again.
      if (pv.hidden) this.loadedFor.delete(trace);
      trace.hidden = pv.hidden;
      trace.look = pv.look ?? PLAIN;
      if (trace.look.colour !== null) trace.colour = trace.look.colour;
      return trace;
    });
    for (const trace of before.filter((trace) => !this.traces.includes(trace))) {
      this.loader.cancel(trace);
      this.loadedFor.delete(trace);
      this.waves.drop(trace);
    }
  }

  /** The first that none has on the page, nor is to get by its settings. */
  private freeColour(traces: Trace[], view: View): number {
    const taken = new Set([...traces.map((trace) => trace.colour), ...view.pvs.map((pv) => pv.look?.colour)]);
    let colour = 0;
    while (taken.has(colour)) colour++;
    return colour;
  }

  /** Loads, after a while, every shown trace that was not yet loaded for this view. */
  private load(millis: number): void {
    this.isChanging = millis === CHANGING_MILLIS;
    this.loadAfter(this.isChanging ? changingMillis() : millis);
  }

  /**
   * Begins the wait for the next change once the picture of this one is out, with the frame after it. Where drawing takes
   * long, a wait from before would be over between two steps of a drag, and each step be asked for.
   */
  private rest(): void {
    window.clearTimeout(this.loadTimer);
    requestAnimationFrame(() => {
      if (!this.isChanging) return;
      if (this.isEdgeDue()) this.loadNow();
      else if (this.frame === 0) this.loadAfter(changingMillis());
    });
  }

  /** A drag has gone on for long enough, and nothing is under way. */
  private isEdgeDue(): boolean {
    const isDragged = this.isMoving && isPressed();
    return isDragged && this.loader.busy === 0 && performance.now() - this.askedAt > EDGE_MILLIS;
  }

  private loadAfter(millis: number): void {
    window.clearTimeout(this.loadTimer);
    this.loadTimer = window.setTimeout(() => this.loadNow(), millis);
  }

  private loadNow(): void {
    window.clearTimeout(this.loadTimer);
    this.isChanging = false;
    if (this.isBarred) return;
    const live = this.isLive();
    const { pixels } = this;
    const range = live ? liveRange(this.range(), pixels) : this.range();
    const settled = this.clock.now() - SETTLED_SECONDS;
    const { span } = this.store.view;
    const length = span.kind === "live" ? `live ${span.seconds}` : `${range.from} ${range.to}`;
    const wanted = { view: `${length} ${this.generation}`, pixels };
    const wants = this.traces.filter(
      (trace) => !trace.hidden && !isEnough(this.loadedFor.get(trace), wanted),
    );
    // Of a formula no side is to be had alone: what is there of it stays until the drag is over.
    const isDragged = this.isMoving && isPressed();
    const lacking = wants.filter(
      ({ source, history }) => !(isDragged && source.kind === "formula" && history),
    );
    this.isHeldBack = lacking.length < wants.length;
    for (const trace of lacking) this.loadedFor.set(trace, wanted);
    this.askedAt = performance.now();
    this.loader.load(lacking, { range, pixels, live, settled, generation: this.generation });
    this.loadedAt = this.clock.now();
    this.follow();
  }

  /** Lets live samples come, or not. One name that the archive does not know would spoil the stream for all. */
  private follow(): void {
    const known = this.traces
      .filter((trace) => trace.source.kind === "pv" && !trace.unknown && !trace.hidden)
      .slice(0, LIVE_PVS_MAX);
    if (this.isLive() && !document.hidden && !this.isBarred)
      this.live.follow(known.map((trace) => trace.name));
    else this.live.stop();
  }

  private visibility(): void {
    // A hidden page holds no stream: browsers allow only six connections to one server, over all pages.
    if (document.hidden) this.live.stop();
    else if (this.isLive()) this.reload();
  }

  /** Moves a live view on: about a pixel at a time, and at most eight times a second; a wall, whose pixels are small from afar, twice. */
  private tick(): void {
    const range = this.range();
    const pixel = ((range.to - range.from) / this.pixels) * 1000;
    const least = reducesMotion() ? 1000 : this.store.view.frame === "wall" ? 500 : 125;
    window.setTimeout(() => this.tick(), Math.min(Math.max(pixel, least), 1000));
    // Silence is told where it has begun, and a clock goes on, whatever the range shows.
    if (this.store.view.frame === "wall") this.draw();
    if (!this.isLive() || document.hidden) return;
    const seconds = range.to - range.from;
    const due = Math.min(Math.max(seconds / 20, RELOAD_SECONDS_MIN), RELOAD_SECONDS_MAX);
    if (this.clock.now() - this.loadedAt > due && this.loader.busy === 0) this.reload();
    else this.renewComputed(seconds);
    this.draw();
  }

  /** Nothing comes live of formulas: they are computed anew. */
  private renewComputed(seconds: number): void {
    const due = Math.min(Math.max(seconds / 200, COMPUTED_SECONDS_MIN), COMPUTED_SECONDS_MAX);
    const computed = this.traces.filter(({ source, loading }) => source.kind === "formula" && !loading);
    if (computed.length === 0 || this.clock.now() - this.computedAt < due) return;
    this.computedAt = this.clock.now();
    for (const trace of computed) this.loadedFor.delete(trace);
    this.load(0);
  }

  private cursorMoved(): void {
    this.hintGap(this.plot.hover);
    this.drawSoon(false);
  }

  private pointTrace(name: string | null): void {
    this.pointed = name === null ? null : (this.trace(name) ?? null);
    this.draw();
  }

  private hintGap(at: number | null): void {
    if (at === null) return this.hint(null, 0);
    const band = this.plot.bandUnder();
    const now = this.clock.known();
    const texts = band
      ? [band.text]
      : this.traces
          .filter((trace) => !trace.hidden)
          .flatMap((trace) =>
            gapsAt(trace, at).map(
              (gap) => `${trace.name}: ${gapText(gap, { zone: this.store.view.zone, now })}`,
            ),
          );
    const range = this.range();
    const { left, width } = this.plot.area;
    const x = left + ((at - range.from) / (range.to - range.from)) * width;
    const told = texts.slice(0, HINTS_MAX);
    if (texts.length > told.length) told.push(commonWords.andMore(texts.length - told.length));
    this.hint(told.length > 0 ? told.join("\n") : null, x);
  }

  private hint(text: string | null, x: number): void {
    const hint = byId("hint");
    hint.hidden = text === null;
    if (text === null) return;
    setText(hint, text);
    const most = hint.parentElement!.clientWidth - hint.offsetWidth - 8;
    hint.style.left = `${Math.max(8, Math.min(x + 12, most))}px`;
  }

  /** Draws everything once, with the next picture of the screen. */
  draw(): void {
    this.drawSoon(true);
  }

  /** A cursor that moves changes what lies over the lines, not the lines. */
  private drawSoon(lines: boolean): void {
    this.isStale ||= lines;
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
      if (this.isChanging) this.rest();
    });
  }

  private drawNow(): void {
    const { view } = this.store;
    const range = this.range();
    const { traces, palette, pointed } = this;
    const { second, lanes } = view;
    const moving = this.isMoving;
    if (this.isStale || this.scene === null) {
      const layout = layoutOf(traces, view.log, range, moving ? (this.scene?.layout ?? null) : null);
      settleColours(traces, layout);
      this.scene = {
        ...{ range, traces, palette, pointed, second, lanes, moving, still: !this.isLive(), layout },
        notes: this.notesIn(range),
        known: this.clock.known(),
        silent: this.clock.isSilent,
        zone: view.zone,
        pinned: view.pinned,
        ...this.foundIn(range),
      };
      this.isStale = false;
      if (view.frame === "wall") return this.showWall(this.scene);
      this.giveRoom();
      this.plot.show(this.scene);
    } else {
      this.plot.moved();
    }
    if (view.frame === "whole" && !this.isBarred) this.strip.show(this.scene, this.plot.area);
    if (moving && performance.now() - this.panelAt < PANEL_MILLIS / PANEL_PARTS) return;
    this.panelAt = performance.now();
    this.drawBeside(this.scene);
  }

  /** What draws a wall comes when it is shown. */
  private showWall(scene: Scene): void {
    this.wall?.show(scene, this.clock.now());
    if (this.isWallWanted) return;
    this.isWallWanted = true;
    void bring(byId("wall"), () => import("./wall.ts")).then(({ Wall }) => {
      this.wall = new Wall(byId("wall"), this.news);
      this.draw();
    });
  }

  /** The plot has room where something can be drawn in it. */
  private giveRoom(): void {
    const had = this.plotless;
    this.plotless = isPlotless(this.traces);
    // A mouse that was over it does not leave what has gone.
    if (this.plotless && !had) this.plot.point(null);
    setPlotless(this.plotless);
  }

  /** What stands beside the plot. */
  private drawBeside({ traces, layout, known, silent, notes, range, palette, moving }: Scene): void {
    const { view } = this.store;
    const { hover } = this.plot;
    const at = hover ?? view.pinned;
    const pinned = hover === null && view.pinned !== null;
    const between = hover === null ? this.marked(view) : null;
    if (pinned && view.pinned !== null) void this.askPinned(view.pinned);
    const { zone } = view;
    this.panel.show({
      ...{ traces, layout, notes, range, at, pinned, between, known, silent, zone, palette, moving },
    });
    this.between.show(this.isBarred ? null : this.marked(view), traces, palette);
    this.drawWaveforms(at ?? (this.isLive() ? null : range.to), range);
    this.drawDrawer(at, range);
    this.drawNothing(range);
    this.drawProgress();
  }

  /** The stretch from cursor A to B. */
  private marked({ pinned, second }: View): Range | null {
    if (pinned === null || second === null || pinned === second) return null;
    return { from: Math.min(pinned, second), to: Math.max(pinned, second) };
  }

  /** The notes that stand in the plot; they are asked for where they may be read. */
  private notesIn(range: Range): NoteMark[] {
    const names = this.traces.filter((trace) => !trace.hidden).map(({ name }) => name);
    if (names.length === 0 || this.store.view.frame === "wall") return [];
    if (!this.isBarred) this.notes.want(range);
    return this.notes.of(range, names);
  }

  /** The times at which the condition of the view held; what looks for them comes when there is one. */
  private foundIn(range: Range): Pick<Scene, "found" | "foundTold"> {
    const condition = this.store.view.found;
    if (condition === null || this.isBarred) return { found: NONE, foundTold: "" };
    if (!this.isFoundWanted) {
      this.isFoundWanted = true;
      void bring(byId("drawing"), () => import("./found.ts")).then(({ Found }) => {
        this.found = new Found(() => this.draw());
        this.draw();
      });
    }
    this.found?.want(condition, this.strip.wide ?? range);
    return { found: this.found?.spans ?? NONE, foundTold: this.found?.told ?? "" };
  }

  /** A note was written, changed, or taken away. */
  renewNotes(): void {
    this.notes.renew();
  }

  /** The note at a moment, as far as one can point at it. */
  noteAt(at: number): NoteMark | null {
    const { notes, range } = this.scene ?? { notes: [], range: this.range() };
    const near = ((range.to - range.from) / Math.max(1, this.plot.area.width)) * NOTE_PIXELS;
    return notes.find(({ from }) => Math.abs(from - at) <= near) ?? null;
  }

  private drawNothing(range: Range): void {
    const { isSilent } = this.clock;
    const moment = { range, zone: this.store.view.zone, known: this.clock.known(), silent: isSilent };
    const lines = nothingLines(this.traces, moment);
    const nothing = byId("nothing");
    nothing.hidden = lines.length === 0 || this.plotless;
    const key = lines.map(({ text }) => text).join("\n");
    this.nothing = lines;
    // The same lines stay the same elements, so that a link keeps the focus.
    if (nothing.dataset.said === key) return;
    nothing.dataset.said = key;
    nothing.replaceChildren(...lines.map((line, i) => this.nothingLine(line, i)));
  }

  private nothingLine({ text, to }: Said, nth: number): HTMLElement {
    if (!to) return h("p", {}, text);
    // Where it leads goes by what is shown when it is pressed.
    const go = () => {
      const to = this.nothing[nth]?.to;
      if (!to) return;
      mainPart().focus();
      this.go(to);
    };
    const label = words.showOf(text);
    return h(
      "p",
      {},
      `${text}. `,
      h("button", { type: "button", class: "link", "aria-label": label, click: go }, words.showIt),
    );
  }

  /** Of bins only the last of their samples is known: at cursor A the values themselves are asked for. */
  private async askPinned(pinned: number): Promise<void> {
    const binned = this.traces.filter(
      ({ source, hidden, history, atPinned }) =>
        source.kind === "pv" && !hidden && history?.bins && atPinned?.at !== pinned,
    );
    if (binned.length === 0 || this.isBarred || this.pinnedAsked === pinned) return;
    this.pinnedAsked = pinned;
    this.pinnedAsking?.abort();
    const controller = new AbortController();
    this.pinnedAsking = controller;
    try {
      const { pvs } = await getAt(
        binned.map(({ name }) => name),
        instantOf(pinned),
        controller.signal,
      );
      for (const { pv, time, value, severity } of pvs) {
        const [trace, exact] = [this.trace(pv), time === null ? null : exactOf(time)];
        if (trace && exact)
          trace.atPinned = { at: pinned, value, severity: severityOf(severity), time: exact };
      }
      this.draw();
    } catch (error) {
      // What the bins say stays.
      if (!isAbort(error) && !(error instanceof ApiError)) throw error;
    }
  }

  /** Closes what is open below the plot, or opens it: the waveforms if there are any. */
  toggleDrawer(): void {
    if (this.store.view.drawer) this.store.update({ drawer: null });
    else if (this.traces.some(isWave)) this.turnWaveforms(!this.isOpen);
    else this.openDrawer();
  }

  /** Opens what is computed of the rows below the plot. */
  openDrawer(): void {
    if (this.traces.length === 0 || this.shownDrawer) return;
    const lines = this.traces.filter((trace) => !trace.hidden && !isWave(trace));
    this.store.update({ drawer: { tab: lines.length > 1 ? "xy" : "histogram", choices: {} } });
  }

  private showWaveforms(): void {
    this.isDrawerOpen = true;
    if (this.store.view.drawer) this.store.update({ drawer: null });
    else this.draw();
  }

  /** Shows the waveforms, or their names alone. */
  private turnWaveforms(isOpen: boolean): void {
    if (this.plotless) return;
    this.isDrawerOpen = isOpen;
    this.draw();
  }

  /** Beside lines waveforms are folded at first: the plot needs the height. Where there is none nothing does. */
  private get isOpen(): boolean {
    return this.plotless || (this.isDrawerOpen ?? this.scene?.layout.panes.length === 0);
  }

  private drawWaveforms(at: number | null, range: Range): void {
    const drawer = byId("waveforms");
    const { isOpen } = this;
    drawer.hidden = this.shownDrawer !== null;
    if (drawer.hidden) return;
    const { zone } = this.store.view;
    this.waves.show(this.traces, isOpen, { at, range, zone, palette: this.palette });
  }

  /** What is computed of the rows, where there is room for it. */
  private get shownDrawer(): DrawerState | null {
    const { view } = this.store;
    return view.frame === "whole" && !this.isBarred ? view.drawer : null;
  }

  private drawDrawer(at: number | null, range: Range): void {
    const { view } = this.store;
    this.drawer.show(
      {
        ...{ drawer: this.shownDrawer, hasWaves: this.traces.some(isWave), isWaveOpen: this.isOpen },
        canClose: this.shownDrawer !== null || !this.plotless,
      },
      {
        ...{ traces: this.traces, range, at, isLive: this.isLive(), now: this.clock.now() },
        ...{ zone: view.zone, palette: this.palette },
      },
    );
  }

  private drawProgress(): void {
    const { busy } = this.loader;
    const shown = this.traces.filter((trace) => !trace.hidden).length;
    byId("progress").classList.toggle("is-busy", busy > 0);
    setText(byId("loading"), busy > 0 ? words.loadingOf(busy, shown) : "");
    set(byId("view"), "aria-busy", String(busy > 0));
  }
}

/** Whether a view shows as much as the one before, from elsewhere on. */
function isPan(before: View, view: View, now: number): boolean {
  if (before.span === view.span || view.span.kind === "live") return false;
  const [had, range] = [rangeOf(before, now), rangeOf(view, now)];
  const length = range.to - range.from;
  return Math.abs(had.to - had.from - length) < length * 1e-6;
}

function changingMillis(): number {
  return isPressed() ? HELD_MILLIS : CHANGING_MILLIS;
}

/**
 * Axes that become wider, as they do when the first values are there, are no reason to load everything again: up to half as
 * many bins again as there are pixels draw the same, a tenth too few is not seen.
 */
function isEnough(
  loaded: { view: string; pixels: number } | undefined,
  wanted: { view: string; pixels: number },
): boolean {
  if (loaded?.view !== wanted.view) return false;
  return loaded.pixels >= wanted.pixels * 0.9 && loaded.pixels <= wanted.pixels * 1.5;
}

/** Live histories end so long before now: by then slow IOCs' samples have arrived. Later ones come by the stream. */
const SETTLED_SECONDS = 2;
/** Bins up to this length keep their places; the stream's overlap is longer than this and the above together. */
const ALIGNED_SECONDS_MAX = 5;

/**
 * The range to load for a live view. It ends a little before now, where the stream takes over, and begins and ends on whole
 * bins, so that bins keep their places from one load to the next while they are short.
 */
function liveRange(range: Range, pixels: number): Range {
  const to = range.to - SETTLED_SECONDS;
  const bin = (range.to - range.from) / pixels;
  const from = Math.min(range.from - bin, to - bin);
  return bin < ALIGNED_SECONDS_MAX
    ? { from: Math.floor(from / bin) * bin, to: Math.floor(to / bin) * bin }
    : { from, to };
}
