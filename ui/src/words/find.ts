// What the page says in the search.

/** PVs that are found. */
export const findWords = {
  list: "PVs, views and notes found",
  firstOf: (shown: number, total: number) => `the first ${shown} of ${total} PVs`,
  count: (pvs: number) => `${pvs} PVs`,
  keys: "Enter plots, Shift Enter in its own pane · Shift ↓ marks many, Ctrl Enter one · Ctrl D stars",
  starred: "Starred",
  recent: "Plotted of late",
  all: "All",
  isStarred: "starred",
  isMarked: "marked",
  star: "Star it, or take its star away ( Ctrl D )",
  tick: "Mark it ( Ctrl Enter )",
  marked: (count: number) => `${count.toLocaleString("en")} marked`,
  plot: (count: number) => `Plot ${count.toLocaleString("en")}`,
  allOf: (count: number) => `All ${count.toLocaleString("en")}`,
  plotAll: (count: number) => `Plot all ${count.toLocaleString("en")}`,
  plotFirst: (count: number) => `Plot the first ${count.toLocaleString("en")}`,
  tooMany: (count: number) =>
    `${count.toLocaleString("en")} PVs in one plot are hard to tell apart, and slow to load.`,
  meant: "Did you mean",
  nameFirst: "Name the first PVs and the archiver finds them on the network.",
  nothingArchived: "Nothing is archived yet. ",
  noneMatches: (match: string) =>
    `No archived PV matches “${match}”. Words fit in any order anywhere in names, descriptions, units and groups; in names * and ? stand for anything, and ~ begins a regular expression.`,
  archiveNew: "Archive new PVs …",
  archive: (name: string) => `Archive “${name}” …`,
  tree: "All names as a tree …",
  noValue: "no value yet",
} as const;
