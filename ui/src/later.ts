// What of the page comes when it is wanted: in the place of a part that does not come stands why, and it is asked for again.
//
// Browsers remember that a module did not come, and ask nobody a second time: under another name it is another module. What it is made
// with may not have come either, and that only a new page forgets; the address keeps what is shown.

import { h } from "./dom.ts";
import { button, emptyOf } from "./empty.ts";
import { scriptIn } from "./renewal.ts";
import { laterWords as words } from "./words/later.ts";

/** An archiver that does not answer is asked again after so long, while somebody looks on. */
const AGAIN_MILLIS = 5000;
/** What browsers say names the module that did not come. */
const MODULE = /https?:\S+\.js/;

/** Nobody answers; the archiver is another version by now; it answers, but with something else. */
type Why = "silent" | "renewed" | "lacking";

/** The part, as soon as it is there; until then `place` says what keeps it. */
export async function bring<T>(place: HTMLElement, load: () => Promise<T>): Promise<T> {
  const absence = new Absence(place);
  for (let tries = 0; ; tries++) {
    const part = await attempt(load, tries);
    if (part !== null) {
      absence.end();
      return part;
    }
    await absence.next(await whyNot());
  }
}

async function attempt<T>(load: () => Promise<T>, tries: number): Promise<T | null> {
  try {
    return await load();
  } catch (error) {
    const name = MODULE.exec(messageOf(error))?.[0];
    if (tries === 0 || name === undefined) return null;
    try {
      return (await import(`${name}?again=${tries}`)) as T;
    } catch (error) {
      messageOf(error);
      return null;
    }
  }
}

/** Modules that do not come are wrong types to browsers; what goes wrong in one that came is no matter of ours. */
function messageOf(error: unknown): string {
  if (error instanceof TypeError) return error.message;
  throw error;
}

async function whyNot(): Promise<Why> {
  try {
    const answer = await fetch("./", { cache: "no-store" });
    if (!answer.ok) return "silent";
    const theirs = scriptIn(await answer.text());
    const ours = document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "";
    return theirs !== null && !ours.includes(theirs) ? "renewed" : "lacking";
  } catch {
    return "silent";
  }
}

class Absence {
  private again = button(words.again, () => this.press());
  private element = h("div", { class: "absence", role: "alert" });
  private press: () => void = () => undefined;
  private lacked = 0;

  constructor(private place: HTMLElement) {}

  /** Says why; resolves when it is to be asked for again, which is never where nobody waits for it any more. */
  next(why: Why): Promise<void> {
    if (why === "lacking") this.lacked += 1;
    // Under another name it did not come either.
    const isRenewal = why === "renewed" || this.lacked > 1;
    const then = why === "silent" ? words.silentThen(AGAIN_MILLIS / 1000) : isRenewal ? words.anew : "";
    this.say(words.why[why], then);
    this.place.hidden = false;
    if (!this.element.isConnected) this.place.append(this.element);
    return new Promise((resolve) => {
      const go = () => {
        window.clearInterval(timer);
        resolve();
      };
      const timer = window.setInterval(() => {
        if (!this.element.isConnected) window.clearInterval(timer);
        else if (why === "silent" && this.element.checkVisibility()) go();
      }, AGAIN_MILLIS);
      this.press = () => (isRenewal ? location.reload() : go());
    });
  }

  /** The button stays, and keeps the focus, while the same is said. */
  private say(text: string, then: string): void {
    const key = `${text} ${then}`;
    if (this.element.dataset.said === key) return;
    const hadFocus = this.element.contains(document.activeElement);
    this.element.dataset.said = key;
    this.element.replaceChildren(...emptyOf(text, [this.again], then));
    if (hadFocus) this.again.focus();
  }

  /** Whoever had the focus on the button has it on what came. */
  end(): void {
    const hadFocus = this.element.contains(document.activeElement);
    this.element.remove();
    if (!hadFocus) return;
    this.place.tabIndex = -1;
    this.place.focus();
  }
}
