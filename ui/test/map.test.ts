// The map at the head of main.ts is whole: whoever looks for a file of the page finds it there.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SOURCES = new URL("../src/", import.meta.url);

test("the map in main.ts names every file of the page", () => {
  const [map = ""] = readFileSync(new URL("main.ts", SOURCES), "utf8").split("\nimport ");
  const named = new Set(map.match(/\w+/g));
  const files = readdirSync(SOURCES).filter((name) => name.endsWith(".ts") && name !== "main.ts");
  assert.ok(files.length > 100, "the folder was found");
  assert.deepEqual(
    files.filter((name) => !named.has(name.replace(".ts", ""))),
    [],
  );
});
