// Tab goes from part to part in the order in which they are seen: on a narrow page some stand elsewhere than on a wide one.

import { byId } from "./dom.ts";

/** Parts of which one stands beside the other, in their order on a narrow page; index.html has that of a wide one. */
const NARROW_ORDERS = [
  ["chip", "undo", "share-open", "who", "more", "more-list", "range", "live", "zone"],
  ["earlier", "range-open", "later", "from", "to", "range-line", "go", "length"],
  ["left", "under", "panel", "panel-open"],
];

/** Puts them in order, now and whenever the page becomes narrow or wide. */
export function followSight(): void {
  const narrow = window.matchMedia("(max-width: 767px)");
  const orders = NARROW_ORDERS.map((ids) => {
    const parts = ids.map((id) => byId(id));
    const wide = [...parts[0]!.parentElement!.children];
    const rest = [...parts];
    // What else stands there keeps its place.
    const order = wide.map((child) => (parts.includes(child as HTMLElement) ? rest.shift()! : child));
    return { wide, narrow: order };
  });
  const arrange = () => {
    const focused = document.activeElement;
    for (const order of orders) put(narrow.matches ? order.narrow : order.wide);
    // What was moved has lost the focus.
    if (focused instanceof HTMLElement && focused !== document.activeElement)
      focused.focus({ preventScroll: true });
  };
  narrow.addEventListener("change", arrange);
  arrange();
}

/** What is in its place already is not moved: it would lose how far it is scrolled. */
function put(order: Element[]): void {
  const parent = order[0]!.parentElement!;
  order.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i]!);
  });
}
