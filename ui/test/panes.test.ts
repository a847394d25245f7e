// Which PVs share an axis, which axes a pane, and which axes are logarithmic.

import assert from "node:assert/strict";
import { test } from "node:test";
import { settleColours } from "../src/colours.ts";
import { noSamples } from "../src/decode.ts";
import { PLAIN, type Look } from "../src/look.ts";
import { eachAlone, layoutOf, letter, reachFor } from "../src/panes.ts";
import { newTrace, type Trace } from "../src/trace.ts";

/** A PV whose values go from one to another. */
function number(
  name: string,
  units: string,
  look: Partial<Look> = {},
  values: [number, number] = [0, 1],
): Trace {
  const trace = newTrace(name, 0);
  trace.kind = "number";
  trace.metadata = { type: "f64", units };
  trace.look = { ...PLAIN, ...look };
  trace.tail = {
    ...noSamples(),
    x: [0.1, 0.2],
    y: values,
    seconds: [0, 0],
    nanos: [1e8, 2e8],
    values,
    severity: [0, 0],
  };
  return trace;
}

function written(traces: Trace[], log: string[] = []): string[] {
  return layoutOf(traces, log, { from: 0, to: 1 }).panes.map(
    (pane) =>
      `${pane.letter} ${pane.scales.map((s) => `${s.label}: ${s.traces.map((t) => t.name).join("")}${s.log ? " log" : ""}`).join(" | ")}`,
  );
}

test("each units has a pane of its own, in the order of its first PV", () => {
  const traces = [number("A", "mA"), number("B", "kW"), number("C", "mA"), number("D", "mbar")];
  assert.deepEqual(written(traces), ["A mA: AC", "B kW: B", "C mbar: D"]);
});

test("PVs without units share an axis while what they span overlaps by half, else they do not", () => {
  const traces = [
    number("A", "", {}, [0, 10]),
    number("B", "", {}, [4, 12]),
    number("C", "", {}, [1e6, 2e6]),
    number("D", "", {}, [9, 30]),
  ];
  assert.deepEqual(written(traces), ["A no units: AB", "B C: C", "C D: D"]);
});

test("a PV without units stays with its company while values come", () => {
  const [a, b] = [number("A", "", {}, [0, 10]), number("B", "", {}, [4, 12])];
  assert.deepEqual(written([a, b]), ["A no units: AB"]);
  b.tail.y = [1e6, 2e6];
  assert.deepEqual(written([a, b]), ["A no units: AB"]);
});

test("an axis stands at the right of the pane before, or in a pane that is named, but never a third in one", () => {
  assert.deepEqual(written([number("A", "mA"), number("B", "kW", { axis: "right" })]), ["A mA: A | kW: B"]);
  const named = [
    number("A", "mA"),
    number("B", "kW"),
    number("C", "V", { pane: "A" }),
    number("D", "K", { pane: "A" }),
  ];
  assert.deepEqual(written(named), ["A mA: A | V: C", "B kW: B", "C K: D"]);
});

test("a PV with a pane of its own, a range of its own or a log of its own leaves its units' axis", () => {
  const traces = (look: Partial<Look>) => [number("A", "mA"), number("B", "mA", look)];
  assert.deepEqual(written(traces({ axis: "own" })), ["A mA: A", "B mA: B"]);
  assert.deepEqual(written(traces({ log: true })), ["A mA: A", "B mA: B log"]);
  const { panes } = layoutOf(traces({ fix: [-5, 5] }), [], { from: 0, to: 1 });
  assert.deepEqual(panes[1]!.scales[0]!.range, [-5, 5]);
});

test("an axis is logarithmic by its units; that without units by the empty name, or in older links by a PV's", () => {
  const traces = () => [number("A", ""), number("B", ""), number("C", "mbar")];
  assert.deepEqual(written(traces(), ["mbar"]), ["A no units: AB", "B mbar: C log"]);
  assert.deepEqual(written(traces(), [""]), ["A no units: AB log", "B mbar: C"]);
});

test("states and texts are bands, and hidden PVs claim nothing", () => {
  const [a, b, c] = [number("A", "mA"), number("B", ""), number("C", "K")];
  a.kind = "state";
  b.kind = "text";
  c.hidden = true;
  const { panes, bands } = layoutOf([a, b, c], [], { from: 0, to: 1 });
  assert.deepEqual([panes.length, bands.map(({ name }) => name)], [0, ["A", "B"]]);
});

test("panes are lettered beyond Z", () => {
  assert.deepEqual([0, 25, 26, 27, 52].map(letter), ["A", "Z", "AA", "AB", "BA"]);
});

test("what is normalised shares a pane whatever its units, each over all of its height", () => {
  const norm = { norm: true };
  const traces = [
    number("A", "mA", norm, [0, 10]),
    number("B", "mbar", { ...norm, log: true }, [1e-9, 1e-3]),
    number("C", "mA", {}, [0, 1]),
    number("D", "", { ...norm, fix: [-5, 5] }),
    number("E", "", { ...norm, pane: "Z" }),
  ];
  assert.deepEqual(written(traces), ["A normalised: ABD", "B mA: C", "C normalised: E"]);
  const [first] = layoutOf(traces, [], { from: 0, to: 1 }).panes[0]!.scales;
  assert.deepEqual(first!.range, [0, 1]);
  const reach = (i: number) => reachFor(first!, traces[i]!);
  assert.ok(reach(0).range[0] <= 0 && reach(0).range[1] >= 10 && reach(0).range[1] < 12);
  assert.ok(reach(1).log && reach(1).range[0] <= 1e-9 && reach(1).range[1] >= 1e-3);
  assert.deepEqual(reach(3).range, [-5, 5], "an end that is set holds there, too");
  assert.deepEqual(
    eachAlone(first!).map(({ label, log, traces }) => `${label} ${log} ${traces.length}`),
    ["mA false 1", "mbar true 1", "D false 1"],
  );
});

test("while it is panned each of a normalised axis is held as it was", () => {
  const trace = number("A", "mA", { norm: true }, [0, 10]);
  const held = layoutOf([trace], [], { from: 0, to: 1 });
  const before = held.panes[0]!.scales[0]!.spans!.get(trace)!.range;
  trace.tail.y = [4, 5];
  const now = layoutOf([trace], [], { from: 0, to: 1 }, held).panes[0]!.scales[0]!;
  assert.deepEqual(now.spans!.get(trace)!.range, before);
});

/** As it is after an answer came. */
function answered(trace: Trace, colour: number): Trace {
  trace.colour = colour;
  trace.error = "there is none";
  return trace;
}

test("beyond the eighth a PV has a colour that no other of its pane has, and is dashed only where all eight are taken there", () => {
  const units = [...Array.from({ length: 8 }, () => "mA"), "kW", "kW", "mA", "kW"];
  const look = (i: number): Partial<Look> => (i === 11 ? { colour: 11 } : {});
  const traces = units.map((units, i) => answered(number(`PV${i}`, units, look(i)), i));
  const settle = () => settleColours(traces, layoutOf(traces, [], { from: 0, to: 1 }));
  settle();
  const colours = () => traces.map(({ colour }) => colour);
  assert.deepEqual(colours(), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 10, 11], "what was chosen stays, too");
  // Whoever goes takes no colour from another.
  traces.splice(8, 1);
  settle();
  assert.deepEqual(colours(), [0, 1, 2, 3, 4, 5, 6, 7, 1, 10, 11]);
});

test("panes of one PV each have other colours: those that are least on the page", () => {
  const traces = Array.from({ length: 12 }, (_, i) => answered(number(`PV${i}`, `u${i}`), i));
  settleColours(traces, layoutOf(traces, [], { from: 0, to: 1 }));
  assert.deepEqual(
    traces.slice(8).map(({ colour }) => colour),
    [0, 1, 2, 3],
  );
});

test("colours beyond the eighth wait until it is known of all where they stand", () => {
  const traces = Array.from({ length: 9 }, (_, i) => answered(number(`PV${i}`, i < 8 ? "mA" : "kW"), i));
  traces[3]!.error = null;
  const settle = () => settleColours(traces, layoutOf(traces, [], { from: 0, to: 1 }));
  settle();
  assert.equal(traces[8]!.colour, 8);
  traces[3]!.error = "there is none";
  settle();
  assert.equal(traces[8]!.colour, 0);
});
