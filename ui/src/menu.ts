// A menu that opens where it was asked for: entries by arrows, letters or touch, more of them behind an entry, and the focus back where it was.

import { byId, h } from "./dom.ts";
import { menuWords as words } from "./words/menu.ts";

/** One line of a menu. What it does may say something afterwards. */
export type Entry =
  | { text: string; hint?: string; act(): string | void | Promise<string | void> }
  | { text: string; isOn: boolean; isChoice?: boolean; act(): void }
  | { text: string; about?: string; more: Entry[] }
  | { text: string; href: string }
  | "line";

export interface Asked {
  /** What the menu is about. */
  title: string;
  /** What else there is to say of it. */
  about?: string;
  entries: Entry[];
}

/** What was done is said for so long. */
const SAID_MILLIS = 2500;
/** From the edges of the window. */
const ASIDE = 8;
/** On a narrow page a menu lies at the foot, where a thumb is. */
const NARROW = 768;

let open: Menu | null = null;

/** Shows a menu at a place of the window; one that is open gives way to it. The focus goes back to `from` unless an entry takes it elsewhere. */
export function showMenu(asked: Asked, at: { x: number; y: number }, from: Element | null): void {
  open?.close();
  open = new Menu(asked, at, from);
}

class Menu {
  private box = h("div", { class: "menu" });
  /** The menus above what is shown, and which of their entries led here. */
  private above: { asked: Asked; row: number }[] = [];
  private asked: Asked;
  private letters = "";
  private typedAt = -Infinity;

  constructor(
    asked: Asked,
    private at: { x: number; y: number },
    private from: Element | null,
  ) {
    this.asked = asked;
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("contextmenu", (event) => event.preventDefault());
    document.addEventListener("pointerdown", this.elsewhere, { capture: true });
    window.addEventListener("resize", this.closeOnly);
    window.addEventListener("popstate", this.closeOnly);
    byId("view").append(this.box);
    this.fill(0);
  }

  close(): void {
    document.removeEventListener("pointerdown", this.elsewhere, { capture: true });
    window.removeEventListener("resize", this.closeOnly);
    window.removeEventListener("popstate", this.closeOnly);
    const hadFocus = this.box.contains(document.activeElement);
    this.box.remove();
    if (open === this) open = null;
    if (!hadFocus) return;
    // The row of a PV may be another element by now.
    const back = this.from?.isConnected ? this.from : document.getElementById("plot");
    (back as HTMLElement | null)?.focus({ preventScroll: true });
  }

  private closeOnly = (): void => this.close();

  private elsewhere = (event: Event): void => {
    if (!this.box.contains(event.target as Node)) this.close();
  };

  private fill(row: number): void {
    const { title, about, entries } = this.asked;
    const parent = this.above.at(-1);
    this.letters = "";
    const head = parent
      ? h("button", { type: "button", class: "menu-back", tabindex: "-1", click: () => this.up() }, title)
      : h("div", { class: "menu-head" }, title);
    const menu = h(
      "div",
      { role: "menu", "aria-label": about ? `${title}. ${about}` : title },
      ...entries.map((entry) => this.line(entry)),
    );
    this.box.replaceChildren(head, ...(about ? [h("p", { class: "menu-about" }, about)] : []), menu);
    this.place();
    (this.lines[row] ?? this.lines[0])?.focus({ preventScroll: true });
    this.lines[row]?.scrollIntoView({ block: "nearest" });
  }

  private line(entry: Entry): HTMLElement {
    if (entry === "line") return h("hr", {});
    const common = { class: "menu-line", tabindex: "-1" };
    if ("href" in entry)
      return h("a", { ...common, role: "menuitem", href: entry.href, click: () => this.close() }, entry.text);
    if ("more" in entry)
      return h(
        "button",
        {
          ...{ ...common, type: "button", role: "menuitem", "aria-haspopup": "menu" },
          click: () => this.down({ title: entry.text, about: entry.about ?? "", entries: entry.more }),
        },
        h("span", {}, entry.text),
        h("span", { class: "menu-more", "aria-hidden": "true" }, "›"),
      );
    if ("isOn" in entry)
      return h(
        "button",
        {
          ...{ ...common, type: "button", "aria-checked": String(entry.isOn) },
          role: entry.isChoice ? "menuitemradio" : "menuitemcheckbox",
          click: () => {
            this.close();
            entry.act();
          },
        },
        h("span", {}, entry.text),
      );
    return h(
      "button",
      { ...common, type: "button", role: "menuitem", click: () => void this.act(entry) },
      h("span", {}, entry.text),
      entry.hint ? h("kbd", { "aria-hidden": "true" }, entry.hint) : null,
    );
  }

  private async act({ act }: { act(): string | void | Promise<string | void> }): Promise<void> {
    this.close();
    const { className } = this.box;
    const { left, top } = this.box.style;
    const text = await act();
    if (typeof text !== "string") return;
    const said = h("div", { class: `${className} menu-said`, role: "status" }, text);
    Object.assign(said.style, { left, top });
    byId("view").append(said);
    window.setTimeout(() => said.remove(), SAID_MILLIS);
  }

  /** Beside where it was asked for, and within the window. */
  private place(): void {
    const { box, at } = this;
    const isNarrow = window.innerWidth < NARROW;
    box.classList.toggle("is-foot", isNarrow);
    if (isNarrow) return void Object.assign(box.style, { left: "", top: "" });
    const { offsetWidth, offsetHeight } = box;
    const left = Math.min(at.x, window.innerWidth - offsetWidth - ASIDE);
    const top = Math.min(at.y, window.innerHeight - offsetHeight - ASIDE);
    Object.assign(box.style, { left: `${Math.max(ASIDE, left)}px`, top: `${Math.max(ASIDE, top)}px` });
  }

  private get lines(): HTMLElement[] {
    return [...this.box.querySelectorAll<HTMLElement>(".menu-line")];
  }

  private down(asked: Asked): void {
    this.above.push({ asked: this.asked, row: this.lines.indexOf(document.activeElement as HTMLElement) });
    this.asked = asked;
    const chosen = asked.entries
      .filter((entry) => entry !== "line")
      .findIndex((entry) => "isOn" in entry && entry.isOn);
    this.fill(Math.max(0, chosen));
  }

  private up(): void {
    const parent = this.above.pop();
    if (!parent) return this.close();
    this.asked = parent.asked;
    this.fill(parent.row);
  }

  private key(event: KeyboardEvent): void {
    const { lines } = this;
    const now = lines.indexOf(document.activeElement as HTMLElement);
    const to = (row: number) => lines[(row + lines.length) % lines.length]?.focus();
    const opens = lines[now]?.getAttribute("aria-haspopup") === "menu";
    if (event.key === "ArrowDown") to(now + 1);
    else if (event.key === "ArrowUp") to(now - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(-1);
    else if (event.key === "ArrowRight" && opens) lines[now]!.click();
    else if (event.key === "ArrowLeft" && this.above.length > 0) this.up();
    else if (event.key === "Escape") this.up();
    else if (event.key === "Tab") this.close();
    else if (event.key === "Enter" || event.key === " ") lines[now]?.click();
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey)
      this.type(event, now);
    else return void event.stopPropagation();
    // Tab goes on from where the focus is by now.
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  }

  /** What is typed leads to the next entry that begins so. */
  private type(event: KeyboardEvent, now: number): void {
    const isSame = event.timeStamp - this.typedAt < 700;
    this.letters = (isSame ? this.letters : "") + event.key.toLowerCase();
    this.typedAt = event.timeStamp;
    const { lines } = this;
    const from = this.letters.length === 1 ? now + 1 : now;
    const found = [...lines.slice(from), ...lines.slice(0, from)].find((line) =>
      line.textContent!.toLowerCase().startsWith(this.letters),
    );
    found?.focus();
  }
}

/** What is said of an entry that copies. */
export function copiedText(isCopied: boolean, text: string): string {
  return isCopied ? words.copied(text) : words.notCopied(text);
}
