// What the page says to whoever runs the archiver.

import { pvsText } from "./counts.ts";

/** The page for whoever runs the archiver. */
export const manageWords = {
  hertz: (rate: string) => `${rate} Hz`,
  parts: {
    pvs: "PVs",
    iocs: "IOCs",
    add: "Add",
    reports: "Reports",
    policies: "Policies",
    removed: "Removed",
    undo: "Undo",
    storage: "Storage",
    cluster: "Cluster",
    audit: "Audit",
  },
  partsLabel: "Parts of Manage",
  searchLabel: "Names of PVs",
  search: "Part of a name, *glob* or ~regex   ( / )",
  stateFacet: "State",
  states: {
    any: "all",
    connected: "connected",
    disconnected: "disconnected",
    searching: "searching",
    paused: "paused",
    unknown: "nobody answers",
  },
  tableLabel: "PVs of the archive; arrows move, Space marks, Shift extends, Ctrl A marks all, Enter plots",
  bulkLabel: "What is marked",
  columns: [
    ["tick", "☑"],
    ["name", "PV"],
    ["state", "State"],
    ["since", "For"],
    ["how", "Taken"],
    ["type", "Type"],
    ["value", "Value"],
    ["rate", "Rate"],
    ["bytes", "Bytes a day"],
    ["last", "Last sample"],
    ["ioc", "IOC"],
    ["policy", "Policy"],
    ["groups", "Groups"],
    ["added_by", "Added by"],
  ],
  halfButton: "What makes half?",
  halfTitle: "Mark the fewest PVs that take half of the bytes of a day, by the archiver’s storage report",
  half: (count: number, pvs: number, bytes: string, all: string, share: number) =>
    count === 0
      ? "Nothing is on disk yet of which it is known what it takes a day."
      : `${pvsText(count)} of ${pvs.toLocaleString("en")} take ${bytes} of ${all} a day, ${Math.round(share * 100)} %. They are marked: “Policy” gives them a dead band, and says before what it would have kept of their last day.`,
  columnsButton: "Columns",
  columnsLabel: "Which columns are shown",
  columnsFit: "As many as fit",
  addedAt: (who: string, time: string) => `${who}, ${time}`,
  narrowedBy: { ioc: "IOC", policy: "Policy", group: "Group", added_by: "Added by" },
  without: { ioc: "not known", policy: "none", group: "none", added_by: "not known" },
  tokensLabel: "To what the table is narrowed",
  token: (what: string, which: string) => `${what}: ${which}`,
  noToken: (token: string) => `${token}: show all again`,
  moreOf: (count: number) => `${count} more …`,
  fewer: "fewer",
  everyChange: "every change",
  every: (seconds: number) => `every ${seconds} s`,
  never: "never",
  noneAtAll: "Nothing is archived yet. “Add” takes a list of names.",
  noneFits:
    "No PV fits. Part of a name fits anywhere in it; * and ? stand for anything, ~ begins a regular expression.",
  plotIt: (name: string) => `Plot ${name}`,
  told: (total: number, marked: number) =>
    `${pvsText(total)}${marked > 0 ? `, ${marked.toLocaleString("en")} marked` : ""}`,
  sortBy: (column: string) =>
    `Sort by ${column.toLowerCase()}: again turns it round, a third time it is by names`,
  /** Sorted are only the first of very many. */
  pasted: (count: number) => `${count.toLocaleString("en")} pasted names`,
  notFound: (names: string[]) =>
    `; ${names.length.toLocaleString("en")} not archived: ${names.slice(0, 5).join(", ")}${names.length > 5 ? " …" : ""}`,
  details: "Details",
  beyond: (sorted: number, beyond: number) =>
    `; sorted are the first ${sorted.toLocaleString("en")} by name, ${beyond.toLocaleString("en")} more fit: narrow the search`,
  together: (bytes: string) => `${bytes} a day together`,
  marked: (count: number, total: number) =>
    `${count.toLocaleString("en")} of ${total.toLocaleString("en")} marked`,
  markAll: (total: number) => `Mark all ${total.toLocaleString("en")}`,
  mark: (name: string) => `Mark ${name}`,
  markHead: "Mark",
  unmark: "Mark none",
  plot: (count: number) => `Plot ${count}`,
  verbs: {
    pause: "Pause",
    resume: "Resume",
    policy: "Policy",
    groups: "Groups",
    rename: "Rename",
    remove: "Remove",
    restore: "Restore",
  },
  verbOf: (verb: "pause" | "resume" | "policy" | "groups" | "rename" | "remove" | "restore", count: number) =>
    `${manageWords.verbs[verb]} ${count.toLocaleString("en")}`,
  asking: "asking the archiver …",
  again: "Ask again",
  reportEmpty: "No PV is in this report.",
  restInCsv: (rest: number) => `and ${rest.toLocaleString("en")} more: the CSV has them all`,
  noneRemoved: "Nothing was removed that could come back.",
  keptUntilPurge: "kept until a purge",
  goneAtPurge: "goes at the next purge",
  removedHeads: ["PV", "Removed", "By", "Its data"],
  restoreHead: "Bring it back",
  nodes: (nodes: number, silent: number) => `${nodes}${silent > 0 ? `, ${silent} silent` : ""}`,
  noOrders: "Nothing was ordered within the last day that could be taken back.",
  ordersAre:
    "Orders of the last day, by whichever client they came. What was changed again since stays as it is, and is named.",
  orderHeads: ["Time", "Who", "What", "PVs", "Detail", "Until", "Take back"],
  takeBack: (count: number) => `Take back for ${pvsText(count)}`,
  olderOrders: (count: number) => `and ${count.toLocaleString("en")} older ones, which “pvark undo” lists`,
  many: (count: number, names: string[]) =>
    `${pvsText(count)}${names.length > 0 ? `: ${names.slice(0, 3).join(", ")}${count > 3 ? " …" : ""}` : ""}`,
  nothingWrong: "Nothing is wrong.",
  older: "Older lines",
  noAudit: "Nothing was changed yet.",
  auditHeads: ["Time", "Who", "What", "PV", "Detail"],
  /** To which part an address of the Archiver Appliance leads, and what is said of it. */
  came: (page: string): [Part, string] => {
    const from = `You came from the Archiver Appliance’s page ${page}: `;
    if (/report/i.test(page)) return ["reports", `${from}this is it.`];
    if (/storage|metric|appliance|cluster/i.test(page)) return ["storage", `${from}this is it.`];
    if (/integration|polic/i.test(page)) return ["policies", `${from}this is what answers it.`];
    return [
      "pvs",
      `${from}find PVs here, mark them, and pause, resume or remove them; new ones come by “Add”.`,
    ];
  },
  unmarkTitle: "Mark none ( Esc )",
} as const;

type Part = "pvs" | "reports" | "policies" | "storage";
