// The bar that names an IOC as soon as it is lost: which, since when, how many PVs, and what goes on by itself.

import { ApiError, type Status } from "./api.ts";
import { h, setText } from "./dom.ts";
import { getOutages, type Outage } from "./iocs.ts";
import { formatDuration, formatTime, type Zone } from "./time.ts";
import { iocWords as words } from "./words/ioc.ts";

/** What has been lost for longer is no news: the page of IOCs and the chip tell of it. */
const NEWS_SECONDS = 8 * 3600;

export class OutageBar {
  private outages: Outage[] = [];
  private key = "";
  private isAsking = false;
  /** Outages that somebody has taken note of. */
  private noted = new Set<string>();

  constructor(
    private bar: HTMLElement,
    private now: () => number,
    private zone: () => Zone,
  ) {
    bar.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.note();
    });
  }

  /** The news, in one sentence; none while there is none. */
  get sentence(): string | null {
    const news = this.news();
    return news.length === 0 ? null : words.lost(...this.told(news[0]!), news.length - 1);
  }

  /** The archiver has answered: what is lost is asked for when its number has changed. */
  take(status: Status): void {
    const { disconnected } = status.pvs;
    const key = `${status.started} ${disconnected}`;
    if (disconnected === 0) this.outages = [];
    if (key !== this.key && disconnected > 0 && !this.isAsking) void this.ask(key);
    else if (disconnected === 0) this.key = key;
    this.show();
  }

  private async ask(key: string): Promise<void> {
    this.isAsking = true;
    try {
      this.outages = await getOutages();
      this.key = key;
    } catch (error) {
      // Whoever does not answer is told of elsewhere; the next status asks again.
      if (!(error instanceof ApiError)) throw error;
    } finally {
      this.isAsking = false;
    }
    this.show();
  }

  private news(): Outage[] {
    const now = this.now();
    return this.outages.filter((one) => now - one.since < NEWS_SECONDS && !this.noted.has(nameOf(one)));
  }

  private told(one: Outage): [string, string, string, number] {
    const since = formatTime(one.since, this.zone(), 0).slice(11);
    const length = formatDuration(Math.max(0, Math.floor(this.now() - one.since)));
    return [one.address ?? words.unknown, since, length, one.pvs.length];
  }

  private note(): void {
    for (const one of this.news()) this.noted.add(nameOf(one));
    this.show();
  }

  private show(): void {
    const { sentence } = this;
    this.bar.hidden = sentence === null;
    if (sentence === null) return;
    if (this.bar.childElementCount === 0)
      this.bar.append(
        h("p", {}, h("b", { class: "whole" }), h("b", { class: "short" }), " ", h("span", {}, words.goesOn)),
        h("a", { class: "button", href: "manage?part=iocs" }, words.show),
        h(
          "button",
          { type: "button", "aria-label": words.note, title: words.note, click: () => this.note() },
          "✕",
        ),
      );
    const news = this.news();
    const [whole, short] = this.bar.querySelectorAll("b");
    setText(whole!, sentence);
    setText(short!, words.lostShort(...this.told(news[0]!), news.length - 1));
  }
}

/** An outage that ends and begins anew is another. */
function nameOf({ address, since }: Outage): string {
  return `${address} ${since}`;
}
