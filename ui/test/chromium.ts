// Headless Chromium for tests: a fresh profile, no traffic of its own, ended with the test.

import { chromium, type Browser } from "playwright-core";

/** Where Chromium is; another one may be named by CHROMIUM. */
const PATH = process.env.CHROMIUM ?? "/usr/bin/chromium";

export function startChromium(): Promise<Browser> {
  // playwright-core gives every browser an empty user-data folder and removes it afterwards.
  return chromium.launch({
    executablePath: PATH,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    timeout: 60_000,
  });
}
