// Lists of a cluster for a part of which nobody answers, in headless Chromium: wherever such a list is shown that is said, and until when.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page, server } from "./opened.ts";

openForEach(20_000);

const SHARD = { part: "shard 3 of the cluster", names: 2, why: "no node has it" };
const UNREAD = { part: "shard 5 of the cluster", names: null, why: "no node has it" };
const SAID =
  "Nobody answers for shard 3 of the cluster: 2 PVs are listed of which nobody knows how they fare.";

function lose(): void {
  server.missing = [SHARD];
  server.unanswered = new Set(["LAB:TEMP1", "LAB:TEMP2"]);
}

test("the search says what it lacks, and no more once a node has taken over", async () => {
  lose();
  await page.goto(base);
  await page.keyboard.press("/");
  await page.keyboard.type("LAB:TEMP");
  await page.locator("#found .missing").getByText(SAID).waitFor();
  await page.locator('#found [data-pv="LAB:TEMP1"] [data-state="unknown"]').waitFor();
  server.missing = [];
  server.unanswered.clear();
  await page.keyboard.type("1");
  await page.locator('#found [data-pv="LAB:TEMP1"] [data-state="connected"]').waitFor();
  assert.equal(await page.locator("#found .missing").count(), 0);
});

test("where names were never read nothing is said to be absent", async () => {
  server.missing = [UNREAD];
  server.pvs = [];
  await page.goto(base);
  await page.keyboard.press("/");
  await page.locator("#found .missing").getByText("some that are archived may be missing here").waitFor();
  assert.equal(await page.locator("#found").getByText("Nothing is archived yet").count(), 0);
  await page.keyboard.type("NO:SUCH");
  await page.locator("#found").getByText("No archived PV matches").waitFor();
  await page.locator("#found .missing").getByText("shard 5 of the cluster").waitFor();
});

test("the table of all PVs says it, shows those PVs alone, and is whole again by itself", async () => {
  await page.goto(`${base}manage`);
  await page.locator('.table-row[data-pv="LAB:TEMP1"]').waitFor();
  assert.equal(await page.locator('[data-facet="unknown"]').count(), 0);
  lose();
  await page.locator(".table-side .missing").getByText(SAID).waitFor();
  assert.equal(
    await page.locator(".table-side .missing a").getAttribute("href"),
    "manage?part=cluster",
    "the nodes are a press away",
  );
  await page.locator('[data-facet="unknown"]').click();
  await page.locator(".table-side .told").getByText("2 PVs").waitFor();
  assert.match(page.url(), /state=unknown/);
  await page.locator('[data-facet="any"]').click();
  // Sorted, where all rows are asked for at once, it is said, too.
  await page.getByRole("button", { name: "State", exact: true }).click();
  await page.locator(".table-side .missing").getByText(SAID).waitFor();
  server.missing = [];
  server.unanswered.clear();
  await page.locator(".table-side .missing").waitFor({ state: "hidden" });
  assert.equal(await page.locator('[data-facet="unknown"]').count(), 0);
});

test("the check of names to add, and the list behind the chip, say it", async () => {
  server.missing = [SHARD, UNREAD];
  await page.goto(`${base}manage?part=add`);
  await page.fill(".add-names textarea", "NEW:A\nLAB:TEMP1");
  await page.getByRole("button", { name: "Check" }).click();
  await page.locator(".add-outcome .missing").getByText(SAID).waitFor();
  await page
    .locator(".add-outcome .missing")
    .getByText("Nobody answers for shard 5 of the cluster")
    .waitFor();
  await page.goto(base);
  await page.locator("#chip").click();
  await page.locator("#overview .missing").getByText(SAID).waitFor();
});

test("what was removed, ordered and done says it of its list, too", async () => {
  server.missing = [UNREAD];
  for (const part of ["removed", "undo", "audit"]) {
    await page.goto(`${base}manage?part=${part}`);
    const said = "This list is made without shard 5 of the cluster: no node has it.";
    await page.locator(".part .missing").getByText(said).waitFor();
  }
  server.missing = [];
  await page.goto(`${base}manage?part=audit`);
  await page.locator(".part").getByText("oidc:ana").first().waitFor();
  assert.equal(await page.locator(".part .missing").count(), 0);
});
