// Files of the whole view: which format and times, what that comes to, how far it is, and the files that were made before.

import { ApiError, isAbort, isBarred, refusalText } from "./api.ts";
import { h, set, setText } from "./dom.ts";
import {
  dropExport,
  fileUrl,
  FORMATS,
  listExports,
  METHODS,
  orderExport,
  planExport,
  type Format,
  type Job,
  type Method,
  type Wanted,
} from "./exports.ts";
import { bytesText } from "./bytes.ts";
import type { Range } from "./state.ts";
import { formatDuration } from "./time.ts";
import { exportWords as words } from "./words/export.ts";

/** Somebody may still be choosing. */
const REST_MILLIS = 200;
const PROGRESS_MILLIS = 500;
/** An archiver that does not answer is asked again so often. */
const SILENT_MILLIS = 2000;
/** An aligned table has about so many rows at first. */
const ROWS = 1000;
const PERIODS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 86_400];
/** More files of before are counted. */
const FILES_SHOWN = 8;

export interface Exported {
  names: string[];
  range: Range;
  /** Rows of the view that no file has: hidden ones, formulas, other times. */
  leftOut: number;
  now(): number;
  /** Who looks on: of others' files it is said whose they are. */
  who: string | null;
  /** Whether somebody still looks on. */
  isOpen(): boolean;
}

export class ExportForm {
  readonly element: HTMLElement;
  private format: Format = "csv";
  private isAligned = false;
  private period = h("input", { type: "number", min: "0", step: "any", "aria-label": words.period });
  private method = h("select", { "aria-label": words.method });
  private aligned = h("span", { class: "of-aligned", hidden: true });
  private plan = h("div", { class: "export-plan", role: "status" });
  private go = h("button", { type: "submit", class: "primary" });
  private files = h("div", { class: "export-files" });
  private said = h("p", { class: "said is-error", role: "alert", hidden: true });
  private form: HTMLFormElement;
  private rows = new Map<number, Row>();
  private asking: AbortController | null = null;
  private timer = 0;
  private progress = 0;
  /** It is saved as soon as it is made, as long as somebody waits for it. */
  private awaited: number | null = null;
  /** An order is on its way: a second press is none. */
  private isOrdering = false;
  /** The archiver did not answer; when it does, all is asked again. */
  private isSilent = false;

  constructor(private of: Exported) {
    const { names, range, leftOut } = of;
    const seconds = range.to - range.from;
    this.period.value = String(PERIODS.find((period) => seconds / period <= ROWS) ?? PERIODS.at(-1)!);
    this.method.append(...METHODS.map((method) => h("option", { value: method }, words.methods[method])));
    this.aligned.append(words.every, " ", this.period, " s, ", this.method);
    const form = h(
      "form",
      { class: "export", novalidate: true },
      h("h3", {}, words.title(names.length, formatDuration(seconds))),
      leftOut > 0 ? h("p", { class: "faint" }, words.leftOut(leftOut)) : null,
      this.choice(words.format, FORMATS, words.formats, (format) => (this.format = format)),
      this.choice(words.times, ["raw", "aligned"] as const, words.rows, (rows) => {
        this.isAligned = rows === "aligned";
        this.aligned.hidden = !this.isAligned;
      }),
      h("div", { class: "export-foot" }, this.plan, this.go),
      this.said,
    );
    form.querySelector('[data-of="times"]')!.append(this.aligned);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.order();
    });
    form.addEventListener("input", () => this.choose());
    this.form = form;
    this.element = h("section", { class: "export-part" }, form, this.files);
    this.choose();
    void this.follow();
  }

  private choice<T extends string>(
    label: string,
    all: readonly T[],
    texts: Record<T, string>,
    take: (one: T) => void,
  ): HTMLElement {
    const buttons = all.map((one, i) => {
      const click = () => {
        take(one);
        for (const [j, button] of buttons.entries()) set(button, "aria-pressed", String(i === j));
        this.choose();
      };
      const pressed = String(i === 0);
      const attributes = { type: "button", "aria-pressed": pressed, "data-choice": one };
      return h("button", { ...attributes, click }, texts[one]);
    });
    const group = h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);
    return h("div", { class: "export-choice", "data-of": label.toLowerCase() }, h("span", {}, label), group);
  }

  private wanted(): Wanted | null {
    const { names, range } = this.of;
    const period = Number(this.period.value);
    if (this.isAligned && !(period > 0)) return null;
    const aligned = this.isAligned ? { period, method: this.method.value as Method } : null;
    return { names, range, format: this.format, aligned };
  }

  /** Something was chosen: what it comes to is asked for. */
  private choose(): void {
    setText(this.go, words.go(words.formats[this.format]));
    this.said.hidden = true;
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.timer = window.setTimeout(() => void this.foresee(), REST_MILLIS);
  }

  private async foresee(): Promise<void> {
    const wanted = this.wanted();
    this.go.disabled = wanted === null;
    if (!wanted) return this.plan.replaceChildren(words.noPeriod);
    const controller = new AbortController();
    this.asking = controller;
    try {
      const plan = await planExport(wanted, controller.signal);
      this.go.disabled = plan.refused !== null;
      const head = words.plan(wanted.aligned !== null, plan.rows_count, plan.pvs, bytesText(plan.bytes));
      const told = plan.refused
        ? [refusalText(plan.refused)]
        : [...plan.notes, words.free(bytesText(plan.bytes_free))];
      this.plan.replaceChildren(h("b", {}, head), ...told.map((text) => h("p", {}, text)));
      this.plan.classList.toggle("is-refused", plan.refused !== null);
    } catch (error) {
      if (isAbort(error)) return;
      this.plan.replaceChildren();
      this.plan.classList.remove("is-refused");
      // Whether it can be made is not known: whoever asks is told.
      this.go.disabled = false;
      this.say(error);
      // What it comes to is asked again when the archiver is back.
      this.isSilent = error instanceof ApiError && error.code === "unreachable";
      if (this.isSilent) this.followAfter(SILENT_MILLIS);
    }
  }

  private async order(): Promise<void> {
    const wanted = this.wanted();
    if (!wanted || this.go.disabled || this.isOrdering) return;
    this.isOrdering = true;
    this.said.hidden = true;
    try {
      this.awaited = (await orderExport(wanted)).number;
      await this.follow();
    } catch (error) {
      this.say(error);
    }
    this.isOrdering = false;
  }

  /** Looks how far the files are, as long as one is being made and somebody looks on. */
  private async follow(): Promise<void> {
    window.clearTimeout(this.progress);
    let isMaking = false;
    let rest = PROGRESS_MILLIS;
    try {
      const jobs = await listExports();
      this.show(jobs);
      isMaking = jobs.some(isUnderWay);
      if (this.isSilent) this.choose();
      this.isSilent = false;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // There is nothing to choose for somebody who may not read, or of an archiver that makes no files.
      this.form.hidden = isBarred(error) || error.code === "conflict";
      if (this.form.hidden) {
        const text = isBarred(error) ? [] : [h("p", { class: "hint" }, error.sentence)];
        return this.files.replaceChildren(...text);
      }
      this.say(error);
      this.isSilent = true;
      [isMaking, rest] = [true, SILENT_MILLIS];
    }
    if (isMaking) this.followAfter(rest);
  }

  private followAfter(millis: number): void {
    window.clearTimeout(this.progress);
    if (this.of.isOpen()) this.progress = window.setTimeout(() => void this.follow(), millis);
  }

  private show(jobs: Job[]): void {
    const shown = jobs.slice(0, FILES_SHOWN);
    const isOfSeveral = new Set(jobs.map(({ owner }) => owner)).size > 1;
    const rows = shown.map((job) => {
      const row = this.rows.get(job.number) ?? new Row(() => void this.drop(job.number));
      row.show(job, this.of.now(), isOfSeveral && job.owner !== this.of.who ? job.owner : null);
      return [job.number, row] as const;
    });
    const isSame = rows.length === this.rows.size && rows.every(([number]) => this.rows.has(number));
    this.rows = new Map(rows);
    if (!isSame) {
      const rest = jobs.length - shown.length;
      this.files.replaceChildren(
        ...(jobs.length > 0 ? [h("h3", {}, words.files)] : []),
        h("ul", {}, ...rows.map(([, row]) => row.element)),
        ...(rest > 0 ? [h("p", { class: "faint" }, words.more(rest))] : []),
      );
    }
    const awaited = jobs.find(({ number }) => number === this.awaited);
    if (!awaited || isUnderWay(awaited)) return;
    this.awaited = null;
    if (awaited.state === "done" && this.of.isOpen()) this.rows.get(awaited.number)?.save.click();
  }

  private async drop(number: number): Promise<void> {
    try {
      await dropExport(number);
      if (this.awaited === number) this.awaited = null;
      await this.follow();
      // There is room again.
      this.choose();
      this.go.focus();
    } catch (error) {
      this.say(error);
    }
  }

  private say(error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    this.said.hidden = false;
    setText(this.said, error.sentence);
  }
}

function isUnderWay({ state }: Job): boolean {
  return state === "waiting" || state === "running";
}

/** A file that is made, or was. */
class Row {
  private name = h("b");
  private told = h("span", { class: "faint" });
  private bar = h("progress", { max: "1" });
  private remove: HTMLButtonElement;
  readonly save = h("a", { class: "button", download: "", hidden: true }, words.save);
  readonly element: HTMLLIElement;

  constructor(drop: () => void) {
    this.remove = h("button", { type: "button", click: drop });
    this.element = h("li", {}, this.name, this.bar, this.save, this.remove, this.told);
  }

  show(job: Job, now: number, owner: string | null): void {
    const isMade = job.state === "done";
    const isMaking = isUnderWay(job);
    set(this.element, "data-job", job.state);
    setText(this.name, job.file);
    this.bar.hidden = !isMaking;
    if (isMaking) this.bar.value = job.progress;
    set(this.bar, "aria-label", words.progress(job.file));
    this.save.hidden = !isMade;
    if (isMade) set(this.save, "href", fileUrl(job));
    set(this.save, "aria-label", words.saveIt(job.file));
    const verb = isMaking ? words.cancel : words.remove;
    setText(this.remove, verb);
    set(this.remove, "aria-label", `${verb} ${job.file}`);
    setText(this.told, [owner === null ? "" : words.of(owner), toldOf(job, now)].filter(Boolean).join("; "));
  }
}

function toldOf(job: Job, now: number): string {
  if (job.state === "failed") return job.error ? refusalText(job.error) : "";
  if (job.state === "waiting") return words.waiting;
  if (job.state === "running") return words.running(job.pvs_done, job.pvs, bytesText(job.bytes));
  const left = job.expires === null ? null : Date.parse(job.expires) / 1000 - now;
  const parts = [
    bytesText(job.bytes),
    words.without(job.without, job.without_count),
    words.gaps(job.gaps),
    words.damage(job.damage, job.damage_count),
    ...job.notes,
    left === null ? "" : words.kept(formatDuration(Math.max(1, Math.round(left)))),
  ];
  return parts.filter((text) => text !== "").join("; ");
}
