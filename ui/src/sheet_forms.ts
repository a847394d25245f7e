// What the sheets of orders ask for: where data go, another name, another way of archiving, groups; and the order that follows from it.

import { faultText, getGroups, getPolicies, getPv, type PvDetail } from "./api.ts";
import { LOOKED_AT_MAX, readBand, wouldKeep, type Band } from "./deadband.ts";
import { h, setText } from "./dom.ts";
import { change, PAUSE, removal, RESTORE, RESUME, type Order } from "./orders.ts";
import { sheetWords as words } from "./words/sheet.ts";

export type Verb = "pause" | "resume" | "policy" | "groups" | "rename" | "remove" | "restore";

/** Groups are given beside what each PV has, which is asked for one by one. */
const GROUPS_MAX = 500;

/** Another name of one PV, which is no order over many. */
export interface Renaming {
  from: string;
  to: string;
  alias: boolean;
}

/** What is asked for in the sheet, and the order that follows from it, or why none does. */
export interface Form {
  fields: HTMLElement[];
  order(): Order | Renaming | string;
}

export async function formOf(verb: Verb, names: string[]): Promise<Form> {
  const plain = (order: Order): Form => ({ fields: [], order: () => order });
  switch (verb) {
    case "pause":
      return plain(PAUSE);
    case "resume":
      return plain(RESUME);
    case "restore":
      return plain(RESTORE);
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
    order: () => removal(drop.checked ? "delete" : "keep"),
  };
}

function renameForm(name: string): Form {
  const to = h("input", { type: "text", size: "40", spellcheck: "false", autocomplete: "off" });
  to.value = name;
  const alias = h("input", { type: "checkbox" });
  alias.checked = true;
  return {
    fields: [
      h("label", { class: "field" }, words.newName, to),
      h("label", { class: "check" }, alias, words.oldNameStays(name)),
    ],
    order: () => {
      const wanted = to.value.trim();
      if (wanted === "" || wanted === name) return words.nameWanted;
      return { from: name, to: wanted, alias: alias.checked };
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
      return change((names) => names.map((name) => ({ name, ...settings })));
    },
  };
}

/** Says what a dead band would have kept of the last day. */
async function tellKept(told: HTMLElement, names: string[], band: Band | null): Promise<void> {
  if (!band) return setText(told, words.deadbandWrong);
  setText(told, words.counting);
  try {
    const { all, kept, cut } = await wouldKeep(names, band, Date.now() / 1000);
    setText(told, words.kept(all, kept, Math.min(names.length, LOOKED_AT_MAX), names.length, cut));
  } catch (error) {
    setText(told, faultText(error));
  }
}

function groupsForm(groups: string[], count: number): Form {
  // What each PV has is asked for once, however often another list of groups is looked at.
  let asked: Promise<Sampled[]> | null = null;
  const had = (names: string[]) => {
    asked ??= Promise.all(names.map((name) => getPv(name)));
    asked.catch(() => (asked = null));
    return asked;
  };
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
      return change(async (names) =>
        (await had(names)).map((detail) => ({ ...givenOf(detail), groups: wanted })),
      );
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

/** What would have to be given for a PV to be archived as it is. */
function givenOf(detail: Sampled): Record<string, unknown> {
  const { name, protocol, method, period, sampling } = detail;
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

/** What groups and policies there are, for the sheets that offer them. */
async function choices(): Promise<{ policies: string[]; groups: string[] }> {
  const [policies, groups] = await Promise.all([getPolicies(), getGroups()]);
  return { policies: policies.map(({ name }) => name), groups: groups.map(({ name }) => name) };
}
