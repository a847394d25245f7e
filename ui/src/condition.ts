// A condition over PVs as a sentence of fields, and as the archiver's language writes it.

export type Relation = "above" | "below" | "is" | "isnot" | "alarm" | "missing";

export const RELATIONS: Relation[] = ["above", "below", "is", "isnot", "alarm", "missing"];

/** One PV, and what is asked of it. */
export interface Clause {
  pv: string;
  relation: Relation;
  value: string;
}

export interface Condition {
  clauses: Clause[];
  /** At least so long, as `10 s`; empty for any length. */
  length: string;
}

const SIGNS: Partial<Record<Relation, string>> = { above: ">", below: "<", is: "=", isnot: "!=" };
/** The names of PVs that need no quotes; a minus belongs to them between two of their characters. */
const PLAIN_NAME = /^[A-Za-z_][\w:.{}]*(?:-[\w:.{}]+)*$/;
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
const WORD = /^[A-Za-z_]\w*$/;
const LENGTH = /\s+for\s*>=\s*(\d[\d.eE+]*\s*(?:ns|us|ms|s|min|h|d|w))\s*$/;
const CLAUSE = /^(\S+|`[^`]+`)\s*(>|<|!=|=)\s*(.+)$/;

/** Whether a clause says enough to be asked. */
export function isWhole({ pv, relation, value }: Clause): boolean {
  return pv.trim() !== "" && (relation === "missing" || value.trim() !== "");
}

/** What is written for the archiver: the first clause, while the others hold, for a length. */
export function expressionOf({ clauses, length }: Condition): string {
  const texts = clauses.filter(isWhole).map(clauseText);
  if (texts.length === 0) return "";
  const [first, ...rest] = texts;
  const all = rest.length > 0 ? `${first} while ${rest.join(" and ")}` : first!;
  return length.trim() === "" ? all : `${all} for >= ${length.trim()}`;
}

/** The fields of an expression; none where it is more than fields can say. */
export function conditionOf(expression: string): Condition | null {
  const length = LENGTH.exec(expression)?.[1] ?? "";
  const parts = expression
    .replace(LENGTH, "")
    .trim()
    .split(/\s+(?:while|and)\s+/);
  const clauses = parts.map(clauseOf);
  return clauses.every((clause) => clause !== null) ? { clauses, length } : null;
}

function clauseText({ pv, relation, value }: Clause): string {
  const name = nameText(pv.trim());
  if (relation === "missing") return `missing(${name})`;
  if (relation === "alarm") return `severity(${name}) >= ${value.trim()}`;
  return `${name} ${SIGNS[relation]!} ${valueText(value.trim(), relation)}`;
}

/** A PV as the language wants it: with quotes where its name has other characters. */
export function nameText(pv: string): string {
  return PLAIN_NAME.test(pv) ? pv : `\`${pv}\``;
}

/** A number or a word stands for itself; other texts need quotes. Behind above and below anything is an expression. */
function valueText(value: string, relation: Relation): string {
  if (relation === "above" || relation === "below" || NUMBER.test(value) || WORD.test(value)) return value;
  return value.includes("'") ? `"${value}"` : `'${value}'`;
}

function clauseOf(text: string): Clause | null {
  const called = /^(missing|severity)\((\S+|`[^`]+`)\)(?:\s*>=\s*([1-4]))?$/.exec(text);
  if (called) {
    const [, what, pv, level] = called;
    if ((what === "severity") !== (level !== undefined)) return null;
    return { pv: bare(pv!), relation: what === "missing" ? "missing" : "alarm", value: level ?? "" };
  }
  const [, pv, sign, value] = CLAUSE.exec(text) ?? [];
  if (pv === undefined || (pv !== `\`${bare(pv)}\`` && !PLAIN_NAME.test(pv))) return null;
  const relation = RELATIONS.find((relation) => SIGNS[relation] === sign)!;
  const plain = value!.replace(/^'([^']*)'$|^"([^"]*)"$/, "$1$2");
  const isSimple = plain !== value || NUMBER.test(plain) || WORD.test(plain);
  return isSimple ? { pv: bare(pv), relation, value: plain } : null;
}

function bare(name: string): string {
  return name.replace(/^`([^`]+)`$/, "$1");
}

/** The PVs that an expression names, as far as one can see: what a plot of it shows. */
export function pvsOf(expression: string): string[] {
  const condition = conditionOf(expression);
  if (condition) return [...new Set(condition.clauses.map(({ pv }) => pv))];
  const quoted = [...expression.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
  const texts = expression.replace(/`[^`]*`|'[^']*'|"[^"]*"/g, " ");
  const plain = texts.match(/(?<![\w:.])[A-Za-z_][\w:.{}]*(?:-[\w:.{}]+)*/g) ?? [];
  // Names of functions and words of the language have no colon, as names of PVs mostly do.
  return [...new Set([...plain.filter((name) => name.includes(":")), ...quoted])];
}
