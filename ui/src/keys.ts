// The keyboard: everything the mouse can do on the plot, and where it stands in one list for the help dialog.

import type { Controls } from "./controls.ts";
import { byId, h } from "./dom.ts";
import type { Page } from "./page.ts";
import type { Search } from "./search.ts";
import { panned, rangeOf, zoomed, type Range, type ViewStore } from "./state.ts";
import { keyWords as words } from "./words/key.ts";

export interface KeyTargets {
  search: Search;
  controls: Controls;
  page: Page;
  look(range: Range, follows: boolean): void;
  why(name: string): void;
  toggle(name: string): void;
  settings(name: string): void;
  menu(): void;
  zoomHeight(factor: number): void;
  share(): void;
  note(): void;
  now(): number;
}

interface Key {
  keys: string[];
  text: string;
  act(targets: KeyTargets, store: ViewStore, key: string): void;
}

/** 1 to 9: the menu of lengths, told once. */
const LENGTH_KEYS: Key[] = [
  {
    keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    text: words.length,
    act: ({ controls }, _, key) => controls.nth(Number(key)),
  },
];

const range = (store: ViewStore, targets: KeyTargets) => rangeOf(store.view, targets.now());

function zoom(factor: number): Key["act"] {
  return (targets, store) => {
    const shown = range(store, targets);
    const about = targets.page.moment() ?? (shown.from + shown.to) / 2;
    targets.look(zoomed(shown, about, factor), true);
  };
}

/** Of the PVs on the page the one whose row has the focus, or the first. */
function chosen(act: (targets: KeyTargets, name: string) => void): Key["act"] {
  return (targets) => {
    const name = targets.page.chosen;
    if (name !== undefined) act(targets, name);
  };
}

const KEYS: Key[] = [
  { keys: ["/", "Ctrl+k", "Meta+k"], text: words.find, act: ({ search }) => search.focus() },
  {
    keys: ["ArrowLeft"],
    text: words.earlier,
    act: (t, store) => t.look(panned(range(store, t), -0.25), false),
  },
  {
    keys: ["ArrowRight"],
    text: words.later,
    act: (t, store) => t.look(panned(range(store, t), 0.25), false),
  },
  { keys: ["+", "=", "ArrowUp"], text: words.zoomIn, act: zoom(0.5) },
  { keys: ["-", "ArrowDown"], text: words.zoomOut, act: zoom(2) },
  { keys: ["Alt+ArrowUp"], text: words.zoomInHeight, act: ({ zoomHeight }) => zoomHeight(0.5) },
  { keys: ["Alt+ArrowDown"], text: words.zoomOutHeight, act: ({ zoomHeight }) => zoomHeight(2) },
  { keys: ["Shift+ArrowLeft"], text: words.sampleBefore, act: ({ page }) => page.moveCursor(-1) },
  { keys: ["Shift+ArrowRight"], text: words.nextSample, act: ({ page }) => page.moveCursor(1) },
  { keys: ["Enter"], text: words.cursorA, act: (t, store) => mark(t, store) },
  { keys: ["b"], text: words.cursorB, act: (t, store) => markSecond(t, store) },
  { keys: ["z"], text: words.zoomBetween, act: (t, store) => zoomBetween(t, store) },
  ...LENGTH_KEYS,
  { keys: ["g"], text: words.nextGap, act: ({ page }) => page.leap("gap", 1) },
  { keys: ["G"], text: words.gapBefore, act: ({ page }) => page.leap("gap", -1) },
  { keys: ["e"], text: words.nextEvent, act: ({ page }) => page.leap("event", 1) },
  { keys: ["E"], text: words.eventBefore, act: ({ page }) => page.leap("event", -1) },
  { keys: ["y"], text: words.why, act: ({ page, why }, s) => lacking(page, why, s) },
  { keys: ["l", "End"], text: words.live, act: ({ controls }) => controls.toggleLive() },
  { keys: ["u"], text: words.zone, act: ({ controls }) => controls.toggleZone() },
  {
    keys: ["a"],
    text: words.lanes,
    act: (_, s) => s.update({ lanes: !s.view.lanes }, "replace"),
  },
  {
    keys: ["s"],
    text: words.numbers,
    act: () => void document.body.classList.toggle("is-terse"),
  },
  { keys: ["h"], text: words.hide, act: chosen((t, name) => t.toggle(name)) },
  { keys: ["m", "ContextMenu", "Shift+F10"], text: words.menu, act: ({ menu }) => menu() },
  { keys: ["M"], text: words.settings, act: chosen((t, name) => t.settings(name)) },
  {
    keys: ["w"],
    text: words.drawer,
    act: (t) => t.page.toggleDrawer(),
  },
  {
    keys: ["]"],
    text: words.panel,
    act: (_, s) => s.update({ folded: !s.view.folded }, "replace"),
  },
  { keys: ["n"], text: words.note, act: ({ note }) => note() },
  { keys: ["x"], text: words.share, act: ({ share }) => share() },
  { keys: ["t"], text: words.theme, act: ({ controls }) => controls.toggleTheme() },
  { keys: ["Ctrl+z", "Meta+z"], text: words.undo, act: (_, store) => store.undo() },
  { keys: ["Ctrl+y", "Meta+y"], text: words.redo, act: (_, store) => store.redo() },
  { keys: ["Escape"], text: words.unmark, act: (_, store) => unmark(store) },
  { keys: ["?"], text: words.help, act: () => showHelp() },
];

function unmark(store: ViewStore): void {
  store.update(store.view.second !== null ? { second: null } : { pinned: null }, "replace");
}

function markSecond(targets: KeyTargets, store: ViewStore): void {
  const at = targets.page.moment();
  if (at !== null) store.update({ second: at }, "replace");
}

/** The cursors have done what they were for: they would stand at the edges. */
function zoomBetween({ look }: KeyTargets, store: ViewStore): void {
  const { pinned, second } = store.view;
  if (pinned === null || second === null || pinned === second) return;
  store.update({ pinned: null, second: null }, "replace");
  look({ from: Math.min(pinned, second), to: Math.max(pinned, second) }, false);
}

/** Of the PVs on the page the first of which something is missing; the first of all if nothing is. */
function lacking(page: Page, why: KeyTargets["why"], store: ViewStore): void {
  const name = page.focused ?? page.lacking() ?? store.view.pvs[0]?.name;
  if (name !== undefined) why(name);
}

function mark(targets: KeyTargets, store: ViewStore): void {
  const at = targets.page.moment();
  if (at !== null) store.update({ pinned: at }, "replace");
}

/** Listens on the whole page, except where something is typed or a dialog is open. */
export function listenToKeys(store: ViewStore, targets: KeyTargets): void {
  showKeysOff();
  byId("help-open").addEventListener("click", () => showHelp());
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select, pre")) return;
    // A dialog whose content was replaced has lost the focus, and Escape must close it all the same.
    if (document.querySelector("dialog[open]")) return;
    // A focused button is pressed with Enter; that must not also mark a moment.
    if ((event.key === "Enter" || event.key === " ") && target.closest("button, a")) return;
    // What shows the page of the archiver's keeper has keys of its own.
    if (document.body.dataset.part === "manage") {
      if (event.key === "?" && !keysAreOff()) showHelp();
      return;
    }
    const prefix = `${event.ctrlKey ? "Ctrl+" : ""}${event.metaKey ? "Meta+" : ""}${event.altKey ? "Alt+" : ""}`;
    const isNamed = event.key.startsWith("Arrow") || event.key === "F10";
    const name = `${prefix}${event.shiftKey && isNamed ? "Shift+" : ""}${event.key}`;
    const key = KEYS.find((key) => key.keys.includes(name));
    if (!key) return;
    // A key of one letter may be part of what somebody dictates.
    if (name.length === 1 && keysAreOff()) return;
    event.preventDefault();
    key.act(targets, store, event.key);
  });
}

const OFF = "pvark-keys-off";

function keysAreOff(): boolean {
  try {
    return localStorage.getItem(OFF) === "1";
  } catch {
    // A browser may keep nothing for us.
    return false;
  }
}

function showKeysOff(): void {
  const box = byId<HTMLInputElement>("keys-off");
  box.checked = keysAreOff();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(OFF, box.checked ? "1" : "0");
    } catch {
      box.checked = false;
    }
  });
}

function showHelp(): void {
  const dialog = byId<HTMLDialogElement>("help");
  const rows = KEYS.map((key) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, ...key.keys.map((name) => h("kbd", {}, readable(name)))),
      h("td", {}, key.text),
    ),
  );
  const within = words.within.flatMap(([where, keys]) => [
    h("tr", {}, h("th", { scope: "rowgroup", colspan: "2", class: "where" }, where)),
    ...keys.map(([name, text]) =>
      h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, name)), h("td", {}, text)),
    ),
  ]);
  byId("help-keys").replaceChildren(...rows, ...within);
  if (!dialog.open) dialog.showModal();
}

function readable(key: string): string {
  const arrows: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
  return key
    .replace("ContextMenu", words.menuKey)
    .replace(/Arrow\w+/, (arrow) => arrows[arrow]!)
    .replace("+z", "+Z")
    .replace("+y", "+Y")
    .replace("+k", "+K");
}
