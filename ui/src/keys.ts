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
  overview(): void;
  now(): number;
}

interface Key {
  keys: string[];
  text: string;
  act(targets: KeyTargets, store: ViewStore): void;
}

const range = (store: ViewStore, targets: KeyTargets) => rangeOf(store.view, targets.now());

function zoom(factor: number): Key["act"] {
  return (targets, store) => {
    const shown = range(store, targets);
    const about = targets.page.moment() ?? (shown.from + shown.to) / 2;
    targets.look(zoomed(shown, about, factor), true);
  };
}

const KEYS: Key[] = [
  { keys: ["/"], text: "find PVs", act: ({ search }) => search.focus() },
  { keys: ["ArrowLeft"], text: "earlier", act: (t, store) => t.look(panned(range(store, t), -0.25), false) },
  { keys: ["ArrowRight"], text: "later", act: (t, store) => t.look(panned(range(store, t), 0.25), false) },
  { keys: ["+", "=", "ArrowUp"], text: "zoom in", act: zoom(0.5) },
  { keys: ["-", "ArrowDown"], text: "zoom out", act: zoom(2) },
  { keys: ["Shift+ArrowLeft"], text: "cursor to the left", act: ({ page }) => page.moveCursor(-1) },
  { keys: ["Shift+ArrowRight"], text: "cursor to the right", act: ({ page }) => page.moveCursor(1) },
  { keys: ["Enter"], text: "mark the moment at the cursor", act: (t, store) => mark(t, store) },
  { keys: ["Escape"], text: "remove the mark", act: (_, store) => store.update({ pinned: null }) },
  { keys: ["Ctrl+z", "Meta+z"], text: "undo the last change of the view", act: (_, store) => store.undo() },
  { keys: ["l", "End"], text: "follow now, or stop", act: ({ controls }) => controls.toggleLive() },
  { keys: ["w"], text: "why is there no data, or not all", act: ({ page, why }, s) => lacking(page, why, s) },
  { keys: ["s"], text: "how the archiver fares, and which PVs are lost", act: ({ overview }) => overview() },
  { keys: ["u"], text: "UTC or local times", act: ({ controls }) => controls.toggleZone() },
  { keys: ["t"], text: "light or dark", act: ({ controls }) => controls.toggleTheme() },
  { keys: ["?"], text: "this list", act: () => showHelp() },
];

/** Of the PVs on the page the first of which something is missing; the first of all if nothing is. */
function lacking(page: Page, why: KeyTargets["why"], store: ViewStore): void {
  const name = page.lacking() ?? store.view.pvs[0]?.name;
  if (name !== undefined) why(name);
}

function mark(targets: KeyTargets, store: ViewStore): void {
  const at = targets.page.moment();
  if (at !== null) store.update({ pinned: at });
}

/** Listens on the whole page, except where something is typed or a dialog is open. */
export function listenToKeys(store: ViewStore, targets: KeyTargets): void {
  byId("help-open").addEventListener("click", () => showHelp());
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select, pre")) return;
    // A dialog whose content was replaced has lost the focus, and Escape must close it all the same.
    if (document.querySelector("dialog[open]")) return;
    // A focused button is pressed with Enter; that must not also mark a moment.
    if (event.key === "Enter" && target.closest("button, a")) return;
    const prefix = `${event.ctrlKey ? "Ctrl+" : ""}${event.metaKey ? "Meta+" : ""}`;
    const isArrow = event.key.startsWith("Arrow");
    const name = `${prefix}${event.shiftKey && isArrow ? "Shift+" : ""}${event.key}`;
    const key = KEYS.find((key) => key.keys.includes(name));
    if (!key || event.altKey) return;
    event.preventDefault();
    key.act(targets, store);
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
  byId("help-keys").replaceChildren(...rows);
  if (!dialog.open) dialog.showModal();
}

function readable(key: string): string {
  const arrows: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
  return key.replace(/Arrow\w+/, (arrow) => arrows[arrow]!).replace("+z", "+Z");
}
