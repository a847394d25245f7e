// Thousands of names pasted into the page of a real pvark, some of them wrong: these are named, the others followed to their first values.
//
//   PVARK_URL=http://127.0.0.1:17665/ PVARK_NAMES=names.txt PVARK_WRONG=3 [PVARK_SHOT=shot.png] npm run many

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { paste, startChromium } from "./chromium.ts";

const { PVARK_URL: base, PVARK_NAMES: path, PVARK_SHOT: shot } = process.env;
assert.ok(base && path, "set PVARK_URL to the address of a pvark and PVARK_NAMES to a file of names");
const text = readFileSync(path, "utf8");
const wrong = Number(process.env.PVARK_WRONG ?? 0);
const good = text.split("\n").filter(Boolean).length - wrong;
const counted = (count: number) => count.toLocaleString("en");

const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(base);
  await page.getByText("Archiver connected").waitFor();
  await page.locator("#more").click();
  await page.locator("#archive").click();
  await paste(page, "#add-names", text);
  const began = Date.now();
  await page.locator("#add-form button[type=submit]").click();
  await page.getByText(`${counted(good)} are asked for, ${wrong} were refused.`).waitFor();
  const answered = Date.now() - began;
  await page.getByText(/ of [0-9,]+ have a first value|^All [0-9,]+ have a first value/).waitFor();
  const lines = await page.locator("#add-outcome li").allInnerTexts();
  assert.equal(lines.length, wrong, lines.join("\n"));
  for (const line of lines) assert.match(line, / was refused: ./);
  await page.getByText(`All ${counted(good)} have a first value.`).waitFor();
  const seconds = (millis: number) => (millis / 1000).toFixed(1);
  console.log(lines.join("\n"));
  console.log(
    `answered after ${seconds(answered)} s, all first values after ${seconds(Date.now() - began)} s`,
  );
  if (shot) await page.screenshot({ path: shot });
  assert.deepEqual(faults, [], "no script may fail");
} finally {
  await browser.close();
}
