// Who one is, in headless Chromium: what is there for whom, how they log in, and what becomes of the page when a session ends.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Me, Right } from "../src/api.ts";
import { base, loaded, openForEach, page, sent, server } from "./opened.ts";
import { somebody } from "./server.ts";

const SPAN = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const VIEW = `?pv=SR:CURRENT&${SPAN}`;
const LIVE = "?pv=SR:CURRENT&live=60&zone=utc";
const WAYS = { oidc: "idp.lab.example", password: true };
const BY_PASSWORD = { oidc: null, password: true };

openForEach(15_000);

/** The archiver has `[access]`, and somebody who has not logged in may so much. */
function guard(anonymous: Right | null, login: Me["login"] = WAYS): void {
  server.me = server.nobody = somebody("anonymous", "", anonymous, login);
  server.passwords.set("ana:right", somebody("ldap", "ana", "operate", login));
}

async function logIn(within: string, password = "right"): Promise<void> {
  await page.fill(`${within} [name=username]`, "ana");
  await page.fill(`${within} [name=password]`, password);
  await page.keyboard.press("Enter");
}

/** Whether the list of the header has what adds PVs. */
async function mayArchive(): Promise<boolean> {
  await page.locator("#more").click();
  const isThere = await page.locator("#archive").isVisible();
  await page.keyboard.press("Escape");
  return isThere;
}

const isShown = (selector: string) => page.locator(selector).first().isVisible();
const asked = (path: string) => server.requests.filter((request) => request.startsWith(path)).length;
const pathNow = () => page.url().slice(base.length - 1);

test("where nobody is asked who they are the page says nothing of it", async () => {
  await page.goto(base + VIEW);
  await loaded();
  assert.ok(await mayArchive());
  for (const part of ["#who", "#gate", "#notice"]) assert.ok(!(await isShown(part)), part);
});

test("what one may not do is not there", async () => {
  guard("read");
  await page.goto(`${base}${VIEW}&pv=NOT:THERE`);
  await loaded();
  assert.equal(await page.locator("#who").innerText(), "Log in");
  assert.ok(!(await mayArchive()));
  assert.ok(!(await isShown('#legend [data-pv="NOT:THERE"] .archive')));
  await page.locator('#legend [data-pv="SR:CURRENT"] .name').click();
  await page.locator("#details a[download]").waitFor();
  assert.ok(!(await page.getByRole("button", { name: "Pause archiving" }).isVisible()));
  await page.keyboard.press("Escape");
  await page.fill("#search", "NOT:THERE");
  await page.getByText("No archived PV matches").waitFor();
  assert.ok(!(await isShown("#found .archive")));
  await page.keyboard.press("Enter");
  await page.waitForTimeout(300);
  assert.equal(await page.locator("dialog[open]").count(), 0, "Enter opens nothing either");
});

test("an archive of nothing asks readers to add nothing", async () => {
  guard("read");
  server.pvs = [];
  await page.goto(base);
  await page.getByText("Nothing is archived yet").waitFor();
  assert.ok(!(await isShown("#archive-first")));
  assert.ok(!(await page.getByText("Name the first PVs").isVisible()));
});

test("who may read nothing is shown the login, and comes to the view by it", async () => {
  guard(null);
  await page.goto(base + VIEW);
  await page.getByText("Whoever has not logged in may see nothing").waitFor();
  assert.ok(!(await isShown("#search")) && !(await isShown("#chip")) && !(await isShown("#plot")));
  await logIn("#gate", "wrong");
  await page.getByText("The name or the password is wrong.").waitFor();
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("name"));
  assert.equal(focused, "password", "what was wrong can be typed again at once");
  server.lockedOut = 55;
  await page.keyboard.type("right");
  await page.keyboard.press("Enter");
  await page.getByText("There were too many wrong passwords; wait a minute. Try again in 55 s.").waitFor();
  server.lockedOut = 0;
  await page.keyboard.press("Enter");
  await loaded();
  assert.equal(pathNow(), `/${VIEW}`);
  assert.equal(await page.locator("#who").innerText(), "ana");
  assert.ok(await mayArchive());
  assert.equal(asked("/api/v1/view?"), 1, "nothing was asked before");
});

test("the dialog says who one is, how that is known, and what one may; Log out ends it", async () => {
  guard(null);
  server.me = {
    ...somebody("oidc", "ana", "read", WAYS),
    ...{ most: "operate", some: [{ right: "operate", pvs: ["SR*"] }], here: "operate" },
  };
  await page.goto(base + VIEW);
  await loaded();
  await page.locator("#who").click();
  const told = await page.locator("#me").innerText();
  for (const text of [
    ...[
      "oidc:ana",
      "a login with idp.lab.example",
      "operators, rf",
      "read all PVs",
      "pause, resume and add SR*",
    ],
    "At this address nobody may do more than read, pause, resume and add.",
  ])
    assert.ok(told.includes(text), `${text} in ${told}`);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("Whoever has not logged in may see nothing").waitFor();
  assert.equal(pathNow(), `/${VIEW}`);
  const values = await page.locator("#legend .value, #legend .mean").allTextContents();
  assert.deepEqual(values, ["", ""], "nothing of what was shown stays, not even unseen");
});

test("all of it goes by keyboard", async () => {
  guard("read", BY_PASSWORD);
  await page.goto(base + VIEW);
  await loaded();
  await page.locator("#who").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("ana");
  await page.keyboard.press("Tab");
  await page.keyboard.type("right");
  await page.keyboard.press("Enter");
  await page.locator("#who").filter({ hasText: "ana" }).waitFor();
  await page.waitForFunction(() => document.querySelector("dialog[open]") === null);
  assert.ok(await mayArchive());
});

test("a login by the provider comes back to the view, however long its address", async () => {
  guard("read");
  server.byProvider = somebody("oidc", "ana", "operate", WAYS);
  const names = Array.from({ length: 120 }, (_, i) => `pv=NOT:THERE:${1000 + i}:WITH:A:LONG:NAME`);
  page.setDefaultTimeout(60_000); // each of them is asked for, and so are the names near it, twice
  for (const view of [VIEW, `${VIEW}&${names.join("&")}`]) {
    server.me = server.nobody!;
    await page.goto(base + view);
    await loaded();
    await page.locator("#who").click();
    await page.getByRole("button", { name: "Log in with idp.lab.example" }).click();
    await page.locator("#who").filter({ hasText: "ana" }).waitFor();
    await loaded();
    assert.equal(pathNow(), `/${view}`);
  }
});

test("a provider that does not answer is told in the page", async () => {
  guard("read");
  await page.goto(base + VIEW);
  await loaded();
  await page.locator("#who").click();
  await page.getByRole("button", { name: "Log in with idp.lab.example" }).click();
  await page.getByText(/^The OpenID provider does not answer, .* Try again in 10 s\.$/).waitFor();
  assert.equal(pathNow(), `/${VIEW}`);
});

test("the page that is there to log in leads to where one wanted to be, and nowhere else", async () => {
  for (const [wanted, reached] of [
    [`/${VIEW}`, `/${VIEW}`],
    ["//evil.example/", "/"],
    ["https://evil.example/", "/"],
    ["/\\evil.example", "/"],
  ] as const) {
    guard("read");
    await page.goto(`${base}login?return=${encodeURIComponent(wanted)}`);
    await logIn("#gate");
    await page.locator("#who").filter({ hasText: "ana" }).waitFor();
    assert.equal(pathNow(), reached);
    // Who is in already goes there at once.
    await page.goto(`${base}login?return=${encodeURIComponent(wanted)}`);
    await page.waitForURL(new URL(reached, base).href);
  }
});

test("a session that ends is told, with the view kept, and what anybody may read goes on", async () => {
  guard("read");
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(base + LIVE);
  await loaded();
  server.endSession();
  await page.getByText("The session of ana is over. What is shown is what anybody may see.").waitFor();
  assert.ok(!(await mayArchive()));
  const time = await page.locator("#legend .time").first().innerText();
  await page.waitForFunction((time) => document.querySelector("#legend .time")!.textContent !== time, time);
  assert.equal(asked("/api/v1/logout"), 1, "the dead cookie is gone");
  await page.locator("#notice button").click();
  await logIn("#me");
  await page.locator("#who").filter({ hasText: "ana" }).waitFor();
  assert.ok(!(await isShown("#notice")) && (await mayArchive()));
  assert.equal(pathNow(), `/${LIVE}`);
});

/** A page that Ana has open, whose session is over without a word of the archiver. */
async function forgetAna(): Promise<void> {
  guard("read");
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(base + VIEW);
  await loaded();
  await page.locator("#who").filter({ hasText: "ana" }).waitFor();
  server.forgetSession();
}

test("a session that ended with the archiver is told though nothing of the page was refused", async () => {
  await forgetAna();
  server.started = "2026-11-28T03:00:00.000000000Z";
  await page.getByText("The session of ana is over. What is shown is what anybody may see.").waitFor();
  assert.ok(!(await mayArchive()));
});

test("whether a session lasts is asked now and then, and of nobody who has none", async () => {
  await page.clock.install();
  await forgetAna();
  await page.clock.fastForward(61_000);
  await page.getByText("The session of ana is over.").waitFor();
  const before = asked("/api/v1/me");
  const statuses = asked("/api/v1/status");
  await page.clock.fastForward(61_000);
  while (asked("/api/v1/status") < statuses + 2) await page.waitForTimeout(200);
  assert.equal(asked("/api/v1/me"), before);
});

test("where nothing may be read without a session the plot stays as it was, and asks for nothing", async () => {
  guard(null);
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(base + LIVE);
  await loaded();
  await page.getByText("Archiver connected").waitFor();
  server.endSession();
  await page.getByText("The session of ana is over. Nothing new is shown until somebody logs in.").waitFor();
  await page.getByText("Nothing is known since").waitFor();
  assert.ok(await isShown("#plot"));
  // What was under way comes to its end.
  let before: number;
  do {
    before = sent.length;
    await page.waitForTimeout(1000);
  } while (sent.length !== before);
  await page.waitForTimeout(6000);
  assert.deepEqual(sent.slice(before), []);
  await page.locator("#notice button").click();
  await logIn("#me");
  await page.getByText("Archiver connected").waitFor();
  const time = await page.locator("#legend .time").first().innerText();
  await page.waitForFunction((time) => document.querySelector("#legend .time")!.textContent !== time, time);
});

test("a session that ends while something is typed keeps it, and offers the login above", async () => {
  guard(null);
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(base + VIEW);
  await loaded();
  await page.locator("#more").click();
  await page.locator("#archive").click();
  await page.fill("#add-names", "LAB:NEW");
  server.endSession();
  // The page may have heard of it already, and then its login lies over the button.
  await page.locator("#add-form").evaluate((form: HTMLFormElement) => form.requestSubmit());
  await page.locator("#me").getByText("The session of ana is over.").waitFor();
  await logIn("#me");
  await page.waitForFunction(() => !document.querySelector<HTMLDialogElement>("#me")!.open);
  assert.equal(await page.inputValue("#add-names"), "LAB:NEW");
  await page.locator("#add-form button[type=submit]").click();
  await page.getByText("LAB:NEW is").waitFor();
});

test("a stream that ends for want of rights is not opened over and over", async () => {
  guard("read");
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(base + LIVE);
  await loaded();
  // On a busy machine the page may still be opening its stream.
  let streams: number;
  do {
    streams = asked("/api/v1/live");
    await page.waitForTimeout(1000);
  } while (streams === 0 || asked("/api/v1/live") !== streams);
  const asks = asked("/api/v1/me");
  const since = sent.length;
  const after = (path: string) => sent.slice(since).filter((one) => one.startsWith(path)).length;
  server.areStreamsBarred = true;
  server.endStreams();
  // With each load it is tried once; loads come every ten seconds.
  while (after("/api/v1/view?") < 2) await page.waitForRequest(/\/api\/v1\/view\?/, { timeout: 60_000 });
  const [loads, tries] = [after("/api/v1/view?"), after("/api/v1/live?")];
  assert.ok(tries <= loads, `${tries} streams were opened in ${loads} loads`);
  assert.ok(asked("/api/v1/me") - asks <= tries + 1, "each that ended is asked about once");
  server.areStreamsBarred = false;
  const time = await page.locator("#legend .time").first().innerText();
  await page.waitForFunction((time) => document.querySelector("#legend .time")!.textContent !== time, time);
});

test("a cookie that was dead before the page came keeps nobody from what anybody may read", async () => {
  guard("read");
  server.isOver = true;
  await page.goto(base + VIEW);
  await loaded();
  await page.getByText("Archiver connected").waitFor();
  assert.equal(asked("/api/v1/logout"), 1);
  assert.equal(await page.locator("#legend .note.is-error").count(), 0);
});

test("an order that is refused is told in the words of the archiver, and what one may is asked again", async () => {
  guard("read");
  server.me = somebody("ldap", "ana", "operate", WAYS);
  await page.goto(base + VIEW);
  await loaded();
  await page.locator("#more").click();
  await page.locator("#archive").click();
  await page.fill("#add-names", "LAB:NEW");
  server.me = somebody("ldap", "ana", "read", WAYS);
  await page.locator("#add-form button[type=submit]").click();
  await page.getByText("ldap:ana may not operate (ask an administrator)").waitFor();
  await page.waitForFunction(() => document.body.dataset.may === "read");
});

test("whoever has logged in and may read nothing is told so, and can log out", async () => {
  guard("read");
  server.me = somebody("oidc", "eve", null, WAYS);
  await page.goto(base + VIEW);
  await page.getByText("eve may see nothing here").waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await loaded();
});
