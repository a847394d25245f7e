// Who one is, on the page: the button in the header, the dialog behind it, the login, and what is left out for those who may not use it.

import { ApiError, getMe, logIn, logOut, oidcUrl, tryOidc, type Me, type Right } from "./api.ts";
import { byId, h, setText } from "./dom.ts";
import {
  canLogIn,
  hereText,
  howText,
  isAnonymous,
  isLogin,
  mayTexts,
  nameOf,
  reaches,
  returnPath,
} from "./who.ts";
import { commonWords } from "./words/common.ts";
import { loginWords as words } from "./words/login.ts";

/** While nobody knows who asks, that is asked so often. */
const RETRY_MILLIS = 2000;
/** How often somebody who has a session asks whether it lasts. */
const SESSION_MILLIS = 60_000;

/** The archiver brings nobody back to a longer path, nor to any if the login fails; this tab remembers it. */
const PATH_MAX = 1900;
const REMEMBERED = "pvark-return";

export class Login {
  private button = byId("who");
  private dialog = byId<HTMLDialogElement>("me");
  private gate = byId("gate");
  private notice = byId("notice");
  private me: Me | null = null;
  /** Whose session has ended while the page was open. */
  private ended: string | null = null;
  private asking: Promise<void> | null = null;
  /** The cookie of a session that is over was taken from the browser. */
  private isCleared = false;
  /** When the archiver said last who asks, by the browser's clock that nobody sets, and since when it ran then. */
  private toldAt = -Infinity;
  private run = "";

  /** `changed` is called when what may be read or done has changed. */
  constructor(private changed: () => void) {
    this.button.addEventListener("click", () => this.open());
    // Somebody may have logged in or out in another tab.
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.me?.open === false) void this.ask();
    });
  }

  /** Whether anything may be read at all. What is not known yet is tried. */
  get mayRead(): boolean {
    return this.may("read");
  }

  /** As the archiver names whoever looks on; none before it was asked. */
  get who(): string | null {
    return this.me?.who ?? null;
  }

  may(right: Right): boolean {
    return this.me === null || this.me.open || reaches(this.me.most, right);
  }

  /** Whether somebody may change what this one wrote. */
  mayChange(by: string): boolean {
    return this.may("administer") || by === this.me?.who;
  }

  /** Asks who one is; whoever asks meanwhile gets the same answer. */
  ask(isDoubted = false): Promise<void> {
    this.asking ??= this.askOnce(isDoubted).finally(() => (this.asking = null));
    return this.asking;
  }

  /** An answer or a stream has said that whoever asks may not, or is not known any more. */
  async doubt(): Promise<void> {
    await this.asking;
    await this.ask(true);
  }

  /**
   * The archiver, which runs since then, has answered. It takes the cookie of a session that is over from the browser with the first
   * refusal, whoever gets that: a stream, which does not say why it was refused, or a question for whose answer nobody waits any more.
   * What is asked after that is answered as to anybody. So whether a session lasts is asked of an archiver that was started anew, and
   * now and then.
   */
  heard(started: string): void {
    if (started !== this.run) this.toldAt = -Infinity;
    this.run = started;
    if (this.me?.session && performance.now() - this.toldAt > SESSION_MILLIS) void this.ask();
  }

  private async askOnce(isDoubted: boolean): Promise<void> {
    try {
      const me = await getMe();
      this.toldAt = performance.now();
      // The cookie of a session that is over keeps one even from what anybody may. It goes once, or it would go for ever.
      const isDead = isAnonymous(me) && (isDoubted || this.me?.session === true);
      if (isDead && !me.open && !this.isCleared) {
        this.isCleared = true;
        // Where that is not answered the archiver takes it with what it refuses next.
        await logOut().catch(() => undefined);
        this.take(me, true);
      } else {
        this.take(me, false);
      }
    } catch {
      // The foot of the page says that the archiver does not answer.
      if (this.me === null) window.setTimeout(() => void this.ask(isDoubted), RETRY_MILLIS);
    }
  }

  private take(me: Me, isNews: boolean): void {
    const before = this.me;
    this.me = me;
    if (!isAnonymous(me)) {
      this.ended = null;
      this.isCleared = false;
    } else if (before?.session) {
      this.ended = nameOf(before);
    }
    if (isLogin(location.pathname) && (me.open || !isAnonymous(me))) return leave(this.wanted());
    // What was typed into a login stays while nothing is new.
    const isOther = JSON.stringify(before) !== JSON.stringify(me);
    if (isOther) this.show();
    if (isNews || (isOther && before !== null)) this.changed();
    // A dialog lies over everything, also over the words that the session is over.
    if (before?.session && this.ended !== null && document.querySelector("dialog[open]")) this.open();
  }

  private show(): void {
    const me = this.me!;
    document.body.dataset.may = me.open ? "administer" : (me.most ?? commonWords.none);
    this.button.hidden = me.open;
    if (me.open) return;
    const name = canLogIn(me) ? words.logIn : nameOf(me);
    setText(this.button, name);
    this.button.title = canLogIn(me) ? words.logInTitle : words.whoTitle(name);
    this.showGate(me);
    this.showNotice(me);
    if (this.dialog.open) this.fill(me);
  }

  /** What stands in place of the page where nothing of it may be seen. */
  private showGate(me: Me): void {
    const isEmpty = document.body.classList.contains("is-empty");
    const isGated = isLogin(location.pathname) || (me.most === null && (this.ended === null || isEmpty));
    document.body.classList.toggle("is-gated", isGated);
    document.body.classList.toggle("is-barred", me.most === null);
    if (!isGated) return this.gate.replaceChildren();
    const why =
      this.ended !== null
        ? words.over(this.ended)
        : me.most === null
          ? words.nothingBefore
          : words.without(mayTexts(me).join(words.andMay));
    if (canLogIn(me)) {
      const refused = refusedText(new URLSearchParams(location.search).get("refused"), me);
      this.gate.replaceChildren(h("h2", {}, words.logIn), h("p", {}, why), ...this.ways(me, refused));
      focusWay(this.gate);
    } else if (isAnonymous(me)) {
      const elsewhere = words.elsewhere;
      const on = h("a", { href: this.wanted() }, words.goOn);
      const rest = me.most === null ? "" : h("p", {}, on);
      this.gate.replaceChildren(h("h2", {}, words.noLogin), h("p", {}, `${why} ${elsewhere}`), rest);
    } else {
      this.gate.replaceChildren(h("h2", {}, words.nothingFor(nameOf(me))), ...this.facts(me));
    }
  }

  /** The one sentence that the archiver has to say about it, with the one thing to do. */
  private showNotice(me: Me): void {
    const isSaid = this.ended !== null && !document.body.classList.contains("is-gated");
    this.notice.hidden = !isSaid;
    if (!isSaid) return this.notice.replaceChildren();
    const rest = me.most === null ? words.nothingNew : words.anybody;
    const login = h("button", { type: "button", click: () => this.open() }, words.logIn);
    this.notice.replaceChildren(
      h("span", {}, words.overAnd(this.ended!, rest)),
      ...(canLogIn(me) ? [login] : []),
    );
  }

  open(): void {
    if (this.me === null) return;
    this.fill(this.me);
    if (!this.dialog.open) this.dialog.showModal();
    focusWay(this.dialog);
  }

  private fill(me: Me): void {
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    const isLoginWanted = canLogIn(me);
    const over = this.ended === null ? null : h("p", {}, words.over(this.ended));
    this.dialog.replaceChildren(
      h("header", {}, h("h2", { id: "me-title" }, isLoginWanted ? words.logIn : nameOf(me)), close),
      ...(over ? [over] : []),
      ...(isLoginWanted ? this.ways(me) : []),
      ...this.facts(me),
    );
  }

  /** Who one is, how that is known, and what one may. */
  private facts(me: Me): HTMLElement[] {
    const list = h("dl");
    const row = (term: string, texts: string[]) =>
      list.append(h("dt", {}, term), ...texts.map((text) => h("dd", {}, text)));
    if (!isAnonymous(me)) {
      row(words.who, [me.who]);
      row(words.knownBy, [howText(me)]);
      row(words.groups, [me.groups.length > 0 ? me.groups.join(", ") : commonWords.none]);
    }
    row(isAnonymous(me) ? words.mayWithout : words.may, mayTexts(me));
    const here = hereText(me);
    const parts: HTMLElement[] = [list];
    if (here) parts.push(h("p", {}, here));
    if (me.session) parts.push(this.out(me));
    return parts;
  }

  private out(me: Me): HTMLElement {
    const said = h("span", { role: "alert" });
    const click = async () => {
      try {
        await logOut();
        // Nothing of what was shown stays behind.
        location.reload();
      } catch (error) {
        setText(said, sentenceOf(error));
      }
    };
    const elsewhere = me.how === "oidc" && me.login.oidc ? words.staysAt(me.login.oidc) : "";
    return h(
      "p",
      { class: "actions" },
      h("button", { type: "button", click: () => void click() }, words.logOut),
      h("span", { class: "faint" }, elsewhere),
      said,
    );
  }

  /** The ways to log in: at the provider, by name and password. */
  private ways(me: Me, refused = ""): HTMLElement[] {
    const { oidc, password } = me.login;
    const said = h("p", { class: "said", role: "alert" }, refused);
    const parts: HTMLElement[] = [];
    if (oidc !== null) parts.push(h("p", {}, this.byProvider(oidc, said)));
    if (password) parts.push(this.byPassword(said, oidc === null));
    return [...parts, said];
  }

  private byProvider(host: string, said: HTMLElement): HTMLElement {
    const button = h("button", { type: "button", class: "primary way" }, words.logInWith(host));
    button.addEventListener("click", () => {
      const path = remembered(this.wanted());
      const go = async () => {
        setText(said, words.askingHost(host));
        // A refusal would stand alone in the window otherwise.
        await tryOidc(path);
        setText(said, "");
        location.assign(oidcUrl(path));
      };
      void this.try([button], said, go);
    });
    return button;
  }

  private byPassword(said: HTMLElement, isOnly: boolean): HTMLElement {
    const user = h("input", {
      ...{ type: "text", name: "username", autocomplete: "username", class: isOnly ? "way" : "" },
      ...{ autocapitalize: commonWords.none, spellcheck: "false", required: true },
    });
    const password = h("input", {
      ...{ type: "password", name: "password", autocomplete: "current-password", required: true },
    });
    const button = h("button", { type: "submit", class: isOnly ? "primary" : "" }, words.logIn);
    const caps = h("span", { class: "faint", role: "status" });
    password.addEventListener("keyup", (event) =>
      setText(caps, event.getModifierState("CapsLock") ? words.capsLock : ""),
    );
    const form = h(
      "form",
      { class: "login", method: "post" },
      h("label", {}, h("span", {}, words.name), user),
      h("label", {}, h("span", {}, words.password), password),
      h("p", { class: "actions" }, caps, button),
    );
    const go = async () => {
      setText(said, words.asking);
      await logIn(user.value.trim(), password.value);
      await this.done();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.try([button], said, go).then((isIn) => {
        if (isIn) return;
        password.select();
        password.focus();
      });
    });
    return form;
  }

  /** Says why it was refused; whether it was not. */
  private async try(
    buttons: HTMLButtonElement[],
    said: HTMLElement,
    go: () => Promise<void>,
  ): Promise<boolean> {
    for (const button of buttons) button.disabled = true;
    try {
      await go();
      return true;
    } catch (error) {
      setText(said, sentenceOf(error));
      return false;
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  /** Somebody is in. A page that shows something goes on where it is. */
  private async done(): Promise<void> {
    if (document.body.classList.contains("is-gated")) return leave(this.wanted());
    await this.asking;
    await this.ask();
    this.dialog.close();
  }

  /** Where one wants to be. */
  private wanted(): string {
    const { pathname, search, hash, origin } = location;
    if (!isLogin(pathname)) return pathname + search + hash;
    return returnPath(
      new URLSearchParams(search).get("return") ?? sessionStorage.getItem(REMEMBERED),
      origin,
    );
  }
}

/** The path to come back to for a path to go to: itself, or the page that knows it. */
function remembered(path: string): string {
  sessionStorage.setItem(REMEMBERED, path);
  if (path.length <= PATH_MAX) return path;
  return new URL("login", location.href).pathname;
}

let isLeaving = false;

/** Goes there, also where that is this page. Whoever hears a second time who asks, before the browser has left, is on the way already. */
function leave(path: string): void {
  if (isLeaving) return;
  isLeaving = true;
  sessionStorage.removeItem(REMEMBERED);
  if (path === location.pathname + location.search + location.hash) location.reload();
  else location.replace(path);
}

/** Why a login at the provider did not come to its end, by the archiver's word for it. */
function refusedText(reason: string | null, me: Me): string {
  if (reason === null) return "";
  return reason === "away" ? words.silent(me.login.oidc ?? words.provider) : words.notEnded;
}

function focusWay(parent: HTMLElement): void {
  parent.querySelector<HTMLElement>(".way")?.focus();
}

/** A refusal as a sentence of its own. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof ApiError)) return String(error);
  const { sentence, retryAfter } = error;
  const again = retryAfter === null ? "" : words.again(retryAfter);
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.${again}`;
}
