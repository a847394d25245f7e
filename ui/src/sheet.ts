// The sheet of an order over many PVs: what it does, to how many and which, what follows, then the button; afterwards what came of it, and undo.

import {
  ApiError,
  changePvs,
  getGroups,
  getPolicies,
  getPv,
  removePvs,
  renamePv,
  restorePvs,
  switchPvs,
  type Moved,
  type PvDetail,
} from "./api.ts";
import { LOOKED_AT_MAX, readBand, wouldKeep, type Band } from "./deadband.ts";
import { byId, counted, h, setText } from "./dom.ts";
import { pvsText, sheetWords as words } from "./words.ts";

export type Verb = "pause" | "resume" | "policy" | "groups" | "rename" | "remove" | "restore";

/** Orders over more go in parts of so many, so that their progress can be told. */
const PART = 2000;
/** A removal is one change, as far as the archiver takes it. */
const WHOLE = 100_000;
/** Groups are given beside what each PV has, which is asked for one by one. */
const GROUPS_MAX = 500;
/** The archiver knows no dead band of 0. */
const NO_BAND = 1e-300;
/** So many names are told. */
const NAMES_TOLD = 3;
/** So many refusals are told. */
const REFUSED_TOLD = 200;

/** What an order does with some of the PVs. */
type Act = (names: string[]) => Promise<Moved[]>;

interface Order {
  part: number;
  act: Act;
  /** What takes it back; none where nothing does. */
  back: { verb: Verb; act: Act } | null;
}

/** What is asked for in the sheet, and the order that follows from it, or why none does. */
interface Form {
  fields: HTMLElement[];
  order(): Order | string;
}

const pause: Act = (names) => switchPvs(names, "pause");
const resume: Act = (names) => switchPvs(names, "resume");

export class Sheet {
  private dialog = byId<HTMLDialogElement>("sheet-dialog");
  private wrong = h("p", { class: "said", role: "alert" });

  constructor(
    private done: () => void,
    private bar: HTMLElement,
  ) {}

  /** Says beforehand what an order will do, and to how many PVs. */
  async open(verb: Verb, names: string[]): Promise<void> {
    setText(this.wrong, "");
    const title = h("h2", { id: "sheet-title" }, words.titles[verb]);
    const close = h(
      "button",
      { type: "button", "aria-label": "Close", click: () => this.dialog.close() },
      "✕",
    );
    const head = h("header", {}, title, close);
    this.dialog.replaceChildren(head, h("p", { class: "hint" }, "…"));
    this.dialog.showModal();
    let form: Form;
    try {
      form = await formOf(verb, names);
    } catch (error) {
      this.dialog.replaceChildren(head, h("p", { class: "is-error", role: "alert" }, sentence(error)));
      return;
    }
    const submit = h("button", { type: "submit", class: "primary" }, words.button(verb, names.length));
    const body = h(
      "form",
      { class: "order", novalidate: true },
      h(
        "dl",
        {},
        h("dt", {}, words.what),
        h("dd", {}, words.does[verb]),
        h("dt", {}, words.toWhich),
        h("dd", {}, whichText(names)),
        h("dt", {}, words.follows),
        h("dd", {}, words.then[verb]),
        h("dt", {}, words.undone),
        h("dd", {}, words.back[verb]),
      ),
      ...form.fields,
      this.wrong,
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", click: () => this.dialog.close() }, words.cancel),
        submit,
      ),
    );
    body.addEventListener("submit", (event) => {
      event.preventDefault();
      const order = form.order();
      if (typeof order === "string") return setText(this.wrong, order);
      this.dialog.close();
      void this.carryOut(verb, names, order);
    });
    this.dialog.replaceChildren(head, body);
    (body.querySelector<HTMLElement>("select, input") ?? submit).focus();
  }

  private async carryOut(verb: Verb, names: string[], order: Order): Promise<void> {
    const results: Moved[] = [];
    const text = h("span");
    this.say(text);
    setText(text, words.progress(verb, 0, names.length, 0));
    let broken: string | null = null;
    for (let at = 0; at < names.length && broken === null; at += order.part) {
      const part = names.slice(at, at + order.part);
      try {
        results.push(...(await order.act(part)));
      } catch (error) {
        broken = sentence(error);
      }
      setText(text, words.progress(verb, results.length, names.length, refusedOf(results).length));
    }
    this.tell(verb, names.length, results, broken, order);
    this.done();
  }

  private tell(verb: Verb, asked: number, results: Moved[], broken: string | null, order: Order): void {
    const refused = refusedOf(results);
    const taken = results.filter((result) => !refused.includes(result)).map(({ name }) => name);
    const parts: (Node | string)[] = [h("b", {}, words.outcome(verb, taken.length))];
    if (broken !== null) parts.push(h("span", {}, words.broken(asked - results.length, broken)));
    if (refused.length > 0)
      parts.push(
        h(
          "button",
          { type: "button", click: () => this.showRefused(verb, refused) },
          words.refused(refused.length),
        ),
      );
    const { back } = order;
    if (back && taken.length > 0) {
      const undo = () =>
        void this.carryOut(back.verb, taken, { part: order.part, act: back.act, back: null });
      parts.push(
        h("span", { class: "space" }),
        h("button", { type: "button", class: "undo-order", click: undo }, words.undo),
      );
    } else parts.push(h("span", { class: "space" }));
    parts.push(
      h("button", { type: "button", "aria-label": "Close", click: () => (this.bar.hidden = true) }, "✕"),
    );
    this.say(...parts);
  }

  private say(...parts: (Node | string)[]): void {
    this.bar.hidden = false;
    this.bar.replaceChildren(...parts);
  }

  private showRefused(verb: Verb, refused: Moved[]): void {
    const close = h(
      "button",
      { type: "button", "aria-label": "Close", click: () => this.dialog.close() },
      "✕",
    );
    const lines = refused
      .slice(0, REFUSED_TOLD)
      .map(({ name, status, message }) =>
        h("li", {}, h("b", {}, name), ` ${message ?? status.replaceAll("_", " ")}`),
      );
    const rest = refused.length - lines.length;
    if (rest > 0) lines.push(h("li", {}, `and ${counted(rest)} more`));
    this.dialog.replaceChildren(
      h("header", {}, h("h2", { id: "sheet-title" }, words.refusedTitle(verb)), close),
      h("ul", {}, ...lines),
    );
    this.dialog.showModal();
  }
}

/** What changed nothing because of what the PV is, or was already. */
function refusedOf(results: Moved[]): Moved[] {
  const good = [
    "ok",
    "removed",
    "restored",
    "renamed",
    "changed",
    "added",
    "already_removed",
    "already_archived",
  ];
  return results.filter(({ status }) => !good.includes(status));
}

async function formOf(verb: Verb, names: string[]): Promise<Form> {
  const plain = (part: number, act: Act, back: Order["back"]): Form => ({
    fields: [],
    order: () => ({ part, act, back }),
  });
  switch (verb) {
    case "pause":
      return plain(PART, pause, { verb: "resume", act: resume });
    case "resume":
      return plain(PART, resume, { verb: "pause", act: pause });
    case "restore":
      return plain(WHOLE, restorePvs, { verb: "remove", act: (names) => removePvs(names, "keep") });
    case "remove":
      return removeForm();
    case "rename":
      return renameForm(names[0]!);
    case "policy":
      return policyForm((await choices()).policies, names);
    case "groups":
      return groupsForm((await choices()).groups, names.length);
  }
}

function removeForm(): Form {
  const keep = h("input", { type: "radio", name: "data", value: "keep" });
  const drop = h("input", { type: "radio", name: "data", value: "delete" });
  keep.checked = true;
  return {
    fields: [
      h(
        "fieldset",
        {},
        h("legend", {}, words.data),
        h("label", { class: "check" }, keep, words.dataKept),
        h("label", { class: "check" }, drop, words.dataDeleted),
      ),
    ],
    order: () => ({
      part: WHOLE,
      act: (names) => removePvs(names, drop.checked ? "delete" : "keep"),
      back: { verb: "restore", act: restorePvs },
    }),
  };
}

function renameForm(name: string): Form {
  const to = h("input", { type: "text", size: "40", spellcheck: "false", autocomplete: "off" });
  to.value = name;
  const alias = h("input", { type: "checkbox" });
  alias.checked = true;
  const rename =
    (from: string, to: string, alias: boolean): Act =>
    async () => [{ ...(await renamePv(from, to, alias)), name: to }];
  return {
    fields: [
      h("label", { class: "field" }, words.newName, to),
      h("label", { class: "check" }, alias, words.oldNameStays(name)),
    ],
    order: () => {
      const wanted = to.value.trim();
      if (wanted === "" || wanted === name) return words.nameWanted;
      return {
        part: 1,
        act: rename(name, wanted, alias.checked),
        back: { verb: "rename", act: rename(wanted, name, false) },
      };
    },
  };
}

function policyForm(policies: string[], names: string[]): Form {
  const choice = h("select", { "aria-label": words.policy });
  choice.append(
    ...policies.map((policy) => h("option", { value: `policy ${policy}` }, words.byPolicy(policy))),
    h("option", { value: "monitor" }, words.everyChange),
    h("option", { value: "scan" }, words.scanned),
  );
  const period = h("input", {
    type: "text",
    inputmode: "decimal",
    size: "6",
    value: "1",
    "aria-label": words.period,
  });
  const deadband = h("input", {
    type: "text",
    size: "8",
    placeholder: words.none,
    "aria-label": words.deadband,
  });
  const periodLabel = h("label", { class: "field" }, words.period, period);
  const deadbandLabel = h("label", { class: "field" }, words.deadband, deadband);
  const follow = () => {
    periodLabel.hidden = choice.value !== "scan";
    deadbandLabel.hidden = choice.value.startsWith("policy ");
  };
  choice.addEventListener("change", follow);
  follow();
  const told = h("p", { class: "hint", role: "status" });
  const estimate = h(
    "button",
    { type: "button", click: () => void tellKept(told, names, readBand(deadband.value)) },
    words.wouldKeep,
  );
  deadbandLabel.append(estimate);
  return {
    fields: [h("label", { class: "field" }, words.policy, choice), periodLabel, deadbandLabel, told],
    order: () => {
      const settings: Record<string, unknown> = {};
      if (choice.value.startsWith("policy ")) settings.policy = choice.value.slice("policy ".length);
      else {
        settings.method = choice.value;
        if (choice.value === "scan") {
          settings.period = Number(period.value);
          if (!(Number(period.value) >= 0.01 && Number(period.value) <= 86_400)) return words.periodWrong;
        }
        const band = deadband.value.trim();
        if (band !== "") {
          const read = readBand(band);
          if (!read) return words.deadbandWrong;
          settings.deadband = read.isPercent ? `${read.size}%` : read.size;
        }
      }
      const before = new Map<string, Record<string, unknown>>();
      return {
        part: PART,
        act: async (names) => {
          if (isKnowable(names)) await takeSettings(names, before);
          return changePvs(names.map((name) => ({ name, ...settings })));
        },
        back: isKnowable(names)
          ? {
              verb: "policy",
              act: (names) => changePvs(names.map((name) => undone(before.get(name)!, settings))),
            }
          : null,
      };
    },
  };
}

/** What a PV had before. The archiver takes no dead band away: where there was none, one so narrow lets every change through. */
function undone(before: Record<string, unknown>, given: Record<string, unknown>): Record<string, unknown> {
  return "deadband" in given && !("deadband" in before) && !("policy" in before)
    ? { ...before, deadband: NO_BAND }
    : before;
}

/** Of so many what they have is taken down first, so that it can be given back. */
function isKnowable(names: string[]): boolean {
  return names.length <= GROUPS_MAX;
}

async function takeSettings(names: string[], into: Map<string, Record<string, unknown>>): Promise<void> {
  const details = (await Promise.all(names.map((name) => getPv(name)))) as Sampled[];
  for (const detail of details) into.set(detail.name, givenOf(detail));
}

/** Says what a dead band would have kept of the last day. */
async function tellKept(told: HTMLElement, names: string[], band: Band | null): Promise<void> {
  if (!band) return setText(told, words.deadbandWrong);
  setText(told, words.counting);
  try {
    const { all, kept, cut } = await wouldKeep(names, band, Date.now() / 1000);
    setText(told, words.kept(all, kept, Math.min(names.length, LOOKED_AT_MAX), names.length, cut));
  } catch (error) {
    setText(told, sentence(error));
  }
}

function groupsForm(groups: string[], count: number): Form {
  const field = h("input", {
    type: "text",
    size: "40",
    spellcheck: "false",
    list: "group-names",
    autocomplete: "off",
  });
  const list = h("datalist", { id: "group-names" }, ...groups.map((group) => h("option", { value: group })));
  return {
    fields: [
      h("label", { class: "field" }, words.groups, field),
      list,
      h("p", { class: "hint" }, words.groupsHint(groups)),
    ],
    order: () => {
      if (count > GROUPS_MAX) return words.tooManyForGroups(GROUPS_MAX);
      const wanted = field.value.split(/[\s,;]+/).filter(Boolean);
      const wrong = wanted.find((group) => !/^[\w.:-]+$/.test(group));
      if (wrong !== undefined) return words.groupWrong(wrong);
      return { part: 50, act: (names) => regroup(names, wanted), back: null };
    },
  };
}

interface Sampled extends PvDetail {
  sampling?: {
    policy: string | null;
    by_hand: boolean;
    deadband: string | null;
    rate_cap: { per_second: number; burst: number } | null;
    changes: string;
    pipeline: boolean;
    fields: string[];
    only: string[];
    keep_seconds: number | null;
    groups?: string[];
  };
}

/** Other groups beside everything else that each PV has. */
async function regroup(names: string[], groups: string[]): Promise<Moved[]> {
  const details = (await Promise.all(names.map((name) => getPv(name)))) as Sampled[];
  return changePvs(details.map((detail) => ({ ...givenOf(detail, true), groups })));
}

/** What would have to be given for a PV to be archived as it is. What comes from a policy is left to that. */
function givenOf(detail: Sampled, isWhole = false): Record<string, unknown> {
  const { name, protocol, method, period, sampling } = detail;
  if (!isWhole && sampling && !sampling.by_hand && sampling.policy !== null)
    return { name, policy: sampling.policy };
  const given: Record<string, unknown> = { name, protocol, method };
  if (period !== null) given.period = period;
  if (!sampling) return given;
  if (sampling.deadband !== null) given.deadband = sampling.deadband;
  if (sampling.rate_cap)
    Object.assign(given, { rate_cap: sampling.rate_cap.per_second, burst: sampling.rate_cap.burst });
  if (sampling.keep_seconds !== null) given.keep_seconds = sampling.keep_seconds;
  const { changes, pipeline, fields, only, groups } = sampling;
  return {
    ...given,
    changes,
    pipeline,
    ...(fields.length > 0 ? { fields } : {}),
    ...(only.length > 0 ? { only } : {}),
    ...(groups && groups.length > 0 ? { groups } : {}),
  };
}

function whichText(names: string[]): string {
  const told = names.slice(0, NAMES_TOLD).join(", ");
  const rest = names.length - NAMES_TOLD;
  return `${pvsText(names.length)}: ${told}${rest > 0 ? ` and ${counted(rest)} more` : ""}`;
}

function sentence(error: unknown): string {
  return error instanceof ApiError ? error.sentence : String(error);
}

/** What groups and policies there are, for the sheets that offer them. */
async function choices(): Promise<{ policies: string[]; groups: string[] }> {
  const [policies, groups] = await Promise.all([getPolicies(), getGroups()]);
  return { policies: policies.map(({ name }) => name), groups: groups.map(({ name }) => name) };
}
