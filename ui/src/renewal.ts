// A page that nobody closes: when the archiver was restarted as a newer program, its newer page is loaded at the next full hour.

import type { Status } from "./api.ts";

/** The script of a page, whose name changes with its content. */
const SCRIPT = /assets\/app-\w+\.js/;

/** Which script a page begins with; none where that is no page of ours. */
export function scriptIn(html: string): string | null {
  return SCRIPT.exec(html)?.[0] ?? null;
}

export class Renewal {
  private started: string | null = null;
  private isRestarted = false;
  private hour = NaN;

  /** `reload` loads the page; `html` is the page as the archiver has it now. */
  constructor(
    private ours: string,
    private html: () => Promise<string>,
    private reload: () => void,
  ) {}

  /** The archiver has answered, at its own time in seconds since 1970. */
  async take({ started }: Pick<Status, "started">, now: number): Promise<void> {
    if (this.started !== null && this.started !== started) this.isRestarted = true;
    this.started = started;
    const hour = Math.floor(now / 3600);
    const isNewHour = !Number.isNaN(this.hour) && hour !== this.hour;
    this.hour = hour;
    if (!this.isRestarted || !isNewHour) return;
    const theirs = scriptIn(await this.html().catch(() => ""));
    if (theirs === null) return;
    this.isRestarted = false;
    if (!this.ours.includes(theirs)) this.reload();
  }
}
