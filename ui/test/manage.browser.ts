// The page for whoever runs the archiver, in headless Chromium: the table, orders over many PVs, adding a list, reports, and rights.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { paste } from "./chromium.ts";
import { base, openForEach, page, server } from "./opened.ts";
import { somebody } from "./server.ts";
import { fixturePvs } from "./pvs.ts";

const WAYS = { oidc: null, password: true };

openForEach(30_000);

const row = (name: string) => page.locator(`.table-row[data-pv="${name}"]`);
const state = (name: string) => server.pvs.find((pv) => pv.name === name)?.state;

test("of many thousand PVs only the rows in sight are there, and asked for", async () => {
  const one = fixturePvs()[1]!;
  server.pvs = Array.from({ length: 20_000 }, (_, i) => ({
    ...one,
    name: `FARM:${String(i).padStart(5, "0")}`,
    gaps: [],
  }));
  await page.goto(`${base}manage`);
  await row("FARM:00000").waitFor();
  assert.ok((await page.locator(".table-row").count()) < 60);
  const scroller = page.locator(".rows-scroll");
  assert.equal(await scroller.getAttribute("aria-rowcount"), "20001");
  await scroller.focus();
  await page.keyboard.press("End");
  await row("FARM:19999").waitFor();
  assert.ok((await page.locator(".table-row").count()) < 60);
  const asked = server.requests.filter((request) => request.includes("offset="));
  assert.ok(asked.length < 12, `${asked.length} pages were asked for`);
});

test("by keyboard alone PVs are found, marked, paused after it was told what that does, and resumed by undo", async () => {
  await page.goto(`${base}manage`);
  await row("LAB:TEMP1").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("LAB:TEMP");
  await page.locator(".told").getByText("3 PVs").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+a");
  await page.locator(".bulk").getByText("3 of 3 marked").waitFor();
  await page.keyboard.press("Space");
  await page.locator(".bulk").getByText("2 of 3 marked").waitFor();
  await page.locator('[data-verb="pause"]').focus();
  await page.keyboard.press("Enter");
  const sheet = page.locator("#sheet-dialog[open]");
  await sheet.getByText("2 PVs: LAB:TEMP2, LAB:TEMP3").waitFor();
  await sheet.getByText("Gaps with the cause “paused” from now on.").waitFor();
  await sheet.getByText("It would change all 2.").waitFor();
  assert.equal(state("LAB:TEMP2"), "connected", "nothing has happened yet");
  await page.keyboard.press("Enter");
  await page.locator(".said-bar").getByText("2 PVs are paused.").waitFor();
  assert.deepEqual(
    [state("LAB:TEMP1"), state("LAB:TEMP2"), state("LAB:TEMP3")],
    ["connected", "paused", "paused"],
  );
  await page.locator(".undo-order").focus();
  await page.keyboard.press("Enter");
  await page.locator(".said-bar").getByText("2 PVs are as they were before.").waitFor();
  assert.equal(state("LAB:TEMP2"), "connected");
  await page.locator(".undo-order").focus();
  await page.keyboard.press("Enter");
  await page.locator(".said-bar").getByText("2 PVs are as they were before.").waitFor();
  await page.waitForFunction(() => document.querySelector(".undo-order") !== null);
  assert.equal(state("LAB:TEMP2"), "paused", "what was taken back can be taken back");
});

test("Enter on the head of a column sorts, and plots nothing", async () => {
  await page.goto(`${base}manage`);
  await row("LAB:TEMP1").waitFor();
  await page.locator(".table-head .bytes button").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("sort=-bytes"));
  assert.equal(new URL(page.url()).pathname, "/manage");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => location.search.includes("sort=bytes"));
  assert.equal(await page.locator(".table-row.is-marked").count(), 0, "no row is marked by it");
});

test("the archiver sorts over all PVs: the costliest of many thousand comes first, wherever its name stands", async () => {
  const one = fixturePvs()[1]!;
  const quiet = Array.from({ length: 25_000 }, (_, i) => ({
    ...one,
    name: `FARM:${String(i).padStart(5, "0")}`,
    period: 100,
    gaps: [],
  }));
  server.pvs = [...quiet, { ...one, name: "ZZZ:COSTLY", period: 0.001, gaps: [] }];
  await page.goto(`${base}manage`);
  await row("FARM:00000").waitFor();
  await page.locator(".table-head .rate button").click();
  await row("ZZZ:COSTLY").getByText("1000.0 Hz").waitFor();
  assert.equal(await page.locator(".table-row[data-pv]").first().getAttribute("data-pv"), "ZZZ:COSTLY");
  await page.locator(".told").getByText("25,001 PVs").waitFor();
  const scroller = page.locator(".rows-scroll");
  await scroller.focus();
  await page.keyboard.press("End");
  await row("FARM:24999").waitFor();
  const asked = server.requests.filter((request) => request.includes("sort=rate"));
  assert.ok(asked.length < 12, `${asked.length} pages were asked for`);
  assert.ok(
    asked.every((request) => new URLSearchParams(request.split("?")[1]).get("limit") === "200"),
    "only what is in sight is asked for",
  );
  await page.locator(".table-head .rate button").click();
  await row("FARM:00000").waitFor();
  await scroller.focus();
  await page.keyboard.press("End");
  await row("ZZZ:COSTLY").waitFor();
});

test("the table is narrowed to an IOC, a policy, a group and who added PVs, with counts, and the link opens the same", async () => {
  await page.goto(`${base}manage`);
  await row("LAB:TEMP1").waitFor();
  const facet = (name: string) => page.locator(`.facets [data-facet="${name}"]`);
  await facet("policy:slow").getByText("7").waitFor();
  await facet("added_by:token:ingest").waitFor();
  await facet("policy:slow").click();
  await page.locator(".told").getByText("7 PVs").waitFor();
  await page.waitForFunction(() => location.search.includes("policy=slow"));
  assert.equal(
    await facet("policy:vacuum").locator("b").innerText(),
    "1",
    "others of its kind are counted on",
  );
  assert.equal(await facet("ioc:192.0.2.17:5064").count(), 0, "none of them has that IOC");
  await facet("connected").click();
  await page.locator(".told").getByText("5 PVs").waitFor();
  await page.getByRole("button", { name: "Policy: slow: show all again" }).click();
  await page.locator(".told").getByText("13 PVs").waitFor();
  await facet("group:orbit").click();
  await page.locator(".told").getByText("1 PV").waitFor();
  await row("SR:CURRENT").getByText("192.0.2.17:5064").waitFor();
  await page.locator(".table-head .ioc button").click();
  await page.waitForFunction(() => location.search.includes("sort=ioc"));
  await page.reload();
  await row("SR:CURRENT").waitFor();
  assert.equal(await page.locator(".table-row[data-pv]").count(), 1);
  assert.equal(await facet("group:orbit").getAttribute("aria-pressed"), "true");
  assert.equal(await page.locator(".table-head .ioc").getAttribute("aria-sort"), "ascending");
  const last = server.requests.filter((request) => request.includes("group=orbit")).at(-1)!;
  assert.match(last, /sort=ioc.*state=connected/, "the archiver narrows and sorts");
});

test("columns are shown as many as fit, or as they are chosen, and the link keeps the choice", async () => {
  await page.setViewportSize({ width: 1400, height: 850 });
  await page.goto(`${base}manage`);
  await row("SR:CURRENT").waitFor();
  const heads = async () =>
    (await page.locator(".table-head > span").allInnerTexts()).map((text) => text.replace(/ [↑↓]$/, ""));
  assert.deepEqual(await heads(), [
    ...["☑", "PV", "State", "Taken", "Rate", "Bytes a day", "Last sample", "IOC", "Policy"],
  ]);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByLabel("Added by", { exact: true }).check();
  await page.getByLabel("Taken").uncheck();
  await row("SR:CURRENT").getByText("token:ingest").waitFor();
  await page.keyboard.press("Escape");
  await page.reload();
  await row("SR:CURRENT").getByText("token:ingest").waitFor();
  assert.equal(await page.locator(".table-head .how").count(), 0);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("button", { name: "As many as fit" }).click();
  await page.waitForFunction(() => !location.search.includes("cols="));
  for (const width of [360, 768, 1024, 1400, 2560]) {
    await page.setViewportSize({ width, height: 850 });
    await row("SR:CURRENT").waitFor();
    const beyond = await page
      .locator(".rows-scroll")
      .evaluate((scroller) => scroller.scrollWidth - scroller.clientWidth);
    assert.equal(beyond, 0, `at ${width} all that is shown fits`);
  }
});

test("a list that is pasted while another is looked for is shown and marked", async () => {
  await page.goto(`${base}manage`);
  await row("LAB:TEMP1").waitFor();
  await page.route(
    (url) => url.pathname.endsWith("/pvs"),
    async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await route.continue();
    },
  );
  await page.locator(".tools input").pressSequentially("LAB");
  await paste(page, ".tools input", "LAB:TEMP1\nLAB:TEMP2\n");
  await page.waitForTimeout(250);
  await paste(page, ".tools input", "LAB:TEMP3\n#\n");
  await row("LAB:TEMP3").waitFor();
  await page.locator(".bulk").getByText("1 of 1 marked").waitFor();
});

test("orders of the day are listed with who gave them, and taken back after it was told what that does", async () => {
  await page.goto(`${base}manage?match=LAB:TEMP`);
  await row("LAB:TEMP1").click();
  await row("LAB:TEMP2").click();
  await page.locator('[data-verb="remove"]').click();
  await page.getByRole("button", { name: "Remove 2 PVs" }).click();
  await page.locator(".said-bar").getByText("2 PVs are removed.").waitFor();
  await page
    .locator(".said-bar")
    .getByText(/Can be undone until tomorrow \d\d:\d\d/)
    .waitFor();
  await page.goto(`${base}manage?part=undo`);
  const order = page.locator("[data-order]");
  await order.getByText("removed").waitFor();
  await order.getByRole("button", { name: "Take back for 2 PVs" }).click();
  const sheet = page.locator("#sheet-dialog[open]");
  await sheet.getByText("2 PVs: LAB:TEMP1, LAB:TEMP2").waitFor();
  assert.equal(state("LAB:TEMP1"), undefined);
  await page.keyboard.press("Enter");
  await page.locator(".said-bar").getByText("2 PVs are as they were before.").waitFor();
  assert.ok(state("LAB:TEMP1"));
  await page.locator("[data-order]").getByText("undone").waitFor();
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.reload();
  await page.locator("[data-order]").waitFor();
  assert.equal(
    await page.locator("[data-order] button").count(),
    0,
    "only who may order it may take it back",
  );
});

test("an order of somebody else at the same moment is not taken for one’s own", async () => {
  await page.goto(`${base}manage?match=LAB:TEMP`);
  await row("LAB:TEMP1").click();
  await page.route("**/api/v1/pause", async (route) => {
    const headers = { "Content-Type": "application/json" };
    await fetch(`${base}api/v1/pause`, { method: "POST", headers, body: '{"pvs":["LAB:TEMP3"]}' });
    await route.continue();
  });
  await page.locator('[data-verb="pause"]').click();
  await page.getByRole("button", { name: "Pause 1 PV" }).click();
  await page.locator(".said-bar").getByText("1 PV is paused.").waitFor();
  await page.locator(".said-bar").getByRole("link", { name: "Undo …" }).click();
  await page.locator("[data-order]").nth(1).waitFor();
});

test("what is refused of an order is told by name and reason", async () => {
  server.pvs.find((pv) => pv.name === "LAB:TEMP1")!.state = "paused";
  await page.goto(`${base}manage?match=LAB:TEMP`);
  await row("LAB:TEMP1").click();
  await row("LAB:TEMP2").click();
  await page.locator('[data-verb="pause"]').click();
  const sheet = page.locator("#sheet-dialog[open]");
  await sheet.getByText("It would change 1 of 2.").waitFor();
  await sheet.getByText("1 PV stays as it is: which?").click();
  await sheet.getByText("is already paused").waitFor();
  await page.getByRole("button", { name: "Pause 1 PV" }).click();
  await page.getByRole("button", { name: "1 unchanged: show" }).click();
  await sheet.getByText("is already paused").waitFor();
});

test("PVs are removed with their data kept, listed as removed, and brought back", async () => {
  await page.goto(`${base}manage?match=LAB:SETPOINT`);
  await row("LAB:SETPOINT").click();
  await page.locator('[data-verb="remove"]').click();
  await page.getByRole("button", { name: "Remove 1 PV" }).click();
  await page.locator(".said-bar").getByText("1 PV is removed.").waitFor();
  assert.equal(state("LAB:SETPOINT"), undefined);
  assert.equal(server.removed[0]!.data, "kept");
  await page.getByRole("link", { name: "Removed" }).click();
  await page.locator("td").getByRole("button", { name: "Restore" }).click();
  await page.getByRole("button", { name: "Restore 1 PV" }).click();
  await page.locator(".said-bar").getByText("1 PV is restored.").waitFor();
  assert.ok(state("LAB:SETPOINT"));
});

test("a PV is renamed, and gets a policy", async () => {
  await page.goto(`${base}manage?match=LAB:SETPOINT`);
  await row("LAB:SETPOINT").click();
  await page.locator('[data-verb="policy"]').click();
  await page.getByRole("button", { name: "Policy of 1 PV" }).click();
  await page.locator(".said-bar").getByText("1 PV is archived another way now.").waitFor();
  assert.deepEqual(server.given.at(-1), { name: "LAB:SETPOINT", policy: "vacuum" });
  await page.locator('[data-verb="rename"]').click();
  await page.getByRole("button", { name: "Rename 1 PV" }).click();
  await page.getByText("Give it a name that it does not have yet.").waitFor();
  await page.getByLabel("New name").fill("LAB:GOAL");
  await page.keyboard.press("Enter");
  await page.locator(".said-bar").getByText("1 PV is renamed.").waitFor();
  assert.ok(state("LAB:GOAL"));
});

test("a list is checked before anything changes, wrong lines are named and mended, then first values are counted", async () => {
  server.addedState = "searching";
  await page.goto(`${base}manage?part=add`);
  const known = fixturePvs()
    .slice(0, 3)
    .map((pv) => pv.name);
  const names = [
    "# vacuum",
    ...Array.from({ length: 4976 }, (_, i) => `FARM:${i}`),
    ...known,
    "foo://FARM:X",
    "FARM Y",
    "FARM:Z,scan,0",
  ];
  await paste(page, ".add-names textarea", names.join("\n"));
  await page.getByRole("button", { name: "Check" }).click();
  const figures = page.locator(".figure b");
  await figures.first().getByText("4,976").waitFor();
  assert.deepEqual(await figures.allInnerTexts(), ["4,976", "3", "3"]);
  assert.equal(server.given.length, 0, "nothing is changed by the check");
  await page.locator(".figure").last().getByText("lines 4,981, 4,982 and 4,983").waitFor();
  await page.getByRole("button", { name: "Take FARM:X" }).click();
  await figures.first().getByText("4,977").waitFor();
  await page.getByRole("button", { name: "Archive 4,977 PVs" }).click();
  await page.getByText("4,977 PVs are asked for.").waitFor();
  await page.getByText("0 of 4,977 have a first value").waitFor();
  for (const pv of server.pvs) pv.state = "connected";
  await page.getByText("All 4,977 have a first value.").waitFor();
});

test("lines have numbers, a check says beside them what it found, and leads to the one that is to be mended", async () => {
  await page.goto(`${base}manage?part=add`);
  const field = page.locator(".add-names textarea");
  const marks = () => page.locator(".line-marks").evaluate((marks) => marks.textContent!.split("\n"));
  const lines = [
    "# vacuum",
    "SR:CURRENT",
    "LAB:NEW1,scan,10",
    "pva://",
    ...Array.from({ length: 60 }, (_, i) => `N:${i}`),
  ];
  await field.fill(lines.join("\n"));
  await page.locator(".add-names h2").getByText("64 lines").waitFor();
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText(/^Checked in [\d.]+ s, nothing is changed yet$/).waitFor();
  assert.deepEqual((await marks()).slice(0, 5), ["", "known", "", "✕ refused", ""]);
  await page
    .getByRole("row", {
      name: /^given in the list LAB:NEW1 scan, 10 s 1 0\.1 Hz the newest value every 10 s/,
    })
    .waitFor();
  // Numbers and marks stand beside their lines, however far one has scrolled.
  await field.evaluate((field) => (field.scrollTop = 400));
  await page.waitForFunction(() => document.querySelector(".line-numbers")!.scrollTop === 400);
  assert.equal(await page.locator(".line-marks").evaluate((marks) => marks.scrollTop), 400);
  await page.getByRole("button", { name: "Edit line 4" }).click();
  await page.keyboard.type("N:X");
  assert.equal((await field.inputValue()).split("\n")[3], "N:X", "what was selected is replaced");
  assert.deepEqual(await marks(), [""], "of what was changed nothing is told");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Archive 62 PVs" }).waitFor();
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByText("Paste a list or drop a file").waitFor();
  assert.equal(await page.getByRole("button", { name: "Archive 62 PVs" }).isVisible(), false);
});

test("a database of an IOC is read: what has an open macro is refused, and each policy says which PVs it takes", async () => {
  await page.goto(`${base}manage?part=add`);
  const db =
    'record(ai, "LAB:NEW1") {\n  field(DESC, "x")\n}\nrecord(ai, "VAC:NEW") {}\nrecord(ai, "$(P)X") {}\nrecord(bo, "LAB:TEMP1") {}\nrecord(bo, "XX:NEW") {}\n';
  await paste(page, ".add-names textarea", db);
  await page.getByText("Read as a database of an IOC: its records, and their aliases.").waitFor();
  assert.deepEqual(await page.locator(".figure b").allInnerTexts(), ["3", "1", "1"]);
  await page.getByRole("row", { name: "line 3 $(P)X it has a macro that is not resolved" }).waitFor();
  // A PV of a policy takes what those take that have it now.
  for (const text of [
    /^slow ?LAB:NEW1 ~\^LAB: 1 0\.64 Hz the newest value every 10 s \d+\.\d kB$/,
    /^vacuum ?VAC:NEW VAC:\* 1 1 Hz every change, dead band 1 % 691\.2 kB$/,
    /^none ?XX:NEW no policy fits 1 [\d.]+ Hz every change [\d.]+ MB$/,
  ])
    await page.getByRole("row", { name: text }).waitFor();
  await page
    .locator(".figure")
    .first()
    .getByText(/^about [\d.]+ MB a day$/)
    .waitFor();
  await page.getByRole("button", { name: "Archive 3 PVs" }).click();
  await page.getByText("3 PVs are asked for.").waitFor();
  assert.deepEqual(server.given.slice(-3), [{ name: "LAB:NEW1" }, { name: "VAC:NEW" }, { name: "XX:NEW" }]);
});

test("an export of the Archiver Appliance is taken over with its settings, and what was paused is", async () => {
  await page.goto(`${base}manage?part=add`);
  const entries = [
    { pvName: "AA:1", samplingMethod: "SCAN", samplingPeriod: "10" },
    { pvName: "AA:2", samplingPeriod: "2", paused: "true" },
  ];
  await page.locator(".add-names textarea").fill(JSON.stringify(entries));
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("1 PV was paused there, and will be here.").waitFor();
  await page.getByRole("button", { name: "Archive 2 PVs" }).click();
  await page.getByText("2 PVs are asked for.").waitFor();
  assert.deepEqual(server.given.slice(-2), [
    { name: "AA:1", method: "scan", period: 10 },
    { name: "AA:2", method: "scan", period: 2 },
  ]);
  assert.equal(state("AA:2"), "paused");
  assert.notEqual(state("AA:1"), "paused");
});

test("the fewest PVs that make half of the bytes are marked, with what they and all take", async () => {
  await page.goto(`${base}manage?match=LAB`);
  await row("LAB:TEMP1").waitFor();
  await page.getByRole("button", { name: "What makes half?" }).click();
  await page
    .locator(".half-told")
    .getByText(/^1 PV of 15 take 6\.91 MB of 12\.\d MB a day, 5\d %/)
    .waitFor();
  await row("SR:CURRENT").waitFor();
  await page.locator(".bulk b").getByText("1 of 1 marked").waitFor();
});

test("what the file's policies would change is counted, with what it saves; it is changed by a press, and taken back", async () => {
  await page.goto(`${base}manage?part=policies`);
  const plan = page.locator(".plan-part");
  await plan.locator(".figure b").first().getByText("3", { exact: true }).waitFor();
  const gaps = plan.locator(".figure").nth(2);
  await gaps.getByText("until they are connected by another protocol").waitFor();
  assert.match((await gaps.textContent())!, /^1gap/);
  const side = page.locator(".policies-part > .pages").first();
  await side.getByText("5 lines differ").waitFor();
  const marked = (of: string) => side.locator(of).allTextContents();
  assert.deepEqual(await marked("del"), ["the newest value every 10 s"]);
  assert.deepEqual(await marked("ins"), ["rf", "RF:*", "every change", "every change, dead band 1 %"]);
  const small = plan.getByRole("row", {
    name: /^slow ?LAB:TEMP1, LAB:TEMP2 2 every change every change, dead band 1 %/,
  });
  await small.getByText(/^691\.2 kB → \d+\.\d kB$/).waitFor();
  await plan
    .getByRole("row", {
      name: /^none ?LAB:RAW 1 ca, the newest value every 10 s pva, every change 691\.2 kB$/,
    })
    .waitFor();
  await page.getByText("2 PVs have settings that were given by hand, and are left alone.").waitFor();
  const chart = plan.getByRole("img");
  const told = /^LAB:TEMP1 of the last day: ([\d,]+) samples recorded, ([\d,]+) would have been kept$/;
  const [, all, stay] = told
    .exec((await chart.getAttribute("aria-label"))!)!
    .map((text) => Number(text.replace(",", "")));
  assert.ok(Math.abs(all! - 43_200) < 3, `a day of a sample every 2 s: ${all}`);
  assert.ok(stay! > 200 && stay! < all! / 4, `${stay} move further than 1 % or come first in an hour`);
  const drawn = await plan
    .locator("path")
    .evaluateAll((lines) => lines.map((line) => line.getAttribute("d")!.length));
  assert.ok(
    drawn.every((length) => length > 1000),
    `both are lines: ${drawn.join(", ")}`,
  );
  await page.getByRole("button", { name: "Another PV" }).click();
  await plan.getByRole("heading", { name: "What a dead band of 1 % would have kept: LAB:TEMP2" }).waitFor();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV of 3" }).click();
  const csv = await readFile((await (await waiting).path())!, "utf8");
  assert.equal(csv.split("\r\n")[1], 'LAB:TEMP1,slow,monitor,"monitor, deadband 1%"');
  assert.equal(server.policyChanges.length, 3, "nothing is changed so far");
  await page.getByRole("button", { name: "Change 3 PVs" }).click();
  await page.locator(".said-bar").getByText("3 PVs are recorded as the file says.").waitFor();
  await plan.getByText("Nothing: every PV is recorded as the file says.").waitFor();
  assert.equal(server.policyChanges.length, 0);
  await side.getByText("1 PV", { exact: true }).first().waitFor();
  assert.equal(await side.locator("ins, del, .differ").count(), 0, "what is in force is what the file says");
  await page.locator(".undo-order").click();
  await plan.getByRole("row", { name: /LAB:RAW/ }).waitFor();
  server.me = somebody("ldap", "ana", "read", WAYS);
  await page.reload();
  await page.getByRole("button", { name: "CSV of 3" }).waitFor();
  assert.equal(
    await page.getByRole("button", { name: "Change 3 PVs" }).count(),
    0,
    "who may only read changes nothing",
  );
});

test("an old address of the Archiver Appliance leads to the part that answers it, and says so", async () => {
  await page.goto(`${base}manage?came=reports.html`);
  await page.getByText("You came from the Archiver Appliance’s page reports.html: this is it.").waitFor();
  await page.getByRole("button", { name: "Currently disconnected PVs" }).click();
  await page.getByRole("row", { name: /LAB:OFFLINE/ }).waitFor();
  assert.match(page.url(), /report=getCurrentlyDisconnectedPVs/);
});

test("each IOC is shown with its circuit, restarts and last beacon, and with what to do", async () => {
  await page.goto(`${base}manage?part=iocs`);
  const lost = page.locator('[data-ioc="192.0.2.18:5064"]');
  await lost.getByText("none for 2 h").waitFor();
  await lost.getByText("2 h 2 min ago").waitFor();
  await lost.getByText("Nothing is heard of it: look whether its host and its process run").waitFor();
  const well = page.locator('[data-ioc="192.0.2.17:5064"]');
  await well.getByText("up for 2 h").waitFor();
  await well.getByText(/^\d+ s ago/).waitFor();
  assert.equal(await well.locator(".advice").innerText(), "");
  await page
    .locator('[data-ioc="192.0.2.30:5075"]')
    .getByText("pvAccess: not told of single servers")
    .waitFor();
  await lost.getByRole("link").click();
  await page.locator(".told").getByText("8 PVs").waitFor();
});

test("the last day of each IOC is hatched where one of its PVs was not recorded, and the lost one shows what became of its updates", async () => {
  await page.goto(`${base}manage?part=iocs`);
  const lost = page.locator('[data-ioc="192.0.2.18:5064"]').getByRole("img");
  await lost.waitFor();
  assert.match(
    (await lost.getAttribute("aria-label"))!,
    /^Not recorded for 10 min( \d+ s)? of the last day, by LAB:OFFLINE$/,
  );
  const [strip, hole] = [(await lost.boundingBox())!, (await lost.locator(".hole").boundingBox())!];
  assert.ok(Math.abs(hole.x + hole.width - strip.x - strip.width) < 1.5, "it is lost until now");
  assert.ok(hole.width < 4, `${hole.width} px of a day are ten minutes`);
  const well = page.getByRole("img", { name: "Recorded all day, by SR:CURRENT" });
  await well.waitFor();
  assert.equal(await well.locator(".hole").count(), 0);
  const side = page.locator(".ioc-side");
  await side
    .getByRole("img", { name: /^What became of each update: stored \d{3}, not recorded 10 min/ })
    .waitFor();
  assert.equal(await side.locator(".why-bars .hole").count(), 1);
});

test("storage says when each disk is full and by what, which questions were slow, and what to do about backups", async () => {
  await page.goto(`${base}manage?part=storage`);
  const folder = page.locator('[data-place=""]');
  await folder.getByText("3.00 GB").waitFor();
  await folder.getByText("in 700 days").waitFor();
  await page.getByText(/By 4\.29 MB a day, as the week 2026-W46 has brought/).waitFor();
  await page.locator('[data-place="long"]').getByText("/mnt/lts is not mounted").waitFor();
  await page
    .getByRole("row", { name: /2\.5 s oidc:ana GET \/api\/v1\/pvs\/SR:CURRENT\/samples from=-1y/ })
    .waitFor();
  await page.getByText("pvark backup --data DIR --to FOLDER --verify").waitFor();
  await page.getByRole("row", { name: /5 PVs by the policy slow 30 d nothing/ }).waitFor();
  await page.getByRole("row", { name: /TEST:\* \(rule\) 90 d samples of 2026-W36 2026-12-05/ }).waitFor();
  await page.getByRole("row", { name: /all others for ever nothing/ }).waitFor();
  await page.getByRole("row", { name: /3 h ago whole 7\.10 GB \/backup\/pvark/ }).waitFor();
  await page.getByRole("row", { name: /9 d ago DAMAGED: run “pvark check” 6\.90 GB \/mnt\/usb/ }).waitFor();
  server.backups = [];
  await page.reload();
  await page.getByText("No backup is known of.").waitFor();
  server.me = somebody("ldap", "ana", "read", WAYS);
  await page.reload();
  await folder.waitFor();
  assert.equal(await page.getByText("Slow questions").count(), 0, "questions of others are not for readers");
});

test("the audit is found by PV, by who and by what was done, goes on to older lines, and the link opens the same", async () => {
  server.auditPage = 1;
  await page.goto(`${base}manage?part=audit`);
  const lines = page.locator("table.list tbody tr");
  await lines.getByText("SR:CURRENT").waitFor();
  assert.equal(await lines.count(), 1);
  await page.getByRole("button", { name: "Older lines" }).click();
  await lines.getByText("5,000 PVs: LAB:TEMP1").waitFor();
  await page.getByRole("textbox", { name: "PV" }).fill("temp1");
  await page.waitForFunction(() => location.search.includes("pv=temp1"));
  await lines.getByText("scan to monitor").waitFor();
  assert.equal(await lines.count(), 1);
  await page.getByLabel("What was done").selectOption("paused");
  await page.getByText("No line of the audit fits.").waitFor();
  await page.getByRole("textbox", { name: "PV" }).fill("");
  await lines.getByText("SR:CURRENT").waitFor();
  await page.getByRole("textbox", { name: "Who" }).fill("ana");
  await page.waitForFunction(() => location.search.includes("who=ana"));
  await page.reload();
  await lines.getByText("SR:CURRENT").waitFor();
  assert.equal(await page.getByLabel("What was done").inputValue(), "paused");
  assert.ok(server.requests.some((request) => /audit\?limit=200&who=ana&action=paused/.test(request)));
  const csv = await page.getByRole("link", { name: "CSV" }).getAttribute("href");
  assert.equal(csv, "api/v1/audit?limit=10000&format=csv&who=ana&action=paused");
  await page.getByRole("textbox", { name: "From" }).fill("tomorow");
  await page.getByRole("alert").getByText('from is "tomorow", expected a time').waitFor();
});

test("what one may not do is absent: a reader has no orders, an operator none that an administrator has", async () => {
  for (const [may, verbs] of [
    ["read", []],
    ["operate", ["pause", "resume", "policy", "groups"]],
    ["administer", ["pause", "resume", "policy", "groups", "rename", "remove"]],
  ] as const) {
    server.me = somebody("ldap", "ana", may, WAYS);
    await page.goto(`${base}manage`);
    await row("LAB:TEMP1").click();
    await page.locator(".bulk").waitFor();
    const found = await page
      .locator("[data-verb]")
      .evaluateAll((buttons) => buttons.map((button) => (button as HTMLElement).dataset.verb));
    assert.deepEqual(found, verbs, may);
    assert.equal(
      await page.locator(".sub").getByText("Add", { exact: true }).count(),
      may === "read" ? 0 : 1,
      may,
    );
  }
});

test("nothing lies beyond the window, from a phone to a wall", async () => {
  for (const part of ["", "?part=add", "?part=reports"]) {
    await page.goto(`${base}manage${part}`);
    await page.locator(".sub [aria-current]").waitFor();
    for (const width of [360, 768, 1024, 1400, 3840]) {
      await page.setViewportSize({ width, height: 850 });
      assert.equal(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        0,
        `${part} at ${width}`,
      );
    }
  }
});

test("an archiver that does not answer is told, and the table comes by itself when it does", async () => {
  server.down = true;
  await page.goto(`${base}manage`).catch(() => null);
  await page.getByText("No archiver since").waitFor();
  server.down = false;
  await row("LAB:TEMP1").waitFor();
});
