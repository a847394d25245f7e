// What of an address is said to be left out, and that nothing is of one that the page wrote itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_VIEW, toQuery, type View } from "../src/state.ts";
import { PLAIN } from "../src/look.ts";
import { unreadOf } from "../src/unread.ts";

const NOW = 1_780_000_000;

test("each part that cannot be read is named, with why", () => {
  const said = (query: string) => unreadOf(query, NOW);
  assert.match(
    said("pv=A&from=2026-06-01&to=tomorow").join(),
    /^Of this address to=tomorow is left out: Not a time: tomorow\./,
  );
  assert.match(said("from=2026-13-01&to=now").join(), /from=2026-13-01 is left out: .* has month 13\./);
  assert.match(
    said("from=2026-06-02&to=2026-06-01").join(),
    /from=2026-06-02&to=2026-06-01 is left out: Begins after it ends\./,
  );
  assert.deepEqual(said("live=soon&zone=mars&theme=pink&at=noon&drawer=fit&lanes=yes").length, 6);
  assert.match(
    said("pv=A&set=right,wide,colour:99").join(),
    /set=wide is left out: .*set=colour:99 is left out/,
  );
  assert.match(said("pvs=A,B").join(), /pvs=A,B is left out: the page knows no such part/);
});

test("nothing is said of what the page writes itself, and of what others put behind links", () => {
  const view: View = {
    ...FIRST_VIEW,
    found: "SR:A+B > 3",
    pvs: [
      {
        name: "SR:A+B",
        hidden: false,
        look: {
          ...PLAIN,
          axis: "right",
          pane: "B",
          colour: 3,
          width: 2,
          line: "points",
          log: true,
          fix: [0, 5],
          limits: true,
        },
      },
      { name: "= A - 2*B", hidden: true },
      { name: "A @-1w", hidden: false },
    ],
    span: { kind: "fixed", range: { from: NOW - 10.5, to: NOW } },
    ...{
      zone: "utc",
      theme: "dark",
      log: ["mA", ""],
      pinned: NOW - 3.25,
      second: NOW - 1,
      lanes: true,
      folded: true,
    },
    drawer: { tab: "xy", choices: { x: "A", y: "B", by: "mean", step: "2", xin: "1,2", yin: "3,4" } },
  };
  assert.deepEqual(unreadOf(toQuery(view), NOW), []);
  for (const tab of ["histogram", "fft", "samples"] as const) {
    const choices = {
      of: "A",
      bins: "9",
      weight: "count",
      within: "1,2",
      window: "hann",
      output: "density",
      axes: "linear",
      fill: "mean",
      step: "1",
      band: "1,2",
    };
    assert.deepEqual(unreadOf(toQuery({ ...view, frame: "embed", drawer: { tab, choices } }), NOW), []);
  }
  assert.deepEqual(unreadOf("pv=A&from=-8h&to=now&utm_source=mail", NOW), []);
});
