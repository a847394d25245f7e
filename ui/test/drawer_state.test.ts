// The drawer in the address: what is written is read again, and what is none is left out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawerParts, readDrawer, turned, type DrawerState } from "../src/drawer_state.ts";

const read = (text: string) => readDrawer(new URLSearchParams(text));
const written = (drawer: DrawerState | null) => drawerParts(drawer, encodeURIComponent).join("&");

test("each drawer comes back from the address that it writes", () => {
  const all: DrawerState[] = [
    { tab: "xy", choices: {} },
    { tab: "xy", choices: { x: "SR:CURRENT", y: "= A - 2*B & C", by: "mean", step: "30" } },
    { tab: "histogram", choices: { of: "SR:{A}#1", bins: "100", weight: "count" } },
    {
      tab: "fft",
      choices: { of: "A", window: "hann", axes: "both", step: "0.1", fill: "mean", band: "0.1,3.2" },
    },
  ];
  for (const drawer of all) assert.deepEqual(read(written(drawer)), drawer);
  assert.equal(written(null), "");
});

test("what was not chosen, belongs to another tab or is none is not written, and not read", () => {
  assert.equal(
    written({ tab: "histogram", choices: { of: "A", by: "mean", bins: "", weight: undefined } }),
    "drawer=histogram&of=A",
  );
  assert.equal(read("drawer=table&of=A"), null);
  assert.equal(read("pv=A"), null);
  assert.deepEqual(read(`drawer=fft&of=${"x".repeat(20_000)}&window=`), { tab: "fft", choices: {} });
});

test("another tab is about the same row", () => {
  assert.deepEqual(turned({ tab: "xy", choices: { x: "A", y: "B", by: "mean" } }, "fft"), {
    tab: "fft",
    choices: { of: "A" },
  });
  assert.deepEqual(turned({ tab: "fft", choices: { of: "A", step: "1" } }, "xy"), {
    tab: "xy",
    choices: { x: "A" },
  });
  assert.deepEqual(turned({ tab: "fft", choices: {} }, "histogram"), { tab: "histogram", choices: {} });
});
