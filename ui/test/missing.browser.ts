// Lists of a cluster for a part of which nobody answers, in headless Chromium: wherever such a list is shown that is said, and until when.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page, server } from "./opened.ts";
import { settledOverlaps } from "./overlaps.ts";
import { threeNodes } from "./server.ts";

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

test("the chip says how many PVs are known while nobody answers for some of them, and counts again once a node has them", async () => {
  server.cluster = threeNodes();
  const { pvs } = server;
  // What a node counts in its status are those that it records: here it has none.
  server.recorded = [];
  server.missing = [{ part: "shard 3 of the cluster", names: 3, why: "no node has it at present" }];
  await page.goto(`${base}?pv=LAB:TEMP1`);
  const chip = page.locator("#chip");
  await chip.getByText(`${pvs.length} PVs known, 3 of a shard that no node has`, { exact: true }).waitFor();
  assert.equal(await chip.getAttribute("data-level"), "warn");
  assert.match((await chip.getAttribute("title"))!, /^Nobody answers for shard 3 of the cluster: 3 PVs are/);
  assert.equal(await page.locator("#counts").textContent(), await chip.locator(".whole").textContent());
  await page.setViewportSize({ width: 390, height: 844 });
  await chip.getByText(`3 of ${pvs.length} PVs unknown`).waitFor();
  const isWhole = () =>
    chip.evaluate((chip) => chip.scrollWidth <= chip.clientWidth && chip.scrollHeight <= chip.clientHeight);
  assert.ok(await isWhole(), "on a phone all of the shorter text is read");
  for (const width of [1024, 1200, 1400]) {
    await page.setViewportSize({ width, height: 850 });
    assert.ok(await isWhole(), `at ${width} all of it is read`);
    const { beyond, over } = await settledOverlaps(page);
    assert.deepEqual([beyond, over], [[], []], `at ${width}`);
  }
  server.missing = [
    {
      part: "shard 3 of the cluster",
      names: 3,
      why: "node archiver2, which has it, cannot be asked: it is silent",
    },
    { part: "shard 5 of the cluster", names: null, why: "no node has it at present" },
  ];
  const more = `${pvs.length} PVs known, 3 of 2 shards for which nobody answers, which may have more`;
  await chip.getByText(more).waitFor();
  server.missing = [];
  server.recorded = pvs;
  await chip.getByText(`of ${pvs.length} PVs lost`).waitFor();
});

test("a node that records nothing itself says how many PVs the others have, and not that nothing is archived", async () => {
  server.cluster = threeNodes();
  server.recorded = [];
  await page.goto(base);
  await page.locator("#chip").getByText(`${server.pvs.length} PVs`, { exact: true }).waitFor();
  await page.locator("#empty").waitFor();
  assert.ok(await page.locator("#barren").isHidden());
  assert.match((await page.locator("#chip").getAttribute("title"))!, /at other nodes of the cluster$/);
});
