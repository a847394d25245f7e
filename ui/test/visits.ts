// Visits pages that would have an archive changed, and says what became of every request that they made to it.
//
//   PVARK_VISITS=visits.json npm run visits
//
// A visit is { url, target, turned? }. Where `turned` is there, it is the page that the name gave before it led to the target, as with
// DNS rebinding: the browser gets it without asking the target. What is answered comes to standard output as JSON.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { BrowserContext, Request } from "playwright-core";
import { startChromium } from "./chromium.ts";

interface Visit {
  url: string;
  target: string;
  turned?: string;
}

interface Outcome {
  method: string;
  url: string;
  status: number | null;
  failure: string | null;
}

const DEADLINE_MILLIS = 60_000;
const AT_ONCE = 4;

const path = process.env.PVARK_VISITS;
assert.ok(path, "set PVARK_VISITS to a file of visits");
const visits = JSON.parse(readFileSync(path, "utf8")) as Visit[];

const browser = await startChromium("MAP evil.test 127.0.0.1,MAP archiver.test 127.0.0.1");
try {
  const outcomes: Outcome[][] = [];
  let next = 0;
  const visitNext = async () => {
    for (let i = next++; i < visits.length; i = next++) {
      const context = await browser.newContext();
      outcomes[i] = await outcomesOf(context, visits[i]!);
      await context.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, visitNext));
  console.log(JSON.stringify(outcomes));
} finally {
  await browser.close();
}

/** All requests to the target, once the page says by its title that it has tried everything and each of them is over. */
async function outcomesOf(context: BrowserContext, visit: Visit): Promise<Outcome[]> {
  const asked = new Set<Request>();
  const over: Outcome[] = [];
  const isOfTarget = (request: Request) =>
    request.url().startsWith(`${visit.target}/`) && request.url() !== visit.url;
  context.on("request", (request) => {
    if (isOfTarget(request)) asked.add(request);
  });
  const note = async (request: Request) => {
    if (!isOfTarget(request)) return;
    // A request that fails after its answer came was answered: the browser did not let the page have it.
    const answer = await request.response().catch(() => null);
    const failure = request.failure()?.errorText ?? null;
    over.push({ method: request.method(), url: request.url(), status: answer?.status() ?? null, failure });
  };
  context.on("requestfinished", (request) => void note(request));
  context.on("requestfailed", (request) => void note(request));
  const { turned } = visit;
  if (turned !== undefined)
    await context.route(visit.url, (route) => route.fulfill({ contentType: "text/html", body: turned }));

  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MILLIS);
  await page.goto(visit.url);
  const hasTried = async () => {
    // What navigates away has no title of its own any more.
    if (!page.url().startsWith(visit.url)) return true;
    return (await page.title().catch(() => "")) === "tried";
  };
  // The attacks that wait for somebody to click.
  const bait = page.locator("#bait");
  if ((await bait.count().catch(() => 0)) > 0) await bait.click();
  const deadline = Date.now() + DEADLINE_MILLIS;
  while (asked.size === 0 || over.length < asked.size || !(await hasTried())) {
    assert.ok(Date.now() < deadline, `${visit.url}: ${over.length} of ${asked.size} requests are over`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return over;
}
