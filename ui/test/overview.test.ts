// What the overview calls wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf } from "../src/overview.ts";

const pvs = { total: 33, connected: 6, disconnected: 0, searching: 27, paused: 0 };

test("PVs that were never connected are wrong, though the archiver has no problem of its own", () => {
  const said = "27 of 33 PVs are not connected: no IOC has answered for them yet.";
  assert.deepEqual(problemsOf({ problems: [], pvs }), [said]);
  assert.deepEqual(problemsOf({ problems: ["The disk is full."], pvs }), ["The disk is full.", said]);
});

test("with every PV connected or paused nothing is wrong", () => {
  assert.deepEqual(problemsOf({ problems: [], pvs: { ...pvs, connected: 32, searching: 0, paused: 1 } }), []);
});
