// A page in headless Chromium before a server of its own for each test: what the browser suites share.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "./chromium.ts";
import { loaded as allLoaded } from "./loaded.ts";
import { TestServer } from "./server.ts";

const DIST = new URL("../dist", import.meta.url).pathname;

// Whoever imports these sees what the hooks have set for the test that runs.
export let browser: Browser;
export let server: TestServer;
export let base: string;
export let page: Page;
/** The paths with queries of all that the page has asked for, as its browser sends them: the server may hear of some only later. */
export let sent: string[];
/** What scripts did wrong. */
let faults: string[];

/** Waits until the page has all that its view asks for. */
export const loaded = (): Promise<void> => allLoaded(page);

/** There is no clipboard, as where the page came by http from another machine; gives what reads it all the same. */
export async function withoutClipboard(): Promise<() => Promise<string>> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.addInitScript(() => {
    const { clipboard } = navigator;
    Object.assign(window, { read: () => clipboard.readText() });
    Object.defineProperty(navigator, "clipboard", { value: undefined });
  });
  return () => page.evaluate(() => (window as unknown as { read(): Promise<string> }).read());
}

/** Opens a page for each test of the file, and looks afterwards whether a script has failed. */
export function openForEach(patience: number): void {
  before(async () => {
    browser = await startChromium();
  });

  after(() => browser.close());

  beforeEach(async () => {
    server = new TestServer(DIST);
    base = await server.start();
    page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
    page.setDefaultTimeout(patience);
    faults = [];
    sent = [];
    page.on("request", (request) => {
      const { pathname, search } = new URL(request.url());
      sent.push(pathname + search);
    });
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) faults.push(message.text());
    });
  });

  afterEach(async () => {
    await page.close();
    await server.stop();
    assert.deepEqual(faults, [], "no script may fail, whatever the test did");
  });
}
