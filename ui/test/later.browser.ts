// Parts of the page that come when they are wanted, and do not: what stands in their place, and how they come after all.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Route } from "playwright-core";
import { base, openForEach, page } from "./opened.ts";

openForEach(20_000);

const CALM = "pv=LAB:TEMP1&pv=LAB:TEMP2&from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";

/** Each part: its module, where it is opened, its place, and what is there once it has come. */
const PARTS = [
  ["drawer", `?${CALM}&drawer=histogram`, "#analysis", "#analysis canvas"],
  ["export_form", `?${CALM}`, "#share", "#share form.export"],
  ["manage", "manage", "#manage", '.table-row[data-pv="LAB:TEMP1"]'],
  ["snapshot", "?part=snapshot", "#snapshot", "#snapshot input"],
  ["when", "?part=when", "#when", "#when input"],
] as const;

const said = (place: string) => page.locator(`${place} .absence`);
const again = (place: string) => said(place).getByRole("button", { name: "Try again" });
const cut = (route: Route) => route.abort();
/** The page as it is asked for to see which it is by now. */
const isPage = (url: URL) => url.pathname === "/";
const cutFetches = (route: Route) =>
  route.request().resourceType() === "fetch" ? route.abort() : route.fallback();

async function open(part: string, path: string): Promise<void> {
  await page.goto(`${base}${path}`);
  if (part !== "export_form") return;
  await page.locator('#legend [data-pv="LAB:TEMP1"]').waitFor();
  await page.keyboard.press("x");
}

for (const [part, path, place, there] of PARTS) {
  test(`where ${part} does not come its place says so, and a press has it come without loading the page anew`, async () => {
    await page.route(`**/assets/${part}-*`, cut);
    await open(part, path);
    await said(place).getByText("This part of the page has not come, though the archiver answers.").waitFor();
    await page.evaluate(() => (document.documentElement.dataset.isSame = "yes"));
    await page.unroute(`**/assets/${part}-*`, cut);
    await again(place).focus();
    await page.keyboard.press("Enter");
    await page.locator(there).first().waitFor();
    await said(place).waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.isSame), "yes");
    assert.notEqual(await page.evaluate(() => document.activeElement!.tagName), "BODY", "the focus is kept");
  });

  test(`where nobody answers ${part} comes by itself when somebody does`, async () => {
    await page.route(`**/assets/${part}-*`, cut);
    await page.route(isPage, cutFetches);
    await open(part, path);
    await said(place)
      .getByText("This part of the page has not come: the archiver does not answer.")
      .waitFor();
    await said(place).getByText("It is asked for again every 5 s.").waitFor();
    await page.unrouteAll();
    await page.locator(there).first().waitFor();
    await said(place).waitFor({ state: "detached" });
  });
}

test("where the archiver is another version by now the page is loaded anew by a press, and shows what it showed", async () => {
  const gone = (route: Route) => route.fulfill({ status: 404, contentType: "application/json", body: "{}" });
  const other = (route: Route) =>
    route.request().resourceType() === "fetch"
      ? route.fulfill({ contentType: "text/html", body: '<script src="assets/app-ANOTHER1.js"></script>' })
      : route.fallback();
  await page.route("**/assets/drawer-*", gone);
  await page.route(isPage, other);
  await page.goto(`${base}?${CALM}&drawer=histogram&bins=10`);
  await said("#analysis").getByText("The archiver is another version by now").waitFor();
  await said("#analysis").getByText("Its address keeps what is shown.").waitFor();
  await page.evaluate(() => (document.documentElement.dataset.isSame = "yes"));
  await page.unroute("**/assets/drawer-*", gone);
  await page.unroute(isPage, other);
  await again("#analysis").click();
  await page.locator("#analysis canvas").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.isSame), undefined);
  assert.equal(new URL(page.url()).searchParams.get("bins"), "10");
});

test("a browser that remembers that a module did not come has it under another name", async () => {
  const isByOwnName = (url: URL) => url.pathname.includes("/assets/drawer-") && url.search === "";
  await page.route(isByOwnName, cut);
  await page.goto(`${base}?${CALM}&drawer=histogram`);
  await again("#analysis").waitFor();
  await page.evaluate(() => (document.documentElement.dataset.isSame = "yes"));
  await again("#analysis").click();
  await page.locator("#analysis canvas").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.isSame), "yes");
});

test("what does not come by its own name nor by another comes with the page, by a press", async () => {
  await page.route("**/assets/drawer-*", cut);
  await page.goto(`${base}?${CALM}&drawer=histogram`);
  await again("#analysis").click();
  await said("#analysis").getByText("Trying again loads the page anew.").waitFor();
  await page.unroute("**/assets/drawer-*", cut);
  await again("#analysis").click();
  await page.locator("#analysis canvas").waitFor();
});

test("a drawer that is closed meanwhile is not asked for again, and stays closed", async () => {
  await page.route("**/assets/drawer-*", cut);
  await page.goto(`${base}?${CALM}&drawer=histogram`);
  await again("#analysis").waitFor();
  await page.locator("#plot").focus();
  await page.keyboard.press("w");
  await page.locator("#analysis").waitFor({ state: "hidden" });
  await page.unroute("**/assets/drawer-*", cut);
  await page.keyboard.press("w");
  await again("#analysis").click();
  await page.locator("#analysis canvas").waitFor();
});
