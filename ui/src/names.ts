// The names of PVs as they are typed or pasted: which are names, and why the others are none.

import type { AddResult } from "./api.ts";
import { nameWords as words } from "./words/name.ts";

/** What was typed, each name once and in order, and what is refused before the archiver is asked. */
export interface Names {
  names: string[];
  refused: AddResult[];
}

const COMMENT = /(?:^|\s)#.*$/;
const PROTOCOL = /^([^/]*):\/\/(.*)$/;

/** One name or more a line; behind a # stands a comment. */
export function readNames(text: string): Names {
  const names = new Set<string>();
  const refused = new Map<string, string>();
  for (const line of text.split("\n")) {
    const comment = COMMENT.exec(line)?.[0].trim();
    if (comment !== undefined) refused.set(comment, words.comment);
    for (const name of line.replace(COMMENT, "").split(/[\s,;]+/)) {
      if (name === "") continue;
      const reason = reasonAgainst(name);
      if (reason === null) names.add(name);
      else refused.set(name, reason);
    }
  }
  return {
    names: [...names],
    refused: [...refused].map(([name, message]) => ({ name, status: "refused", message })),
  };
}

function reasonAgainst(name: string): string | null {
  const [, protocol, bare] = PROTOCOL.exec(name) ?? [null, null, name];
  if (protocol != null && protocol !== "ca" && protocol !== "pva") return words.unknownProtocol(protocol);
  return bare === "" ? words.lacksName : null;
}
