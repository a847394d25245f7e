// Bundles the page into dist/: a script, the parts of it that come when they are needed, and a style sheet, whose names change with their content so that browsers may keep
// them for ever, and the index.html that names them. Each lies there in gzip, too, as it is sent.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url).pathname;
const dist = `${here}dist`;

await rm(dist, { recursive: true, force: true });
await mkdir(dist);

const result = await build({
  entryPoints: { app: `${here}src/main.ts` },
  outdir: `${dist}/assets`,
  entryNames: "[name]-[hash]",
  // What is not shown at first comes when it is.
  chunkNames: "[name]-[hash]",
  splitting: true,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome109", "firefox115", "safari16"],
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

/** A page with its texts, each of which it names as {{group.text}}. */
async function worded(path) {
  const folder = `${here}src/words`;
  const files = await readdir(folder);
  const made = await build({
    stdin: {
      contents: files.map((file) => `export * from "./${file}";`).join("\n"),
      resolveDir: folder,
    },
    bundle: true,
    format: "esm",
    write: false,
  });
  const words = await import(`data:text/javascript,${encodeURIComponent(made.outputFiles[0].text)}`);
  return (await readFile(path, "utf8")).replace(/\{\{([\w.]+)\}\}/g, (_, name) => {
    const text = name.split(".").reduce((part, key) => part?.[key], words);
    if (typeof text !== "string") throw new Error(`${path} has the text ${name}, which src/words/ has not`);
    return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  });
}

const outputs = Object.keys(result.metafile.outputs).map((path) => basename(path));
// What comes later is an entry as well.
const entry = Object.entries(result.metafile.outputs).find(([, { entryPoint }]) =>
  entryPoint?.endsWith("src/main.ts"),
);
const script = entry && basename(entry[0]);
const style = outputs.find((name) => name.endsWith(".css"));
/** The entry, and what it cannot begin without. */
const first = new Set([script, style]);
for (const { path, kind } of entry?.[1].imports ?? [])
  if (kind === "import-statement") first.add(basename(path));
if (!script || !style) throw new Error("the bundle has no script or no style sheet");

const html = (await worded(`${here}index.html`))
  .replace("src/main.ts", `assets/${script}`)
  .replace("</head>", `  <link rel="stylesheet" href="assets/${style}" />\n  </head>`);
await writeFile(`${dist}/index.html`, html);

let packed = 0;
let packedFirst = 0;
for (const path of [`${dist}/index.html`, ...outputs.map((name) => `${dist}/assets/${name}`)]) {
  const gzip = gzipSync(await readFile(path), { level: 9 });
  await writeFile(`${path}.gz`, gzip);
  packed += gzip.length;
  if (path.endsWith(".html") || first.has(basename(path))) packedFirst += gzip.length;
}

/** A page that is opened at night, by whatever line, is to be there at once. */
const FIRST_MAX = 120_000;
if (packedFirst > FIRST_MAX)
  throw new Error(`the first load is ${packedFirst} bytes in gzip, at most ${FIRST_MAX}`);

const bytes = Object.values(result.metafile.outputs).reduce((sum, output) => sum + output.bytes, html.length);
console.log(
  `dist: ${outputs.join(", ")}, index.html: ${(bytes / 1024).toFixed(0)} KiB, ${(packed / 1024).toFixed(0)} in gzip, ${(packedFirst / 1024).toFixed(0)} of them at first`,
);
