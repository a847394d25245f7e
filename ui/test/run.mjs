// Runs what it is told to: `unit`, `browser`, or a file like `e2e` or `serve`. TypeScript is bundled first; Node runs the result.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";

const root = new URL("..", import.meta.url).pathname;
let kinds = process.argv.slice(2);
const all = (await readdir(`${root}test`)).filter((name) => name.endsWith(".ts"));

const places = ["chromium", "chromium-browser", "google-chrome"].map((name) => `/usr/bin/${name}`);
process.env.CHROMIUM ??= places.find((path) => existsSync(path)) ?? "";
if (process.env.CHROMIUM === "" && kinds.includes("browser")) {
  console.log(`browser tests skipped: there is none of ${places.join(", ")}, and CHROMIUM names no other`);
  kinds = kinds.filter((kind) => kind !== "browser");
}

function entriesOf(kind) {
  if (kind === "unit") return all.filter((name) => name.endsWith(".test.ts"));
  if (kind === "browser") return all.filter((name) => name.endsWith(".browser.ts"));
  return [`${kind}.ts`];
}

const names = kinds.flatMap(entriesOf);
if (kinds.includes("browser")) await import("../build.mjs");
await build({
  entryPoints: names.map((name) => `${root}test/${name}`),
  outdir: `${root}.build`,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
});

const files = names.map((name) => `${root}.build/${name.replace(/\.ts$/, ".mjs")}`);
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --enable-source-maps`;
if (!kinds.includes("unit") && !kinds.includes("browser")) {
  process.exit(spawnSync(process.execPath, files, { stdio: "inherit" }).status ?? 1);
}

/** No file takes nearly as long; one that waits for ever fails then, and is told. */
const FILE_MILLIS = 600_000;

/** Runs so many files at a time, and gives those in which a test failed. */
async function failing(files, concurrency) {
  const failed = new Set();
  const tests = run({ files, concurrency, timeout: FILE_MILLIS });
  // A failure is told with the file from which the one that ran was made.
  const nameOf = (file) => basename(file).replace(/\.(ts|mjs)$/, "");
  tests.on("test:fail", ({ file }) => failed.add(files.find((one) => nameOf(one) === nameOf(file)) ?? file));
  const told = tests.compose(spec);
  told.pipe(process.stdout, { end: false });
  await finished(told);
  return [...failed];
}

// Two files at a time: browsers wait as often as they work, and more of them would only make each other late. A file that fails runs once
// more, with the machine for itself: what passes then stands above as failed, to be looked into.
let failed = await failing(files, 2);
if (failed.length > 0 && failed.length <= 3) {
  console.log(`\nonce more, one at a time: ${failed.map((file) => basename(file)).join(", ")}`);
  failed = await failing(failed, 1);
}
process.exit(failed.length > 0 ? 1 : 0);
