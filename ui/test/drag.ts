// A drag to and fro over the plot of a page, a move each frame: what is measured while people pan.

import type { Page } from "playwright-core";

/** So many moves, each with its frame, however long a busy machine takes for one: what is counted is processor time. */
export async function dragToAndFro(page: Page, moves: number): Promise<void> {
  const box = (await page.locator("#plot .over").boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + 60];
  await page.evaluate(
    async ({ x, y, moves }) => {
      const over = document.querySelector("#plot .over")!;
      const send = (type: string, clientX: number) =>
        over.dispatchEvent(
          new PointerEvent(type, {
            bubbles: true,
            clientX,
            clientY: y,
            shiftKey: true,
            pointerType: "mouse",
          }),
        );
      send("pointerdown", x);
      for (let i = 0; i < moves; i++) {
        await new Promise(requestAnimationFrame);
        // Before the next frame, as the browser does with a mouse.
        await new Promise((resolve) => setTimeout(resolve));
        performance.mark("move");
        send("pointermove", Math.round(x + 300 * Math.sin(i / 40)));
      }
      send("pointerup", x);
    },
    { x, y, moves },
  );
}
