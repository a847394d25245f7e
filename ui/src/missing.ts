// What a list lacks while nobody answers for a part of a cluster, in words.

import { lackOf, type Missing } from "./api.ts";
import { h, setText } from "./dom.ts";
import { missingWords as words } from "./words/missing.ts";

/** None where the list is whole. */
export function missingText(missing: Missing[] | undefined): string {
  if (!missing || missing.length === 0) return "";
  const listed = missing.filter(({ names }) => names !== null);
  const rest = missing.filter(({ names }) => names === null);
  const pvs = listed.reduce((sum, { names }) => sum + names!, 0);
  return [
    ...(listed.length > 0 ? [words.unanswered(partsOf(listed), pvs)] : []),
    ...(rest.length > 0 ? [words.unread(partsOf(rest))] : []),
  ].join(" ");
}

/** What lacks, where it lacks; none where nothing does. */
export function lackElement(text: string): HTMLElement | null {
  return text === "" ? null : h("p", { class: "missing", role: "status" }, text);
}

/** An element that says so where it is, and is not to be seen where nothing lacks. */
export function missingNote(): { element: HTMLElement; show(missing: Missing[] | undefined): void } {
  const text = h("span");
  const link = h("a", { href: "manage?part=cluster" }, words.nodes);
  const element = h("p", { class: "missing", role: "status", hidden: true }, text, " ", link);
  const show = (missing: Missing[] | undefined) => {
    const said = missingText(missing);
    element.hidden = said === "";
    setText(text, said);
  };
  return { element, show };
}

/** The same of a list that only its answer as a whole says it of. */
export function lackNote(list: object): HTMLElement[] {
  const without = lackOf(list);
  const lack = lackElement(without === null ? "" : words.madeWithout(without));
  return lack ? [lack] : [];
}

function partsOf(missing: Missing[]): string {
  return missing.map(({ part }) => part).join(", ");
}
