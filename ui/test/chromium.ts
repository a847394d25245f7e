// Headless Chromium for tests: a fresh profile, no traffic of its own, ended with the test.

import { chromium, type Browser } from "playwright-core";

export function startChromium(): Promise<Browser> {
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
    ],
    timeout: 60_000,
  });
}
