// How policies of a file differ from those in force.

import assert from "node:assert/strict";
import { test } from "node:test";
import { linesThatDiffer, policyChanges } from "../src/policy_diff.ts";

const policy = (name: string, match = `${name}:*`, settings = "monitor") => ({
  name,
  match: [match],
  settings,
});
const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => policy(name)) as [
  ReturnType<typeof policy>,
  ReturnType<typeof policy>,
  ReturnType<typeof policy>,
  ReturnType<typeof policy>,
];

/** Each as a diff marks it: `+` new, `-` gone, `>` moved, `*` other lines. */
function told(was: (typeof a)[], is: (typeof a)[]): string[] {
  return policyChanges(was, is).map(({ name, isMoved, lines }) => {
    if (lines.name.was === null) return `+${name}`;
    if (lines.name.is === null) return `-${name}`;
    const differ = [lines.match, lines.settings].some(({ was, is }) => was !== is);
    return `${isMoved ? ">" : ""}${differ ? "*" : ""}${name}`;
  });
}

test("policies that are new, gone, changed or moved are told from those that stay", () => {
  assert.deepEqual(told([a, b], [a, b]), ["a", "b"]);
  assert.deepEqual(told([a, b], [a, c, b]), ["a", "+c", "b"]);
  assert.deepEqual(told([a, b, c], [a, c]), ["a", "-b", "c"]);
  assert.deepEqual(told([a, b], []), ["-a", "-b"]);
  assert.deepEqual(told([], [a]), ["+a"]);
  assert.deepEqual(told([a, b, c, d], [a, d, b, c]), ["a", ">d", "b", "c"]);
  assert.deepEqual(told([a, b], [policy("a", "x*"), b]), ["*a", "b"]);
  assert.deepEqual(told([a, b, c], [d, policy("c", "c:*", "scan 1s"), a]), ["-b", "+d", "*c", ">a"]);
});

test("lines are counted as a diff counts them", () => {
  const count = (was: (typeof a)[], is: (typeof a)[]) => linesThatDiffer(policyChanges(was, is));
  assert.equal(count([a, b], [a, b]), 0);
  assert.equal(count([a], [policy("a", "x*")]), 2);
  assert.equal(count([a, b], [a]), 3);
  assert.equal(count([a, b], [b, a]), 1);
});
