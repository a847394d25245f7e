// Amounts of bytes, each case of testdata/bytes.json: the command line is held to that file, too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bytesText } from "../src/bytes.ts";

const file = new URL("../../testdata/bytes.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(file, "utf8")) as { cases: [number, string][] };

test("bytes have three digits or four, and the unit of each thousand", () => {
  for (const [bytes, text] of cases) assert.equal(bytesText(bytes), text, String(bytes));
});
