// The audit on the page: who changed what, found by PV, by who, by what was done and by when; the address holds what is looked for.

import { auditCsvUrl, getAudit, type AuditAsk, type AuditLine } from "./api.ts";
import { h } from "./dom.ts";
import { asking, type PartContext } from "./manage_parts.ts";
import { lackNote } from "./missing.ts";
import { formatTime } from "./time.ts";
import { auditWords as words } from "./words/audit.ts";
import { commonWords } from "./words/common.ts";
import { manageWords } from "./words/manage.ts";

/** So many lines are asked for at once. */
const PAGE = 200;
const TYPING_MILLIS = 300;
/** What the lines are looked for by, as in the address and in what the archiver is asked. */
const FIELDS = ["pv", "who", "action", "from", "to"] as const;

export function auditPart(context: PartContext): HTMLElement {
  const found = h("div", { class: "pages audit-found" });
  const asked = (): AuditAsk =>
    Object.fromEntries(FIELDS.flatMap((key) => (context.param(key) ? [[key, context.param(key)!]] : [])));
  let newest = 0;
  const look = () => {
    // What was asked before may come later.
    const mine = (newest += 1);
    const part = asking(() => lines(asked(), context, () => mine === newest));
    found.replaceChildren(part);
  };
  let timer = 0;
  const field = (key: (typeof FIELDS)[number], label: string, placeholder: string) => {
    const input = h("input", {
      ...{ type: "text", "aria-label": label, placeholder, spellcheck: "false", autocomplete: "off" },
      ...{ "data-audit": key },
    });
    input.value = context.param(key) ?? "";
    input.addEventListener("input", () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        context.write(key, input.value.trim());
        look();
      }, TYPING_MILLIS);
    });
    return input;
  };
  const action = h("select", { "aria-label": words.action, "data-audit": "action" });
  action.append(
    h("option", { value: "" }, words.anyAction),
    ...words.actions.map((name) => h("option", { value: name }, name.replaceAll("_", " "))),
  );
  action.value = context.param("action") ?? "";
  action.addEventListener("change", () => {
    context.write("action", action.value);
    look();
  });
  const csv = h("a", { class: "button", href: "", download: "audit.csv" }, commonWords.csv);
  csv.addEventListener("click", () => (csv.href = auditCsvUrl(asked())));
  csv.href = auditCsvUrl(asked());
  const tools = h(
    "div",
    { class: "tools audit-tools", role: "search", "aria-label": words.search },
    field("pv", words.pv, words.pvPlaceholder),
    field("who", words.who, words.whoPlaceholder),
    action,
    field("from", words.from, words.fromPlaceholder),
    field("to", words.to, words.toPlaceholder),
    csv,
  );
  look();
  return h("div", { class: "pages" }, h("h2", {}, manageWords.parts.audit), tools, found);
}

async function lines(ask: AuditAsk, context: PartContext, isWanted: () => boolean): Promise<Node[]> {
  const body = h("tbody");
  const note = h("p", { class: "hint", role: "status" });
  let lacks: HTMLElement[] = [];
  let next: number | null = null;
  const older = h("button", { type: "button", click: () => void more() }, manageWords.older);
  const more = async () => {
    const page = await getAudit(ask, PAGE, next);
    if (!isWanted()) return;
    lacks = lackNote(page);
    body.append(...page.audit.map((line) => rowOf(line, context)));
    next = page.next;
    older.hidden = next === null;
    const isNone = body.childElementCount === 0;
    note.textContent = isNone
      ? next !== null
        ? words.noneSoFar
        : isNarrow(ask)
          ? words.noneFits
          : manageWords.noAudit
      : "";
    note.hidden = !isNone;
  };
  await more();
  const heads = manageWords.auditHeads.map((text) => h("th", { scope: "col" }, text));
  return [
    ...lacks,
    note,
    h(
      "div",
      { class: "scrolled-table", tabindex: "0", role: "region", "aria-label": manageWords.parts.audit },
      h("table", { class: "list" }, h("thead", {}, h("tr", {}, ...heads)), body),
    ),
    h("p", {}, older),
  ];
}

function isNarrow(ask: AuditAsk): boolean {
  return Object.values(ask).some((value) => value !== "");
}

function rowOf(line: AuditLine, context: PartContext): HTMLElement {
  return h(
    "tr",
    {},
    h("td", {}, formatTime(Date.parse(line.time) / 1000, context.zone, 0)),
    h("td", {}, line.by),
    h("td", {}, line.action.replaceAll("_", " ")),
    h("th", { scope: "row" }, line.name || manyText(line)),
    h("td", {}, line.detail),
  );
}

/** The PVs of a line about several: how many, and the first of their names. */
function manyText({ pvs, names }: AuditLine): string {
  return pvs === null ? "" : manageWords.many(pvs, names ?? []);
}
