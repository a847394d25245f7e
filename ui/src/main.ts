// The page of pvark. The URL is the view, the view decides the traces, the server fills them, and they are drawn:
//
//   URL ⇄ state ─► page ─► load, live ─► trace ─► plot, panel, strip
//
// Which file does what (all of them .ts); a change of the page begins with the line it belongs to:
//
//   the view          state (its form as the URL), look (of one PV), source (what a row's name means), names, unread
//   asked             api (a function for each URL), view (bins of all PVs), arrow, decode, load (when, and how much), side (a moved range), tiles (what was seen), live
//   times             typed (read), time (written), understood, moment_field, moments
//   drawn             trace, colours, found, line, rows, panes (which axis), axis, plot, layer (what a pan moves), draw, bands, cut, style, svg
//   arrays            waves; waveform, wave_chart, heat, array_bins (over time)
//   structures        nt_table, table_view, pair_chart; nt_image, image_view
//   nothing to draw   nothing, empty; why, why_bars; plotless (all of it stands below)
//   beside the plot   panel, reading, events, exact (when exactly one of them was), strip, between (cursors A and B)
//   below the plot    drawer_host, drawer_state; drawer, drawer_panel, drawer_xy, drawer_histogram, drawer_fft, relations,
//                     charts, chart_axes, chart_canvas; drawer_samples, sample_rows, sample_texts
//   hands             keys, gestures, pressed, sight (Tab), popup, asked, menu_opener, menus, menu, spot
//   the header        search, kept_names, name_tree, tree_rows (a level of it), controls, status, remarks, settings, details, share, copy, file, overview
//   PVs are added     add, list, firsts
//   formulas          formula; analysis, which also asks for snapshots and searches
//   snapshot, when    snapshot, snapshot_rows, snapshot_table; when, condition, clauses, when_years
//   notes, views      memos, notes, note_dialog, views_dialog, view_saver
//   exports           exports, export_form
//   /manage           manage, manage_parts, manage_add (add_text, add_how), manage_audit, manage_cluster, manage_iocs (ioc_day),
//                     manage_policies (policy_diff, kept_chart), manage_storage, manage_undo, reports;
//                     pv_table, pv_rows, pv_row, pv_columns, pv_facets, pv_order; orders over many PVs: pv_bulk, sheet, sheet_forms, deadband, orders
//   who               login, who
//   trouble           iocs, outage, elsewhere (another node answers), known and missing (what a cluster does not tell)
//   a wall            wall, renewal
//   everywhere        dom, bytes, part (which page an address means), later (what comes when it is wanted), words/ (every text that people read)

import "./tokens.css";
import "./style.css";
import type { AddDialog } from "./add.ts";
import { onDoubt } from "./api.ts";
import { Controls } from "./controls.ts";
import { Details } from "./details.ts";
import { byId } from "./dom.ts";
import { listenToKeys } from "./keys.ts";
import { noteRecent } from "./kept_names.ts";
import { bring } from "./later.ts";
import { Login } from "./login.ts";
import { MenuOpener } from "./menu_opener.ts";
import type { Note, SavedView } from "./memos.ts";
import { NoteDialog } from "./note_dialog.ts";
import { Elsewhere } from "./elsewhere.ts";
import { OutageBar } from "./outage.ts";
import { Overview } from "./overview.ts";
import { Page } from "./page.ts";
import { shownPart } from "./part.ts";
import { Popup } from "./popup.ts";
import { isPressed, onRelease, watchPresses } from "./pressed.ts";
import { axisOf, eachAlone, isLog, type ValueScale } from "./panes.ts";
import { PLAIN, isPlain, type Look } from "./look.ts";
import { Remarks } from "./remarks.ts";
import { Renewal } from "./renewal.ts";
import type { Settings } from "./settings.ts";
import { Search } from "./search.ts";
import { Share } from "./share.ts";
import { followSight } from "./sight.ts";
import { clampRange, fromQuery, rangeOf, toQuery, ViewStore, type Range, type Shown } from "./state.ts";
import { formulaName, laidName, overName, pvsOf, secondsEarlier, sourceOf } from "./source.ts";
import { StatusLine } from "./status.ts";
import { onSystemTheme } from "./style.ts";
import { formatDuration, formatTime, iso, zonePart } from "./time.ts";
import { noteState } from "./trace.ts";
import { parseTime } from "./typed.ts";
import { unreadOf } from "./unread.ts";
import type { ViewsDialog } from "./views_dialog.ts";
import type { NameTree } from "./name_tree.ts";
import type { When } from "./when.ts";
import { statusWords } from "./words/status.ts";

watchPresses();
followSight();

const status: StatusLine = new StatusLine(
  () => store.view.zone,
  () => {
    page.draw();
    elsewhere.show();
  },
  () => page.reload(),
  () => page.loadAfresh(),
);
const now = (): number => status.now();

const elsewhere = new Elsewhere(byId("elsewhere"));
const outage = new OutageBar(byId("outage"), now, () => store.view.zone);
const renewal = new Renewal(
  document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "",
  async () => (await fetch("./")).text(),
  () => location.reload(),
);
const remarks = new Remarks(byId("remarks"));

/** Says what of the address is left out: not on a wall or in a plot within another page, where nobody would take note of it. */
function tellUnread(): void {
  const isTold = part === "plot" && store.view.frame === "whole";
  // Behind a # a view may stand, or the name of a place in the page.
  const query = location.search || (location.hash.includes("=") ? location.hash.slice(1) : "");
  remarks.say("address", isTold ? unreadOf(query, now()).join(" ") : "");
}
window.addEventListener("popstate", tellUnread);

function tellClock(): void {
  const off = status.clockOff;
  const text = statusWords.clockOff(formatDuration(Math.round(Math.abs(off))), off > 0);
  remarks.say("clock", off === 0 || store.view.frame !== "whole" ? "" : text, "clock");
}

status.onStatus((answer) => {
  outage.take(answer);
  elsewhere.take(answer);
  login.heard(answer.started);
  tellClock();
  controls.showZones();
  if (store.view.frame === "wall") void renewal.take(answer, now());
});

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

function plot(names: string[], look: Look = PLAIN): void {
  const added = [...new Set(names)].filter((name) => !store.view.pvs.some((pv) => pv.name === name));
  store.update({
    pvs: [...store.view.pvs, ...added.map((name) => shownWith({ name, hidden: false }, look))],
  });
  noteRecent(pvsOf(added));
}

/** The others keep their colours: what would not be given to them by their place is set. */
function remove(name: string): void {
  const rest = store.view.pvs.filter((pv) => pv.name !== name);
  const kept = rest.map((pv, i) => {
    const colour = page.trace(pv.name)?.colour ?? i;
    return colour === i ? pv : shownWith(pv, { ...(pv.look ?? PLAIN), colour });
  });
  store.update({ pvs: kept });
}

/** Another PV takes the place of one, unless it is there already. */
function replace(name: string, by: string): void {
  if (store.view.pvs.some((pv) => pv.name === by)) return remove(name);
  store.update({ pvs: store.view.pvs.map((pv) => (pv.name === name ? { ...pv, name: by } : pv)) });
}

function shownWith(pv: Shown, look: Look): Shown {
  const { name, hidden } = pv;
  return isPlain(look) ? { name, hidden } : { name, hidden, look };
}

function setLook(name: string, look: Look): void {
  store.update({ pvs: store.view.pvs.map((pv) => (pv.name === name ? shownWith(pv, look) : pv)) });
}

/** The axes shall show a part of what they show now; all of their values where the part is the whole and more. */
function reach(scales: ValueScale[], part: { low: number; high: number } | null): void {
  const ends = new Map<string, [number, number] | null>();
  for (const { traces, range, log } of scales.flatMap(eachAlone)) {
    const to = (value: number) => (log ? Math.log10(value) : value);
    const [low, high] = [to(range[0]), to(range[1])];
    const at = (part: number) => {
      const value = low + part * (high - low);
      return Number((log ? 10 ** value : value).toPrecision(8));
    };
    const fix: [number, number] | null = part === null ? null : [at(part.low), at(part.high)];
    for (const { name } of traces) ends.set(name, fix && fix[0] < fix[1] ? fix : null);
  }
  const pvs = store.view.pvs.map((pv) => {
    const fix = ends.get(pv.name);
    return fix === undefined ? pv : shownWith(pv, { ...(pv.look ?? PLAIN), fix });
  });
  store.update({ pvs });
}

function toggleLog(name: string): void {
  const trace = page.trace(name);
  if (!trace) return;
  const { log } = store.view;
  const axes = [axisOf(trace), trace.name];
  store.update({ log: isLog(trace, log) ? log.filter((axis) => !axes.includes(axis)) : [...log, axes[0]!] });
}

/** Of a moment so much is told about beside it. */
const AROUND_SECONDS = 600;

function openDetails(name: string, shown: Range = rangeOf(store.view, now())): void {
  const trace = page.trace(name);
  const source = sourceOf(name);
  if (source.kind === "formula") return search.edit(name);
  const earlier = source.kind === "over" ? secondsEarlier(source.by, shown.from) : 0;
  const range = { from: shown.from - earlier, to: shown.to - earlier };
  const next = page.after(name);
  void details.open(source.pv, {
    range,
    next: next === undefined ? null : { name: next, open: () => openDetails(next, shown) },
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
    pin: (at, isSecond) => store.update(isSecond ? { second: at } : { pinned: at }, "replace"),
    back: () => store.undo(),
    reach,
    note: (mark) => notes.open(mark.note),
  },
  {
    toggle: toggleHidden,
    remove,
    details: (name) => openDetails(name),
    ...{ archive, replace },
    menu: (name, at) => menus.ofRow(name, at),
    noteMenu: (mark, at) => menus.ofNote(mark, at),
    note: (mark) => notes.open(mark.note),
    writeNote: () => writeNote(),
  },
  { doubt: () => void status.poll(), barred: () => void login.doubt() },
  () => ({ sentence: outage.sentence ?? status.problem }),
);

const notes = new NoteDialog({
  ...{ zone: () => store.view.zone, now },
  pvs: () => pvsOf(store.view.pvs.map(({ name }) => name)),
  mayWrite: () => login.may("operate"),
  mayChange: (by) => login.mayChange(by),
  changed: () => page.renewNotes(),
});

/** A note on the cursor, or on what lies between A and B; what is noted there already is opened. */
function writeNote(here: number | null = null): void {
  const { pinned, second } = store.view;
  const hover = here ?? page.moment();
  const there = page.noteAt(hover ?? pinned ?? NaN);
  if (there) return notes.open(there.note);
  const about = page.focused === undefined ? [] : pvsOf([page.focused]);
  if (hover === null && pinned !== null && second !== null)
    return notes.write({ from: Math.min(pinned, second), to: Math.max(pinned, second) }, about);
  const { from, to } = rangeOf(store.view, now());
  const at = hover ?? pinned ?? (store.view.span.kind === "live" ? to : (from + to) / 2);
  notes.write({ from: at, to: at }, about);
}

/** Shows what a named view shows; it is a step of the history, as any change of the view. */
function openView(view: SavedView): void {
  // What was saved of a snapshot or a search is another part of the page.
  if (part !== "plot" || new URLSearchParams(view.query).has("part"))
    return location.assign(`./?${view.query}`);
  const { theme } = store.view;
  store.update({ ...fromQuery(view.query, now()), theme });
}

/** So much is shown before and behind what a note is about. */
const AROUND_NOTE = 600;

function goToNote(note: Note): void {
  if (note.from === null) return notes.open(note);
  const from = Date.parse(note.from) / 1000;
  const to = note.to === null ? from : Date.parse(note.to) / 1000;
  const around = Math.max(AROUND_NOTE, to - from);
  plot(note.pvs);
  const range = clampRange({ from: from - around, to: to + around });
  store.update({ span: { kind: "fixed", range }, pinned: from, second: to > from ? to : null });
}

/** Where a part that comes later says that it has not come. */
const place = (): HTMLElement => byId(part === "plot" ? "drawing" : part);

let views: Promise<ViewsDialog> | null = null;

/** Named views come when they are asked for. */
function allViews(): void {
  views ??= bring(place(), () => import("./views_dialog.ts")).then(
    ({ ViewsDialog }) =>
      new ViewsDialog({
        open: openView,
        mayWrite: () => login.may("operate"),
        mayChange: (by) => login.mayChange(by),
      }),
  );
  void views.then((dialog) => dialog.show());
}
byId("more-views").addEventListener("click", allViews);

let names: Promise<NameTree> | null = null;

/** So do names as a tree. */
function nameTree(): void {
  names ??= bring(place(), () => import("./name_tree.ts")).then(({ NameTree }) => new NameTree({ plot }));
  void names.then((tree) => tree.open());
}
byId("more-tree").addEventListener("click", nameTree);

/** Whoever may read nothing is not asked for anything; whoever may again has missed something. */
function rightsChanged(): void {
  page.setBarred(!login.mayRead);
  void manage?.then((part) => part.rightsChanged());
  if (login.mayRead) void status.poll().then(() => page.reload());
  else status.rest();
}

let add: Promise<AddDialog> | null = null;

/** The dialog that adds PVs comes when it is opened, too. */
function archive(name: string): void {
  if (!login.may("operate")) return;
  add ??= bring(place(), () => import("./add.ts")).then(
    ({ AddDialog }) => new AddDialog(plot, () => void status.poll()),
  );
  void add.then((dialog) => dialog.open(name));
}

const controls = new Controls(
  store,
  now,
  () => page.everything(),
  () => status.site,
);

const details = new Details(
  toggleLog,
  (detail) => {
    const trace = page.trace(detail.name);
    if (!trace) return;
    noteState(trace, detail);
    page.draw();
  },
  shownPart() === "plot" ? (range) => look(clampRange(range), false) : null,
);

new Overview(
  () => store.view.zone,
  (name) => plot([name]),
);

const search = new Search(byId("search"), byId("found"), {
  toggle: (name) => (store.view.pvs.some((pv) => pv.name === name) ? remove(name) : plot([name])),
  isShown: (name) => store.view.pvs.some((pv) => pv.name === name),
  plot: (names, axis) => plot(names, { ...PLAIN, axis }),
  archive,
  formula: (expression) => plot([formulaName(expression)]),
  now,
  ...{ openView, goToNote, allViews, nameTree },
  timeText: (time) => formatTime(Date.parse(time) / 1000, store.view.zone, 0).slice(0, 16),
});
for (const id of ["archive", "archive-first"]) byId(id).addEventListener("click", () => archive(""));
byId("find").addEventListener("click", () => search.focus());

let settings: Promise<Settings> | null = null;

/** The settings of a PV come when they are opened. */
function openSettings(name: string, first?: "ends" | "over"): void {
  const lay = (over: string | null) => {
    if (over !== null) plot([over]);
    return over !== null;
  };
  const range = () => rangeOf(store.view, now());
  settings ??= bring(byId("drawing"), () => import("./settings.ts")).then(
    ({ Settings }) =>
      new Settings({
        look: (name) => store.view.pvs.find((pv) => pv.name === name)?.look ?? PLAIN,
        set: setLook,
        panes: () => page.letters,
        colour: (name) => page.trace(name)?.colour ?? 0,
        palette: () => page.colours,
        range,
        lay: (name, { moment, at }) => lay(laidName(name, moment, at)),
        layOver: (name, by) => {
          const length = overName(name, by);
          const moment = length === null ? parseTime(by, store.view.zone, now()) : null;
          const at = store.view.pinned ?? range().from;
          return lay(moment === null ? length : laidName(name, moment, at));
        },
      }),
  );
  void settings.then((dialog) => dialog.open(name, first));
}

const share = new Share(() => page.shared(), {
  ...{ now, mayRead: () => login.mayRead, who: () => login.who },
});
byId("share-open").addEventListener("click", () => share.open());

const menus: MenuOpener = new MenuOpener(() => page, {
  view: () => store.view,
  update: (change, step) => store.update(change, step),
  range: () => rangeOf(store.view, now()),
  known: () => status.known(),
  traces: () => page.traces,
  letters: () => page.letters,
  zones: () => controls.zones,
  mayWrite: () => login.may("operate"),
  mayChange: (by) => login.mayChange(by),
  zoom: (range) => look(range, false),
  back: () => store.undo(),
  length: (nth) => controls.nth(nth),
  leap: (to, by) => page.leap(to, by),
  plot: (names) => plot(names),
  ...{ remove, reach, toggle: toggleHidden, log: toggleLog, look: setLook },
  settings: openSettings,
  details: openDetails,
  note: (mark) => notes.open(mark.note),
  unnote: (note) => void notes.remove(note),
  writeNote,
  formula: (expression) => search.edit(expression),
  share: () => share.open(),
});

listenToKeys(store, {
  ...{ search, controls, page, look, now, why: (name: string) => openDetails(name), toggle: toggleHidden },
  settings: openSettings,
  menu: () => menus.ofFocus(),
  share: () => share.open(),
  note: () => writeNote(),
  zoomHeight: (factor) => {
    const { scales, part } = page.zoomHeight(factor);
    reach(scales, part);
  },
});

const part = shownPart();
const clock = { zone: () => store.view.zone, now };

/** Parts beside the plot come when they are shown. */
const manage =
  part === "manage"
    ? bring(byId("manage"), () => import("./manage.ts")).then(
        ({ Manage }) =>
          new Manage({ ...clock, may: (right) => login.may(right), details: (name) => openDetails(name) }),
      )
    : null;
const snapshot =
  part === "snapshot"
    ? bring(byId("snapshot"), () => import("./snapshot.ts")).then(
        ({ Snapshot }) =>
          new Snapshot(byId("snapshot"), {
            ...clock,
            details: (name, at) => openDetails(name, { from: at - AROUND_SECONDS, to: at + AROUND_SECONDS }),
          }),
      )
    : null;
const when: Promise<When> | null =
  part === "when"
    ? bring(byId("when"), () => import("./when.ts")).then(
        ({ When }) => new When(byId("when"), { ...clock, palette: () => page.colours }),
      )
    : null;
document.body.dataset.part = part;
for (const id of [`nav-${part}`, `more-${part}`, `tab-${part}`])
  document.getElementById(id)?.setAttribute("aria-current", "page");

/** Begins what is shown beside the plot, and begins it anew where times are to be read in another zone. */
async function startPart(): Promise<void> {
  (await snapshot)?.start();
  (await when)?.start();
}

/** The view as tiles for a wall, and as it stands within another page. */
function frames(): void {
  for (const frame of ["wall", "embed"] as const)
    byId<HTMLAnchorElement>(`more-${frame}`).href = `./?${toQuery({ ...store.view, frame })}`;
  others();
}

/** The PVs of the plot are those of a snapshot at its cursor, or of a search. */
function others(): void {
  if (part !== "plot") return;
  const { view } = store;
  const names = pvsOf(view.pvs.map(({ name }) => name));
  const pvs = names.map((name) => `&pv=${encodeURIComponent(name)}`).join("");
  const zone = zonePart(view.zone)
    .map((part) => `&${part}`)
    .join("");
  const at = view.pinned ?? (view.span.kind === "fixed" ? view.span.range.to : null);
  const moment = at === null ? "" : `&a=${iso(at)}`;
  for (const id of ["nav-snapshot", "more-snapshot"])
    byId<HTMLAnchorElement>(id).href = `./?part=snapshot${pvs}${moment}${zone}`;
  byId<HTMLAnchorElement>("more-when").href = `./?part=when${pvs}${zone}`;
}
// A wall has no controls; whoever came there from here goes back by Escape.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && store.view.frame === "wall") store.update({ frame: "whole" });
});

const menu = new Popup(byId("more"), byId("more-list"));
byId("more-drawer").addEventListener("click", () => page.openDrawer());
for (const id of ["more-views", "more-drawer", "archive", "theme", "help-open"])
  byId(id).addEventListener("click", () => menu.close());
byId("find-open").addEventListener("click", () => search.focus());
byId("tab-find").addEventListener("click", () => search.focus());
byId("tab-events").addEventListener("click", () => {
  document.body.dataset.sheet = "full";
  byId("events").scrollIntoView();
});
byId("panel-add").addEventListener("click", () => search.focus());
byId("undo").addEventListener("click", () => store.undo());
byId("panel-set").addEventListener("click", () => {
  const name = page.chosen;
  if (name !== undefined) openSettings(name);
});
for (const id of ["panel-fold", "panel-open"])
  byId(id).addEventListener("click", () => store.update({ folded: !store.view.folded }, "replace"));
byId("panel-why").addEventListener("click", () => {
  const name = page.lacking();
  if (name !== undefined) openDetails(name);
});
byId("sheet").addEventListener("click", () => {
  const next: Record<string, string> = { few: "half", half: "full", full: "few" };
  document.body.dataset.sheet = next[document.body.dataset.sheet ?? "few"]!;
});

/** While a drag goes on the header follows so often: its fields are laid out anew each time. */
const HEADER_MILLIS = 100;
let headerAt = -Infinity;

store.onChange((view, before) => {
  page.take(view, before);
  if (!isPressed() || performance.now() - headerAt > HEADER_MILLIS) {
    headerAt = performance.now();
    controls.show();
  }
  if (view.pvs !== before.pvs) search.refresh();
  // Nobody follows a link while dragging.
  if (!isPressed()) frames();
  if (view.zone !== before.zone) void startPart();
  if (view.theme !== before.theme) void when?.then((part) => part.retheme());
});
onRelease(() => {
  controls.show();
  frames();
});
onSystemTheme(() => {
  page.retheme();
  void when?.then((part) => part.retheme());
});

async function start(): Promise<void> {
  // The server's clock first: a live view ends at its now.
  await Promise.all([login.ask(), status.poll()]);
  if (!login.mayRead) rightsChanged();
  store.reread();
  tellUnread();
  void manage?.then((part) => part.start());
  page.take(store.view, null);
  controls.show();
  frames();
  await startPart();
}
void start();
