// The overview strip: the first PV over a wider span, its gaps hatched, and the range shown as a window that can be moved.

import { ApiError, getBins, getGaps, isAbort } from "./api.ts";
import { clipped, frameOf, hatch } from "./draw.ts";
import { decodeBins, decodeGaps, type Bins } from "./decode.ts";
import { h, set, setText } from "./dom.ts";
import { holesOf, type Holes } from "./line.ts";
import type { Scene } from "./plot.ts";
import { panned, type Range } from "./state.ts";
import { formatDuration, formatTime } from "./time.ts";
import type { Trace } from "./trace.ts";
import { plotWords as words } from "./words/plot.ts";

export interface StripActions {
  move(range: Range): void;
  /** No answer came. */
  doubt(): void;
  /** What a search has found is to be marked no more. */
  unmark(): void;
}

const HOUR = 3600;
/** The spans that a strip may have: the first that is seven times as long as what is shown. */
const SPANS = [HOUR, 24 * HOUR, 7 * 24 * HOUR, 90 * 24 * HOUR, 366 * 24 * HOUR, 10 * 366 * 24 * HOUR];
const TIMES = 7;
const HEIGHT = 40;
const LABELS = 20;
/** So high are marks of what a search has found. */
const FOUND = 8;
const BINS = 400;
/** It is asked for once the view has rested so long: it is the least urgent of all. */
const REST_MILLIS = 700;
/** While the view is panned its texts follow so often. */
const TOLD_MILLIS = 250;
/** Keys move the window by this part of it. */
const KEY_PART = 0.5;

/** The first PV that is a number. */
function firstOf(traces: Trace[]): Trace | undefined {
  return traces.find(({ source, hidden, kind }) => source.kind === "pv" && !hidden && kind === "number");
}

export class OverviewStrip {
  private canvas = h("canvas");
  private thumb = h("div", { class: "thumb", tabindex: "0", role: "slider", "aria-label": words.rangeShown });
  private from = h("span");
  private middle = h("span");
  private to = h("span");
  private unmark = h(
    "button",
    { type: "button", class: "link", hidden: true, click: () => this.actions.unmark() },
    words.unmark,
  );
  private loaded: { key: string; span: Range; bins: Bins; holes: Holes; trace: Trace } | null = null;
  private drawn: { loaded: OverviewStrip["loaded"]; found: Range[]; key: string } | null = null;
  private wanted = "";
  /** When its texts were written last. */
  private toldAt = -Infinity;
  private timer = 0;
  private asking: AbortController | null = null;
  private scene: Scene | null = null;
  private area = { left: 0, width: 0 };
  private span: Range | null = null;

  constructor(
    private root: HTMLElement,
    private actions: StripActions,
  ) {
    set(this.thumb, "aria-valuemin", "0");
    set(this.thumb, "aria-valuemax", "100");
    this.thumb.style.height = `${HEIGHT}px`;
    root.append(
      this.canvas,
      this.thumb,
      h("p", {}, this.from, h("span", {}, this.middle, " ", this.unmark), this.to),
    );
    this.canvas.addEventListener("pointerdown", (event) => this.drag(event, true));
    this.thumb.addEventListener("pointerdown", (event) => this.drag(event, false));
    this.thumb.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -KEY_PART, ArrowRight: KEY_PART }[event.key];
      if (by === undefined || !this.scene) return;
      event.preventDefault();
      event.stopPropagation();
      this.actions.move(panned(this.scene.range, by));
    });
  }

  /** What it shows; none before it was shown. */
  get wide(): Range | null {
    return this.span;
  }

  show(scene: Scene, area: { left: number; width: number }): void {
    this.scene = scene;
    this.area = area;
    const trace = firstOf(scene.traces);
    this.root.hidden = !trace;
    if (!trace || area.width < 50) return;
    const length = scene.range.to - scene.range.from;
    const span = this.spanOf(scene, SPANS.find((seconds) => seconds >= length * TIMES) ?? length * 1.2);
    this.span = span;
    const key = `${trace.name} ${span.from} ${span.to}`;
    if (key !== this.wanted) {
      this.wanted = key;
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.load(trace, span, key), REST_MILLIS);
    }
    this.draw();
  }

  /** The same span stays while the range moves within its middle half; it does not reach beyond now. */
  private spanOf({ range, known }: Scene, seconds: number): Range {
    const middle = (range.from + range.to) / 2;
    const had = this.span;
    if (had && Math.abs(had.to - had.from - seconds) < 1) {
      const part = (middle - had.from) / seconds;
      const isLast = known - had.to < seconds / 20;
      if (range.from >= had.from && range.to <= had.to && part > 0.1 && (part < 0.9 || isLast)) return had;
    }
    const to = Math.min(middle + seconds / 2, Math.max(known, range.to));
    // On whole steps, so that a live view does not ask at each of its moves.
    const step = seconds / 50;
    const end = Math.ceil(to / step) * step;
    return { from: end - seconds, to: end };
  }

  private async load(trace: Trace, span: Range, key: string): Promise<void> {
    this.asking?.abort();
    const controller = new AbortController();
    this.asking = controller;
    try {
      const [bins, gaps] = await Promise.all([
        getBins(trace.name, span, BINS, controller.signal),
        getGaps(trace.name, span, controller.signal),
      ]);
      this.loaded = { key, span, bins: decodeBins(bins), holes: holesOf(decodeGaps(gaps.gaps)), trace };
      this.draw();
    } catch (error) {
      if (isAbort(error)) return;
      // Asked for again with the next change of the view.
      this.wanted = "";
      if (error instanceof ApiError && error.code === "unreachable") this.actions.doubt();
    }
  }

  private draw(): void {
    const { scene, span, area } = this;
    if (!scene || !span) return;
    this.drawSpan(scene, span);
    const part = (at: number) => Math.min(Math.max((at - span.from) / (span.to - span.from), 0), 1);
    const [a, b] = [part(scene.range.from), part(scene.range.to)];
    const least = 6 / area.width;
    // By whole pixels: of a drag over the plot most moves leave it where it is.
    const place = {
      left: `${Math.round(area.left + a * area.width)}px`,
      width: `${Math.round(Math.max(b - a, least) * area.width)}px`,
    };
    const { style } = this.thumb;
    if (style.left !== place.left || style.width !== place.width) Object.assign(style, place);
    const text = (at: number) => formatTime(at, scene.zone, 0).slice(0, 16);
    setText(this.from, text(span.from));
    const told = [words.dragToMove(formatDuration(Math.round(span.to - span.from))), scene.foundTold];
    setText(this.middle, told.filter((text) => text !== "").join("; "));
    this.unmark.hidden = scene.foundTold === "";
    setText(this.to, text(span.to));
    // Nobody listens to each of the moves.
    if (scene.moving && performance.now() - this.toldAt < TOLD_MILLIS) return;
    this.toldAt = performance.now();
    set(this.thumb, "aria-valuenow", String(Math.round(((a + b) / 2) * 100)));
    set(this.thumb, "aria-valuetext", words.fromTo(text(scene.range.from), text(scene.range.to)));
  }

  /** What lies behind the window, drawn again only where it has changed. */
  private drawSpan(scene: Scene, span: Range): void {
    const { area, loaded } = this;
    const ratio = devicePixelRatio;
    const width = Math.round(area.width * ratio);
    const isShown = loaded !== null && loaded.trace === firstOf(scene.traces);
    const { track, hatch, trace } = scene.palette;
    const key = [area.left, width, ratio, span.from, span.to, track, hatch];
    if (isShown) key.push(loaded.key, loaded.trace.name, trace(loaded.trace.colour).stroke);
    const isOpen = isShown && loaded.holes.to.some((to) => to > scene.known);
    if (isOpen) key.push(Math.round(((scene.known - span.from) / (span.to - span.from)) * width));
    const { found } = scene;
    const isSame = loaded === this.drawn?.loaded && found === this.drawn.found;
    if (isSame && key.join(" ") === this.drawn!.key) return;
    this.drawn = { loaded, found, key: key.join(" ") };
    if (this.canvas.width !== width) {
      this.canvas.width = width;
      this.canvas.height = HEIGHT * ratio;
    }
    Object.assign(this.canvas.style, {
      left: `${area.left}px`,
      width: `${area.width}px`,
      height: `${HEIGHT}px`,
    });
    const context = this.canvas.getContext("2d")!;
    context.fillStyle = scene.palette.track;
    context.globalAlpha = 0.4;
    context.clearRect(0, 0, width, HEIGHT * ratio);
    context.fillRect(0, 0, width, HEIGHT * ratio);
    context.globalAlpha = 1;
    if (isShown) this.drawBins(context, width, ratio);
    this.drawFound(context, width, ratio);
    this.root.style.setProperty("--left", `${area.left}px`);
    this.root.style.setProperty("--width", `${area.width}px`);
  }

  /** What a search has found stands at the foot; what is short is seen all the same. */
  private drawFound(context: CanvasRenderingContext2D, width: number, ratio: number): void {
    const { from, to } = this.span!;
    const x = (at: number) => ((at - from) / (to - from)) * width;
    const { found, palette } = this.scene!;
    context.fillStyle = palette.accent;
    for (const one of found) {
      const wide = Math.max(x(one.to) - x(one.from), 2 * ratio);
      context.fillRect(x(one.from), (HEIGHT - FOUND) * ratio, wide, FOUND * ratio);
    }
  }

  private drawBins(context: CanvasRenderingContext2D, width: number, ratio: number): void {
    const { bins, holes, trace } = this.loaded!;
    const { palette, known } = this.scene!;
    const frame = frameOf(context, { left: 0, top: 0, width, height: HEIGHT * ratio }, this.span!, ratio);
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < bins.count.length; i++) {
      if (!(bins.count[i]! > 0)) continue;
      low = Math.min(low, bins.min[i]!);
      high = Math.max(high, bins.max[i]!);
    }
    clipped(frame, () => {
      holes.from.forEach((from, i) => hatch(frame, from, Math.min(holes.to[i]!, known), palette.hatch));
      if (!(low <= high)) return;
      const air = 4 * ratio;
      const perUnit = (frame.height - 2 * air) / (high - low || 1);
      const y = (value: number) => frame.height - air - (value - low) * perUnit;
      context.fillStyle = palette.trace(trace.colour).stroke;
      context.globalAlpha = 0.7;
      for (let i = 0; i < bins.count.length; i++) {
        if (!(bins.count[i]! > 0)) continue;
        const x = frame.xOf(bins.start[i]!);
        const [top, bottom] = [y(bins.max[i]!), y(bins.min[i]!)];
        context.fillRect(x, top, Math.max(frame.xOf(bins.end[i]!) - x, ratio), Math.max(bottom - top, ratio));
      }
      context.globalAlpha = 1;
    });
  }

  /** Dragging moves the range; a press beside the window brings it there. */
  private drag(down: PointerEvent, isBeside: boolean): void {
    const { scene, span, area } = this;
    if (!scene || !span || down.button !== 0) return;
    down.preventDefault();
    const perPixel = (span.to - span.from) / area.width;
    let start = scene.range;
    if (isBeside) {
      const at = span.from + (down.clientX - this.canvas.getBoundingClientRect().left) * perPixel;
      const half = (start.to - start.from) / 2;
      start = { from: at - half, to: at + half };
      this.actions.move(start);
    }
    const move = (event: PointerEvent) => {
      const by = (event.clientX - down.clientX) * perPixel;
      this.actions.move({ from: start.from + by, to: start.to + by });
    };
    const up = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", up);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", up);
  }
}

/** As high as it is with its labels, in CSS pixels. */
export const STRIP_HEIGHT = HEIGHT + LABELS;
