// The nodes of a cluster at /manage, in headless Chromium: absent where the archiver records alone, told, and ordered after it was said what follows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { base, openForEach, page, server } from "./opened.ts";
import { somebody, threeNodes } from "./server.ts";

openForEach(30_000);

const WAYS = { oidc: null, password: true };
const tab = () => page.locator('[data-tab="cluster"]');
const node = (name: string) => page.locator(`[data-node="${name}"]`);

test("where the archiver records alone there is nothing of a cluster", async () => {
  await page.goto(`${base}manage?part=cluster`);
  await page.locator('.table-row[data-pv="LAB:TEMP1"]').waitFor();
  assert.equal(await tab().count(), 0);
  const asked = server.requests.filter((path) => path.startsWith("/api/v1/cluster"));
  assert.deepEqual(asked, [], "nor is it asked for what is not there");
});

test("nodes, shards and what waits are told, one that is silent and what is detached first of all", async () => {
  server.cluster = threeNodes();
  await page.goto(`${base}manage`);
  await tab().getByText("3, 1 silent").waitFor();
  await tab().click();
  await node("archiver1").getByText("You are here.").waitFor();
  await node("archiver1").getByText("16 of 32 shards, and the site").waitFor();
  await node("archiver1").getByText("1,240 samples, 0 changes").waitFor();
  await node("archiver1").getByText("1,200 of 1,204 connected").waitFor();
  await node("archiver1").getByText("52.0 GB free").waitFor();
  await node("archiver1").getByText("1 min 15 s").waitFor();
  await node("archiver2").getByText("Does not answer.").waitFor();
  assert.equal(await node("archiver2").getByText("connected").count(), 0, "nothing is known of it");
  await node("archiver3").getByText("no space is left").waitFor();
  await page.getByText("The shared store has not answered for 1 min 15 s: 1 shard is recorded").waitFor();
  assert.equal(await page.locator(".shards .shard").count(), 32);
  assert.equal(
    await page.locator(".shards .is-nobodys").getAttribute("aria-label"),
    "Shard 31: no node has it",
  );
});

test("by keyboard a shard is moved, a node drained and joined again, after it was said what follows", async () => {
  server.cluster = threeNodes();
  await page.goto(`${base}manage?part=cluster`);
  await page.locator('[data-order="move 4"]').focus();
  await page.keyboard.press("Enter");
  const sheet = page.locator("#sheet-dialog[open]");
  await sheet.getByText("The PVs of shard 4, which archiver1 records").waitFor();
  await sheet.getByText("No gap: both nodes hear its IOCs").waitFor();
  assert.deepEqual(server.nodeOrders, []);
  assert.deepEqual(
    await sheet.locator("option").allInnerTexts(),
    ["archiver3"],
    "neither itself nor one that is silent",
  );
  await sheet.getByRole("button", { name: "Move shard 4" }).press("Enter");
  await page.locator('[aria-label="Shard 4: archiver3"]').waitFor();
  await node("archiver3").getByRole("button", { name: "Drain …" }).press("Enter");
  await sheet.getByText("archiver3 gives its 16 shards to the 2 other nodes").waitFor();
  await page.keyboard.press("Enter");
  await node("archiver3").getByText("Answers, and hands over what it has.").waitFor();
  await node("archiver3").getByRole("button", { name: "Join …" }).press("Enter");
  await page.keyboard.press("Enter");
  await node("archiver3").getByText("Answers.", { exact: true }).waitFor();
  assert.deepEqual(server.nodeOrders, [
    "POST /api/v1/cluster/shards/4/move",
    "POST /api/v1/cluster/nodes/archiver3/drain",
    "POST /api/v1/cluster/nodes/archiver3/join",
  ]);
});

test("a node that is gone for good is forgotten; a refusal is told", async () => {
  server.cluster = threeNodes();
  await page.goto(`${base}manage?part=cluster`);
  await node("archiver2").getByRole("button", { name: "Forget …" }).click();
  const sheet = page.locator("#sheet-dialog[open]");
  await sheet.getByText("Refused while it lives, or while a shard has no node.").waitFor();
  // It has come back meanwhile.
  server.cluster.nodes[1]!.state = "lives";
  await page.keyboard.press("Enter");
  await page.locator(".cluster-part .said").getByText("archiver2 lives").waitFor();
  server.cluster.nodes[1]!.state = "silent";
  await node("archiver2").getByRole("button", { name: "Forget …" }).click();
  await page.keyboard.press("Enter");
  await tab().getByText("2", { exact: true }).waitFor();
});

test("who may not administer sees the nodes, and no order", async () => {
  server.cluster = threeNodes();
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(`${base}manage?part=cluster`);
  await node("archiver1").waitFor();
  assert.equal(await page.locator("#manage [data-order]").count(), 0);
});

test("nothing lies beyond the window, from a phone to a wall", async () => {
  server.cluster = threeNodes();
  await page.goto(`${base}manage?part=cluster`);
  await node("archiver1").waitFor();
  for (const width of [360, 768, 1024, 1400, 3840]) {
    await page.setViewportSize({ width, height: 850 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${width}`);
  }
});

test("while the archiver is away the page leads to the same view at another node, and no longer when it is back", async () => {
  server.cluster = threeNodes();
  await page.route("http://archiver3.test/**", (route) => route.fulfill({ body: "the other page" }));
  await page.goto(`${base}?pv=LAB:TEMP1&live=60`);
  const links = page.locator("#elsewhere");
  await page.getByText("Archiver connected").waitFor({ state: "attached" });
  assert.ok(await links.isHidden(), "nothing is wrong");
  server.down = true;
  await page.getByText("No archiver since").waitFor();
  const others = ["go on at archiver3"];
  assert.deepEqual(await links.getByRole("link").allInnerTexts(), others, "one is silent, and one is this");
  server.down = false;
  await links.waitFor({ state: "hidden" });
  server.down = true;
  await page.keyboard.press("1"); // another range than that of the address with which the page was opened
  await links.getByRole("link").press("Enter");
  await page.getByText("the other page").waitFor();
  const [path, query] = page.url().split("?");
  assert.equal(path, "http://archiver3.test/pvark/");
  assert.match(query!, /^pv=LAB:TEMP1&live=(?!60$)/);
});
