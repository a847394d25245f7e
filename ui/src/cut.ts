// Texts that have no room on a canvas: sentences are cut at their end, names in the middle, because their ends tell them apart.

import { h } from "./dom.ts";

/** The text, cut at its end to a width in canvas pixels. */
export function cutEnd(context: CanvasRenderingContext2D, text: string, width: number): string {
  return cut(context, text, width, (kept) => `${text.slice(0, kept)}…`);
}

/** The name, cut in the middle to a width in canvas pixels. */
export function cutMiddle(context: CanvasRenderingContext2D, name: string, width: number): string {
  return cut(context, name, width, (kept) => {
    const tail = Math.ceil(kept / 2);
    return `${name.slice(0, kept - tail)}…${name.slice(name.length - tail)}`;
  });
}

function cut(
  context: CanvasRenderingContext2D,
  text: string,
  width: number,
  shortened: (kept: number) => string,
): string {
  if (context.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(shortened(middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? shortened(low) : "";
}

/** Names that have no room in a row are cut in front of their last letters, which tell them apart. */
const TAIL_LETTERS = 10;

/** A name in two parts, of which the first is cut where there is no room. */
export function cutName(name: string): HTMLElement[] {
  const at = name.length - Math.min(TAIL_LETTERS, Math.floor(name.length / 2));
  return [
    h("span", { class: "head" }, ...broken(name.slice(0, at))),
    h("span", { class: "tail" }, ...broken(name.slice(at))),
  ];
}

/** A name that may go on in another line behind what separates its parts, where lines may be broken. */
export function broken(name: string): (Node | string)[] {
  return name.split(/(?<=[:.{}_-])/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));
}
