// Headless Chromium for tests: a fresh profile, no traffic of its own, ended with the test.

import { chromium, type Browser, type Page } from "playwright-core";

/** With `rules`, names lead where these say, as `MAP archiver.test 127.0.0.1`. */
export function startChromium(rules?: string): Promise<Browser> {
  // playwright-core gives every browser an empty user-data folder and removes it afterwards.
  return chromium.launch({
    // run.mjs has looked for it.
    executablePath: process.env.CHROMIUM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Newer ones ask before a page of elsewhere may reach this machine. Nothing of ours may depend on that.
      "--disable-features=LocalNetworkAccessChecks",
      ...(rules ? [`--host-resolver-rules=${rules}`] : []),
    ],
    timeout: 60_000,
  });
}

/** Pastes a text as somebody would: typing thousands of lines takes a browser minutes. */
export async function paste(page: Page, field: string, text: string): Promise<void> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate((text) => navigator.clipboard.writeText(text), text);
  await page.focus(field);
  await page.keyboard.press("Control+v");
}
