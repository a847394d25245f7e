// The page of pvark. The URL is the view, the view decides the traces, the server fills them, and they are drawn:
//
//   URL ⇄ state.ts ─► page.ts ─► load.ts + live.ts ─► trace.ts ─► plot.ts, lanes.ts, legend.ts, waveform.ts, nothing.ts
//            ▲  typed.ts, understood.ts, names.ts, pressed.ts    │ api.ts, decode.ts, side.ts     │ scales.ts, line.ts, draw.ts, axis.ts, cut.ts
//            └── search.ts, controls.ts, add.ts, firsts.ts, details.ts, why.ts, overview.ts, keys.ts ◄─┘ mouse
//
// What of this is there for whom, and how they log in: login.ts, who.ts.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { AddDialog } from "./add.ts";
import { onDoubt } from "./api.ts";
import { Controls } from "./controls.ts";
import { Details } from "./details.ts";
import { byId } from "./dom.ts";
import { listenToKeys } from "./keys.ts";
import { Login } from "./login.ts";
import { Overview } from "./overview.ts";
import { Page } from "./page.ts";
import { watchPresses } from "./pressed.ts";
import { axisOf, isLog } from "./scales.ts";
import { Search } from "./search.ts";
import { clampRange, rangeOf, ViewStore, type Range } from "./state.ts";
import { StatusLine } from "./status.ts";
import { onSystemTheme } from "./style.ts";
import { noteState } from "./trace.ts";

watchPresses();

const status: StatusLine = new StatusLine(
  () => store.view.zone,
  () => page.draw(),
  () => page.reload(),
  () => page.loadAfresh(),
);
const now = (): number => status.now();

const login: Login = new Login(() => rightsChanged());
onDoubt(() => void login.doubt());

const store = new ViewStore(now);

/** A range chosen by hand. A zoom that keeps now in sight keeps following it, anything else stops there. */
function look(range: Range, follows: boolean): void {
  const isLive = store.view.span.kind === "live";
  const next = clampRange(range);
  if (isLive && follows) store.update({ span: { kind: "live", seconds: next.to - next.from } });
  else store.update({ span: { kind: "fixed", range: next } });
}

function toggleHidden(name: string): void {
  store.update({ pvs: store.view.pvs.map((pv) => (pv.name === name ? { ...pv, hidden: !pv.hidden } : pv)) });
}

function plot(names: string[]): void {
  const added = [...new Set(names)].filter((name) => !store.view.pvs.some((pv) => pv.name === name));
  store.update({ pvs: [...store.view.pvs, ...added.map((name) => ({ name, hidden: false }))] });
}

function remove(name: string): void {
  store.update({ pvs: store.view.pvs.filter((pv) => pv.name !== name) });
}

function toggleLog(name: string): void {
  const trace = page.trace(name);
  if (!trace) return;
  const { log } = store.view;
  const axes = [axisOf(trace), trace.name];
  store.update({ log: isLog(trace, log) ? log.filter((axis) => !axes.includes(axis)) : [...log, axes[0]!] });
}

function openDetails(name: string): void {
  const trace = page.trace(name);
  void details.open(name, {
    range: rangeOf(store.view, now()),
    zone: store.view.zone,
    now: now(),
    gaps: trace?.gaps ?? [],
    log: trace !== undefined && isLog(trace, store.view.log),
  });
}

const page = new Page(
  store,
  status,
  {
    zoom: (range) => look(range, false),
    wheel: (range) => look(range, true),
    pan: (range) => look(range, false),
    pin: (at) => store.update({ pinned: at }),
  },
  { toggle: toggleHidden, remove, details: openDetails, archive },
  { doubt: () => void status.poll(), barred: () => void login.doubt() },
);

/** Whoever may read nothing is not asked for anything; whoever may again has missed something. */
function rightsChanged(): void {
  page.setBarred(!login.mayRead);
  if (login.mayRead) void status.poll().then(() => page.reload());
  else status.rest();
}

function archive(name: string): void {
  if (login.may("operate")) add.open(name);
}

const controls = new Controls(store, now, () => page.everything());

const details = new Details(toggleLog, (detail) => {
  const trace = page.trace(detail.name);
  if (!trace) return;
  noteState(trace, detail);
  page.draw();
});

const add = new AddDialog(plot, () => void status.poll());

const overview = new Overview(
  () => store.view.zone,
  (name) => plot([name]),
);

const search = new Search(byId("search"), byId("found"), {
  toggle: (name) => (store.view.pvs.some((pv) => pv.name === name) ? remove(name) : plot([name])),
  isShown: (name) => store.view.pvs.some((pv) => pv.name === name),
  archive,
});
for (const id of ["archive", "archive-first"]) byId(id).addEventListener("click", () => archive(""));
byId("find").addEventListener("click", () => search.focus());

listenToKeys(store, { search, controls, page, look, now, why: openDetails, overview: () => overview.open() });

store.onChange((view, before) => {
  page.take(view, before);
  controls.show();
  search.refresh();
});
onSystemTheme(() => page.retheme());

async function start(): Promise<void> {
  // The server's clock first: a live view ends at its now.
  await Promise.all([login.ask(), status.poll()]);
  if (!login.mayRead) rightsChanged();
  store.reread();
  page.take(store.view, null);
  controls.show();
}
void start();
