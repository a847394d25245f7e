// Waits until what a view of the plot asks for is there: what the suites of the page, its journeys and its pictures share.

import type { Page } from "playwright-core";

/** Until each row has its data or says why not, and nothing is asked for any more. */
export async function loaded(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const notes = [...document.querySelectorAll("#legend [data-pv] .note")];
    const isBusy = document.querySelector("#view")!.getAttribute("aria-busy") !== "false";
    return !isBusy && notes.length > 0 && notes.every((note) => !note.textContent!.startsWith("loading"));
  });
}
