// People at the page of a real pvark with a real OpenID provider, or a real directory. What to do comes by lines on standard input, one
// at a time; each is answered by a line once the page shows that it is done.
//
//   PVARK_URL=http://127.0.0.1:17665/ PVARK_PV=NAME [PVARK_SHOTS=folder] npm run login

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import type { BrowserContext, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";

const { PVARK_URL: url, PVARK_PV: pv, PVARK_SHOTS: shots } = process.env;
assert.ok(url && pv, "set PVARK_URL to the address of a pvark and PVARK_PV to a PV");
const view = `${url}?pv=${encodeURIComponent(pv)}&live=60&zone=utc`;

const browser = await startChromium();
/** Two browsers of people who know nothing of each other. */
const contexts = new Map<string, BrowserContext>();
const pages = new Map<string, Page>();
/** What an answer to a login was, the newest last. */
const logins: number[] = [];

async function pageOf(person: string): Promise<Page> {
  const known = pages.get(person);
  if (known) return known;
  const context = await browser.newContext({ viewport: { width: 1400, height: 850 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("response", (answer) => {
    if (answer.url().includes("/api/v1/login")) logins.push(answer.status());
  });
  contexts.set(person, context);
  pages.set(person, page);
  return page;
}

/** Whether the list of the header has what adds PVs. */
async function mayArchive(page: Page): Promise<boolean> {
  await page.locator("#more").click();
  const isThere = await page.locator("#archive").isVisible();
  await page.keyboard.press("Escape");
  return isThere;
}

const who = (page: Page, name: string) => page.locator("#who").filter({ hasText: name }).waitFor();

/** At the provider's own page. */
async function throughProvider(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Log in with 127\.0\.0\.1/ }).click();
  await page.fill("input[name=sub]", name);
  await page.getByRole("button", { name: "Authorize", exact: true }).click();
}

async function logInByForm(page: Page, name: string, password: string): Promise<void> {
  await page.fill("[name=username]", name);
  await page.fill("[name=password]", password);
  await page.keyboard.press("Enter");
}

async function pauseAndResume(page: Page): Promise<void> {
  await page.locator(`#legend [data-pv="${pv}"] .name`).click();
  await page.getByRole("button", { name: "Pause archiving" }).click();
  await page.getByRole("button", { name: "Resume archiving" }).click();
  await page.getByRole("button", { name: "Pause archiving" }).waitFor();
  await page.keyboard.press("Escape");
}

async function isReading(page: Page): Promise<void> {
  await page.getByText("Archiver connected").waitFor();
  await page.waitForFunction(() => document.body.dataset.may !== undefined);
}

const steps: Record<string, (page: Page) => Promise<void>> = {
  async "reads, and may add nothing"(page) {
    await page.goto(view);
    await isReading(page);
    await who(page, "Log in");
    assert.equal(await mayArchive(page), false);
    assert.equal(
      await page.locator("#legend .archive").isVisible(),
      false,
      "not in this archive, and nobody asks",
    );
  },
  async "logs in at the provider"(page) {
    await page.locator("#who").click();
    await throughProvider(page, "operator1");
    await who(page, "operator1");
    assert.equal(page.url(), view, "back at the view");
  },
  async "is told who that is"(page) {
    await page.locator("#who").click();
    const told = await page.locator("#me").innerText();
    for (const text of [
      "oidc:operator1",
      "a login with 127.0.0.1",
      "operators",
      "read, pause, resume and add all PVs",
    ])
      assert.ok(told.includes(text), `${text} in ${told}`);
    await picture(page, "who");
    await page.keyboard.press("Escape");
  },
  async "adds the PV"(page) {
    await page.locator("#more").click();
    await page.locator("#archive").click();
    await page.fill("#add-names", pv);
    await page.locator("#add-form button[type=submit]").click();
    await page.getByText(`${pv} is connected and archived`).waitFor();
    await page.getByRole("button", { name: "Plot it" }).click();
  },
  "pauses and resumes it": pauseAndResume,
  async "goes on after a reload"(page) {
    await page.reload();
    await isReading(page);
    await who(page, "operator1");
    await pauseAndResume(page);
  },
  async "is told that the provider is away"(page) {
    await page.locator("#who").click();
    await page.getByRole("button", { name: /^Log in with/ }).click();
    await page.getByText(/^The OpenID provider does not answer, .* Try again in \d+ s\.$/).waitFor();
    assert.equal(logins.at(-1), 503);
    assert.equal(page.url(), view, "and is still at the view");
    await picture(page, "provider-away");
  },
  async "logs out"(page) {
    await page.locator("#who").click();
    await page.getByRole("button", { name: "Log out" }).click();
    await who(page, "Log in");
    assert.equal(await mayArchive(page), false);
    assert.deepEqual(await page.context().cookies(), [], "no cookie stays");
  },
  async "is told that the session is over"(page) {
    await page.getByText("The session of operator1 is over.").waitFor();
    assert.equal(page.url(), view);
    await isReading(page);
    await picture(page, "session-over");
  },
  async "follows a link that leads elsewhere and ends at the first page"(page) {
    await page.goto(`${url}login?return=${encodeURIComponent("//evil.example/")}`);
    await throughProvider(page, "operator1");
    await who(page, "operator1");
    assert.equal(page.url(), url);
  },
  async "says no at the provider and is told so in the page"(page) {
    await page.goto(view);
    await isReading(page);
    await page.locator("#who").click();
    await page.getByRole("button", { name: /^Log in with/ }).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("The login did not come to its end").waitFor();
    await throughProvider(page, "operator1");
    await who(page, "operator1");
    assert.equal(page.url(), view, "where it began");
  },
  async "is shown the login in place of the page"(page) {
    await page.goto(view);
    await page.getByText("Whoever has not logged in may see nothing").waitFor();
    assert.equal(await page.locator("#search").isVisible(), false);
    await picture(page, "login");
  },
  async "types a wrong password"(page) {
    await logInByForm(page, "operator1", "wrong");
    await page.getByText("The name or the password is wrong.").waitFor();
    assert.equal(logins.at(-1), 401);
    await picture(page, "wrong-password");
  },
  async "types the right one"(page) {
    await logInByForm(page, "operator1", "secret1");
    await isReading(page);
    await who(page, "operator1");
    assert.equal(page.url(), view);
    assert.equal(await mayArchive(page), true);
  },
};

/** In both themes, for who looks at them. */
async function picture(page: Page, name: string): Promise<void> {
  if (!shots) return;
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.screenshot({ path: `${shots}/${name}-${theme}.png` });
  }
}

try {
  console.log("looking");
  for await (const line of createInterface({ input: process.stdin })) {
    const [person = "", does = ""] = line.split(": ");
    const step = steps[does];
    assert.ok(step, `nobody knows how to look at ${JSON.stringify(line)}`);
    const page = await pageOf(person);
    await step(page).catch(async (error: unknown) => {
      console.error(page.url(), await page.locator("body").innerText(), logins);
      throw error;
    });
    console.log(`seen: ${line}`);
  }
} finally {
  await browser.close();
}
