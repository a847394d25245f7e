// How the policies of the config file differ from those in force, line by line, in the order in which they decide.

import type { PolicyText } from "./api.ts";
import { settingsText } from "./words/policy.ts";

/** A line of a policy, as it was and as it will be; `null` where it is not there. */
export interface PolicyLine {
  was: string | null;
  is: string | null;
}

export interface PolicyChange {
  name: string;
  /** Both are there, and it decides before others than it did. */
  isMoved: boolean;
  lines: { name: PolicyLine; match: PolicyLine; settings: PolicyLine };
}

/** Every policy of either, the same ones in the order of the file; those that are gone stand where they stood. */
export function policyChanges(was: PolicyText[], is: PolicyText[]): PolicyChange[] {
  const before = new Map(was.map((policy) => [policy.name, policy]));
  const after = new Map(is.map((policy) => [policy.name, policy]));
  const stays = inBoth(
    was.map(({ name }) => name).filter((name) => after.has(name)),
    is.map(({ name }) => name).filter((name) => before.has(name)),
  );
  const changes = is.map((policy) => {
    const had = before.get(policy.name) ?? null;
    return changeOf(had, policy, had !== null && !stays.has(policy.name));
  });
  let place = 0;
  for (const policy of was) {
    if (stays.has(policy.name)) place = changes.findIndex(({ name }) => name === policy.name) + 1;
    if (!after.has(policy.name)) changes.splice(place++, 0, changeOf(policy, null, false));
  }
  return changes;
}

/** How many lines differ: a line that is another one counts as one that goes and one that comes, as in any diff. */
export function linesThatDiffer(changes: PolicyChange[]): number {
  const differs = ({ was, is }: PolicyLine) => (was === is ? 0 : Number(was !== null) + Number(is !== null));
  return changes.reduce(
    (sum, { lines, isMoved }) =>
      sum + Number(isMoved) + differs(lines.name) + differs(lines.match) + differs(lines.settings),
    0,
  );
}

function changeOf(was: PolicyText | null, is: PolicyText | null, isMoved: boolean): PolicyChange {
  const line = (text: (policy: PolicyText) => string): PolicyLine => ({
    was: was && text(was),
    is: is && text(is),
  });
  return {
    name: (is ?? was)!.name,
    isMoved,
    lines: {
      name: line(({ name }) => name),
      match: line(({ match }) => match.join(", ")),
      settings: line(({ settings }) => settingsText(settings)),
    },
  };
}

/** The longest list of names that stand in the same order in two lists of the same names. */
function inBoth(a: string[], b: string[]): Set<string> {
  // lengths[i][j]: of the longest one of a from i on and b from j on
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i]![j] =
        a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  const same = new Set<string>();
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      same.add(a[i]!);
      i++;
      j++;
    } else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return same;
}
