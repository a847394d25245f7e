// What is set for one PV, and its form in the URL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isPlain, lookText, PLAIN, readFix, readLook, type Look } from "../src/look.ts";

const FULL: Look = {
  axis: "right",
  pane: "B",
  colour: 2,
  width: 2.5,
  line: "points",
  log: true,
  norm: true,
  fix: [-1e-9, 100],
  limits: true,
};

test("everything that can be set comes back from its text", () => {
  assert.deepEqual(readLook(lookText(FULL)), FULL);
  assert.equal(lookText(PLAIN), "");
  assert.ok(isPlain(readLook("")));
});

test("what a URL says wrongly is left out, the rest is kept", () => {
  assert.deepEqual(readLook("points,colour:99,width:x,pane:1,fix:3..1,blink"), { ...PLAIN, line: "points" });
  assert.deepEqual(readLook("colour:1.5,width:900,fix:..5,own"), { ...PLAIN, axis: "own" });
});

test("the ends of an axis are two numbers, the lower first", () => {
  assert.deepEqual(readFix("-5 .. 1e3"), [-5, 1000]);
  for (const text of ["", "..", "1..", "..1", "2..1", "1..1", "a..b", "0..Infinity"])
    assert.equal(readFix(text), null, text);
});
