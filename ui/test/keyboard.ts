// A keyboard and nothing else: Tab leads to what is wanted, over stops that can be seen.

import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** More presses of Tab nobody would make. */
const TABS_MAX = 60;

export class Keyboard {
  constructor(private page: Page) {}

  press(key: string, times = 1): Promise<void> {
    return times <= 0
      ? Promise.resolve()
      : this.page.keyboard.press(key).then(() => this.press(key, times - 1));
  }

  type(text: string): Promise<void> {
    return this.page.keyboard.type(text);
  }

  /** Presses Tab until something has the focus; whatever has it meanwhile must be in sight. */
  async reach(selector: string, text = ""): Promise<void> {
    const passed: string[] = [];
    for (let tabs = 0; tabs < TABS_MAX; tabs++) {
      await this.page.keyboard.press("Tab");
      const at = await this.page.evaluate(stop, { selector, text });
      if (at === null) continue;
      assert.equal(at.fault, null, `${at.name} has the focus and ${at.fault}`);
      if (at.isIt) return;
      passed.push(at.name);
    }
    assert.fail(`Tab does not lead to ${selector} ${text}, but to:\n${passed.join("\n")}`);
  }

  /** Leads there and presses it. */
  async use(selector: string, text = ""): Promise<void> {
    await this.reach(selector, text);
    await this.press("Enter");
  }

  /** Of a list that has the focus. */
  async choose(value: string): Promise<void> {
    const now = () => this.page.evaluate(() => (document.activeElement as HTMLSelectElement).value);
    await this.press("Home");
    for (let tries = 0; (await now()) !== value; tries++) {
      assert.ok(tries < 20, `the list has no ${value}`);
      await this.press("ArrowDown");
    }
  }

  /** In place of what stands in the field that has the focus. */
  async write(text: string): Promise<void> {
    await this.press("Control+a");
    await this.type(text);
  }

  /** From the clipboard, into what has the focus. */
  async paste(text: string): Promise<void> {
    await this.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await this.page.evaluate((text) => navigator.clipboard.writeText(text), text);
    await this.press("Control+v");
  }
}

/** Runs in the page: what has the focus, whether that can be seen, and whether it is what is wanted; none where nothing has it. */
function stop(wanted: {
  selector: string;
  text: string;
}): { name: string; fault: string | null; isIt: boolean } | null {
  const element = document.activeElement as HTMLElement;
  if (element === document.body) return null;
  // A file is chosen by what stands around its field.
  const around = element.closest<HTMLElement>("label") ?? element;
  const box = (element.matches(".unseen") ? around : element).getBoundingClientRect();
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const isInSight = element.checkVisibility() && right > left && bottom > top;
  const hasRing = [element, around].some((one) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  });
  const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  const isCovered = isInSight && over !== null && !around.contains(over) && !over.contains(element);
  const said = `${element.textContent} ${element.getAttribute("aria-label") ?? ""}`;
  const id = element.id ? `#${element.id}` : "";
  return {
    name: `${element.tagName.toLowerCase()}${id}.${element.className} “${said.trim().slice(0, 30)}”`,
    fault: !isInSight
      ? "is out of sight"
      : !hasRing
        ? "has no ring"
        : isCovered
          ? `lies under ${over.tagName}.${over.className}`
          : null,
    isIt: element.matches(wanted.selector) && said.includes(wanted.text),
  };
}
