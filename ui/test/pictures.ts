// Makes the pictures of docs/page.md: the page in its main states, with the test server's data.
//
//   [PICTURES="plot-light why"] npm run pictures

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { startChromium } from "./chromium.ts";
import { smaller } from "./png.ts";
import { TestServer } from "./server.ts";
import { STATES, takeTime } from "./states.ts";

/** Pictures lie in the repository: none may be larger. */
const BYTES_MAX = 150_000;

/** States of which docs/page.md shows a picture. */
const SHOWN = [
  ...["plot-light", "plot-dark", "twenty", "gap", "why", "times", "add", "archiver-gone", "phone", "menu"],
  ...["manage", "manage-iocs", "heat", "table", "image", "snapshot", "find-when"],
  ...["find", "notes", "views", "formula", "manage-undo", "manage-cluster", "share"],
  ...["drawer-xy", "drawer-fft", "drawer-samples"],
];

const folder = new URL("../../docs/pictures", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });
takeTime();
const wanted = process.env.PICTURES?.split(" ") ?? SHOWN;
const browser = await startChromium();
try {
  for (const state of STATES.filter(({ name }) => wanted.includes(name))) {
    const server = new TestServer(new URL("../dist", import.meta.url).pathname);
    const base = await server.start();
    const { width, height, theme } = state;
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
    page.setDefaultTimeout(60_000);
    await state.show(page, server, base);
    const path = `${folder}/${state.name}.png`;
    const picture = smaller(await page.screenshot());
    writeFileSync(path, picture);
    const size = picture.length;
    assert.ok(size < BYTES_MAX, `${path} has ${size} bytes`);
    console.log(`${path}: ${size} bytes`);
    await page.close();
    await server.stop();
  }
} finally {
  await browser.close();
}
