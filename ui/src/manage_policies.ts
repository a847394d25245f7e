// Policies, and what those of the config file would change: how many PVs and which, what that saves, and what of real history would have been kept.

import {
  applyPolicies,
  faultText,
  getPolicies,
  planPolicies,
  sortedPvs,
  type Policy,
  type PolicyPlan,
  type PolicyText,
} from "./api.ts";
import { bytesText } from "./bytes.ts";
import { keptOf, readBand, wouldKeep, type Band } from "./deadband.ts";
import { counted, h } from "./dom.ts";
import { download, quoted } from "./file.ts";
import { keptChart } from "./kept_chart.ts";
import { inParts, patternOf } from "./list.ts";
import { asking, figure, table, type PartContext } from "./manage_parts.ts";
import { linesThatDiffer, policyChanges, type PolicyChange, type PolicyLine } from "./policy_diff.ts";
import { pvsText } from "./words/counts.ts";
import { policyWords as words, settingsText } from "./words/policy.ts";
import { manageWords } from "./words/manage.ts";

/** So many changes are looked at; a file may have more. */
const LISTED = 2000;
const IN_CSV = 100_000;
/** Of so many kinds of change it is asked what they take a day, and of so many PVs what they would. */
const KINDS_ASKED = 12;
const LOOKED_AT = 3;
/** So many names are told of each kind. */
const NAMES_TOLD = 3;

/** PVs that change in the same way. */
interface Kind {
  policy: string | null;
  from: string;
  to: string;
  names: string[];
}

/** What a kind of change takes a day, and will take; null where that is not known. */
interface Bytes {
  now: number;
  then: number | null;
}

export function policiesPart(context: PartContext): HTMLElement {
  const foot = h("div", { class: "part-foot", hidden: true });
  let side: HTMLElement = h("div", {});
  const plan = asking(() => {
    // Each time anew: the file may have been mended.
    const planned = planPolicies(LISTED);
    const before = side;
    side = sideOf(planned);
    before.replaceWith(side);
    return planned.then((plan) => planOf(plan, context, foot));
  });
  plan.classList.add("plan-part");
  return h("div", { class: "policies-part" }, side, h("div", { class: "footed" }, plan, foot));
}

function sideOf(planned: Promise<PolicyPlan>): HTMLElement {
  // A file that cannot be read has no policies to compare with; why not stands beside them.
  const file = planned.then(({ file }) => file ?? null).catch(() => null);
  const side = asking(async () => listOf(await getPolicies(), await file));
  // It scrolls, and nothing in it can be focused otherwise.
  side.tabIndex = 0;
  side.role = "region";
  side.ariaLabel = manageWords.parts.policies;
  return side;
}

/** The policies in force, the first of which that fits decides; and what of them the file says otherwise. */
function listOf(policies: Policy[], file: PolicyText[] | null): Node[] {
  const changes = policyChanges(policies, file ?? policies);
  const differ = linesThatDiffer(changes);
  const told = differ === 0 ? [] : [h("b", { class: "differ" }, words.differ(differ))];
  const head = h("h2", {}, manageWords.parts.policies, ...told);
  if (changes.length === 0) return [head, h("p", { class: "hint" }, words.none)];
  const pvs = new Map(policies.map((policy) => [policy.name, pvsText(policy.pvs)]));
  const items = changes.map((change) => policyOf(change, pvs.get(change.name) ?? words.notInForce));
  return [head, h("p", { class: "faint" }, differ === 0 ? words.are : words.areOther), ...items];
}

function policyOf({ isMoved, lines }: PolicyChange, reach: string): HTMLElement {
  return h(
    "section",
    { class: "policy" },
    h("b", {}, reach),
    h("h3", {}, ...lineOf(lines.name)),
    ...(isMoved ? [h("p", {}, h("ins", {}, words.isMoved))] : []),
    h("p", { class: "list" }, h("code", {}, ...lineOf(lines.match))),
    h("p", { class: "faint" }, ...lineOf(lines.settings)),
  );
}

/** A line as it is; one that differs as what goes and what comes. */
function lineOf({ was, is }: PolicyLine): Node[] {
  if (was === is) return [document.createTextNode(was ?? "")];
  return [...(was === null ? [] : [h("del", {}, was)]), ...(is === null ? [] : [h("ins", {}, is)])];
}

function planOf(plan: PolicyPlan, context: PartContext, foot: HTMLElement): Node[] {
  const notes = [
    ...(plan.by_hand > 0 ? [words.byHand(plan.by_hand)] : []),
    ...(plan.groups.length > 0 ? [words.groups(plan.groups)] : []),
  ].map((text) => h("p", { class: "faint" }, text));
  foot.hidden = plan.total === 0 && plan.groups.length === 0;
  if (!foot.hidden) foot.replaceChildren(...footOf(plan, context));
  const head = h("h2", {}, words.planHead);
  if (plan.total === 0) return [head, h("p", {}, words.nothing), ...notes];
  const kinds = kindsOf(plan);
  const bytes = h("b", {}, "…");
  const bytesRest = h("small", {}, words.takenNow);
  const figures = h(
    "div",
    { class: "figures" },
    figure(counted(plan.total), words.change(plan.total), words.nothingYet),
    h("div", { class: "figure" }, bytes, h("span", {}, words.aDay), bytesRest),
    gapsOf(plan),
  );
  const cells = kinds.map(() => h("td", { class: "num" }, "…"));
  void tellBytes(kinds, context.now, { cells, bytes, bytesRest }, plan.total);
  return [
    head,
    figures,
    ...notes,
    h("h3", {}, words.whatChanges),
    table(
      words.changeHeads,
      kinds.map((kind, i) => kindRow(kind, cells[i]!)),
      words.whatChanges,
    ),
    ...(plan.changes.length < plan.total
      ? [h("p", { class: "hint" }, words.listed(plan.changes.length, plan.total))]
      : []),
    ...keptPart(kinds, context),
  ];
}

/** A PV that is read by another protocol is connected anew, and has a gap until it is; whatever else changes, recording goes on. */
function gapsOf({ changes, total }: PolicyPlan): HTMLElement {
  const protocolOf = (settings: string) => /^(ca|pva)\b/.exec(settings)?.[0];
  const count = changes.filter(({ from, to }) => protocolOf(from) !== protocolOf(to)).length;
  const isAll = changes.length === total;
  return figure(
    isAll ? counted(count) : words.atLeast(count),
    words.gaps(count),
    count > 0 ? words.connectedAnew : isAll ? words.goesOn : words.ofThoseListed,
  );
}

function kindsOf({ changes }: PolicyPlan): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { name, policy, from, to } of changes) {
    const key = JSON.stringify([policy, from, to]);
    const kind = kinds.get(key) ?? { policy, from, to, names: [] };
    kind.names.push(name);
    kinds.set(key, kind);
  }
  return [...kinds.values()].sort((a, b) => b.names.length - a.names.length);
}

function kindRow({ policy, from, to, names }: Kind, cell: HTMLElement): HTMLElement {
  const told = words.many(names.slice(0, NAMES_TOLD), names.length);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, policy ?? words.noPolicy, h("small", { class: "faint" }, told)),
    h("td", { class: "num" }, counted(names.length)),
    h("td", { class: "faint" }, settingsText(from)),
    h("td", {}, settingsText(to)),
    cell,
  );
}

/** The dead band of settings, as `monitor, deadband 1%` have one. */
function bandOf(settings: string): Band | null {
  return readBand(/\bdeadband ([\d.e+-]+%?)/.exec(settings)?.[1] ?? "");
}

/** The band that a kind of change brings; none where it brings none. */
function newBandOf({ from, to }: Kind): Band | null {
  const band = bandOf(to);
  const had = bandOf(from);
  return band && (band.size !== had?.size || band.isPercent !== had.isPercent) ? band : null;
}

/** What the PVs of a kind take a day, by those whose names fit one question; then by what a band would have kept of the last day. */
async function bytesOf(kind: Kind, now: number): Promise<Bytes | null> {
  const part = inParts(kind.names)[0]!;
  const { pvs } = await sortedPvs({
    ...{ match: patternOf(part), state: "any", narrow: {} },
    ...{ by: "bytes_per_day", order: "desc", offset: 0, limit: part.length },
  });
  const known = pvs.flatMap(({ bytes_per_day: bytes }) => (bytes == null ? [] : [bytes]));
  if (known.length === 0) return null;
  const taken = (known.reduce((sum, bytes) => sum + bytes, 0) / known.length) * kind.names.length;
  const band = newBandOf(kind);
  if (!band) return { now: taken, then: null };
  const { all, kept } = await wouldKeep(kind.names.slice(0, LOOKED_AT), band, now);
  return { now: taken, then: all === 0 ? null : (taken * kept) / all };
}

interface Told {
  cells: HTMLElement[];
  bytes: HTMLElement;
  bytesRest: HTMLElement;
}

/** Fills in what each kind takes, one after the other: nothing else waits for it. */
async function tellBytes(kinds: Kind[], now: number, told: Told, total: number): Promise<void> {
  let sum: Bytes | null = { now: 0, then: 0 };
  for (const [i, kind] of kinds.entries()) {
    const bytes = i < KINDS_ASKED ? await bytesOf(kind, now).catch(() => null) : null;
    const after = bytes?.then == null ? "" : ` → ${bytesText(bytes.then)}`;
    told.cells[i]!.textContent = bytes ? `${bytesText(bytes.now)}${after}` : "–";
    if (bytes === null) sum = null;
    else if (sum !== null)
      sum = {
        now: sum.now + bytes.now,
        then: sum.then === null || bytes.then === null ? null : sum.then + bytes.then,
      };
  }
  const isAll = kinds.reduce((count, { names }) => count + names.length, 0) === total;
  if (sum === null || !isAll) return void (told.bytes.textContent = "–");
  if (sum.then === null) return void (told.bytes.textContent = bytesText(sum.now));
  const saved = sum.now - sum.then;
  told.bytes.textContent = `${saved >= 0 ? "−" : "+"} ${bytesText(Math.abs(saved))}`;
  told.bytesRest.textContent = words.fromTo(bytesText(sum.now), bytesText(sum.then));
}

/** One PV after the other of those that get a dead band: what it would have kept. */
function keptPart(kinds: Kind[], { now }: PartContext): Node[] {
  const found = kinds.flatMap((kind) => {
    const band = newBandOf(kind);
    return band ? kind.names.map((name) => ({ name, band })) : [];
  });
  if (found.length === 0) return [];
  let at = 0;
  const head = h("h3", {});
  const chart = h("div", { role: "status" });
  const show = () => {
    const { name, band } = found[at]!;
    const text = `${band.size}${band.isPercent ? " %" : ""}`;
    head.textContent = words.wouldKeep(text, name);
    chart.replaceChildren(
      asking(async () => {
        const kept = await keptOf(name, band, now);
        const drawn = keptChart({ ...kept, name, band: text }, { from: now - 86_400, to: now });
        const why = kept.samples.x.length === 0 ? words.nothingRecorded : words.noNumbers;
        return [drawn ?? h("p", { class: "hint" }, why)];
      }),
    );
  };
  const click = () => {
    at = (at + 1) % found.length;
    show();
  };
  show();
  const another = h("button", { type: "button", click }, words.another);
  another.hidden = found.length === 1;
  return [h("div", { class: "tools kept-head" }, head, another), chart];
}

function footOf(plan: PolicyPlan, context: PartContext): Node[] {
  const said = h("span", { class: "faint", role: "status" }, words.foot);
  const fault = (error: unknown) => said.replaceChildren(faultText(error));
  const csv = async () => {
    const { changes } = await planPolicies(IN_CSV);
    const rows = changes.map(({ name, policy, from, to }) =>
      [name, policy ?? "", from, to].map(quoted).join(","),
    );
    download("policies.csv", "text/csv", ["name,policy,from,to", ...rows, ""].join("\r\n"));
  };
  const apply = h("button", { type: "button", class: "primary" }, words.apply(plan.total));
  apply.addEventListener("click", () => {
    apply.disabled = true;
    void context.carryOut(async () => (await applyPolicies()).total, words.applied, words.notApplied);
  });
  return [
    said,
    h("button", { type: "button", click: () => void csv().catch(fault) }, words.csvOf(plan.total)),
    ...(context.may("operate") ? [apply] : []),
  ];
}
