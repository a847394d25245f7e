// Figures beside those that were looked at once: `npm run goldens` writes them anew.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";

const GOLDENS = new URL("../test/goldens/", import.meta.url).pathname;

/** Fails where a figure is not the one that was looked at, and keeps what is drawn now beside it. */
export async function isAsItWas(name: string, svg: string): Promise<void> {
  const path = `${GOLDENS}${name}.svg`;
  if (process.env.UPDATE_GOLDEN) await writeFile(path, svg);
  const golden = await readFile(path, "utf8");
  if (svg === golden) return;
  const now = new URL(`./${name}.svg`, import.meta.url).pathname;
  await writeFile(now, svg);
  const [was, is] = [golden.split("\n"), svg.split("\n")];
  const line = is.findIndex((text, i) => text !== was[i]);
  assert.fail(
    `it differs from ${path} from line ${line + 1} on; what is drawn now is ${now}. If that is meant: npm run goldens\n- ${was[line]}\n+ ${is[line]}`,
  );
}
