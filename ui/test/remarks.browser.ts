// What the page has to say once: of an address that it cannot read whole, of a computer's clock that is wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page, server } from "./opened.ts";

openForEach(15_000);

const about = (what: string) => page.locator(`#remarks [data-about="${what}"]`);

test("an address that was cut off shows what can be read, and says what is left out until somebody closes that", async () => {
  await page.goto(`${base}?pv=SR:CURRENT&zone=utc&from=2026-11-20T10:00:00Z&to=tomorow`);
  await page.locator('#legend [data-pv="SR:CURRENT"]').waitFor();
  await about("address").getByText("Of this address to=tomorow is left out: Not a time: tomorow.").waitFor();
  await about("address").getByRole("button", { name: "Close" }).click();
  await about("address").waitFor({ state: "detached" });
  // What the page writes from then on can be read.
  await page.keyboard.press("4");
  await page.waitForURL(/live=28800/);
  await page.reload();
  await page.locator('#legend [data-pv="SR:CURRENT"]').waitFor();
  await page.getByText("Archiver connected").waitFor({ state: "attached" });
  assert.equal(await about("address").count(), 0);
  await page.goto(`${base}?pv=SR:CURRENT&live=soon&wall=1`);
  await page.locator(".wall-value").first().waitFor();
  assert.equal(await about("address").count(), 0, "nobody can close it on a wall");
});

test("a computer whose clock is wrong is told by how much, once, and no more when it is right", async () => {
  server.ahead = 41;
  await page.goto(`${base}?pv=SR:CURRENT&live=60`);
  await about("clock")
    .getByText("This computer’s clock is 41 s behind; times on this page are the archiver’s.")
    .waitFor();
  server.ahead = 0;
  await about("clock").waitFor({ state: "detached" });
  server.ahead = -3600;
  await about("clock").getByText("1 h ahead").waitFor();
  await about("clock").getByRole("button", { name: "Close" }).click();
  const asked = () => server.requests.filter((path) => path.startsWith("/api/v1/status")).length;
  const before = asked();
  while (asked() < before + 2) await page.waitForTimeout(200);
  assert.equal(await about("clock").count(), 0, "it was noted");
});

test("an answer that was long on its way is no wrong clock", async () => {
  server.delay = 3000;
  await page.goto(`${base}?pv=SR:CURRENT&live=60`);
  await page.getByText("Archiver connected").waitFor({ state: "attached" });
  assert.equal(await about("clock").count(), 0);
});
