// A pasted list of PVs, line by line: names, with what is given for them behind commas, and why a line is none.

import { nameWords as words } from "./words/name.ts";

export interface ListLine {
  /** From 1. */
  line: number;
  text: string;
  name: string;
  method: "scan" | null;
  period: number | null;
  /** Why it is refused; none where it is not. */
  reason: string | null;
  /** What the line might have been meant to be. */
  repair: string | null;
}

const COMMENT = /(?:^|\s)#.*$/;
const PROTOCOL = /^([^/]*):\/\/(.*)$/;
const NAME_BYTES_MAX = 255;
const PERIOD_MIN = 0.01;
const PERIOD_MAX = 86_400;

/** The lines that say something. A name that comes twice counts once. */
export function readList(text: string): ListLine[] {
  const seen = new Set<string>();
  const lines: ListLine[] = [];
  text.split(/\r?\n/).forEach((raw, i) => {
    const plain = raw.replace(COMMENT, "").trim();
    if (plain === "") return;
    const line = readLine(plain, i + 1);
    if (line.reason === null && seen.has(line.name)) return;
    seen.add(line.name);
    lines.push(line);
  });
  return lines;
}

function readLine(text: string, line: number): ListLine {
  const [first, ...given] = text.split(",").map((part) => part.trim().replace(/^"(.*)"$/, "$1"));
  const name = first!;
  const rest = given.length > 0 ? `,${given.join(",")}` : "";
  const made = (reason: string | null, repair: string | null = null): ListLine => ({
    line,
    text,
    name,
    method: null,
    period: null,
    reason,
    repair,
  });
  const [, protocol, behind] = PROTOCOL.exec(name) ?? [];
  if (protocol !== undefined && protocol !== "ca" && protocol !== "pva")
    return made(words.noProtocol(protocol), behind ? behind + rest : null);
  const bare = behind ?? name;
  if (bare === "") return made(words.noName);
  if (/\s/.test(bare)) return made(words.noSpace, name.replace(/\s+/g, "") + rest);
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(bare)) return made(words.noControls);
  if (new TextEncoder().encode(bare).length > NAME_BYTES_MAX) return made(words.tooLong(NAME_BYTES_MAX));
  if (bare === "." || bare === ".." || bare.startsWith("ledger:")) return made(words.kept);
  return withMethod(made(null), given);
}

/** `NAME,scan,10` and `NAME,monitor`, as lists of the Archiver Appliance have them in either case. */
function withMethod(line: ListLine, given: string[]): ListLine {
  const [method, seconds] = given;
  if (method === undefined || method === "") return line;
  if (/^monitor$/i.test(method)) return line;
  if (!/^scan$/i.test(method))
    return {
      ...line,
      reason: words.noMethod(method),
      repair: line.name,
    };
  const period = Number(seconds ?? "1");
  if (!(period >= PERIOD_MIN && period <= PERIOD_MAX))
    return {
      ...line,
      reason: words.wrongPeriod(PERIOD_MIN, PERIOD_MAX),
      repair: `${line.name},scan,1`,
    };
  return { ...line, method: "scan", period };
}

/** Longer patterns the archiver does not take; and an address has room for no more. */
export const PATTERN_MAX = 1500;

/** A regular expression that fits this text alone. */
export function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** What fits these names and no others. */
export function patternOf(names: string[]): string {
  return `~^(${names.map(literal).join("|")})$`;
}

/** The names in parts whose patterns are short enough. */
export function inParts(names: string[]): string[][] {
  const parts: string[][] = [];
  let length = Infinity;
  for (const name of names) {
    const more = patternOf([name]).length;
    if (length + more > PATTERN_MAX) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)!.push(name);
    length += more;
  }
  return parts;
}
