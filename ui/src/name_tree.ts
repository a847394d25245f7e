// The names as a tree, in a dialog: branches open by the archiver's answer, leaves and branches are marked, and what is marked is plotted.

import { faultText, isAbort } from "./api.ts";
import { counted, h, setText } from "./dom.ts";
import { lackElement, missingText } from "./missing.ts";
import { getLevel, labelOf, namesWithin, type Child, type Level } from "./tree_rows.ts";
import { treeWords as words } from "./words/tree.ts";

export interface NameTreeActions {
  plot(names: string[]): void;
}

/** More PVs are plotted at once only when that was said twice; more than the second are not marked at once. */
const MANY = 50;
const MANY_MAX = 200;

/** An item of the tree, with what it stands for. */
interface Item {
  element: HTMLElement;
  /** What stands behind the last child, and how many children there are until then. */
  kind: { child: Child } | { more: string; shown: number };
  /** The prefix of the level on which it stands. */
  level: string;
  label: string;
  parent: Item | null;
  /** What holds its children, below it and not in it: whoever hears its name does not hear theirs. */
  holder: HTMLElement | null;
}

export class NameTree {
  private tree = h("ul", {
    role: "tree",
    class: "name-tree",
    "aria-label": words.title,
    "aria-multiselectable": "true",
  });
  private said = h("p", { class: "said", role: "status" });
  private lack = h("div");
  private choice = h("div", { class: "actions" });
  private dialog = h("dialog", { id: "name-tree", class: "wide", "aria-labelledby": "name-tree-title" });
  private items = new Map<HTMLElement, Item>();
  private marked = new Set<string>();
  /** Branches that are marked as a whole, with the names that this has marked. */
  private branches = new Map<string, string[]>();
  private asking = new AbortController();
  /** So many branches were opened. */
  private groups = 0;

  constructor(private actions: NameTreeActions) {
    const close = () => this.dialog.close();
    this.dialog.append(
      h(
        "header",
        {},
        h("h2", { id: "name-tree-title" }, words.title),
        h("button", { type: "button", "aria-label": words.close, click: close }, "✕"),
      ),
      h("p", { class: "faint" }, words.keys),
      this.lack,
      this.tree,
      this.said,
      this.choice,
    );
    this.dialog.addEventListener("close", () => this.asking.abort());
    this.tree.addEventListener("keydown", (event) => this.key(event));
    this.tree.addEventListener("click", (event) => this.click(event));
    document.body.append(this.dialog);
  }

  /** Opens with the first level. */
  async open(): Promise<void> {
    this.asking.abort();
    this.asking = new AbortController();
    this.items.clear();
    this.marked.clear();
    this.branches.clear();
    this.tree.replaceChildren();
    setText(this.said, "");
    this.showMarks();
    if (!this.dialog.open) this.dialog.showModal();
    const level = await this.fill(this.tree, "", null, null);
    if (level === null) return;
    const lack = lackElement(missingText(level.incomplete));
    this.lack.replaceChildren(...(lack ? [lack] : []));
    if (level.children.length === 0 && !lack) setText(this.said, words.none);
    // A single branch has nothing to choose from.
    const first = this.shown()[0];
    if (first && level.children.length === 1 && "child" in first.kind && "prefix" in first.kind.child)
      await this.expand(first);
    this.focus(this.shown()[0]);
  }

  /** Puts a level, or what of it follows, into its list; none where it cannot be had, which is said. */
  private async fill(
    list: HTMLElement,
    prefix: string,
    after: string | null,
    parent: Item | null,
  ): Promise<Level | null> {
    const { signal } = this.asking;
    list.setAttribute("aria-busy", "true");
    try {
      const level = await getLevel(prefix, after, signal);
      const shown = itemsOf(list).length + level.children.length;
      list.append(...level.children.map((child) => this.item({ child }, prefix, parent)));
      if (level.next !== null) list.append(this.item({ more: level.next, shown }, prefix, parent));
      this.showMarks();
      return level;
    } catch (error) {
      if (!isAbort(error)) setText(this.said, faultText(error));
      return null;
    } finally {
      list.removeAttribute("aria-busy");
    }
  }

  private item(kind: Item["kind"], level: string, parent: Item | null): HTMLElement {
    const isMore = "more" in kind;
    const isBranch = !isMore && "prefix" in kind.child;
    const label = isMore ? words.more(kind.shown) : labelOf(kind.child, level);
    const names = !isMore && "prefix" in kind.child ? kind.child.names : null;
    const element = h(
      "li",
      {
        role: "treeitem",
        tabindex: "-1",
        "aria-level": String(levelOf(parent) + 1),
        "aria-label": names === null ? label : words.branch(label, names),
        ...(isBranch ? { "aria-expanded": "false" } : {}),
        ...(isMore ? { class: "tree-more" } : { "aria-selected": "false" }),
        "data-name": isMore ? "" : "prefix" in kind.child ? kind.child.prefix : kind.child.name,
      },
      h(
        "div",
        { class: "tree-row" },
        h("span", { class: "tree-turn", "aria-hidden": "true" }, isBranch ? "▸" : ""),
        h("span", { class: "tick", "aria-hidden": "true" }, isMore ? "" : "☐"),
        h("span", { class: "pv" }, label),
        h("span", { class: "faint" }, names === null ? "" : counted(names)),
      ),
    );
    this.items.set(element, { element, kind, level, label, parent, holder: null });
    return element;
  }

  /** What is in sight, from above to below. */
  private shown(): Item[] {
    const all = [...this.tree.querySelectorAll<HTMLElement>("[role=treeitem]")];
    return all
      .filter((element) => element.closest("[hidden]") === null)
      .map((element) => this.items.get(element)!);
  }

  private focus(item: Item | undefined): void {
    if (!item) return;
    for (const other of this.tree.querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    item.element.setAttribute("tabindex", "0");
    item.element.focus();
    item.element.querySelector(".tree-row")!.scrollIntoView({ block: "nearest" });
  }

  private isOpen({ element }: Item): boolean {
    return element.getAttribute("aria-expanded") === "true";
  }

  private async expand(item: Item): Promise<void> {
    if (!("child" in item.kind) || !("prefix" in item.kind.child) || this.isOpen(item)) return;
    const { element } = item;
    const had = item.holder;
    const list = h("ul", { role: "group", id: `name-tree-${++this.groups}` });
    if (!had) {
      item.holder = h("li", { role: "none" }, list);
      element.setAttribute("aria-owns", list.id);
      element.after(item.holder);
    }
    this.turn(item, true);
    if (had || (await this.fill(list, item.kind.child.prefix, null, item)) !== null) return;
    // It may be asked for again.
    item.holder!.remove();
    element.removeAttribute("aria-owns");
    item.holder = null;
    this.turn(item, false);
  }

  private turn({ element, holder }: Item, isOpen: boolean): void {
    if (holder) holder.hidden = !isOpen;
    element.setAttribute("aria-expanded", String(isOpen));
    element.querySelector(".tree-turn")!.textContent = isOpen ? "▾" : "▸";
  }

  /** What follows comes in the place of the line that says that there is more. */
  private async goOn(item: Item): Promise<void> {
    if (!("more" in item.kind)) return;
    const { element, kind, level, parent } = item;
    const list = element.parentElement!;
    const before = itemsOf(list).length - 1;
    element.remove();
    this.items.delete(element);
    if ((await this.fill(list, level, kind.more, parent)) === null)
      list.append(this.item(kind, level, parent));
    this.focus(this.items.get(itemsOf(list)[before]!));
  }

  private key(event: KeyboardEvent): void {
    const shown = this.shown();
    const at = shown.findIndex(({ element }) => element === document.activeElement);
    const item = shown[at];
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.acts(event, shown, at, item);
    if (!act) return;
    event.preventDefault();
    // The page has letters and arrows of its own.
    event.stopPropagation();
    act();
  }

  private acts(event: KeyboardEvent, shown: Item[], at: number, item: Item): (() => void) | null {
    const to = (place: number) => () => this.focus(shown[Math.min(Math.max(place, 0), shown.length - 1)]);
    const marking = (place: number) => () => {
      void this.mark(item, "on");
      const next = shown[place];
      if (next) void this.mark(next, "on");
      to(place)();
    };
    switch (event.key) {
      case "ArrowDown":
        return event.shiftKey ? marking(at + 1) : to(at + 1);
      case "ArrowUp":
        return event.shiftKey ? marking(at - 1) : to(at - 1);
      case "Home":
        return to(0);
      case "End":
        return to(shown.length - 1);
      case "ArrowRight":
        return this.isOpen(item) ? to(at + 1) : () => void this.expand(item);
      case "ArrowLeft":
        return this.isOpen(item) ? () => this.turn(item, false) : () => this.focus(item.parent ?? undefined);
      case " ":
        return () => void this.mark(item, "turn");
      case "Enter":
        return () => this.enter(item);
    }
    if (event.key.length !== 1) return null;
    // A letter leads to the next that begins with it.
    const fits = ({ label }: Item) => label.toLowerCase().startsWith(event.key.toLowerCase());
    const next = [...shown.slice(at + 1), ...shown.slice(0, at + 1)].find(fits);
    return () => this.focus(next);
  }

  /** Plots what is marked, or this one alone; a branch opens. */
  private enter(item: Item): void {
    if ("more" in item.kind) return void this.goOn(item);
    if (this.marked.size > 0) return this.plot("asked");
    const { child } = item.kind;
    if ("name" in child) return this.give([child.name]);
    if (this.isOpen(item)) this.turn(item, false);
    else void this.expand(item);
  }

  private click(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const row = target.closest(".tree-row");
    const item = row && this.items.get(row.parentElement!);
    if (!item) return;
    this.focus(item);
    if ("more" in item.kind) return void this.goOn(item);
    const isMark = target.closest(".tick") !== null || "name" in item.kind.child;
    if (isMark || event.ctrlKey || event.metaKey) return void this.mark(item, "turn");
    if (this.isOpen(item)) this.turn(item, false);
    else void this.expand(item);
  }

  private async mark({ kind, label }: Item, how: "on" | "turn"): Promise<void> {
    if ("more" in kind) return;
    setText(this.said, "");
    const { child } = kind;
    if ("name" in child) {
      const isMarked = this.marked.has(child.name);
      if (isMarked && how === "turn") this.unmark([child.name]);
      else if (!isMarked && this.marked.size < MANY_MAX) this.marked.add(child.name);
      else if (!isMarked) setText(this.said, words.tooMany(this.marked.size + 1));
      return this.showMarks();
    }
    const own = this.branches.get(child.prefix);
    if (own && how === "turn") this.unmark(own);
    if (!own) await this.markAll(child.prefix, label);
    this.showMarks();
  }

  /** All PVs of a branch, if these are not too many. */
  private async markAll(prefix: string, label: string): Promise<void> {
    const { signal } = this.asking;
    try {
      const { names, total } = await namesWithin(prefix, MANY_MAX);
      if (signal.aborted) return;
      const sum = new Set([...this.marked, ...names]).size;
      if (total > MANY_MAX || sum > MANY_MAX)
        return setText(this.said, words.tooManyToMark(label, total, MANY_MAX));
      if (names.length === 0) return setText(this.said, words.noneToMark(label));
      for (const name of names) this.marked.add(name);
      this.branches.set(prefix, names);
    } catch (error) {
      setText(this.said, faultText(error));
    }
  }

  /** A branch of which one is not marked any more is not marked as a whole. */
  private unmark(names: string[]): void {
    for (const name of names) this.marked.delete(name);
    for (const [prefix, own] of this.branches)
      if (own.some((name) => !this.marked.has(name))) this.branches.delete(prefix);
  }

  private showMarks(): void {
    for (const { element, kind, label } of this.items.values()) {
      if ("more" in kind) continue;
      const { child } = kind;
      const isMarked = "name" in child ? this.marked.has(child.name) : this.branches.has(child.prefix);
      element.setAttribute("aria-selected", String(isMarked));
      element.querySelector(".tick")!.textContent = isMarked ? "☑" : "☐";
      const plain = "name" in child ? label : words.branch(label, child.names);
      element.setAttribute("aria-label", isMarked ? words.marked(plain) : plain);
    }
    const { size } = this.marked;
    const count = h("span", { class: "faint", role: "status" }, words.count(size));
    const plot = h(
      "button",
      { type: "button", class: "primary", click: () => this.plot("asked") },
      words.plot(size),
    );
    this.choice.replaceChildren(count, ...(size > 0 ? [plot] : []));
  }

  private plot(how: "asked" | "sure"): void {
    const names = [...this.marked];
    if (names.length <= MANY || how === "sure") return this.give(names);
    const first = () => this.give(names.slice(0, MANY));
    const button = h("button", { type: "button", class: "primary", click: first }, words.plotFirst(MANY));
    this.choice.replaceChildren(
      h("span", { role: "alert" }, words.tooMany(names.length)),
      button,
      h("button", { type: "button", click: () => this.plot("sure") }, words.plotAll(names.length)),
    );
    button.focus();
  }

  private give(names: string[]): void {
    this.dialog.close();
    this.actions.plot(names);
  }
}

/** The items of one level, without what holds their children. */
function itemsOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(":scope > [role=treeitem]")];
}

function levelOf(item: Item | null): number {
  return item === null ? 0 : levelOf(item.parent) + 1;
}
