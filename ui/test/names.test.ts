// Names as they are pasted, with comments and all.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readNames } from "../src/names.ts";

test("names are parted by lines, blanks, commas and semicolons, each is taken once", () => {
  const { names, refused } = readNames("A:1 B{x}:2,ca://C\n\npva://D;A:1\nE.VAL#1\n");
  assert.deepEqual(names, ["A:1", "B{x}:2", "ca://C", "pva://D", "E.VAL#1"]);
  assert.deepEqual(refused, []);
});

test("comments, other protocols and protocols alone are refused with a reason", () => {
  const { names, refused } = readNames("# comment\nA # its current\nfoo://X\nca://");
  assert.deepEqual(names, ["A"]);
  assert.deepEqual(
    refused.map(({ name, status, message }) => `${name} ${status}: ${message}`),
    [
      "# comment refused: this is a comment",
      "# its current refused: this is a comment",
      "foo://X refused: there is no protocol foo: ca:// and pva:// are known",
      "ca:// refused: there is no name behind the protocol",
    ],
  );
});
