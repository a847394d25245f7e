// Tables and images out of the structures in which pvAccess carries them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../src/api.ts";
import { imageOf, type Picture } from "../src/nt_image.ts";
import { tableOf } from "../src/nt_table.ts";

test("a structure with labels and columns is a table, and which columns are numbers is seen", () => {
  const table = tableOf({
    labels: ["Position", "Name", "Big", ""],
    value: { s: [1, "NaN", true], name: ["1", "2", "3"], big: ["9223372036854775808"], none: [] },
    alarm: { severity: 0 },
  })!;
  assert.equal(table.rows, 3);
  assert.deepEqual(
    table.columns.map(({ label, numbers }) => [label, numbers]),
    [
      ["Position", [1, NaN, 1]],
      ["Name", null],
      ["Big", [2 ** 63]],
      ["none", null],
    ],
  );
});

test("other values are no tables", () => {
  const others: Json[] = [
    ...[null, 7, "labels", [1, 2], { labels: ["a"] }, { labels: "a", value: { a: [1] } }],
    ...[
      { labels: ["a"], value: { a: 1 } },
      { labels: [1], value: { a: [1] } },
    ],
    { value: [1], labels: ["a"] },
  ];
  for (const value of others) assert.equal(tableOf(value), null, JSON.stringify(value));
});

function image(sizes: number[], elements: Json, mode: number | null, codec = ""): Json {
  return {
    value: elements === null ? null : { shortValue: elements },
    codec: { name: codec, parameters: null },
    compressedSize: "12",
    dimension: sizes.map((size) => ({ size })),
    attribute: mode === null ? [] : [{ name: "ColorMode", value: mode }],
  };
}

test("a mono image has a number for each pixel, row by row", () => {
  const mono = imageOf(image([3, 2], [1, 2, 3, 4, 5, "NaN"], 0)) as Picture;
  assert.deepEqual([mono.width, mono.height, mono.isColour], [3, 2, false]);
  assert.deepEqual([...mono.numbers], [1, 2, 3, 4, 5, NaN]);
  const line = imageOf(image([4], [1, 2, 3, 4], null)) as Picture;
  assert.deepEqual([line.width, line.height], [4, 1]);
});

test("colours come out alike, wherever in the array they lie", () => {
  // Two pixels beside each other: red 1 and 2, green 3 and 4, blue 5 and 6.
  const said: [number[], number[], number | null][] = [
    [[3, 2, 1], [1, 3, 5, 2, 4, 6], 2],
    [[2, 3, 1], [1, 2, 3, 4, 5, 6], 3],
    [[2, 1, 3], [1, 2, 3, 4, 5, 6], 4],
    [[2, 1, 3], [1, 2, 3, 4, 5, 6], null],
  ];
  for (const [sizes, elements, mode] of said) {
    const colours = imageOf(image(sizes, elements, mode)) as Picture;
    assert.deepEqual([colours.width, colours.height, colours.isColour], [2, 1, true], sizes.join(" "));
    assert.deepEqual([...colours.numbers], [1, 3, 5, 2, 4, 6], sizes.join(" "));
  }
  // Where all three could be that of the colours the attribute decides.
  const rows = Array.from({ length: 27 }, (_, i) => i);
  const planes = imageOf(image([3, 3, 3], rows, 4)) as Picture;
  assert.deepEqual([...planes.numbers.slice(0, 3)], [0, 9, 18]);
});

test("what cannot be shown as an image says why", () => {
  const why = (value: Json) => imageOf(value);
  assert.deepEqual(why(image([2, 2], [1, 2], 0, "blosc")), { why: "compressed", codec: "blosc", bytes: 12 });
  assert.deepEqual(why(image([2, 2], [1, 2, 3], 0)), { why: "misfit", dimensions: [2, 2], elements: 3 });
  assert.deepEqual(why(image([9000, 9000], [1], 0)), { why: "large", dimensions: [9000, 9000] });
  assert.deepEqual(why(image([2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8], 0)), {
    why: "dimensions",
    dimensions: [2, 2, 2],
  });
  assert.deepEqual(why(image([], [1], 0)), { why: "dimensions", dimensions: [] });
  assert.deepEqual(why(image([2, 2], null, 0)), { why: "empty" });
  const others: Json[] = [null, 7, [1], { value: [1] }, { codec: { name: "" } }];
  for (const value of others) assert.equal(why(value), null);
});
