// Runs what it is told to: `unit`, `browser`, `e2e` or `serve`. TypeScript is bundled first; Node runs the result.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";

const root = new URL("..", import.meta.url).pathname;
const kinds = process.argv.slice(2);
const all = (await readdir(`${root}test`)).filter((name) => name.endsWith(".ts"));

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
const isTest = kinds.includes("unit") || kinds.includes("browser");
// One file at a time: browsers are heavy, and a busy machine makes no test more right.
const flags = isTest ? ["--enable-source-maps", "--test", "--test-concurrency=1"] : ["--enable-source-maps"];
const result = spawnSync(process.execPath, [...flags, ...files], { stdio: "inherit" });
process.exit(result.status ?? 1);
