// What the page says of names as a tree.

import { pvsText } from "./counts.ts";

const number = (count: number) => count.toLocaleString("en");

/** Names split at the site's signs. */
export const treeWords = {
  title: "Names as a tree",
  keys: "Arrows move, → opens, ← closes, Space marks, Shift ↓ marks many, Enter plots",
  close: "Close",
  branch: (text: string, names: number) => `${text} ${number(names)} names`,
  marked: (text: string) => `${text}, marked`,
  more: (shown: number) => `More behind the first ${number(shown)}`,
  none: "Nothing is archived yet.",
  loading: "…",
  count: (count: number) => (count === 0 ? "Nothing is marked." : `${pvsText(count)} marked.`),
  plot: (count: number) => `Plot ${number(count)}`,
  plotFirst: (count: number) => `Plot the first ${number(count)}`,
  plotAll: (count: number) => `Plot all ${number(count)}`,
  tooMany: (count: number) => `${pvsText(count)} in one plot are hard to tell apart, and slow to load.`,
  tooManyToMark: (text: string, count: number, most: number) =>
    `${text} has ${pvsText(count)}: open it, and mark what is wanted. At most ${number(most)} are marked at once.`,
  noneToMark: (text: string) => `${text} has no PV of that name, other names alone.`,
} as const;
