// The plot: uPlot draws axes and grid and follows the mouse; the traces are drawn by draw.ts, each from its own times.

import uPlot from "uplot";
import { logLabels, timeLabels, timeTicks, valueLabels } from "./axis.ts";
import { cutMiddle } from "./cut.ts";
import { clipped, drawTrace, frameOf, hatch, type Frame } from "./draw.ts";
import { holesOf } from "./line.ts";
import type { ValueScale } from "./scales.ts";
import { zoomed, type Range } from "./state.ts";
import type { Palette } from "./style.ts";
import type { Zone } from "./time.ts";
import { knownUntil, type Trace } from "./trace.ts";

/** All that is drawn. */
export interface Scene {
  range: Range;
  /** Up to when anything is known: the server's now, or its last answer if it is silent. Values hold until then. */
  known: number;
  silent: boolean;
  traces: Trace[];
  scales: ValueScale[];
  zone: Zone;
  palette: Palette;
  pinned: number | null;
  /** The trace that is pointed at in the legend. */
  pointed: Trace | null;
}

/** What the mouse asks for. */
export interface PlotActions {
  /** By dragging over a stretch. */
  zoom(range: Range): void;
  /** By turning the wheel. */
  wheel(range: Range): void;
  pan(range: Range): void;
  cursor(): void;
  /** Axes and traces are drawn, so the plotting area has its place. */
  drawn(): void;
  pin(at: number): void;
}

export class Plot {
  private u: uPlot | null = null;
  private scene: Scene | null = null;
  private shape = "";
  private cursorLeft = -10;

  constructor(
    private root: HTMLElement,
    private actions: PlotActions,
  ) {
    new ResizeObserver(() => this.resize()).observe(root);
  }

  /** The width of the plotting area in canvas pixels: how many bins are worth asking for. */
  get pixels(): number {
    // Before anything is drawn it is guessed: as wide as with one axis.
    const guessed = (this.root.clientWidth - SIDES) * devicePixelRatio;
    return Math.max(50, Math.min(Math.round(this.u?.bbox.width ?? guessed), 8000));
  }

  /** The left edge and width of the plotting area in CSS pixels of the page's plot. */
  get area(): { left: number; width: number } {
    const ratio = devicePixelRatio;
    return { left: (this.u?.bbox.left ?? 0) / ratio, width: (this.u?.bbox.width ?? 0) / ratio };
  }

  /** The moment under the cursor; it changes under a resting mouse while the view moves. */
  get hover(): number | null {
    const left = this.u?.cursor.left ?? -10;
    const { width } = this.area;
    if (!this.scene || left < 0 || width === 0) return null;
    const { from, to } = this.scene.range;
    return from + (left / width) * (to - from);
  }

  /** The axes that have no room beside the plotting area, by what would be written at them. */
  without(scales: ValueScale[]): string[] {
    return scales.slice(axesMax(this.root.clientWidth)).map((scale) => scale.label);
  }

  show(scene: Scene): void {
    const shape = shapeOf(scene, axesMax(this.root.clientWidth));
    this.scene = scene;
    if (this.u === null || shape !== this.shape) {
      this.shape = shape;
      this.rebuild(scene);
    } else {
      this.u.setData(frameData(scene.range), true);
    }
  }

  /** Moves the cursor to a moment from outside (keyboard, strips); none removes it. */
  point(at: number | null): void {
    const u = this.u;
    if (!u || !this.scene) return;
    const isInside = at !== null && at >= this.scene.range.from && at <= this.scene.range.to;
    u.setCursor({ left: isInside ? u.valToPos(at, "x") : -10, top: isInside ? 0 : -10 }, false);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!this.u || !this.scene || width === 0 || height === 0) return;
    if (shapeOf(this.scene, axesMax(width)) === this.shape) this.u.setSize({ width, height });
    else this.show(this.scene);
  }

  private rebuild(scene: Scene): void {
    this.u?.destroy();
    const options: uPlot.Options = {
      width: Math.max(this.root.clientWidth, 100),
      height: Math.max(this.root.clientHeight, 100),
      padding: [TITLE, scene.scales.length > 1 ? 0 : RIGHT, 0, scene.scales.length > 0 ? 0 : 102],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 4 },
        bind: {
          // With shift or the middle button the mouse pans, see pan().
          mousedown: (_u, _target, follow) => (event) => {
            if (event.button === 0 && !event.shiftKey) follow(event);
            return null;
          },
          dblclick: () => () => null,
        },
      },
      series: [{}, { scale: scene.scales[0]?.key ?? "x" }],
      scales: this.uplotScales(scene),
      axes: this.uplotAxes(scene),
      hooks: {
        drawClear: [() => this.drawGaps()],
        draw: [() => this.drawTraces(), (u) => this.drawTitles(u), () => this.actions.drawn()],
        setSelect: [(u) => this.select(u)],
        setCursor: [(u) => this.cursorMoved(u)],
      },
    };
    this.u = new uPlot(options, frameData(scene.range), this.root);
    this.listen(this.u);
  }

  private uplotScales(scene: Scene): uPlot.Scales {
    const scales: uPlot.Scales = {
      x: { time: false, range: () => [this.scene!.range.from, this.scene!.range.to] },
    };
    for (const { key, log } of scene.scales) {
      scales[key] = {
        distr: log ? 3 : 1,
        range: () => this.scene!.scales.find((scale) => scale.key === key)?.range ?? [0, 1],
      };
    }
    return scales;
  }

  private uplotAxes(scene: Scene): uPlot.Axis[] {
    const { palette } = scene;
    const look = {
      stroke: palette.text,
      font: AXIS_FONT,
      grid: { stroke: palette.grid, width: 1 },
      ticks: { stroke: palette.grid, width: 1, size: 5 },
    };
    const time: uPlot.Axis = {
      ...look,
      scale: "x",
      size: 46,
      splits: (u) =>
        timeTicks(this.scene!.range, Math.max(2, u.bbox.width / devicePixelRatio / 96), scene.zone),
      values: (_u, ticks) => timeLabels(ticks, scene.zone),
    };
    const shown = scene.scales.slice(0, axesMax(this.root.clientWidth));
    const values = shown.map((scale, i): uPlot.Axis => {
      return {
        ...look,
        scale: scale.key,
        side: i % 2 === 0 ? 3 : 1,
        stroke: axisColour(scale, palette),
        // The lanes write their names to the left of the plot.
        size: (u, labels, axis, cycle) => {
          const least = shown.length < 3 && i === 0 ? LEFT : titleWidth(scale);
          return Math.max(axisWidth(u, labels, axis, cycle), least);
        },
        grid: { ...look.grid, show: i === 0 },
        values: (_u: uPlot, ticks: number[]) => (scale.log ? logLabels(ticks) : valueLabels(ticks)),
        ...(scale.states ? stateTicks(scale.states) : {}),
      };
    });
    return [time, ...values];
  }

  private frame(): Frame | null {
    if (!this.u || !this.scene) return null;
    return frameOf(this.u.ctx, this.u.bbox, this.scene.range, devicePixelRatio);
  }

  private drawGaps(): void {
    const frame = this.frame();
    if (!frame) return;
    const scene = this.scene!;
    // Texts, arrays and what never had a value are not drawn here, so neither are their gaps; the lanes show all.
    const shown = scene.scales.flatMap((scale) => scale.traces);
    clipped(frame, () => {
      drawSilence(frame, scene);
      const stops = shown[0]?.gaps.filter((gap) => gap.scope === "archiver") ?? [];
      for (const gap of stops)
        hatch(frame, gap.from, Math.min(gap.to, scene.known), scene.palette.faint, 0, 1);
      shown.forEach((trace, nth) => {
        const colour = scene.palette.trace(trace.colour).stroke;
        const holes = holesOf(trace.gaps.filter((gap) => gap.scope !== "archiver"));
        holes.from.forEach((from, i) => {
          hatch(frame, from, Math.min(holes.to[i]!, scene.known), colour, nth, shown.length);
        });
      });
    });
  }

  private drawTraces(): void {
    const frame = this.frame();
    const u = this.u;
    if (!frame || !u) return;
    const scene = this.scene!;
    clipped(frame, () => {
      for (const scale of scene.scales) {
        const yOf = mapper(frame, scale);
        for (const trace of scale.traces) {
          const until = Math.min(knownUntil(trace, scene.known), scene.range.to);
          drawTrace(frame, trace, { yOf, palette: scene.palette, until, strong: trace === scene.pointed });
        }
      }
      if (scene.pinned !== null) drawPin(frame, scene.pinned, scene.palette);
    });
  }

  /** Writes above each axis what it measures, in its own room. */
  private drawTitles(u: uPlot): void {
    const scene = this.scene!;
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    let [left, right] = [bbox.left, bbox.left + bbox.width];
    ctx.save();
    ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    u.axes.slice(1).forEach((axis, i) => {
      // A picture that was under way when the scales changed is drawn once more, with the new ones.
      const scale = scene.scales.find(({ key }) => key === axis.scale);
      if (!scale) return;
      const room = sizeOf(axis) * ratio;
      const text = cutMiddle(ctx, titleOf(scale), room - 10 * ratio);
      ctx.fillStyle = axisColour(scale, scene.palette);
      ctx.textAlign = i % 2 === 0 ? "right" : "left";
      ctx.fillText(text, i % 2 === 0 ? left - 6 * ratio : right + 6 * ratio, 9 * ratio);
      if (i % 2 === 0) left -= room;
      else right += room;
    });
    ctx.restore();
  }

  private select(u: uPlot): void {
    const { left, width } = u.select;
    if (width < 4) return;
    const range = { from: u.posToVal(left, "x"), to: u.posToVal(left + width, "x") };
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.actions.zoom(range);
  }

  private cursorMoved(u: uPlot): void {
    // uPlot calls this after every drawing too; answering that with another drawing would never end.
    const left = u.cursor.left ?? -10;
    if (left === this.cursorLeft) return;
    this.cursorLeft = left;
    this.actions.cursor();
  }

  private listen(u: uPlot): void {
    u.over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    u.over.addEventListener("pointerdown", (event) => {
      if (event.button === 1 || (event.button === 0 && event.shiftKey)) this.pan(u, event);
      else if (event.button === 0) this.click(u, event);
    });
  }

  private wheel(event: WheelEvent): void {
    const scene = this.scene;
    if (!scene) return;
    event.preventDefault();
    const seconds = scene.range.to - scene.range.from;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = (Math.sign(sideways) * seconds) / 10;
      this.actions.pan({ from: scene.range.from + by, to: scene.range.to + by });
      return;
    }
    const about = this.hover ?? (scene.range.from + scene.range.to) / 2;
    this.actions.wheel(zoomed(scene.range, about, event.deltaY > 0 ? 1.25 : 0.8));
  }

  private pan(u: uPlot, down: PointerEvent): void {
    down.preventDefault();
    const { from, to } = this.scene!.range;
    const perPixel = (to - from) / (u.bbox.width / devicePixelRatio);
    const move = (event: PointerEvent) => {
      const by = (down.clientX - event.clientX) * perPixel;
      this.actions.pan({ from: from + by, to: to + by });
    };
    const up = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
  }

  private click(u: uPlot, down: PointerEvent): void {
    const up = (event: PointerEvent) => {
      if (Math.abs(event.clientX - down.clientX) > 3) return;
      const left = event.clientX - u.over.getBoundingClientRect().left;
      this.actions.pin(u.posToVal(left, "x"));
    };
    window.addEventListener("pointerup", up, { once: true });
  }
}

const AXIS_FONT = "11px system-ui, sans-serif";

/** What is left free beside the plotting area with one axis: names of lanes at its left, half a time at its right. */
const [LEFT, RIGHT] = [84, 40];
const SIDES = LEFT + RIGHT;

/** The height of the line above the plotting area in which the axes have their titles. */
const TITLE = 26;

/** No more than this part of the width goes to value axes, each about so wide in CSS pixels. */
const AXES_PART = 0.4;
const AXIS_WIDTH = 72;

/** Room for the title above an axis; that of a long one is cut. */
function titleWidth(scale: ValueScale): number {
  return Math.min(Math.max(48, 16 + titleOf(scale).length * 7), 92);
}

function titleOf(scale: ValueScale): string {
  return scale.log ? `${scale.label} (log)` : scale.label;
}

/** How many value axes have room beside a plotting area that is still worth looking at. */
function axesMax(width: number): number {
  return Math.max(1, Math.floor((width * AXES_PART) / AXIS_WIDTH));
}

/** An axis of one trace alone has its colour. */
function axisColour(scale: ValueScale, palette: Palette): string {
  return scale.traces.length === 1 ? palette.trace(scale.traces[0]!.colour).stroke : palette.text;
}

/** How wide uPlot has made an axis. */
function sizeOf(axis: uPlot.Axis): number {
  return (axis as unknown as { _size: number })._size;
}

/** Times alone: uPlot gets no values, it only has to lay out the axes. */
function frameData(range: Range): uPlot.AlignedData {
  return [
    [range.from, range.to],
    [null, null],
  ];
}

/** What needs new axes when it changes. */
function shapeOf(scene: Scene, axes: number): string {
  const scales = scene.scales.map((scale) => [
    scale.key,
    scale.log,
    scale.states,
    scale.traces.map((trace) => trace.colour),
  ]);
  return JSON.stringify([scales, Math.min(axes, scales.length), scene.zone, scene.palette.dark]);
}

/** Each state has its name, or every second, or third, where the lines would lie over each other. */
function stateTicks(states: string[]): Partial<uPlot.Axis> {
  const values = (u: uPlot) => {
    const height = u.bbox.height / devicePixelRatio || Infinity;
    const step = Math.ceil((states.length * STATE_LINE) / height);
    return states.map((state, i) => (i % step === 0 ? shorten(state) : ""));
  };
  return { splits: () => states.map((_, i) => i), values };
}

const STATE_LINE = 14;

function shorten(label: string): string {
  return label.length > 12 ? `${label.slice(0, 11)}…` : label;
}

/** As wide as the widest label. */
function axisWidth(u: uPlot, labels: string[] | null, axis: number, cycle: number): number {
  const { ticks, gap, font } = u.axes[axis] as unknown as {
    ticks: uPlot.Axis.Ticks;
    gap: number;
    font: string[];
  };
  if (cycle > 1) return sizeOf(u.axes[axis]!);
  const longest = (labels ?? []).reduce((a, b) => (b.length > a.length ? b : a), "");
  u.ctx.font = font[0]!;
  return Math.ceil((ticks.size ?? 5) + gap + u.ctx.measureText(longest).width / devicePixelRatio) + 4;
}

function mapper(frame: Frame, scale: ValueScale): (y: number) => number {
  const toScale = scale.log ? (y: number) => Math.log10(Math.max(y, 1e-300)) : (y: number) => y;
  const [low, high] = scale.range.map(toScale) as [number, number];
  const perUnit = frame.height / (high - low);
  const bottom = frame.top + frame.height;
  return (y) => Math.min(Math.max(bottom - (toScale(y) - low) * perUnit, frame.top - 4000), bottom + 4000);
}

/** Plain where nobody knows yet: behind the last answer of an archiver that is silent. */
function drawSilence(frame: Frame, { known, silent, palette }: Scene): void {
  if (!silent) return;
  const from = frame.xOf(known);
  frame.context.fillStyle = palette.track;
  frame.context.fillRect(from, frame.top, frame.left + frame.width - from, frame.height);
}

function drawPin(frame: Frame, at: number, palette: Palette): void {
  const { context, ratio } = frame;
  const x = Math.round(frame.xOf(at));
  context.strokeStyle = palette.text;
  context.lineWidth = ratio;
  context.beginPath();
  context.moveTo(x, frame.top);
  context.lineTo(x, frame.top + frame.height);
  context.stroke();
  context.fillStyle = palette.text;
  context.beginPath();
  context.moveTo(x - 5 * ratio, frame.top);
  context.lineTo(x + 5 * ratio, frame.top);
  context.lineTo(x, frame.top + 7 * ratio);
  context.fill();
}
