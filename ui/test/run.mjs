// Runs what it is told to: `unit`, `browser`, or a file like `e2e` or `serve`. TypeScript is bundled first; Node runs the result.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";

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
const isTest = kinds.includes("unit") || kinds.includes("browser");
// Two files at a time: browsers wait as often as they work, and more of them would only make each other late.
const flags = isTest ? ["--enable-source-maps", "--test", "--test-concurrency=2"] : ["--enable-source-maps"];
const result = spawnSync(process.execPath, [...flags, ...files], { stdio: "inherit" });
process.exit(result.status ?? 1);
