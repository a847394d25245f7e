// Conditions as fields and as the archiver's language: what is written, and what can be read back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, expressionOf, pvsOf, type Clause, type Relation } from "../src/condition.ts";

const clause = (pv: string, relation: Relation, value: string): Clause => ({ pv, relation, value });

test("a sentence of fields becomes an expression", () => {
  const clauses = [clause("SR-VA-IP12:P", "above", "3e-9"), clause("SR-OP:MODE", "is", "User beam")];
  assert.equal(
    expressionOf({ clauses, length: "10 s" }),
    "SR-VA-IP12:P > 3e-9 while SR-OP:MODE = 'User beam' for >= 10 s",
  );
  const more = [
    ...clauses,
    clause("A:B", "isnot", "ON"),
    clause("A:C", "alarm", "2"),
    clause("A:D", "missing", ""),
  ];
  assert.equal(
    expressionOf({ clauses: more, length: "" }),
    "SR-VA-IP12:P > 3e-9 while SR-OP:MODE = 'User beam' and A:B != ON and severity(A:C) >= 2 and missing(A:D)",
  );
});

test("names that the language would read otherwise stand in quotes, and what is not whole is left out", () => {
  assert.equal(
    expressionOf({ clauses: [clause("0:odd[name]", "below", "-1")], length: "" }),
    "`0:odd[name]` < -1",
  );
  assert.equal(expressionOf({ clauses: [clause("A", "is", "it's")], length: "" }), 'A = "it\'s"');
  assert.equal(
    expressionOf({ clauses: [clause("A", "above", ""), clause("", "above", "1")], length: "" }),
    "",
  );
});

test("what fields can say is read back as they said it, whatever names and values", () => {
  const names = ["A", "SR:C01{PS:1}I-SP", "0:odd[name]", "_x.VAL", "SR-DI-DCCT:I"];
  const values = ["1", "-2.5e-9", "ON", "User beam", "a > b", "it's"];
  for (const pv of names)
    for (const relation of ["above", "below", "is", "isnot", "alarm", "missing"] as const)
      for (const value of relation === "alarm" ? ["3"] : relation === "missing" ? [""] : values) {
        // Behind above and below a text means an expression, which fields do not say.
        if ((relation === "above" || relation === "below") && !/^[-\d.e]+$/.test(value)) continue;
        for (const length of ["", "10 s", "1.5 h"]) {
          const condition = { clauses: [clause(pv, relation, value), clause("B:X", "is", "1")], length };
          assert.deepEqual(conditionOf(expressionOf(condition)), condition, expressionOf(condition));
        }
      }
});

test("what is more than fields can say is left as it is written", () => {
  for (const text of [
    "A > 3 or B > 3",
    "A - 2*B > 1",
    "not A = ON",
    "silent(A, 1 min)",
    "A > B + 1",
    "(A > 3)",
  ])
    assert.equal(conditionOf(text), null, text);
});

test("the PVs of an expression are found for a plot", () => {
  assert.deepEqual(pvsOf("A > 3 while SR:B = ON"), ["A", "SR:B"]);
  assert.deepEqual(pvsOf("average(SR-X:I, 5 min) - 2*`0:odd` > 1 or SR:M = 'X:Y'"), [
    "SR-X:I",
    "SR:M",
    "0:odd",
  ]);
});
