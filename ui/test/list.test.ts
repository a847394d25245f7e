// A pasted list of PVs: its names, what is given for them, and why a line is none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readList } from "../src/list.ts";

const told = (text: string) =>
  readList(text).map(({ line, name, method, period, reason }) =>
    `${line} ${name} ${method ?? ""} ${period ?? ""} ${reason ?? "ok"}`.replace(/ +/g, " "),
  );

test("comments and empty lines say nothing, a name that comes twice counts once", () => {
  assert.deepEqual(told("# head\n\nA:B\nC:D # Channel Access\r\nA:B\npva://E"), [
    "3 A:B ok",
    "4 C:D ok",
    "6 pva://E ok",
  ]);
});

test("a method and a period stand behind commas, in either case", () => {
  assert.deepEqual(told("A,scan,10\nB,SCAN\nC,monitor\nD,MONITOR,1"), [
    "1 A scan 10 ok",
    "2 B scan 1 ok",
    "3 C ok",
    "4 D ok",
  ]);
});

test("what is wrong is told with its line, and mended where that is plain", () => {
  const lines = readList(
    ["SR VA", "foo://X", "pva://", "A,scan,0", "B,often", "ledger:x", "y".repeat(256)].join("\n"),
  );
  assert.deepEqual(
    lines.map(({ line, repair }) => [line, repair]),
    [
      [1, "SRVA"],
      [2, "X"],
      [3, null],
      [4, "A,scan,1"],
      [5, "B"],
      [6, null],
      [7, null],
    ],
  );
  for (const { reason } of lines) assert.match(reason ?? "", /\w.*\.$/);
});
