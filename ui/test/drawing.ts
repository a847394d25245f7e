// The page's own drawing in a browser, with nothing around it: what goldens, comparisons of pixels and measurements share.

import { readFile } from "node:fs/promises";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";

const ROOT = new URL("..", import.meta.url).pathname;

/** The window of a page that `openDrawing` has opened. */
export const CONTENTS = `
  import { layoutOf } from "./src/panes.ts";
  import { holesOf } from "./src/line.ts";
  import { Plot } from "./src/plot.ts";
  import { applyTheme } from "./src/style.ts";
  import { newTrace } from "./src/trace.ts";
  const sceneOf = (parts) => ({
    ...{ known: Infinity, silent: false, zone: "utc", pinned: null, second: null, lanes: false },
    ...{ pointed: null, notes: [], found: [], foundTold: "", moving: false, still: false },
    ...parts,
  });
  Object.assign(window, { Plot, layoutOf, holesOf, newTrace, applyTheme, sceneOf });
`;

/** A page with a plot of some size, and one more place; `more` is bundled with it. */
export async function openDrawing(
  browser: Browser,
  size: { width: number; height: number },
  more = "",
): Promise<Page> {
  const result = await build({
    stdin: { contents: CONTENTS + more, resolveDir: ROOT, loader: "ts" },
    ...{ bundle: true, write: false, format: "iife", target: "chrome109", loader: { ".css": "empty" } },
  });
  const tokens = await readFile(`${ROOT}src/tokens.css`, "utf8");
  const page = await browser.newPage({ viewport: size });
  await page.setContent(
    `<style>${tokens} body { margin: 0 } #plot, #other { position: absolute; inset: 0 } .panes, .over, canvas { position: absolute }</style><div id="plot"></div><div id="other"></div>`,
  );
  await page.addScriptTag({ content: result.outputFiles[0]!.text });
  return page;
}
