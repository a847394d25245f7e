// The keyboard: everything the mouse can do on the plot, and where it stands in one list for the help dialog.

import type { Controls } from "./controls.ts";
import { byId, h } from "./dom.ts";
import type { Page } from "./page.ts";
import type { Search } from "./search.ts";
import { panned, rangeOf, zoomed, type Range, type ViewStore } from "./state.ts";

export interface KeyTargets {
  search: Search;
  controls: Controls;
  page: Page;
  look(range: Range, follows: boolean): void;
  why(name: string): void;
  toggle(name: string): void;
  settings(name: string): void;
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
    text: "length of the range: 5 min, 20 min, 1 h, 8 h, 1 d, 1 w, 1 mo, 1 y, all",
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
  { keys: ["/", "Ctrl+k", "Meta+k"], text: "find PVs", act: ({ search }) => search.focus() },
  {
    keys: ["ArrowLeft"],
    text: "a quarter earlier",
    act: (t, store) => t.look(panned(range(store, t), -0.25), false),
  },
  {
    keys: ["ArrowRight"],
    text: "a quarter later",
    act: (t, store) => t.look(panned(range(store, t), 0.25), false),
  },
  { keys: ["+", "=", "ArrowUp"], text: "zoom in", act: zoom(0.5) },
  { keys: ["-", "ArrowDown"], text: "zoom out", act: zoom(2) },
  { keys: ["Alt+ArrowUp"], text: "zoom in by height", act: ({ zoomHeight }) => zoomHeight(0.5) },
  { keys: ["Alt+ArrowDown"], text: "zoom out by height", act: ({ zoomHeight }) => zoomHeight(2) },
  { keys: ["Shift+ArrowLeft"], text: "cursor to the sample before", act: ({ page }) => page.moveCursor(-1) },
  { keys: ["Shift+ArrowRight"], text: "cursor to the next sample", act: ({ page }) => page.moveCursor(1) },
  { keys: ["Enter"], text: "cursor A here", act: (t, store) => mark(t, store) },
  { keys: ["b"], text: "cursor B here", act: (t, store) => markSecond(t, store) },
  { keys: ["z"], text: "zoom to what lies between A and B", act: (t, store) => zoomBetween(t, store) },
  ...LENGTH_KEYS,
  { keys: ["g"], text: "to the next gap", act: ({ page }) => page.leap("gap", 1) },
  { keys: ["G"], text: "to the gap before", act: ({ page }) => page.leap("gap", -1) },
  { keys: ["e"], text: "to what happened next", act: ({ page }) => page.leap("event", 1) },
  { keys: ["E"], text: "to what happened before", act: ({ page }) => page.leap("event", -1) },
  { keys: ["y"], text: "why is there no data, or not all", act: ({ page, why }, s) => lacking(page, why, s) },
  { keys: ["l", "End"], text: "follow now, or stop", act: ({ controls }) => controls.toggleLive() },
  { keys: ["u"], text: "UTC or local times", act: ({ controls }) => controls.toggleZone() },
  {
    keys: ["a"],
    text: "a lane of alarms for each PV",
    act: (_, s) => s.update({ lanes: !s.view.lanes }, "replace"),
  },
  {
    keys: ["s"],
    text: "numbers of the range in every row, or fewer lines",
    act: () => void document.body.classList.toggle("is-terse"),
  },
  { keys: ["h"], text: "hide the PV of the row, or show it", act: chosen((t, name) => t.toggle(name)) },
  { keys: ["m"], text: "settings of the PV of the row", act: chosen((t, name) => t.settings(name)) },
  {
    keys: ["w"],
    text: "drawer: waveforms, or XY, histogram and spectrum",
    act: (t) => t.page.toggleDrawer(),
  },
  {
    keys: ["]"],
    text: "fold the panel, or show it",
    act: (_, s) => s.update({ folded: !s.view.folded }, "replace"),
  },
  { keys: ["n"], text: "note at the cursor, or from A to B", act: ({ note }) => note() },
  { keys: ["x"], text: "share and export", act: ({ share }) => share() },
  { keys: ["t"], text: "light or dark", act: ({ controls }) => controls.toggleTheme() },
  { keys: ["Ctrl+z", "Meta+z"], text: "undo the last change of the view", act: (_, store) => store.undo() },
  { keys: ["Ctrl+y", "Meta+y"], text: "redo it", act: (_, store) => store.redo() },
  { keys: ["Escape"], text: "remove cursor B, then A", act: (_, store) => unmark(store) },
  { keys: ["?"], text: "this list", act: () => showHelp() },
];

/** What has keys of its own while it has the focus. */
const WITHIN: [string, [string, string][]][] = [
  [
    "In the rows of the panel",
    [
      ["↑ ↓", "another PV"],
      ["Enter", "everything about the PV"],
      ["Delete", "take the PV out of the view"],
      ["Alt+↑ ↓", "zoom its pane by height"],
    ],
  ],
  ["In the overview", [["← →", "half a range earlier, later"]]],
  [
    "In a waveform",
    [
      ["← →", "another element"],
      ["Shift+← →", "ten elements on"],
      ["+ -", "zoom about the element"],
    ],
  ],
  [
    "In the table of all PVs",
    [
      ["/", "search; a pasted list is looked for and marked"],
      ["↑ ↓ PageUp PageDown Home End", "another PV"],
      ["Space", "mark the PV"],
      ["Shift+↑ ↓", "mark all on the way"],
      ["Ctrl+A", "mark all that the filter finds"],
      ["Enter", "plot the PV"],
      ["Escape", "unmark all"],
    ],
  ],
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
    const isArrow = event.key.startsWith("Arrow");
    const name = `${prefix}${event.shiftKey && isArrow ? "Shift+" : ""}${event.key}`;
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
  const within = WITHIN.flatMap(([where, keys]) => [
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
    .replace(/Arrow\w+/, (arrow) => arrows[arrow]!)
    .replace("+z", "+Z")
    .replace("+y", "+Y")
    .replace("+k", "+K");
}
