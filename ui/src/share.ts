// Share and export: links, the view as a program or a plot of Phoebus, its samples as files, its picture.

import { copyText } from "./copy.ts";
import { byId, h } from "./dom.ts";
import { download } from "./file.ts";
import { bring } from "./later.ts";
import { eachAlone, titleOf, type Layout } from "./panes.ts";
import { readingOver } from "./reading.ts";
import { toQuery, type Range, type View } from "./state.ts";
import { formatTime, iso } from "./time.ts";
import type { Trace } from "./trace.ts";
import { viewSaver } from "./view_saver.ts";
import { commonWords } from "./words/common.ts";
import { shareWords as words } from "./words/share.ts";

export interface Shared {
  view: View;
  range: Range;
  traces: Trace[];
  layout: Layout;
  /** The colour of a PV, as `#rrggbb`. */
  colour(trace: Trace): string;
  /** Draws the plot as it is, with its background; none where there is no plot. */
  picture: ((ratio: number) => HTMLCanvasElement) | null;
  /** The same as SVG. */
  svg: (() => string) | null;
}

export class Share {
  private dialog = byId<HTMLDialogElement>("share");
  private said = h("p", { class: "said", role: "status" });

  constructor(
    private shared: () => Shared | null,
    private actions: { now(): number; mayRead(): boolean; who(): string | null },
  ) {}

  open(): void {
    const shared = this.shared();
    this.said.textContent = "";
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    const head = h("header", {}, h("h2", { id: "share-title" }, words.title), close);
    if (!shared || shared.traces.length === 0)
      this.dialog.replaceChildren(head, h("p", { class: "hint" }, words.nothing));
    else
      this.dialog.replaceChildren(
        head,
        ...this.links(shared),
        this.exports(shared),
        ...this.files(shared),
        ...this.programs(shared),
        this.said,
      );
    if (!this.dialog.open) this.dialog.showModal();
  }

  private links(shared: Shared): HTMLElement[] {
    const { view, range } = shared;
    const of = (change: Partial<View>) =>
      new URL(`?${toQuery({ ...view, theme: "system", ...change })}`, location.href).href;
    const fixed = of({ span: { kind: "fixed", range } });
    const live = of({ span: { kind: "live", seconds: range.to - range.from }, pinned: null, second: null });
    const field = h("input", { type: "text", readonly: true, "aria-label": words.link });
    field.value = fixed;
    // What a named view shows; the field may say its short link by then.
    let chosen = new URL(fixed).search.slice(1);
    const choice = (name: string, text: string, url: string) => {
      const take = () => {
        field.value = url;
        chosen = new URL(url).search.slice(1);
      };
      const input = h("input", { type: "radio", name: "link", change: take });
      input.checked = name === "fixed";
      return h("label", { class: "check" }, input, text);
    };
    const embedded = of({ span: { kind: "live", seconds: range.to - range.from }, frame: "embed" });
    const saver = viewSaver({
      query: () => chosen,
      pvs: namesOf(shared),
      saved: (link) => (field.value = link),
    });
    return [
      h("h3", {}, words.link),
      h(
        "p",
        { class: "actions" },
        choice("fixed", words.fixed, fixed),
        choice("live", words.live, live),
        choice("embed", words.embed, embedded),
      ),
      h(
        "p",
        { class: "copied" },
        field,
        h("button", { type: "button", click: () => void this.copy(field.value, field) }, words.copyLink),
      ),
      saver,
    ];
  }

  private programs(shared: Shared): HTMLElement[] {
    const text = h("textarea", {
      rows: "7",
      readonly: true,
      "aria-label": words.asCode,
      spellcheck: "false",
    });
    const made = { python: pythonOf(shared), curl: curlOf(shared), plt: plotOf(shared) };
    text.value = made.python;
    const buttons = (Object.keys(made) as (keyof typeof made)[]).map((kind) => {
      const click = () => {
        text.value = made[kind];
        void this.copy(made[kind], text);
      };
      return h("button", { type: "button", "data-copy": kind, click }, words.copy(words.kinds[kind]));
    });
    return [h("h3", {}, words.asCode), h("p", { class: "actions" }, ...buttons), text];
  }

  private files(shared: Shared): HTMLElement[] {
    const { range, traces, picture, svg } = shared;
    if (!picture || !svg) return [];
    const shown = traces.filter((trace) => !trace.hidden && !trace.unknown);
    const isLeast = shown.some((trace) => trace.history?.truncated);
    const count = shown.reduce((sum, trace) => sum + readingOver(trace, range).count, 0);
    const savePng = () =>
      picture(2).toBlob((blob) => blob && download("plot.png", "image/png", blob), "image/png");
    const saveSvg = () => download("plot.svg", "image/svg+xml", svg());
    return [
      h("h3", {}, words.download),
      h("p", {}, words.samples(count, isLeast)),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", "data-save": "png", click: savePng }, words.png),
        h("button", { type: "button", "data-save": "svg", click: saveSvg }, words.svg),
      ),
    ];
  }

  /** What makes files of the view; it comes when the dialog is opened. Somebody who may read nothing orders nothing. */
  private exports(shared: Shared): HTMLElement {
    const place = h("div");
    const names = namesOf(shared);
    if (names.length === 0 || !this.actions.mayRead()) return place;
    const isOpen = () => this.dialog.open && place.isConnected;
    void bring(place, () => import("./export_form.ts")).then(({ ExportForm }) => {
      const leftOut = shared.traces.length - names.length;
      const { range } = shared;
      const of = { names, range, leftOut, isOpen, now: this.actions.now, who: this.actions.who() };
      place.replaceChildren(new ExportForm(of).element);
    });
    return place;
  }

  private async copy(text: string, field: HTMLInputElement | HTMLTextAreaElement): Promise<void> {
    if (await copyText(text)) return void (this.said.textContent = words.copied);
    // By hand, then.
    field.focus();
    field.select();
    this.said.textContent = words.notCopied;
  }
}

function namesOf({ traces }: Shared): string[] {
  return traces
    .filter((trace) => trace.source.kind === "pv" && !trace.hidden && !trace.unknown)
    .map(({ name }) => name);
}

function query(shared: Shared): string {
  const pvs = namesOf(shared).map((name) => `pv=${encodeURIComponent(name)}`);
  return [...pvs, `from=${iso(shared.range.from)}`, `to=${iso(shared.range.to)}`].join("&");
}

export function samplesUrl(shared: Shared): string {
  return `api/v1/samples?${query(shared)}&format=csv`;
}

/** A program that gets the samples of the view. JSON's strings are Python's, too. */
export function pythonOf(shared: Shared): string {
  const names = namesOf(shared).map((name) => `    ${JSON.stringify(name)},`);
  return [
    "from pvark import Archive",
    "",
    `archive = Archive(${JSON.stringify(rootOf())})`,
    "names = [",
    ...names,
    "]",
    "for name in names:",
    `    print(archive.get(name, ${JSON.stringify(iso(shared.range.from))}, ${JSON.stringify(iso(shared.range.to))}))`,
    "",
  ].join("\n");
}

/** A line for a shell: the quotes keep it from reading what stands in a name. */
export function curlOf(shared: Shared): string {
  return `curl ${quoted(`${rootOf()}${samplesUrl(shared)}`)} > samples.csv\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function rootOf(): string {
  return new URL("./", location.href).href;
}

/** A plot of Phoebus' Data Browser, whose archive is this one by the Archiver Appliance's protocol. */
export function plotOf(shared: Shared): string {
  const { layout, range, view } = shared;
  // Its Data Browser has no normalised axes: each PV of one gets its own.
  const scales = layout.panes.flatMap((pane) => pane.scales.flatMap(eachAlone));
  const archive = rootOf().replace(/^https?:/, "pbraw:") + "retrieval";
  const time = (at: number) => formatTime(at, "local", 3);
  const colour = (trace: Trace) => {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(shared.colour(trace).slice(at, at + 2), 16));
    return `<color><red>${red}</red><green>${green}</green><blue>${blue}</blue></color>`;
  };
  const axes = scales.map(
    (scale, i) =>
      `    <axis><visible>true</visible><name>${escaped(titleOf(scale))}</name><right>${i % 2 === 1}</right>` +
      `<min>${scale.range[0]}</min><max>${scale.range[1]}</max><autoscale>${!scale.fixed}</autoscale><log_scale>${scale.log}</log_scale></axis>`,
  );
  const pvs = scales.flatMap((scale, i) =>
    scale.traces
      .filter(({ source }) => source.kind === "pv")
      .map(
        (trace) =>
          `    <pv><display_name>${escaped(trace.name)}</display_name><visible>true</visible><name>${escaped(trace.name)}</name><axis>${i}</axis>` +
          `${colour(trace)}<trace_type>AREA</trace_type><linewidth>2</linewidth><period>0.0</period><request>OPTIMIZED</request>` +
          `<archive><name>pvark</name><url>${escaped(archive)}</url></archive></pv>`,
      ),
  );
  const isLive = view.span.kind === "live";
  const start = isLive ? `-${Math.round(range.to - range.from)} seconds` : time(range.from);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<databrowser>",
    "  <title>pvark</title>",
    `  <scroll>${isLive}</scroll>`,
    `  <start>${start}</start>`,
    `  <end>${isLive ? "now" : time(range.to)}</end>`,
    "  <axes>",
    ...axes,
    "  </axes>",
    "  <pvlist>",
    ...pvs,
    "  </pvlist>",
    "</databrowser>",
    "",
  ].join("\n");
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (character) => names[character]!);
}
