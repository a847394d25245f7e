// What stands in the menus of the plot: of the plot itself, a line or a row, an axis, a gap, a note, the time axis.

import { gapText } from "./bands.ts";
import { expressionOf, nameText, type Clause } from "./condition.ts";
import { LENGTHS, zoneTitle } from "./controls.ts";
import { copyText } from "./copy.ts";
import { formatNumber, formatValue, type Gap } from "./decode.ts";
import { PLAIN, type Look } from "./look.ts";
import { copiedText, showMenu, type Asked, type Entry } from "./menu.ts";
import type { Note } from "./memos.ts";
import type { NoteMark } from "./notes.ts";
import { axisOf, isLog, titleOf, type ValueScale } from "./panes.ts";
import type { Drawn } from "./plot.ts";
import { readingAt, readingOver } from "./reading.ts";
import { formulaName, overName, pvsOf, titleOfName } from "./source.ts";
import { spotAt, type Spot } from "./spot.ts";
import { clampRange, toQuery, zoomed, type Range, type Step, type View } from "./state.ts";
import { formatTime, isoOfZone, zonePart, type Zone } from "./time.ts";
import { knownUntil, type Trace } from "./trace.ts";
import { menuWords as words } from "./words/menu.ts";
import { settingsWords } from "./words/settings.ts";

/** What menus ask of the page. */
export interface MenuActions {
  view(): View;
  update(change: Partial<View>, step?: Step): void;
  range(): Range;
  known(): number;
  traces(): Trace[];
  letters(): string[];
  zones(): Zone[];
  mayWrite(): boolean;
  mayChange(by: string): boolean;
  zoom(range: Range): void;
  back(): void;
  length(nth: number): void;
  leap(to: "gap" | "event", by: 1 | -1): void;
  plot(names: string[]): void;
  remove(name: string): void;
  toggle(name: string): void;
  log(name: string): void;
  look(name: string, look: Look): void;
  reach(scales: ValueScale[], part: { low: number; high: number } | null): void;
  settings(name: string, part?: "ends" | "over"): void;
  details(name: string, range?: Range): void;
  note(mark: NoteMark): void;
  unnote(note: Note): void;
  writeNote(at: number): void;
  formula(expression: string): void;
  share(): void;
}

/** More rows than this are not laid over at once. */
const OVER_MAX = 16;
/** A gap that is zoomed to has so much of its length beside it, and so many seconds at least. */
const BESIDE = 0.5;
const BESIDE_SECONDS = 5;
/** A link to a note shows so much around it. */
const AROUND_NOTE = 600;

export class Menus {
  constructor(private actions: MenuActions) {}

  /** Of what stands at a place of the plot. */
  ofPlace(drawn: Drawn, at: { x: number; y: number }, from: Element | null): void {
    const spot = spotAt(drawn.scene, drawn.place, drawn.x, drawn.y);
    const asked =
      spot.kind === "axis"
        ? this.axis(spot.scale!)
        : spot.kind === "times"
          ? this.times()
          : this.plot(
              spot,
              drawn.scene.layout.panes.flatMap(({ scales }) => scales),
            );
    showMenu(asked, at, from);
  }

  /** Of a moment, and of what is shown of it elsewhere than in the plot. */
  ofMoment(moment: number, trace: Trace, at: { x: number; y: number }, from: Element | null): void {
    const spot: Spot = { kind: "pane", at: moment, trace, scale: null, gap: null, note: null };
    showMenu(this.plot(spot, []), at, from);
  }

  ofRow(name: string, at: { x: number; y: number }, from: Element | null): void {
    showMenu({ title: titleOfName(name), entries: this.row(name) }, at, from);
  }

  ofNote(mark: NoteMark, at: { x: number; y: number }, from: Element | null): void {
    showMenu({ title: mark.text, entries: this.note(mark) }, at, from);
  }

  ofTimes(at: { x: number; y: number }, from: Element | null): void {
    showMenu(this.times(), at, from);
  }

  private plot({ at, trace, gap, note }: Spot, scales: ValueScale[]): Asked {
    const { actions } = this;
    const view = actions.view();
    const { pinned, second } = view;
    const between = pinned !== null && second !== null && pinned !== second;
    const range = actions.range();
    const entries: Entry[] = [];
    if (trace) entries.push({ text: titleOfName(trace.name), more: this.row(trace.name) });
    if (gap) entries.push(this.gapEntry(gap.trace, gap.gap));
    if (note) entries.push({ text: words.noteOf(note.text), more: this.note(note) });
    if (entries.length > 0) entries.push("line");
    const pin = (change: Partial<View>) => () => actions.update(change, "replace");
    entries.push(
      { text: words.cursorA, act: pin({ pinned: at }) },
      { text: words.cursorB, hint: "b", act: pin({ second: at }) },
    );
    if (between)
      entries.push({
        ...{ text: words.zoomBetween, hint: "z" },
        act: () => {
          actions.update({ pinned: null, second: null }, "replace");
          actions.zoom({ from: Math.min(pinned, second), to: Math.max(pinned, second) });
        },
      });
    entries.push(
      { text: words.zoomOut, hint: "-", act: () => actions.zoom(zoomed(range, at, 2)) },
      { text: words.back, hint: "Ctrl Z", act: () => actions.back() },
      "line",
    );
    if (actions.mayWrite())
      entries.push({ text: words.noteHere, hint: "n", act: () => actions.writeNote(at) });
    entries.push({ text: words.copyTime, act: () => this.copy(isoOfZone(at, view.zone)) });
    entries.push(...this.elsewhere(at, trace));
    const pvs = pvsOf(view.pvs.filter(({ hidden }) => !hidden).map(({ name }) => name));
    if (pvs.length > 0) entries.push({ text: words.over, more: this.over(pvs.slice(0, OVER_MAX)) });
    entries.push("line");
    if (scales.length > 0)
      entries.push({
        text: words.axes,
        more: scales.map((scale) => ({ text: titleOf(scale), more: this.axis(scale).entries })),
      });
    const numbers = actions.traces().filter(({ kind, hidden }) => kind === "number" && !hidden);
    if (numbers.length > 1) entries.push(this.normaliseAll(numbers));
    entries.push({ text: words.times, more: this.times().entries });
    entries.push({ text: words.share, hint: "x", act: () => actions.share() });
    return { title: formatTime(at, view.zone, range.to - range.from < 4 * 3600 ? 3 : 0), entries };
  }

  /** What other parts of the page tell of the PVs at that moment. */
  private elsewhere(at: number, trace: Trace | null): Entry[] {
    const { zone } = this.actions.view();
    const traces = this.actions.traces().filter(({ source, hidden }) => source.kind === "pv" && !hidden);
    if (traces.length === 0) return [];
    const pvs = traces.map(({ name }) => `&pv=${encodeURIComponent(name)}`).join("");
    const zoned = zonePart(zone)
      .map((part) => `&${part}`)
      .join("");
    const links: Entry[] = [
      { text: words.snapshot, href: `./?part=snapshot${pvs}&a=${new Date(at * 1000).toISOString()}${zoned}` },
    ];
    const first = trace?.source.kind === "pv" ? [trace] : [];
    const condition = likeAt(
      [...first, ...traces.filter((other) => other !== trace)],
      at,
      this.actions.range(),
    );
    if (condition !== "")
      links.push({ text: words.when, href: `./?part=when&like=${encodeURIComponent(condition)}${zoned}` });
    return links;
  }

  private row(name: string): Entry[] {
    const { actions } = this;
    const shown = actions.view().pvs.find((pv) => pv.name === name);
    const trace = actions.traces().find((trace) => trace.name === name);
    if (!shown || !trace) return [];
    const look = shown.look ?? PLAIN;
    const set = (change: Partial<Look>) => () => actions.look(name, { ...look, ...change });
    const choice = (text: string, isOn: boolean, act: () => void): Entry => ({
      text,
      isOn,
      isChoice: true,
      act,
    });
    const isPv = trace.source.kind === "pv";
    const isNumber = trace.kind === "number";
    const entries: Entry[] = [
      { text: words.settings, act: () => actions.settings(name) },
      { text: words.hidden, isOn: shown.hidden, act: () => actions.toggle(name) },
    ];
    if (isNumber) {
      const { axes, lines } = settingsWords;
      entries.push(
        {
          text: settingsWords.line,
          more: (["", "steps", "line", "points"] as const).map((line) =>
            choice(lines[line], (look.line ?? "") === line, set({ line: line === "" ? null : line })),
          ),
        },
        {
          text: settingsWords.axis,
          more: (["", "left", "right", "own"] as const).map((axis) =>
            choice(axes[axis], (look.axis ?? "") === axis, set({ axis: axis === "" ? null : axis })),
          ),
        },
        {
          text: settingsWords.pane,
          more: ["", ...actions.letters().filter((letter) => letter.length === 1)].map((pane) =>
            choice(pane || axes[""], (look.pane ?? "") === pane, set({ pane: pane === "" ? null : pane })),
          ),
        },
        { text: settingsWords.log, isOn: isLog(trace, actions.view().log), act: () => this.log(trace, look) },
        { text: words.fixed, act: () => actions.settings(name, "ends") },
        { text: settingsWords.norm, isOn: look.norm, act: set({ norm: !look.norm }) },
      );
      if (isPv)
        entries.push({ text: settingsWords.limits, isOn: look.limits, act: set({ limits: !look.limits }) });
    }
    if (isPv && isNumber) {
      const of = nameText(name);
      const formula = (text: string, expression: string): Entry => ({
        text,
        act: () => actions.plot([formulaName(expression)]),
      });
      entries.push(
        "line",
        formula(words.derivative, `derivative(${of})`),
        formula(words.integral, `integral(${of})`),
        { text: words.formula, act: () => actions.formula(`= ${of}`) },
      );
    }
    if (isPv) entries.push({ text: words.over, more: this.over([name]) });
    entries.push("line");
    if (trace.source.kind !== "formula")
      entries.push({ text: words.why, hint: "y", act: () => actions.details(name) });
    else entries.push({ text: words.change, act: () => actions.details(name) });
    entries.push(
      { text: words.copyName, act: () => this.copy(name) },
      { text: words.remove, hint: "Delete", act: () => actions.remove(name) },
    );
    return entries;
  }

  /** Set for the PV alone it is set there; else for its axis. */
  private log(trace: Trace, look: Look): void {
    if (look.log) this.actions.look(trace.name, { ...look, log: false });
    else this.actions.log(trace.name);
  }

  private over(names: string[]): Entry[] {
    const lay = (by: string) => () => {
      const overs = names.map((name) => overName(name, by)).filter((name) => name !== null);
      this.actions.plot(overs);
    };
    const entries: Entry[] = settingsWords.overs.map(([by, text]) => ({ text, act: lay(by) }));
    const [first] = names;
    if (names.length === 1)
      entries.push({ text: words.otherTime, act: () => this.actions.settings(first!, "over") });
    return entries;
  }

  /** Everything over the height of one pane, or nothing any more. */
  private normaliseAll(numbers: Trace[]): Entry {
    const names = new Set(numbers.map(({ name }) => name));
    const isOn = numbers.every(({ look }) => look.norm);
    const turned = (pv: View["pvs"][0]) =>
      names.has(pv.name) ? { ...pv, look: { ...(pv.look ?? PLAIN), norm: !isOn } } : pv;
    return {
      ...{ text: words.normaliseAll, isOn },
      act: () => this.actions.update({ pvs: this.actions.view().pvs.map(turned) }),
    };
  }

  private axis(scale: ValueScale): Asked {
    const { actions } = this;
    const { traces } = scale;
    const each = (change: Partial<Look>) => () => {
      const names = new Set(traces.map(({ name }) => name));
      const pvs = actions
        .view()
        .pvs.map((pv) => (names.has(pv.name) ? { ...pv, look: { ...(pv.look ?? PLAIN), ...change } } : pv));
      actions.update({ pvs });
    };
    const isNormalised = scale.spans !== null;
    const normalise: Entry = {
      ...{ text: words.normalise, isOn: isNormalised },
      act: each({ norm: !isNormalised }),
    };
    if (isNormalised)
      return {
        title: words.axisOf(titleOf(scale)),
        entries: [
          normalise,
          ...traces.map(({ name }) => ({ text: titleOfName(name), more: this.row(name) })),
        ],
      };
    const [low, high] = scale.range.map((end) => Number(end.toPrecision(6))) as [number, number];
    const units = axisOf(traces[0]!);
    const alike = actions.traces().filter((trace) => axisOf(trace) === units && trace.kind === "number");
    const entries: Entry[] = [
      { text: words.log, isOn: scale.log, act: () => this.log(traces[0]!, traces[0]!.look) },
      { text: words.fixed, act: () => actions.settings(traces[0]!.name, "ends") },
      { text: words.fixAsIs(String(low), String(high)), act: each({ fix: [low, high] }) },
      { text: words.fit, act: each({ fix: null }) },
      normalise,
      {
        text: words.ownPane,
        isOn: traces.every(({ look }) => look.axis === "own"),
        act: each({ axis: traces.every(({ look }) => look.axis === "own") ? null : "own" }),
      },
    ];
    if (units !== "" && alike.length > traces.length)
      entries.push({
        text: words.sameForAll(units),
        act: () => {
          const names = new Set(alike.map(({ name }) => name));
          const fixed = (pv: View["pvs"][0]) => ({
            ...pv,
            look: { ...(pv.look ?? PLAIN), fix: [low, high] as [number, number] },
          });
          actions.update({ pvs: actions.view().pvs.map((pv) => (names.has(pv.name) ? fixed(pv) : pv)) });
        },
      });
    return { title: words.axisOf(titleOf(scale)), entries };
  }

  private gapEntry(trace: Trace, gap: Gap): Entry {
    const about = gapText(gap, { zone: this.actions.view().zone, now: this.actions.known() });
    return {
      ...{ text: words.gapOf(trace.name), about: `${about}. ${words.toDo(gap.cause)}` },
      more: this.gap(trace, gap),
    };
  }

  private gap(trace: Trace, gap: Gap): Entry[] {
    const { actions } = this;
    const known = Math.min(knownUntil(trace, actions.known()), gap.to);
    const to = Number.isFinite(gap.to) ? gap.to : Math.max(known, actions.known());
    const beside = Math.max(BESIDE_SECONDS, (to - gap.from) * BESIDE);
    const around = clampRange({ from: gap.from - beside, to: to + beside });
    const earlier = trace.history?.earlier ?? 0;
    const { zone } = actions.view();
    const entries: Entry[] = [
      {
        text: words.whyGap,
        hint: "y",
        act: () => actions.details(trace.name, { from: gap.from - beside, to: to + beside }),
      },
      { text: words.zoomTo, act: () => actions.zoom(around) },
      {
        text: words.copyGap,
        act: () => this.copy(`${trace.name}: ${gapText(gap, { zone, now: actions.known() })}`),
      },
    ];
    if (earlier === 0) entries.push({ text: words.openIoc, href: "manage?part=iocs" });
    return entries;
  }

  private note(mark: NoteMark): Entry[] {
    const { actions } = this;
    const { note } = mark;
    const entries: Entry[] = [{ text: words.readNote, act: () => actions.note(mark) }];
    if (actions.mayWrite() && actions.mayChange(note.by))
      entries.push({ text: words.deleteNote, act: () => actions.unnote(note) });
    const range = { from: mark.from - AROUND_NOTE, to: (mark.to ?? mark.from) + AROUND_NOTE };
    const query = toQuery({
      ...actions.view(),
      ...{ span: { kind: "fixed", range }, pinned: mark.from, second: mark.to },
    });
    entries.push({ text: words.copyLink, act: () => this.copy(new URL(`./?${query}`, location.href).href) });
    return entries;
  }

  private times(): Asked {
    const { actions } = this;
    const known = actions.range().to;
    const { zone } = actions.view();
    return {
      title: words.times,
      entries: [
        {
          text: words.length,
          more: [...LENGTHS.map(([text]) => text), words.all].map((text, i) => ({
            ...{ text, hint: String(i + 1) },
            act: () => actions.length(i + 1),
          })),
        },
        {
          text: words.zone,
          more: actions.zones().map((one) => ({
            ...{ text: zoneTitle(known, one), isOn: one === zone, isChoice: true },
            act: () => actions.update({ zone: one }, "replace"),
          })),
        },
        "line",
        { text: words.gapBefore, hint: "G", act: () => actions.leap("gap", -1) },
        { text: words.nextGap, hint: "g", act: () => actions.leap("gap", 1) },
        { text: words.eventBefore, hint: "E", act: () => actions.leap("event", -1) },
        { text: words.nextEvent, hint: "e", act: () => actions.leap("event", 1) },
      ],
    };
  }

  private async copy(text: string): Promise<string> {
    return copiedText(await copyText(text), text);
  }
}

/** A search has no more fields. */
const CLAUSES_MAX = 6;

/** The condition that what some PVs were at a moment is like: the same states, and numbers as far from their means. */
export function likeAt(traces: Trace[], at: number, range: Range): string {
  const clauses = traces.flatMap((trace): Clause[] => {
    const { value, mean } = readingAt(trace, at);
    if (value === undefined || value === null) return [];
    if (trace.kind === "text") return [{ pv: trace.name, relation: "is", value: String(value) }];
    if (trace.kind === "state")
      return [{ pv: trace.name, relation: "is", value: formatValue(value, "state", trace.metadata) }];
    const number = Number.isFinite(mean) ? mean : Number(value);
    if (trace.kind !== "number" || !Number.isFinite(number)) return [];
    const usual = readingOver(trace, range).mean;
    const text = formatNumber(number, trace.metadata?.precision ?? null);
    return [{ pv: trace.name, relation: number < usual ? "below" : "above", value: text }];
  });
  return expressionOf({ clauses: clauses.slice(0, CLAUSES_MAX), length: "" });
}
