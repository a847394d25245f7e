// A journey at the page of a cluster whose nodes die while a plot is live: first the one that records what is shown, then the one whose
// page it is.

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Walk } from "./questions.ts";

export interface NodesTools {
  base: string;
  loaded(page: Page): Promise<void>;
  outside(what: string): Promise<void>;
  shot(page: Page, name: string): Promise<void>;
  /** Where pixels of a trace at full strength are, as parts of the width. */
  solid(page: Page, pv: string): Promise<{ part: number }[]>;
}

/** What is drawn may end so many seconds before or behind what is recorded: a column of the plot, and the step to the next sample. */
const SLACK_SECONDS = 1.5;
/** Shorter than this nothing is told as a hole. */
const HOLE_SECONDS = 2.5;

/** What is shown. */
const LIVE_SECONDS = 120;

type Span = [from: number, to: number];

/** `pv` is recorded by a node that can be killed, and by another one soon after that. */
export async function nodesJourney(tools: NodesTools, pv: string, { page, act }: Walk): Promise<void> {
  const { base, loaded, outside, shot } = tools;
  await page.goto(`${base}?pv=${pv}&live=${LIVE_SECONDS}`);
  await loaded(page);
  await goesOn(page, pv);

  await outside("kill the recorder");
  const killed = Date.now() / 1000;
  await page.locator(`#legend [data-pv="${pv}"] .note`).filter({ hasText: "nobody answers" }).waitFor({
    state: "attached",
  });
  await page.waitForTimeout(300);
  const drawn = Math.max(...(await tools.solid(page, pv)).map(({ part }) => part));
  const last = Date.now() / 1000 - (1 - drawn) * LIVE_SECONDS;
  assert.ok(last < killed + SLACK_SECONDS, `${(last - killed).toFixed(1)} s are drawn that nobody recorded`);
  await shot(page, "node-lost");
  await goesOn(page, pv);
  await hasNoOtherHole(tools, page, pv);

  await outside("start the recorder");
  await page.goto(`${base}?pv=${pv}&live=${LIVE_SECONDS}`);
  await loaded(page);
  await goesOn(page, pv);
  await outside("kill the node of the page");
  await page.getByText("No archiver since").waitFor();
  const link = page.locator("#elsewhere a").first();
  await link.waitFor();
  await shot(page, "node-of-page-lost");
  await act("go on at another node", () => link.click());
  await loaded(page);
  const there = new URL(page.url());
  assert.notEqual(there.href.split("?")[0], base, "it is the page of another node");
  assert.equal(there.searchParams.get("live"), String(LIVE_SECONDS));
  await goesOn(page, pv);
  await hasNoOtherHole(tools, page, pv);
  await shot(page, "node-elsewhere");
}

/** Newer samples come, twice. */
async function goesOn(page: Page, pv: string): Promise<void> {
  const time = () => page.locator(`#legend [data-pv="${pv}"] .time`).innerText();
  for (let seen = await time(), times = 0, tries = 0; times < 2; tries++) {
    assert.ok(tries < 600, `nothing has come since ${seen}`);
    await page.waitForTimeout(100);
    const now = await time();
    if (now !== "" && now !== seen) [seen, times] = [now, times + 1];
  }
}

/** What is drawn has the holes that the archive has, and no others. */
async function hasNoOtherHole(tools: NodesTools, page: Page, pv: string): Promise<void> {
  await page.keyboard.press("l");
  const params = () => new URL(page.url()).searchParams;
  await page.waitForFunction(() => new URL(location.href).searchParams.has("from"));
  await tools.loaded(page);
  const [from, to] = [params().get("from")!, params().get("to")!];
  const [begin, end] = [Date.parse(from) / 1000, Date.parse(to) / 1000];
  const origin = new URL(page.url()).origin;
  const answer = await page.request.get(
    `${origin}/api/v1/pvs/${pv}/samples?from=${from}&to=${to}&format=csv`,
  );
  assert.equal(answer.status(), 200, await answer.text());
  const times = (await answer.text())
    .split("\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => Date.parse(line.split(",")[0]!) / 1000);
  const parts = (await tools.solid(page, pv)).map(({ part }) => begin + part * (end - begin));
  const [recorded, drawn] = [holes(times), holes(parts)];
  console.log(`${pv}: ${recorded.length} holes are recorded, ${drawn.length} drawn`);
  assert.ok(recorded.length > 0, "a node has died");
  for (const [what, some, others] of [
    ["drawn and not recorded", drawn, recorded],
    ["recorded and not drawn", recorded, drawn],
  ] as const)
    for (const hole of some)
      assert.ok(
        others.some((other) => isSame(hole, other)),
        `${what}: ${hole.map((time) => new Date(time * 1000).toISOString()).join(" to ")}`,
      );
  await page.keyboard.press("l");
}

function holes(times: number[]): Span[] {
  return times.slice(1).flatMap((time, i): Span[] => {
    const before = times[i]!;
    return time - before > HOLE_SECONDS ? [[before, time]] : [];
  });
}

function isSame(a: Span, b: Span): boolean {
  return Math.abs(a[0] - b[0]) <= SLACK_SECONDS && Math.abs(a[1] - b[1]) <= SLACK_SECONDS;
}
