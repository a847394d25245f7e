// What rows of the view stand for, by their names.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formulaName,
  isFormula,
  laidName,
  overName,
  secondsEarlier,
  sourceOf,
  titleOfName,
} from "../src/source.ts";
import { fromQuery, toQuery, FIRST_VIEW } from "../src/state.ts";

test("a name is a PV, unless it begins with = or says how much earlier", () => {
  assert.deepEqual(sourceOf("SR:CURRENT"), { kind: "pv", pv: "SR:CURRENT" });
  assert.deepEqual(sourceOf("SR{PS:1}I-SP"), { kind: "pv", pv: "SR{PS:1}I-SP" });
  assert.deepEqual(sourceOf("odd@-1w"), { kind: "pv", pv: "odd@-1w" });
  assert.deepEqual(sourceOf("SR:CURRENT @-1w"), { kind: "over", pv: "SR:CURRENT", by: "1w" });
  assert.deepEqual(sourceOf("= A - 2*B"), { kind: "formula", expression: "A - 2*B" });
  assert.equal(titleOfName("SR:CURRENT @-1mo"), "SR:CURRENT, 1 month earlier");
  assert.equal(titleOfName("SR:CURRENT @-3d"), "SR:CURRENT, 3 days earlier");
});

test("lengths that are none lay nothing over", () => {
  assert.equal(overName("A", "-3 d"), "A @-3d");
  for (const by of ["", "0d", "3", "yesterday", "-", "1q"]) assert.equal(overName("A", by), null, by);
});

test("the address keeps formulas and other times, with all of their signs", () => {
  const names = [formulaName("A + 2*B/`0:odd[name]` - 1e-3"), "SR:CURRENT @-1w", "SR:CURRENT"];
  const view = { ...FIRST_VIEW, pvs: names.map((name) => ({ name, hidden: false })) };
  assert.deepEqual(
    fromQuery(toQuery(view), 0).pvs.map(({ name }) => name),
    names,
  );
});

test("globs, fragments and regular expressions are no formulas", () => {
  for (const text of ["LAB:*", "*TEMP?", "~^SR:(A|B)$", "SR-DI-DCCT:I", "pump 12", "A", "SR{PS:1}I-SP"])
    assert.ok(!isFormula(text), text);
  for (const text of ["= A", "A - 2*B", "A + B", "derivative(A)", "average(A, 5 min)", "A > 3", "A *"])
    assert.equal(isFormula(text), text !== "A *", text);
});

test("weeks are weeks, and a month or a year goes by the calendar", () => {
  const at = (text: string) => Date.parse(text) / 1000;
  const earlier = (by: string, from: string) =>
    new Date((at(from) - secondsEarlier(by, at(from))) * 1000).toISOString();
  assert.equal(earlier("1w", "2026-03-30T00:00:00Z"), "2026-03-23T00:00:00.000Z");
  assert.equal(earlier("1mo", "2026-03-31T12:00:00Z"), "2026-02-28T12:00:00.000Z");
  assert.equal(earlier("1y", "2028-02-29T00:00:00Z"), "2027-02-28T00:00:00.000Z");
  assert.equal(earlier("1y", "2027-01-01T00:00:00Z"), "2026-01-01T00:00:00.000Z");
  assert.equal(earlier("14mo", "2026-01-15T00:00:00Z"), "2024-11-15T00:00:00.000Z");
});

test("a moment is laid at a later one, by both of which a row is named", () => {
  const [moment, at] = [1_795_168_800.5, 1_795_255_200];
  const name = laidName("SR:CURRENT", moment, at)!;
  assert.equal(name, "SR:CURRENT @2026-11-20T10:00:00.500Z/2026-11-21T10:00:00Z");
  const source = sourceOf(name);
  assert.ok(source.kind === "over" && source.pv === "SR:CURRENT");
  assert.equal(secondsEarlier(source.by, 5), at - moment);
  assert.equal(overName("SR:OTHER", source.by), name.replace("CURRENT", "OTHER"));
  assert.equal(laidName("SR:CURRENT", at, moment), null, "no later");
  assert.match(titleOfName(name), /2026-11-20 10:00:00\.500 UTC/);
});
