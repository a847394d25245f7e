// How the archiver fares on its disks, on the page: when each is full, which questions were slow, what is deleted when, and backups.

import { get, getStatus, type Status } from "./api.ts";
import { counted, h } from "./dom.ts";
import { asking, table, type PartContext } from "./manage_parts.ts";
import { problemsOf, storageOf, updatesOf } from "./overview.ts";
import { bytesText } from "./bytes.ts";
import { formatDuration, formatTime } from "./time.ts";
import { manageWords } from "./words/manage.ts";
import { storageWords as words } from "./words/storage.ts";

/** What comes to the disk a day is told by the last full weeks, so many at most. */
const WEEKS = 4;
const DAY = 86_400;
/** Before the first full week: by the week that goes on, once it is so old. */
const LEAST_SECONDS = DAY / 4;
/** So few days are a matter for today, and for this month. */
const BAD_DAYS = 14;
const WARN_DAYS = 60;
const SLOW_SHOWN = 20;

/** What comes to the disk a day, and by which weeks that is known. */
export interface Growth {
  bytesADay: number;
  /** The first and the last of them. */
  from: string;
  to: string;
  /** The week goes on: what is packed later takes less. */
  isOpen: boolean;
}

/** The Monday with which a week begins, in seconds since 1970. */
export function beginOfWeek(week: string): number {
  const [, year, number] = /^(\d+)-W(\d+)$/.exec(week) ?? [];
  const fourth = new Date(Date.UTC(Number(year), 0, 4));
  const monday = fourth.getTime() / 1000 - ((fourth.getUTCDay() + 6) % 7) * DAY;
  return monday + (Number(number) - 1) * 7 * DAY;
}

/** None where nothing is on disk by which it could be told. */
export function growthOf({ store }: Pick<Status, "store">, now: number): Growth | null {
  const old = (week: { week: string }) => now - beginOfWeek(week.week);
  const full = store.weeks.filter((week) => week.state !== "open" && old(week) >= 7 * DAY && week.bytes > 0);
  const last = full.slice(-WEEKS);
  if (last.length > 0) {
    const bytes = last.reduce((sum, week) => sum + week.bytes, 0);
    const days = (beginOfWeek(last.at(-1)!.week) - beginOfWeek(last[0]!.week)) / DAY + 7;
    return { bytesADay: bytes / days, from: last[0]!.week, to: last.at(-1)!.week, isOpen: false };
  }
  const open = store.weeks.at(-1);
  if (!open || open.bytes === 0 || old(open) < LEAST_SECONDS) return null;
  return { bytesADay: (open.bytes / old(open)) * DAY, from: open.week, to: open.week, isOpen: true };
}

/** In how many days a disk is full; none where nothing is known, or nothing comes. */
export function daysLeft(free: number | null | undefined, growth: Growth | null): number | null {
  if (free === null || free === undefined || growth === null || growth.bytesADay <= 0) return null;
  return free / growth.bytesADay;
}

export function storagePart(context: PartContext): HTMLElement {
  return asking(async () => {
    const status = await getStatus();
    const problems = problemsOf(status);
    return [
      h("h2", {}, manageWords.parts.storage),
      problems.length === 0
        ? h("p", {}, manageWords.nothingWrong)
        : h("ul", { class: "problems" }, ...problems.map((text) => h("li", {}, text))),
      ...disksOf(status, context.now),
      h("div", { class: "columns" }, updatesOf(status, null), storageOf(status, context.zone)),
      // Questions name PVs of others.
      ...(context.may("operate") ? [h("h3", {}, words.slow), asking(() => slowRows(context))] : []),
      h("h3", {}, words.retention),
      h("p", { class: "hint" }, retentionText(status)),
      ...(context.may("operate")
        ? [asking(() => upkeepRows(context))]
        : [h("h3", {}, words.backups), h("p", { class: "hint" }, words.backupsAre)]),
    ];
  });
}

/** Each disk with what is free, and when it is full. */
function disksOf(status: Status, now: number): Node[] {
  const growth = growthOf(status, now);
  const { places } = status.store;
  const rows = places.map((place) => {
    const days = daysLeft(place.free_bytes, growth);
    const level = days === null ? "" : days < BAD_DAYS ? "bad" : days < WARN_DAYS ? "warn" : "";
    return h(
      "tr",
      { "data-place": place.name },
      h("th", { scope: "row" }, place.name === "" ? words.dataFolder : place.name),
      h("td", { class: "num" }, bytesText(place.bytes)),
      h("td", { class: "num" }, place.free_bytes == null ? words.notKnown : bytesText(place.free_bytes)),
      h("td", { class: "num" }, place.disk_bytes == null ? words.notKnown : bytesText(place.disk_bytes)),
      h("td", { "data-level": level }, place.trouble ?? fullText(days)),
    );
  });
  const by =
    growth === null
      ? words.noGrowth
      : words.growth(bytesText(growth.bytesADay), growth.from, growth.to, growth.isOpen);
  return [
    h("h3", {}, words.disks),
    table(words.diskHeads, rows, words.disks),
    h("p", { class: "hint" }, by, places.length > 1 ? ` ${words.eachAsIfAll}` : ""),
  ];
}

function fullText(days: number | null): string {
  if (days === null) return words.notKnown;
  return days > 3650
    ? words.notInYears
    : words.fullIn(days < 1 ? words.lessThanADay : words.days(Math.floor(days)));
}

interface SlowRequest {
  time: string;
  seconds: number;
  who: string;
  what: string;
  rows: number | null;
}

async function slowRows({ zone }: PartContext): Promise<Node[]> {
  const { slow } = await get<{ slow: SlowRequest[] }>(`/slow?limit=${SLOW_SHOWN}`);
  if (slow.length === 0) return [h("p", { class: "hint" }, words.noneSlow)];
  const rows = slow.map((one) =>
    h(
      "tr",
      {},
      h("td", {}, formatTime(Date.parse(one.time) / 1000, zone, 0)),
      h("td", { class: "num" }, formatDuration(one.seconds)),
      h("td", {}, one.who),
      h("th", { scope: "row" }, one.what),
      h("td", { class: "num" }, one.rows === null ? "" : counted(one.rows)),
    ),
  );
  return [table(words.slowHeads, rows, words.slow)];
}

interface Kept {
  of: "setting" | "rule" | "others";
  rule: string | null;
  pvs: number | null;
  policies: string[];
  keep_seconds: number | null;
  next: { week: string; at: string } | null;
}

interface Backup {
  at: string;
  to: string;
  bytes: number;
  whole: boolean;
}

/** A backup that is older is a matter for today, for this week. */
const BAD_BACKUP = 7 * DAY;
const WARN_BACKUP = 2 * DAY;

/** What is kept for how long, and the last backups. */
async function upkeepRows({ zone, now }: PartContext): Promise<Node[]> {
  const { retention, backups } = await get<{ retention: Kept[]; backups: Backup[] }>("/upkeep");
  const kept = retention.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, keptPvs(row)),
      h("td", {}, row.keep_seconds === null ? words.forEver : formatDuration(row.keep_seconds)),
      h("td", {}, row.next === null ? words.noneGoes : words.goes(row.next.week)),
      h("td", {}, row.next === null ? "" : formatTime(Date.parse(row.next.at) / 1000, zone, 0).slice(0, 10)),
    ),
  );
  const newest = backups.length === 0 ? null : now - Date.parse(backups[0]!.at) / 1000;
  const made = backups.map((backup) => {
    const at = Date.parse(backup.at) / 1000;
    const age = now - at;
    // Of several folders the newest counts: others may be changed for it by turns.
    const isOld = age === newest;
    const level =
      !backup.whole || (isOld && age > BAD_BACKUP) ? "bad" : isOld && age > WARN_BACKUP ? "warn" : "";
    return h(
      "tr",
      {},
      h("td", {}, formatTime(at, zone, 0)),
      h("td", { class: "num", "data-level": level }, words.ago(formatDuration(Math.max(0, Math.floor(age))))),
      h("td", {}, backup.whole ? words.whole : words.damaged),
      h("td", { class: "num" }, bytesText(backup.bytes)),
      h("th", { scope: "row" }, backup.to),
    );
  });
  return [
    table(words.keptHeads, kept, words.retention),
    h("h3", {}, words.backups),
    ...(made.length > 0
      ? [table(words.backupHeads, made, words.backups)]
      : [h("p", { "data-level": "warn" }, words.noBackup)]),
    h("p", { class: "hint" }, words.backupsAre),
  ];
}

function keptPvs({ of, rule, pvs, policies }: Kept): string {
  if (of === "rule") return words.byRule(rule ?? "");
  if (of === "others") return words.others;
  return policies.length > 0 ? words.byPolicies(policies.join(", "), pvs ?? 0) : words.byHand(pvs ?? 0);
}

function retentionText({ store }: Status): string {
  const { expired_segments = 0, expired_bytes = 0, purging = 0 } = store;
  return words.retentionIs(expired_segments, bytesText(expired_bytes), purging);
}
