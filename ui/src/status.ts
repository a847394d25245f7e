// The status line: is the archiver there, is it well, and how far its clock is from the browser's.

import { ApiError, getStatus, isBarred, type Status } from "./api.ts";
import { bytesText } from "./bytes.ts";
import { byId, counted, h, setText } from "./dom.ts";
import { KnownPvs, lackingOf, type Known } from "./known.ts";
import { missingText } from "./missing.ts";
import { formatDuration, formatTime, zoneOf, type Zone } from "./time.ts";
import { chipText, knownText, statusWords as words } from "./words/status.ts";

const POLL_MILLIS = 5000;
const POLL_LOST_MILLIS = 2000;
const ANSWER_MILLIS = 4000;

/** A computer's clock that is wrong by more than this is said to be, beyond what an answer that was long on its way leaves open. */
const OFF_SECONDS = 2;

/** Clocks that drift are corrected by less than this. */
const SET_BACK_SECONDS = 1;

export class StatusLine {
  private connection = byId("connection");
  private counts = byId("counts");
  private durable = byId("durable");
  private problems = byId("problems");
  private chip = byId("chip");
  private lostBar = byId("lost");
  private list = new KnownPvs();
  private offset = 0;
  /** So many seconds this computer's clock is ahead of the archiver's, where that is worth a word; else none. */
  clockOff = 0;
  /** The zone in which people of the site read times, as the archiver tells it. */
  site: string | null = null;
  /** When the archiver was last heard of, by its own clock. */
  private heardAt = Date.now() / 1000;
  private lostAt: number | null = null;
  private polling = 0;
  private isResting = false;
  private listener: (status: Status) => void = () => undefined;
  /** The archiver's clock at its last answer, and the browser's that nobody sets. */
  private told = { clock: -Infinity, heard: 0 };

  /**
   * `lost` is called when the archiver falls silent, `regained` when it answers again after that, `setBack` when its clock shows
   * again what it has shown already.
   */
  constructor(
    private zone: () => Zone,
    private lost: () => void,
    private regained: () => void,
    private setBack: () => void,
  ) {}

  /** The first of what the archiver complains about. */
  get problem(): string | null {
    return this.problems.firstElementChild?.textContent ?? null;
  }

  /** Calls back with each answer. */
  onStatus(listener: (status: Status) => void): void {
    this.listener = listener;
  }

  /** The server's clock, in float seconds: ranges that end at now end at its now, not the browser's. */
  now(): number {
    return Date.now() / 1000 + this.offset;
  }

  get isSilent(): boolean {
    return this.lostAt !== null;
  }

  /** Up to when anything is known: now, or the last answer of an archiver that is silent. */
  known(): number {
    return this.lostAt ?? this.now();
  }

  /** The archiver has just been heard of. */
  hear(): void {
    this.heardAt = this.now();
  }

  /** Asks no more, as whoever looks on is told nothing. */
  rest(): void {
    this.isResting = true;
    window.clearTimeout(this.polling);
    this.showUnknown();
    setText(this.connection, words.unknownSince(this.since()));
    this.connection.dataset.level = "bad";
  }

  /** Asks now and from then on. */
  async poll(): Promise<void> {
    window.clearTimeout(this.polling);
    this.isResting = false;
    const controller = new AbortController();
    const limit = window.setTimeout(() => controller.abort(), ANSWER_MILLIS);
    const [asked, steady] = [Date.now(), performance.now()];
    try {
      this.show(await getStatus(controller.signal), asked, steady);
    } catch (error) {
      this.showLost(error);
    }
    window.clearTimeout(limit);
    window.clearTimeout(this.polling);
    if (this.isResting) return;
    const wait = this.lostAt === null ? POLL_MILLIS : POLL_LOST_MILLIS;
    this.polling = window.setTimeout(() => void this.poll(), wait);
  }

  private show(status: Status, asked: number, steady: number): void {
    // The answer's time lies between asking and hearing; the middle errs least.
    const heard = Date.now();
    const clock = Date.parse(status.now) / 1000;
    const offset = clock - (asked + heard) / 2000;
    if (Number.isFinite(offset)) this.offset = Math.abs(offset) < 0.05 ? 0 : offset;
    const isOff = Math.abs(offset) - (heard - asked) / 2000 > OFF_SECONDS;
    this.clockOff = Number.isFinite(offset) && isOff ? -offset : 0;
    const least = this.told.clock + (steady - this.told.heard) / 1000;
    this.told = { clock, heard: performance.now() };
    if (clock < least - SET_BACK_SECONDS) this.setBack();
    // An older browser may not know the zone.
    this.site = status.zone && zoneOf(status.zone) !== "local" ? status.zone : null;
    this.hear();
    this.showPvs(status);
    void this.list.renew(status.clustered, status.pvs.total).then((isNews) => {
      if (isNews && this.lostAt === null && !this.isResting) this.showPvs(status);
    });
    const lag = status.durable.lag;
    setText(this.durable, lag > 0 ? words.lag(lag) : words.allOnDisk);
    this.problems.replaceChildren(...status.problems.map((problem) => h("li", {}, problem)));
    this.problems.hidden = status.problems.length === 0;
    this.connection.title = words.running(status.version, status.started);
    this.connection.dataset.level = "ok";
    setText(this.connection, words.connected);
    this.lostBar.hidden = true;
    this.lostBar.replaceChildren();
    this.showRoom(status);
    this.listener(status);
    if (this.lostAt === null) return;
    this.lostAt = null;
    document.body.classList.remove("is-lost");
    this.regained();
  }

  /** Where nothing is archived yet: for how much there is room. */
  private showRoom({ store }: Status): void {
    const free = store.places[0]?.free_bytes;
    setText(byId("room"), free == null ? "" : words.room(bytesText(free)));
  }

  /** How many there are, and how they fare: of a cluster those of this node, unless it has none, or nobody answers for some. */
  private showPvs({ pvs, clustered }: Status): void {
    const { known } = this.list;
    const own = countsText(pvs);
    const lost = pvs.disconnected + pvs.searching;
    document.body.classList.toggle("is-barren", pvs.total === 0 && isNothing(known, clustered));
    if (known && known.missing.length > 0) {
      const { whole, short } = knownText(known.total, lackingOf(known));
      setText(this.counts, whole);
      this.counts.dataset.level = "warn";
      return this.showChip(whole, "warn", missingText(known.missing), short);
    }
    const isElsewhere = pvs.total === 0 && clustered;
    // What other nodes have comes a moment later.
    if (isElsewhere && !this.list.isTold) return;
    const text = isElsewhere && known ? chipText(known.total, 0) : chipText(pvs.total, lost);
    const told = isElsewhere && known ? words.elsewhere(counted(known.total)) : own;
    setText(this.counts, told);
    this.counts.dataset.level = lost > 0 ? "warn" : "ok";
    this.showChip(text, lost > 0 ? "warn" : "ok", told);
  }

  private showLost(error: unknown): void {
    if (this.isResting) return;
    this.showUnknown();
    this.connection.dataset.level = "bad";
    // Who is not let in hears of it where they can log in.
    if (isBarred(error)) return setText(this.connection, words.unknownSince(this.since()));
    setText(this.connection, "");
    document.body.classList.add("is-lost");
    const isRefusal = error instanceof ApiError && error.code !== "unreachable";
    const reason = isRefusal ? error.sentence : words.noAnswer;
    this.lostBar.hidden = false;
    const length = formatDuration(Math.max(0, Math.round(this.now() - this.lostAt!)));
    const sentence = words.lost(this.since(), length, reason);
    const [told] = this.lostBar.getElementsByTagName("b");
    if (told) return setText(told, sentence);
    const means = h("span", {}, words.lostMeans(POLL_LOST_MILLIS / 1000));
    this.lostBar.replaceChildren(h("p", {}, h("b", {}, sentence), " ", means));
  }

  /** What it last said of its PVs and its disk need not be so any more. */
  private showUnknown(): void {
    if (this.lostAt === null) {
      this.lostAt = this.heardAt;
      this.lost();
    }
    setText(this.counts, words.pvsUnknown);
    this.counts.dataset.level = "";
    this.showChip(words.silentSince(this.since()), "bad", words.silent);
    setText(this.durable, "");
  }

  /** Where there is little room the shorter text is shown. */
  private showChip(text: string, level: string, title: string, short = text): void {
    const parts =
      short === text ? [text] : [h("span", { class: "whole" }, text), h("span", { class: "short" }, short)];
    this.chip.classList.toggle("is-long", short !== text);
    if (this.chip.textContent !== (short === text ? text : text + short)) this.chip.replaceChildren(...parts);
    this.chip.dataset.level = level;
    this.chip.title = title;
  }

  private since(): string {
    return formatTime(this.lostAt!, this.zone(), 0).slice(11);
  }
}

/** Nothing is archived, as far as anybody knows. */
function isNothing(known: Known | null, clustered: boolean): boolean {
  return known === null ? !clustered : known.total === 0 && known.missing.length === 0;
}

/** What is well is one number; what is not comes first, and says how it is not. */
function countsText({ total, connected, disconnected, searching, paused }: Status["pvs"]): string {
  const lost = disconnected + searching;
  const rest = paused > 0 ? words.paused(counted(paused)) : "";
  if (lost === 0) return words.well(counted(total), counted(connected), rest);
  const parts = [
    [disconnected, "disconnected"],
    [searching, "searching"],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, word]) => `${counted(count)} ${word}`);
  return words.lostPvs(lost, total, told.join(", "), rest);
}
