// What the page says in English: every text that a person reads stands here, by the screen on which it is read.
//
// The texts of parts that come later are here too. The build makes each declaration a module of its own, so that they come with those parts.

export const wordOf = {
  hihi: "HIHI",
  high: "HIGH",
  low: "LOW",
  lolo: "LOLO",
  now: "Now",
  atCursor: "At",
  atEnd: "At the end,",
  betweenAB: "A to B",
  inThisRange: "In this range",
  states: "states and texts",
  others: "not drawn as lines",
  left: "left",
  right: "right",
  hidden: "hidden",
  gap: "gap",
  why: "Why?",
  meant: "Did you mean",
  loading: "…",
  everySample: "every sample",
  madeOfBoth: "means of bins, or every sample",
  complete: "complete",
  note: "note",
  write: "Note …",
  writeTitle: "Note on the cursor, or from A to B ( n )",
  read: "Read",
  readNote: (text: string) => `Read the note “${text}”`,
  whyTitle: (name: string) => `Why is there no data of ${name}, or not all? ( y )`,
  archive: (name: string) => `Archive ${name}`,
  archiveIt: "archive it …",
  menuOf: (name: string) => `Menu of ${name} ( m )`,
  remove: (name: string) => `Remove ${name}`,
  span: (min: string, max: string, mean: string) => `${min} … ${max}, mean ${mean}`,
  seeBelow: "see below",
  notKnownSince: (time: string) => `not known since ${time}`,
  truncated: "too many samples for this range: zoom in to see the rest",
  turn: (name: string, isHidden: boolean) => `${isHidden ? "Show" : "Hide"} ${name}`,
} as const;

/** `1 PV`, `4,977 PVs`. */
export function pvsText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "PV" : "PVs"}`;
}

/** `1 event`, `9 events`. */
export function eventsText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "event" : "events"}`;
}

/** The foot of the panel: how many PVs of the view have all that there was. */
export function completeText(total: number, lacking: number): string {
  if (lacking === 0)
    return total === 1 ? "No gap is known in this range." : "No gap is known of any of them in this range.";
  const rest = total - lacking;
  return `${rest} of ${total} complete, ${lacking} ${lacking === 1 ? "lacks" : "lack"} something`;
}

/** What the line drawn of a PV is made of. */
export function binsText(seconds: string): string {
  return `mean of ${seconds} bins`;
}

/** What the chip at the top right says of the archiver's PVs. */
export function chipText(total: number, lost: number): string {
  return lost === 0 ? pvsText(total) : `${lost.toLocaleString("en")} of ${pvsText(total)} lost`;
}

/** The same of a cluster while nobody answers for parts of it: in a sentence, and where there is little room. */
export function knownText(total: number, lacking: Lacking): { whole: string; short: string } {
  const { parts, pvs, isMore, isNowhere } = lacking;
  const shards = parts === 1 ? "a shard" : `${parts.toLocaleString("en")} shards`;
  const of = `${shards} ${isNowhere ? "that no node has" : "for which nobody answers"}`;
  const known = `${pvsText(total)} known`;
  const short = pvs > 0 ? `${pvs.toLocaleString("en")} of ${pvsText(total)} unknown` : known;
  if (pvs === 0 && isMore) return { whole: `${known}; ${of} may have more`, short };
  return {
    whole: `${known}, ${pvs.toLocaleString("en")} of ${of}${isMore ? ", which may have more" : ""}`,
    short,
  };
}

/** Parts of a cluster for which nobody answers. */
interface Lacking {
  parts: number;
  /** So many PVs are known of them, */
  pvs: number;
  /** and there may be others. */
  isMore: boolean;
  /** No node has them; else one that cannot be asked. */
  isNowhere: boolean;
}

export const settingsWords = {
  title: (name: string) => `Settings of ${name}`,
  axis: "Axis",
  axes: { "": "by its units", left: "left", right: "right, in the pane above", own: "a pane of its own" },
  pane: "Pane",
  colour: "Colour",
  width: "Width",
  line: "Line",
  lines: { "": "steps, means of bins", steps: "steps", line: "straight lines", points: "points" },
  log: "Logarithmic axis",
  norm: "Normalised: over the height of its pane",
  limits: "Limits of its IOC as lines",
  from: "Axis from",
  to: "to",
  byValues: "by its values",
  fixWrong: "An axis needs two numbers, the lower one first.",
  over: "Lay the same PV at another time over it",
  overs: [
    ["1d", "A day earlier"],
    ["1w", "A week"],
    ["1mo", "A month"],
    ["1y", "A year"],
  ] as [string, string][],
  overBy: "How much earlier, or which moment",
  overHint: "3d, or 2026-11-08 03:12",
  overHow: "A moment lies at cursor A, or where the range begins.",
  noLength: "Write a length as 3d, 8h, 2w, 1mo, 1y, or a moment before what is shown, as 2026-11-08 03:12.",
  looking: (name: string) => `Looking for “${name}” …`,
  notBefore: (name: string) => `“${name}” was not before this, for ten years.`,
  reset: "As without settings",
  done: "Done",
  pixels: (width: number) => `${width} px`,
} as const;

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
  policiesAre:
    "They say how PVs are archived by their names: the first that fits decides. They stand in the config file.",
  noPolicies: "The config file has no policies: every change of each PV is recorded.",
  policyHeads: ["Policy", "Fits", "What it says", "PVs"],
  planButton: "What would the file change now?",
  planHeads: ["PV", "Policy", "From", "To"],
  plan: (total: number, byHand: number) =>
    `${total === 0 ? "It would change nothing." : `It would change ${pvsText(total)}.`} ${byHand > 0 ? `${pvsText(byHand)} with settings given by hand are left alone.` : ""} “pvark policy apply” carries it out.`,
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

/** Disks, slow questions, retention and backups. */
export const storageWords = {
  disks: "Disks",
  diskHeads: ["Place", "Samples", "Free", "Disk", "Full"],
  dataFolder: "data folder",
  notKnown: "not known",
  fullIn: (length: string) => `in ${length}`,
  days: (days: number) => `${days.toLocaleString("en")} ${days === 1 ? "day" : "days"}`,
  lessThanADay: "less than a day",
  notInYears: "not within ten years",
  growth: (bytes: string, from: string, to: string, isOpen: boolean) =>
    isOpen
      ? `By ${bytes} a day, as the week ${from} has brought until now; what is packed when it is over takes less. What retention takes away is not reckoned with.`
      : `By ${bytes} a day, as ${from === to ? `the week ${from} has` : `the weeks ${from} to ${to} have`} brought. What retention takes away is not reckoned with.`,
  noGrowth: "No week is on disk yet by which it could be told what comes a day.",
  eachAsIfAll: "Each is told as if all of it stayed there.",
  slow: "Slow questions of the last day",
  slowHeads: ["Time", "Took", "Who", "What", "Rows"],
  noneSlow: "None took 0.1 s since the archiver was started, or within a day.",
  retention: "Retention",
  retentionIs: (segments: number, bytes: string, purging: number) =>
    `[retention] of the config file says how long what is kept; without it all is kept. ${segments === 0 ? "Nothing was taken away in this run." : `${segments.toLocaleString("en")} segments with ${bytes} were taken away in this run, each with a line of the audit (“expired”).`}${purging > 0 ? ` ${purging.toLocaleString("en")} purges are under way.` : ""}`,
  backups: "Backups",
  backupsAre:
    "The archiver is not told of backups: they are made beside it. “pvark backup --data DIR --to FOLDER --verify” makes one, reads it back and says whether it is whole; run it daily, and let whoever runs it watch that it ends with 0.",
} as const;

/** The audit. */
export const auditWords = {
  search: "Which lines of the audit",
  pv: "PV",
  pvPlaceholder: "PV: part of a name, *glob* or ~regex",
  who: "Who",
  whoPlaceholder: "Who: part of a name",
  action: "What was done",
  anyAction: "whatever was done",
  actions: [
    ...[
      "added",
      "paused",
      "resumed",
      "changed",
      "renamed",
      "alias_added",
      "alias_removed",
      "removed",
      "deleted",
    ],
    ...[
      "restored",
      "undone",
      "policies_applied",
      "group_set",
      "group_removed",
      "range_deleted",
      "range_restored",
    ],
    ...[
      "purge_ordered",
      "purged",
      "expired",
      "imported",
      "tidied",
      "taken_over",
      "token_made",
      "token_revoked",
    ],
    ...["note_written", "note_removed", "view_saved", "view_removed", "cluster_ordered", "export_ordered"],
  ],
  from: "From",
  fromPlaceholder: "From: -7d, yesterday, 2026-06-01",
  to: "To",
  toPlaceholder: "To: now",
  noneFits: "No line of the audit fits.",
  noneSoFar: "None of the newest lines fits; “Older lines” looks further back.",
} as const;

/** Waveforms. */
export const waveWords = {
  before: "The sample before",
  next: "The next sample",
  unfold: "Show the waveform ( w )",
  fold: "Fold the waveforms ( w )",
  over: "Over time",
  reference: "Take as reference",
  against: (time: string) => `Δ to ${time}`,
  slider: "Which of the waveforms",
  loading: (asked: number, all: number) => `${asked} of ${all} moments are looked at …`,
  columns: (count: number) =>
    count === 0
      ? "No waveform in this range."
      : `${count} waveforms, at moments evenly apart; others may lie between them: zoom in to see each.`,
  heatLabel: (name: string, from: string, to: string) =>
    `${name} from ${from} to ${to}, its elements by colour`,
  chartLabel: (name: string, elements: number) =>
    `${name}, ${elements} elements; arrows read them one by one`,
  noSample: "no sample before this moment",
  cutHere: (text: string) => `${text}\n… cut here`,
} as const;

/** The wall. */
export const wallWords = {
  utc: "UTC",
  inUtc: (clock: string) => `${clock} UTC`,
  title: "pvark, on a wall",
  noClock: "–:–:–",
  silent: (since: string) =>
    `The archiver is silent since ${since}. This page keeps asking; what it shows is old.`,
  more: (count: number, severity: string) => `${count} more ${severity}`,
  unknown: "not archived",
  refused: "not to be read",
  notRecorded: (since: string) => `not recorded since ${since}`,
  nothing: "nothing recorded",
  noNumber: "no number: see the page itself",
} as const;

/** IOCs: the bar that names one that is lost, and their part of the page for whoever runs the archiver. */
export const iocWords = {
  unknown: "an IOC that is not known any more",
  lost: (ioc: string, since: string, length: string, pvs: number, others: number) =>
    `${ioc} has not answered since ${since} (${length}): ${pvsText(pvs)} ${pvs === 1 ? "is" : "are"} not recorded${others > 0 ? `, and ${others} more IOCs` : ""}.`,
  goesOn: "pvark keeps searching; recording resumes by itself.",
  show: "Show it",
  note: "Noted: hide this until another IOC is lost",
  sideLabel: "The IOC chosen",
  summary: (iocs: number, pvs: number) =>
    iocs === 0
      ? "Every IOC that ever answered does so now."
      : `${iocs.toLocaleString("en")} ${iocs === 1 ? "IOC does" : "IOCs do"} not answer: ${pvsText(pvs)} ${pvs === 1 ? "is" : "are"} not recorded.`,
  allAnswer:
    "Nothing is lost. PVs for which no IOC has answered yet are in the report “PVs that may not exist”.",
  lostLabel: "IOCs that are lost",
  lostHeads: ["IOC", "Protocol", "PVs lost", "Since", "For", "Came back before"],
  protocols: { ca: "Channel Access", pva: "pvAccess" },
  notKnown: "not known",
  address: "Address",
  circuit: "Circuit",
  circuitWas: (since: string | null) =>
    since ? `was up since ${since}` : "none in this run of the archiver",
  lastSample: "Last sample",
  lostTimes: "Came back",
  lastBeacon: "Last beacon",
  noBeacon: "none heard in this run",
  noBeaconsOfPva: "pvAccess: not told of single servers",
  ago: (length: string, at: string) => `${length} ago, ${at}`,
  restarts: "Restarts",
  restartsOf: (restarts: number, last: string | null) =>
    restarts === 0 ? "none seen" : `${restarts.toLocaleString("en")}${last ? `, last ${last}` : ""}`,
  circuitNow: (circuits: number, length: string) =>
    circuits === 0 ? `none for ${length}` : `${circuits > 1 ? `${circuits} ` : ""}up for ${length}`,
  allHead: "IOCs",
  allHeads: [
    ...[
      "IOC, and what to do",
      "PVs",
      "Connected",
      "Lost",
      "Circuit",
      "Circuits lost",
      "Restarts",
      "Last beacon",
    ],
  ],
  moreIocs: (rest: number) => `and ${rest.toLocaleString("en")} more: “pvark iocs” lists them all`,
  advice: {
    silent: "Nothing is heard of it: look whether its host and its process run, and the network between.",
    restarting:
      "It sends beacons and has no circuit: it is starting, or TCP to it is shut. Wait a minute, then look at its console and at firewalls.",
    moved:
      "It answers, but not for all of its PVs: it was started without them, or they moved. Rename or remove them, or mend its start-up file.",
    flapping: "It was started again and again: look at its console.",
    unheard:
      "Its beacons do not come here (UDP 5065): restarts are seen later. Check the broadcast address, or a repeater.",
    well: "",
  },
  times: (times: number) =>
    times === 0 ? "never yet in this run" : times === 1 ? "once in this run" : `${times} times in this run`,
  pvs: "PVs lost",
  close: "Close",
  searching:
    "pvark searches for its PVs and records again by itself. Start the IOC, or pause the PVs if it is to stay off.",
  happened: (pv: string) => `What happened to ${pv}`,
  plot: (count: number) => `Plot ${count}`,
  list: "List all that are lost",
  backHead: "Came back in this run of the archiver",
  noneBack: "No IOC was lost and came back since the archiver was started.",
  backHeads: ["IOC", "Protocol", "Times", "Last back"],
  notAllAsked:
    "More PVs were lost than the archiver was asked about: there may be more IOCs. The report “Lost connections” has every PV.",
} as const;

type Part = "pvs" | "reports" | "policies" | "storage";
type VerbWord = "pause" | "resume" | "policy" | "groups" | "rename" | "remove" | "restore";

const DONE: Record<VerbWord, string> = {
  pause: "paused",
  resume: "resumed",
  policy: "archived another way now",
  groups: "in other groups now",
  rename: "renamed",
  remove: "removed",
  restore: "restored",
};

export const sheetWords = {
  titles: {
    pause: "Pause recording",
    resume: "Resume recording",
    policy: "Archive another way",
    groups: "Put into groups",
    rename: "Rename",
    remove: "Remove from the archive",
    restore: "Bring back",
  },
  what: "What",
  toWhich: "To which",
  follows: "What follows",
  undone: "Undone by",
  does: {
    pause: "Nothing is recorded of them any more, and their IOCs are left.",
    resume: "They are searched for, and recorded again.",
    policy: "They are recorded as chosen below. What is not given follows the policy that fits the name.",
    groups: "They are in the groups below and in no others; what else is set for them stays.",
    rename: "The PV has another name, in its IOC and here; its history stays with it.",
    remove: "They leave the list of PVs. Nothing is recorded of them any more.",
    restore: "They are in the list of PVs again, with their history.",
  },
  then: {
    pause: "Gaps with the cause “paused” from now on.",
    resume: "A gap ends with the first value that each of them sends.",
    policy: "History stays as it is. Settings given by hand are not changed by policies.",
    groups: "They are recorded while one of their groups is enabled.",
    rename: "It is searched for by its new name.",
    remove: "They are not found and not plotted until somebody brings them back.",
    restore: "A gap stands for the time in which they were not archived.",
  },
  back: {
    pause: "“Undo”, for a day.",
    resume: "“Undo”, for a day.",
    policy: "“Undo”, for a day: each PV gets back what it had.",
    groups: "“Undo”, for a day: each PV gets back the groups that it had.",
    rename: "Renaming it back; “Undo” stands in the bar afterwards.",
    remove: "“Undo”, for a day; bringing them back, until a purge.",
    restore: "“Undo”, for a day.",
  },
  saved: "Saved",
  savesADay: (bytes: string) => `about ${bytes} a day`,
  planning: "asking the archiver what this would change …",
  wouldChange: (changes: number, asked: number, rest: number) =>
    `${changes === 0 ? "It would change nothing" : changes === asked ? (asked === 1 ? "It would change it" : `It would change all ${asked.toLocaleString("en")}`) : `It would change ${changes.toLocaleString("en")} of ${asked.toLocaleString("en")}`}${rest > 0 ? `; ${rest.toLocaleString("en")} more follow in another change` : ""}.`,
  wouldNot: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "stays" : "stay"} as ${count === 1 ? "it is" : "they are"}: which?`,
  because: (status: string) =>
    status === "already_archived" ? "is archived so already" : `is ${status.replaceAll("_", " ")}`,
  toNone: "none any more",
  takeBackTitle: "Take an order back",
  takesBack: (action: string, by: string, at: string) =>
    `That PVs were ${action.replaceAll("_", " ")} by ${by}, ${at}, is taken back.`,
  asBefore:
    "Each is archived as it was before, to the last setting; what was removed is back with its samples.",
  takenBackAgain: "Taking this back, for a day.",
  takeBackButton: (count: number) => `Take back for ${pvsText(count)}`,
  staysAsItIs: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "was" : "were"} changed again since and ${count === 1 ? "stays as it is" : "stay as they are"}: which?`,
  takingBack: "Taking it back …",
  takenBack: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "is as it was" : "are as they were"} before.`,
  notTakenBack: "It was not taken back.",
  undoneUntil: (day: string) => `Can be undone until ${day}`,
  undoIsListed: "Undo …",
  cancel: "Cancel",
  button: (verb: VerbWord, count: number) =>
    `${manageWords.verbs[verb]} ${verb === "policy" ? "of " : verb === "groups" ? "of " : ""}${pvsText(count)}`,
  progress: (verb: VerbWord, done: number, total: number) =>
    `${manageWords.verbs[verb]}: ${done.toLocaleString("en")} of ${total.toLocaleString("en")} …`,
  outcome: (verb: VerbWord, count: number) =>
    `${pvsText(count)} ${count === 1 ? "is" : "are"} ${DONE[verb]}.`,
  broken: (rest: number, why: string) => `Of ${rest.toLocaleString("en")} nothing is known: ${why}.`,
  refused: (count: number) => `${count.toLocaleString("en")} unchanged: show`,
  refusedTitle: (count: number) => `Nothing was changed of ${pvsText(count)}`,
  undo: "Undo",
  data: "Their data",
  dataKept: "kept until a purge",
  dataDeleted: "to go at the next purge",
  newName: "New name",
  oldNameStays: (name: string) => `${name} stays as another name of it`,
  nameWanted: "Give it a name that it does not have yet.",
  policy: "Recorded",
  byPolicy: (policy: string) => `by the policy ${policy}`,
  everyChange: "every change",
  scanned: "the newest value every so many seconds",
  period: "Seconds",
  periodWrong: "A period is from 0.01 s to 86400 s.",
  deadband: "Dead band, as 0.5 or 5%",
  wouldKeep: "What would it have kept?",
  counting: "counting what was recorded in the last day …",
  kept: (all: number, kept: number, looked: number, pvs: number, cut: boolean) =>
    all === 0
      ? "Nothing was recorded in the last day."
      : `Of ${cut ? "the first " : ""}${all.toLocaleString("en")} samples of the last day it would have kept ${kept.toLocaleString("en")}: ${Math.round((1 - kept / all) * 100)} % less${looked < pvs ? `, by the first ${looked} of ${pvsText(pvs)}` : ""}.`,
  deadbandWrong: "A dead band is a number, or a number with %.",
  none: "none",
  groups: "Groups",
  groupsHint: (groups: string[]) =>
    `Names with blanks between them; nothing for none. ${groups.length > 0 ? `There are ${groups.slice(0, 8).join(", ")}${groups.length > 8 ? " and others" : ""}.` : "There are none yet: a group begins with its first PV."}`,
  groupWrong: (group: string) => `“${group}” is no name of a group: letters, digits and _ . : - make one.`,
  tooManyForGroups: (most: number) =>
    `At most ${most} PVs at once: what each has is looked at first. Mark fewer.`,
} as const;

export const addWords = {
  title: "Names",
  label: "Names of PVs, one a line",
  placeholder: "SR-VA-IP12:P\npva://SR-DI-BPM07:ORBIT\nSR-VA-IP17:P,scan,10\n# a comment",
  hint: "One a line; # begins a comment. ca:// or pva:// chooses the protocol; “,scan,10” takes the newest value every 10 s.",
  file: "File",
  clear: "Clear",
  check: "Check",
  begin:
    "Paste a list or drop a file, then Check: nothing is changed before you say so. A database of an IOC (.db) and what the Archiver Appliance’s exportConfig gives are read as well.",
  checking: "looking which of them the archive knows …",
  nothing: "There is no name in the list.",
  steps: ["Names", "Check", "First values"],
  willBe: "will be archived",
  willRest: "nothing is changed yet",
  areKnown: "are known already",
  knownRest: "left as they are",
  areRefused: "are refused",
  refusedRest: "told below",
  refusedHead: "Refused",
  howHead: "How they are archived",
  byPolicy: (policy: string) => `by the policy ${policy}, which fits the name`,
  byNoPolicy: "every change: no policy fits the name",
  readAs: {
    database: "Read as a database of an IOC: its records, and their aliases.",
    appliance: "Read as an export of the Archiver Appliance: how it took samples is taken over.",
  },
  entry: (entry: number) => `entry ${entry.toLocaleString("en")}`,
  pausedThere: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "was" : "were"} paused there, and will be here.`,
  givenScan: "as given: the newest value every so many seconds",
  then: "Then: progress until each has its first value.",
  line: (line: number) => `line ${line.toLocaleString("en")}`,
  take: (text: string) => `Take ${text}`,
  archive: (count: number) => `Archive ${pvsText(count)}`,
  askingFor: (count: number) => `asking the archiver for ${pvsText(count)} …`,
  undo: (count: number) => `Undo: take ${pvsText(count)} out again`,
  undone: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "is" : "are"} taken out again; the archive is as it was.`,
  outcome: (added: number, refused: number) =>
    `${pvsText(added)} ${added === 1 ? "is" : "are"} asked for${refused > 0 ? `, ${refused.toLocaleString("en")} refused` : ""}.`,
} as const;

/** Share and export. */
export const shareWords = {
  title: "Share and export",
  link: "Link",
  fixed: "to this range",
  live: "that follows now",
  copyLink: "Copy the link",
  copied: "Copied.",
  notCopied: "This browser does not let a page copy here; the text is marked.",
  asCode: "As a program",
  kinds: { python: "Python", curl: "curl", plt: "Phoebus .plt" },
  copy: (kind: string) => `Copy as ${kind}`,
  download: "Picture",
  png: "PNG of the plot",
  svg: "SVG",
  samples: (count: number, isLeast: boolean) =>
    `${isLeast ? "At least " : "About "}${count.toLocaleString("en")} samples are in sight.`,
  nothing: "Nothing is plotted: there is nothing to share but this page.",
  embed: "Within another page",
} as const;

/** Files of the whole view. */
export const exportWords = {
  title: (pvs: number, length: string) => `Data of the whole view: ${pvsText(pvs)}, ${length}`,
  leftOut: (rows: number) =>
    `${rows === 1 ? "One row" : `${rows.toLocaleString("en")} rows`} of the view ${rows === 1 ? "is" : "are"} in no file: what is hidden, formulas, other times, and names that no PV has.`,
  format: "Format",
  formats: { csv: "CSV", parquet: "Parquet", arrow: "Arrow", xlsx: "XLSX", mat: "MAT" },
  times: "Times",
  rows: { raw: "as recorded", aligned: "aligned" },
  every: "every",
  period: "Seconds between rows",
  method: "What stands in a row",
  methods: {
    previous: "the value that held",
    linear: "straight from sample to sample",
    nearest: "the nearest sample",
  },
  noPeriod: "Rows need a time between them: 1, or 0.1.",
  go: (format: string) => `Download ${format}`,
  plan: (isAligned: boolean, rows: number, pvs: number, size: string) =>
    isAligned
      ? `${rows.toLocaleString("en")} rows of ${pvsText(pvs)}, about ${size}`
      : `About ${rows.toLocaleString("en")} samples of ${pvsText(pvs)}, about ${size}`,
  free: (size: string) => `Exports may still take ${size} on the archiver’s disk.`,
  files: "Files that were made",
  progress: (file: string) => `How far ${file} is`,
  save: "Download",
  saveIt: (file: string) => `Download ${file}`,
  cancel: "Cancel",
  remove: "Remove",
  waiting: "waits for its turn",
  running: (done: number, all: number, size: string) =>
    `${done.toLocaleString("en")} of ${pvsText(all)}, ${size} so far. It goes on when this is closed.`,
  without: (names: string[], count: number) =>
    count === 0
      ? ""
      : `nothing recorded of ${names.slice(0, 3).join(", ")}${count > 3 ? ` and ${(count - 3).toLocaleString("en")} more` : ""}`,
  gaps: (count: number) =>
    count === 0 ? "" : `${count.toLocaleString("en")} ${count === 1 ? "gap" : "gaps"} in the range`,
  damage: (blocks: string[], count: number) =>
    count === 0
      ? ""
      : `${count.toLocaleString("en")} damaged ${count === 1 ? "block is" : "blocks are"} left out: ${blocks[0] ?? ""}`,
  kept: (length: string) => `kept for ${length}`,
  of: (owner: string) => `ordered by ${owner}`,
  more: (count: number) => `and ${count.toLocaleString("en")} older ones`,
} as const;

/** The nodes that record together. */
export const clusterWords = {
  alone: "This archiver records alone: it is no node of a cluster.",
  owns: "Has",
  version: "Version",
  format: "Reads format",
  behind: "Waiting",
  refuses: "Takes no samples",
  detachedFor: "Detached for",
  pvs: "PVs",
  connectedOf: (connected: number, all: number) =>
    `${connected.toLocaleString("en")} of ${all.toLocaleString("en")} connected`,
  room: "Disk",
  free: (size: string) => `${size} free`,
  problems: "Problems",
  shardsOf: (own: number, all: number, hasSite: boolean, copies: number) =>
    `${own.toLocaleString("en")} of ${all.toLocaleString("en")} shards${copies > 0 ? `, ${copies.toLocaleString("en")} of their copies` : ""}${hasSite ? ", and the site" : ""}`,
  formats: (own: number, inForce: number) =>
    own === inForce ? String(own) : `${own}; in force is ${inForce}, until all read it`,
  waiting: (samples: number, changes: number) =>
    samples + changes === 0
      ? "nothing: all is in the shared store"
      : `${samples.toLocaleString("en")} samples, ${changes.toLocaleString("en")} changes on their way to the shared store`,
  stands: (state: "lives" | "leaves" | "silent" | "stopped", isHere: boolean) =>
    ({
      lives: `Answers.${isHere ? " You are here." : ""}`,
      leaves: `Answers, and hands over what it has.${isHere ? " You are here." : ""}`,
      silent:
        "Does not answer. Others take its shards; what it had recorded and not committed comes when it is back.",
      stopped: "Has ended, and gave up what it had.",
    })[state],
  verbs: { drain: "Drain …", join: "Join …", forget: "Forget …" },
  orders: {
    drain: (node: string, shards: number, others: number): [string, string, string] => [
      `Drain ${node}`,
      `${node} gives its ${shards.toLocaleString("en")} shards to the ${others === 1 ? "other node" : `${others} other nodes`}, one every few seconds, without a gap.`,
      "It goes on answering and records nothing any more. Stop it then, update it, start it: it takes its share again. “Join” takes this back.",
    ],
    join: (node: string): [string, string, string] => [
      `Join ${node}`,
      `${node} takes its share of the shards again, one every few seconds, without a gap.`,
      "Both nodes hear the IOCs of a shard for some seconds while it moves.",
    ],
    forget: (node: string): [string, string, string] => [
      `Forget ${node}`,
      `${node} is reckoned with no longer; nothing says any more that it is missing.`,
      "What it had recorded and not committed lies on its disk: started again with that, it joins and hands it over. Refused while it lives, or while a shard has no node.",
    ],
    move: (shard: number, from: string | null): [string, string, string] => [
      `Move shard ${shard}`,
      `The PVs of shard ${shard}, ${from === null ? "which no node has" : `which ${from} records`}, are recorded by the node below.`,
      "No gap: both nodes hear its IOCs for some seconds. The last second of the one that had it arrives a few seconds later.",
    ],
  },
  to: "To",
  what: "What",
  follows: "What follows",
  cancel: "Cancel",
  given: (title: string) => `${title}: begun.`,
  shard: (shard: number, copyOf: number | null, owner: string | null) =>
    `Shard ${shard}${copyOf === null ? "" : `, the copy of shard ${copyOf}`}: ${owner ?? "no node has it"}`,
  byOwner: (shards: number) => `${shards.toLocaleString("en")} shards by owner`,
  copiesByOwner: (copies: number) => `${copies.toLocaleString("en")} copies of shards by owner`,
  site: "the site",
  here: (node: string) => `What waits on ${node}`,
  hereHeads: ["Shard", "Epoch", "Rows committed", "Samples waiting", "Changes waiting", "Detached for"],
  detached: (shards: number, length: string) =>
    `The shared store has not answered for ${length}: ${shards} ${shards === 1 ? "shard is" : "shards are"} recorded on this node’s disk alone. All of it is shipped when the store answers.`,
  happened: "Orders to nodes",
  happenedHeads: ["Time", "Who", "What"],
  nothing: "None was given.",
} as const;

/** What lies between the cursors A and B. */
export const betweenWords = {
  title: "Between A and B",
  mean: "mean",
  std: "std",
  min: "min",
  max: "max",
  change: "B − A",
  integral: "integral",
  known: (known: string, all: string) => `known for ${known} of ${all}`,
  samples: (count: number) => `${count.toLocaleString("en")} samples`,
  rest: (count: number) => `and ${count} more: hide some to see these`,
} as const;

/** Formulas. */
export const formulaWords = {
  found: "Formula",
  enter: "Enter plots it · = before a formula of one name",
  checking: "Is it one?",
  units: (units: string | null) => (units === null || units === "" ? "without units" : units),
} as const;

/** Notes on times and PVs. */
export const noteWords = {
  title: "Note",
  newTitle: "New note",
  editTitle: "Change the note",
  removedTitle: "The note is taken away",
  text: "What is to be noted",
  hint: "What happened, what was done, what to look at",
  when: "On",
  from: "From",
  to: "To",
  toHint: "one moment",
  about: "About",
  aboutWhich: "About these PVs; without any it stands in every plot of that time",
  everything: "no PV in particular: it stands in every plot of that time",
  by: "By",
  changed: "Changed",
  written: (by: string, time: string) => `${by}, ${time}`,
  edit: "Change",
  remove: "Take away",
  undo: "Bring it back",
  save: "Save",
  cancel: "Cancel",
  nothing: "Write what is to be noted.",
  noTime: "A note needs a moment that it is about. Times are written as 2026-06-01 08:30, 8:00, -8h, or now.",
  endsBefore: "It ends before it begins.",
} as const;

/** Views under names. */
export const viewWords = {
  title: "Named views",
  found: "Views and notes",
  view: (pvs: number, by: string) => `named view, ${pvsText(pvs)}, ${by}`,
  noteOf: (time: string) => (time === "" ? "note" : `note, ${time}`),
  all: "All views",
  search: "Find views",
  searchHint: "Words of names, texts and PVs",
  none: "No view is saved yet. “Share and export” saves the one that is shown.",
  noneFits: "No view has these words.",
  loose: "In no folder",
  open: (name: string) => `Open ${name}`,
  copy: "Copy the link",
  copied: "Copied.",
  edit: "Change",
  remove: "Take away",
  removed: (name: string) => `${name} is taken away.`,
  undo: "Bring it back",
  save: "Save",
  cancel: "Cancel",
  saveAs: "Save as named view",
  name: "Name, with folders: operation/trip",
  nameLabel: "Name",
  text: "What it shows, for whoever looks for it",
  nameWanted: "Give it a name.",
  replaces: (by: string) => `There is a view of this name, by ${by}: saving takes its place.`,
  saved: (link: string) => `Saved. ${link} leads to it.`,
} as const;

/** What snapshots and searches have in common. */
export const analysisWords = {
  noTime: "This is no time.",
} as const;

/** A snapshot of many PVs, and two of them compared. */
export const snapshotWords = {
  title: "Snapshot",
  list: "PVs",
  listHint: "Part of a name, *glob*, ~regex, or a pasted list",
  a: "A",
  b: "B, to compare with",
  bHint: "nothing",
  quick: { now: "Now", "-1 h": "An hour ago", "-1 d": "A day", "-1 w": "A week" } as Record<string, string>,
  take: "Take",
  taking: "asking the archiver …",
  begin:
    "Name PVs and a time A: their values are shown as they were. With a time B, what has changed comes first.",
  which: "Which rows",
  table: "Values of the PVs",
  tolerance: "What counts as a change",
  tolerances: (many: number) =>
    many === 0
      ? "changed: any other value"
      : many === 1
        ? "changed: by more than its usual spread"
        : `changed: by more than ${many} usual spreads`,
  names: (count: number) => `${count.toLocaleString("en")} PVs of a list`,
  noList: "Name the PVs first: part of a name, a glob, or a pasted list.",
  noMoment: (which: string) =>
    `${which} is no time. Times are written as 2026-06-01 08:30, 8:00, -8h, or now.`,
  none: (unknown: string[]) =>
    unknown.length > 0
      ? `None of these PVs is archived: ${unknown.slice(0, 5).join(", ")}${unknown.length > 5 ? " …" : ""}`
      : "No PV fits.",
  tooMany: (count: number, most: number) =>
    `${pvsText(count)} fit, and at most ${most.toLocaleString("en")} are compared at once: narrow the list.`,
  shown: { changed: "Changed", all: "All", lacking: "Not recorded" },
  told: (total: number, changed: number | null, lacking: number, unknown: string[]) =>
    `${pvsText(total)}${changed === null ? "" : `: ${changed.toLocaleString("en")} changed, ${(total - changed - lacking).toLocaleString("en")} did not`}${lacking > 0 ? `; ${lacking.toLocaleString("en")} not recorded at A` : ""}${unknown.length > 0 ? `; ${unknown.length.toLocaleString("en")} not archived: ${unknown.slice(0, 5).join(", ")}${unknown.length > 5 ? " …" : ""}` : ""}. Values are the last at or before each moment; an age above an hour stands beside it.`,
  csvAt: (which: string) => `CSV${which}`,
  csvDiff: "CSV of changes",
  plot: (count: number, found: number) =>
    count < found ? `Plot the first ${count}` : count === 1 ? "Plot it" : `Plot the ${count}`,
  lackingAt: "Not recorded at A",
  notKept: " The list is too long for an address: whoever opens this one has to paste it again.",
  pv: "PV",
  description: "Description",
  units: "Units",
  change: "Change, in usual spreads",
  alarm: "Alarm",
  alarmAtA: "Alarm at A",
  nothingYet: "nothing yet",
  notRecorded: "not recorded",
  why: "Why?",
  age: (age: string) => `${age} old`,
  another: (kind: string) =>
    kind === "state" ? "another state" : kind === "text" ? "another text" : "another value",
  neverMoved: "did not move in the day before",
  score: (score: number) => `${score.toPrecision(3)} times the spread of the day before B`,
} as const;

/** Find when a condition held. */
/** The menus of the plot, of its axes, gaps and notes, and of rows. */
export const menuWords = {
  copied: (text: string) => `Copied: ${text}`,
  notCopied: (text: string) => `This browser does not let a page copy. By hand: ${text}`,
  cursorA: "Cursor A here",
  cursorB: "Cursor B here",
  zoomBetween: "Zoom to A – B",
  zoomOut: "Zoom out",
  back: "Back to the view before",
  noteHere: "Note here …",
  copyTime: "Copy the time",
  copyName: "Copy the name",
  copyLink: "Copy a link to it",
  copyGap: "Copy what is known of it",
  snapshot: "Snapshot at this time",
  when: "When was it like this? …",
  over: "Another time laid over it",
  otherTime: "Another length, a moment, the last time …",
  axes: "Axes",
  axisOf: (title: string) => `Axis ${title}`,
  times: "Time axis",
  length: "Length",
  all: "all",
  zone: "Times in",
  share: "Share and export …",
  gapOf: (name: string) => `Gap of ${name}`,
  noteOf: (text: string) => `Note “${text}”`,
  settings: "Colour, width and all settings …",
  hidden: "Hidden",
  log: "Logarithmic",
  fixed: "Fixed limits …",
  fixAsIs: (low: string, high: string) => `Fixed as it is: ${low} to ${high}`,
  fit: "Fit to the values",
  ownPane: "A pane for each PV",
  normalise: "Normalise: each over the whole height",
  normaliseAll: "Normalise all in one pane",
  sameForAll: (units: string) => `The same for all in ${units}`,
  derivative: "Plot its derivative",
  integral: "Plot its integral",
  formula: "Formula with it …",
  change: "Change the formula …",
  why: "Why? and details …",
  remove: "Remove from the plot",
  whyGap: "Why? …",
  zoomTo: "Zoom to it",
  openIoc: "Open the IOCs",
  readNote: "Read or change it …",
  deleteNote: "Delete it",
  gapBefore: "Previous gap",
  nextGap: "Next gap",
  eventBefore: "Previous event",
  nextEvent: "Next event",
  /** What to do about a gap, by its cause. */
  toDo: (cause: string) => GAP_TO_DO[cause] ?? "“Why?” tells what is known of it.",
} as const;

const GAP_TO_DO: Record<string, string> = {
  never_connected: "Is the name spelt as at its IOC, and does that run? pvark keeps searching.",
  disconnected: "Look at its IOC and the network between: pvark reconnects by itself.",
  paused: "Resume it on the manage page, if it is to be recorded.",
  archiver_stopped: "Nobody recorded while the archiver was not running; see why it stopped in its log.",
  queue_full: "Slow the PV down at its IOC, give it a dead band, or give the archiver a faster disk.",
  store_refused: "Look at the archiver's disk: the chip at the top right says what is wrong with it.",
  server_error: "Ask the keeper of its IOC: it answers, but with an error.",
  not_archived: "It was taken out of the archive; add it again on the manage page.",
  disabled: "A PV of its group switches it off; see its groups on the manage page.",
  expired: "Retention has taken it away; older than that nothing is kept.",
  damaged: "Bring its file back from a backup, if there is one.",
};

export const whenWords = {
  saveHow: "Saved in the folder moments, as moments/last fill, its last time can be laid over any plot.",
  filled: "Filled in from the plot. Search, or change it first.",
  title: "Find when",
  sentence: "The condition",
  pv: (i: number) => `PV ${i + 1}`,
  pvHint: "PV",
  relation: (i: number) => `How PV ${i + 1} is compared`,
  relations: {
    above: "above",
    below: "below",
    is: "is",
    isnot: "is not",
    alarm: "in alarm, at least",
    missing: "not recorded",
  },
  value: (i: number) => `With what PV ${i + 1} is compared`,
  levels: ["minor", "major", "invalid", "undefined"],
  while: "while",
  and: "and",
  more: "Another PV",
  without: (i: number) => `Without PV ${i + 1}`,
  length: "for at least",
  anyLength: "any time",
  between: "between",
  anyUnits: "whatever the units",
  expression: "The condition as an expression",
  expressionHint: "as an expression, A > 3 while B = ON",
  find: "Find",
  stop: "Stop",
  progress: "How far the search is",
  results: "Times that were found",
  begin: "The archiver looks through all that it has: days that their summaries decide are not read.",
  nothing: "Name a PV and with what it is compared.",
  outcome: (count: number, held: string) =>
    count === 0
      ? "Not once"
      : `${count === 1 ? "Once" : `${count.toLocaleString("en")} times`}, ${held} together`,
  searching: (until: string, read: number) =>
    until === ""
      ? "searching …"
      : `searching, so far up to ${until}; ${read.toLocaleString("en")} samples read`,
  stopped: (until: string) => (until === "" ? "stopped" : `stopped: it was looked up to ${until}`),
  looked: (
    seconds: number | null,
    tally: { read: number; unknown: number; by_summaries: number },
    until: string,
  ) =>
    [
      seconds === null ? "" : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`,
      `${tally.read.toLocaleString("en")} samples read, all else decided by summaries`,
      tally.unknown > 0 ? "hatched: nobody recorded, so nobody knows" : "",
      until === "" ? "" : `looked only up to ${until}: ask for the rest by itself`,
    ]
      .filter((text) => text !== "")
      .join("; "),
  heads: ["Began", "Lasted", "Remark", "In the plot"],
  beginsUnknown: "nobody knows what was before",
  endsUnknown: "nobody knows what came behind",
  endsRange: "goes on to the end of the search",
  plot: "Plot it",
  more500: (rest: number) => `and ${rest.toLocaleString("en")} earlier ones; the CSV has all`,
} as const;

/** The drawer below the plot: two rows against each other, histogram, spectrum. */
export const drawerWords = {
  x: "X",
  y: "Y",
  of: "Of",
  by: "Pairs",
  bys: {
    "": "chosen by the range",
    last: "at each sample of X",
    stamp: "of the same time stamp",
    grid: "what both held, every",
    mean: "means of both, over",
    pulse: "of the same pulse",
  },
  step: "Seconds from one to the next",
  seconds: "s",
  bins: "Bars",
  weight: "Bars are",
  weights: { time: "for how long", count: "how many samples" },
  window: "Window",
  windows: { none: "none", hann: "Hann" },
  output: "Shown",
  outputs: { amplitude: "amplitude", density: "power density" },
  axes: "Axes",
  axesOf: { "": "strength logarithmic", linear: "linear", both: "both logarithmic" },
  fill: "Points",
  fills: {
    "": "the samples themselves",
    previous: "what held, every",
    linear: "between samples, every",
    mean: "means, over",
  },
  csv: "CSV",
  swap: "Swap X and Y",
  whole: { xy: "All pairs", histogram: "All values", fft: "All frequencies" },
  inSight: (count: number) => `${count.toLocaleString("en")} in sight`,
  below: (what: string) => `below: ${what}`,
  above: (what: string) => `above: ${what}`,
  computing: "the archiver computes …",
  samples: "samples",
  frequency: "Hz",
  and: (name: string, units: string | null) => (units ? `${name}, ${units}` : name),
  strengthOf: (output: "amplitude" | "density", units: string | null) =>
    `${drawerWords.outputs[output]}${units ? `, ${units}` : ""}`,
  labels: {
    xy: (x: string, y: string) =>
      `${y} against ${x}, times by colour; arrows go from pair to pair, Enter sets the cursor of the plot there, plus and minus zoom, Escape shows all again`,
    histogram: (of: string) =>
      `Histogram of ${of}; arrows go from bar to bar, plus and minus zoom, Escape shows all again`,
    fft: (of: string) =>
      `Spectrum of ${of}; arrows go from point to point, with Shift from peak to peak, plus and minus zoom, Escape shows all again`,
  },
  pairs: (count: number, how: string) =>
    `${count.toLocaleString("en")} ${count === 1 ? "pair" : "pairs"}, ${how}`,
  how: {
    last: "at each sample of X",
    stamp: "of the same stamp",
    grid: (length: string) => `what both held every ${length}`,
    mean: (length: string) => `means over ${length}`,
    pulse: "of the same pulse",
  },
  correlation: (r: string) => `correlation ${r}`,
  fit: (slope: string, intercept: string) => `dashed: Y = ${slope} · X ${intercept}`,
  unpaired: (count: number) => `${count.toLocaleString("en")} without a partner`,
  until: (time: string) => `only up to ${time}, as there are too many. Means cover the whole range`,
  means: "Show means",
  held: "Show what both held",
  damaged: (count: number) =>
    `${count.toLocaleString("en")} damaged ${count === 1 ? "block is" : "blocks are"} left out`,
  oneRow: "Two rows with numbers are put against each other: there is one.",
  noRow: "No row of the plot has numbers.",
  findOne: "Find another PV",
  noPairs: (from: string, to: string) => `No pair from ${from} to ${to}: at no time were both known.`,
  nothing: (from: string, to: string) => `Nothing was recorded from ${from} to ${to}.`,
  earlier: "Look at ten times as much",
  bar: (low: string, high: string, what: string, part: string) => `${low} … ${high}: ${what}, ${part}`,
  count: (count: number) => `${count.toLocaleString("en")} ${count === 1 ? "sample" : "samples"}`,
  known: (length: string) => `known for ${length}`,
  notRecorded: (length: string) => `not recorded for ${length}`,
  notYet: (length: string) => `${length} before the first sample`,
  nan: (what: string) => `NaN: ${what}`,
  infinite: (what: string) => `infinite: ${what}`,
  points: (count: number, step: string) => `${count.toLocaleString("en")} points, one every ${step}`,
  strongest: "strongest",
  peak: (hertz: string, every: string, strength: string) => `${hertz} Hz (every ${every}): ${strength}`,
  constant: (strength: string) => `0 Hz (constant): ${strength}`,
  makeEven: (step: string) => `A point every ${step}`,
  meansOf: (step: string) => `Means over ${step}`,
  stretch: (from: string, to: string) => `Show ${from} to ${to}`,
  again: "Ask again",
} as const;

/** What of the page comes when it is wanted, and has not come. */
export const laterWords = {
  why: {
    silent: "This part of the page has not come: the archiver does not answer.",
    renewed: "The archiver is another version by now, and this part of the page has not come with it.",
    lacking: "This part of the page has not come, though the archiver answers.",
  },
  silentThen: (seconds: number) => `It is asked for again every ${seconds} s.`,
  anew: "Trying again loads the page anew. Its address keeps what is shown.",
  again: "Try again",
} as const;

/** By Channel Access the status of a record, by pvAccess the class of cause. */
const STATUSES: Record<string, string[]> = {
  ca: [
    ...[
      "NO_ALARM",
      "READ",
      "WRITE",
      "HIHI",
      "HIGH",
      "LOLO",
      "LOW",
      "STATE",
      "COS",
      "COMM",
      "TIMEOUT",
      "HWLIMIT",
    ],
    ...["CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM", "READ_ACCESS", "WRITE_ACCESS"],
  ],
  pva: ["NONE", "DEVICE", "DRIVER", "RECORD", "DB", "CONF", "UNDEFINED", "CLIENT"],
};

/** The samples of PVs as a table. */
export const sampleWords = {
  of: "Of",
  all: (pvs: number, others: number) =>
    others === 0 ? `all ${pvsText(pvs)}` : `all ${(pvs + others).toLocaleString("en")} of the plot`,
  heads: { time: "Time", pv: "PV", value: "Value", severity: "Severity", status: "Status" },
  label:
    "Samples in the order of time; arrows go from row to row, Shift and Space mark rows, Enter sets the cursors of the plot there, Ctrl C copies what is marked",
  asking: "asking the archiver …",
  count: (samples: number, steps: number) => {
    const formulas = `${steps.toLocaleString("en")} ${steps === 1 ? "value" : "values"} of formulas, computed of every sample`;
    return steps === 0
      ? samplesText(samples)
      : samples === 0
        ? formulas
        : `${samplesText(samples)}, ${formulas}`;
  },
  whole: (count: string) => `${count}: all of the range`,
  part: (count: string, until: string) => `The first ${count}, up to ${until}. There are more: scroll on`,
  full: (rows: number, until: string, hasAll: boolean) =>
    `The first ${rows.toLocaleString("en")} rows, up to ${until}. There are more: choose a shorter range${hasAll ? ", or take the CSV, which has all" : ""}`,
  live: (told: string, time: string) => `${told}; as of ${time}`,
  means: (formula: string, seconds: string, madeOf: "summaries" | "samples") =>
    `${formula} changes too often, or its samples are too many, to be computed of each: these are means of ${seconds}, made of ${madeOf === "summaries" ? "summaries only" : "summaries and samples"}`,
  meanOf: (seconds: string) => `mean of ${seconds}`,
  notKnown: "not known",
  sentences: (parts: string[]) =>
    parts.length === 1 ? parts[0]! : parts.map((part) => `${part.replace(/\.$/, "")}.`).join(" "),
  again: "Ask again",
  copy: "Copy as CSV",
  copyMarked: (rows: number) => `Copy ${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`,
  unmark: "Mark none",
  tapsMark: (rows: number) =>
    `${rows.toLocaleString("en")} ${rows === 1 ? "row is" : "rows are"} marked. Tap for one more; hold for all between.`,
  toCursors: "Cursors A, B there",
  marked: (rows: number) => `${rows.toLocaleString("en")} rows are marked.`,
  copied: (rows: number) => `${rows === 1 ? "The row is" : `${rows.toLocaleString("en")} rows are`} copied.`,
  copiedPart: (rows: number, hasAll: boolean) =>
    `The ${rows.toLocaleString("en")} rows that are here are copied${hasAll ? "; the CSV has all" : ""}.`,
  csvOfPvs: "CSV of the PVs",
  notCopied: "This browser does not let a page copy here.",
  noPv: "No row of the plot is shown that has samples.",
  findOne: "Find a PV",
  nothing: (from: string, to: string) => `Nothing was recorded from ${from} to ${to}, and no gap is known.`,
  status: (status: number, protocol: string | null) => {
    const name = STATUSES[protocol ?? ""]?.[status];
    return name === undefined ? String(status) : `${name} (${status})`;
  },
  gap: (until: string | null, length: string, cause: string, lost: number) =>
    `not recorded ${until === null ? `since then, for ${length}` : `until ${until}, for ${length}`}: ${cause}${lost > 0 ? `, ${lost.toLocaleString("en")} samples lost` : ""}`,
} as const;

function samplesText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "sample" : "samples"}`;
}

/** Lists of a cluster for a part of which nobody answers. */
export const missingWords = {
  unanswered: (parts: string, pvs: number) =>
    `Nobody answers for ${parts}: ${pvsText(pvs)} ${pvs === 1 ? "is" : "are"} listed of which nobody knows how ${pvs === 1 ? "it fares" : "they fare"}. ${pvs === 1 ? "It is" : "They are"} recorded again as soon as a node takes over.`,
  unread: (parts: string) =>
    `Nobody answers for ${parts}: how its PVs fare nobody knows, and some that are archived may be missing here.`,
  madeWithout: (what: string) => `This list is made ${what}.`,
  nodes: "Look at the nodes",
} as const;

/** Other nodes, while the archiver of the page is away. */
export const elsewhereWords = {
  goOn: "The other nodes of the cluster have all PVs, and the same view:",
  at: (node: string) => `go on at ${node}`,
};

const LENGTH_UNITS: Record<string, string> = {
  mo: "month",
  y: "year",
  w: "week",
  d: "day",
  h: "hour",
  min: "minute",
  s: "second",
};

/** The dialog that adds PVs, and how far they are. */
export const archiveWords = {
  noName: "Name at least one PV.",
  wrongPeriod: "The period must be a number of seconds above 0.",
  asking: (pvs: string) => `Asking the archiver for ${pvs} PVs …`,
  plotThem: "Plot them",
  isConnected: "is connected and archived",
  firsts: "PVs with a first value",
  allFirst: (pvs: string) => `All ${pvs} have a first value.`,
  someFirst: (there: string, pvs: string) => `${there} of ${pvs} have a first value`,
  waiting: (there: string, count: string, names: string) => `${there}, ${count} wait for an IOC${names}`,
  became: {
    added: "is asked for; waits for an IOC",
    already_archived: "was being archived already",
    changed: "is being archived another way now",
    refused: "was refused",
  },
  /** The same of many, behind their number. */
  becameMany: {
    added: "are asked for",
    already_archived: "were being archived already",
    changed: "are being archived another way now",
    refused: "were refused",
  },
} as const;

/** What stands in more than one place. */
export const commonWords = {
  name: "pvark",
  plotIt: "Plot it",
  andMore: (count: number) => `and ${count.toLocaleString("en")} more`,
  loading: "loading …",
  close: "Close",
  none: "none",
  csv: "CSV",
  pageTitle: (part: string) => `${part} · pvark`,
} as const;

/** What is wrong with an answer of the archiver, or with there being none. */
export const answerWords = {
  brokenOff: "the archiver broke off its answer",
  none: "the archiver does not answer",
  notJson: (status: number) => `the archiver's answer (HTTP ${status}) is not JSON`,
  status: (status: number) => `HTTP ${status}`,
  noStream: "the stream of bins is cut off, or is none",
  noBeginning: "a message of the stream of bins has no beginning",
  noHeader: "a message of the stream of bins has no header",
  streamCut: "the stream of bins is cut off",
  noEnd: "the stream of bins has no end",
  wrongType: (column: string) => `the column ${column} is of a type that bins have not`,
  compressed: "the stream of bins is compressed",
  otherColumns: "a batch of bins has not the columns of its schema",
  columnCut: (column: string) => `the column ${column} is cut off`,
  otherCount: (came: number, asked: number) => `${came} PVs came where ${asked} were asked for`,
  nobody: (reason: string) => `nobody answers for it at present: ${reason}`,
  unreadable: (reason: string) => `the archiver's answer cannot be read: ${reason}`,
  noColumn: (column: string) => `the bins have no column ${column}`,
} as const;

/** The plot: its bands, gaps, its overview, and what is said where nothing is drawn. */
export const plotWords = {
  noSamples: (name: string) => `${name}: no samples`,
  severalStates: " several states,",
  gapSince: (time: string, length: string) => `since ${time} (${length})`,
  samplesLost: (count: number) => `, ${count} samples lost`,
  recordedAgain: "recorded again",
  notArchived: "not in this archive",
  allHidden: "All PVs are hidden.",
  nothingToDraw: "Nothing to draw in this range",
  nothingRecorded: "nothing recorded yet",
  nothingHere: "nothing recorded in this range",
  firstLater: (time: string) => `first sample at ${time}; nothing before`,
  lastEarlier: (time: string) => `last sample at ${time}; nothing after`,
  lostFrom: (time: string, again: string) => `last sample at ${time}; recorded again from ${again}`,
  showIt: "Show it",
  showOf: (said: string) => `Show it: ${said}`,
  samplesFrom: (from: string, to: string) => `samples from ${from} to ${to}`,
  loadingOf: (busy: number, shown: number) => `loading ${busy} of ${shown}`,
  noUnits: "no units",
  normalised: "normalised",
  logarithmic: (label: string) => `${label}, log`,
  rangeShown: "Range shown",
  fromTo: (from: string, to: string) => `${from} to ${to}`,
  dragToMove: (range: string) => `${range}, drag to move`,
  noOther: (what: "gap" | "event", where: "later" | "earlier") => `No ${where} ${what} in this range`,
} as const;

/** Times as they are typed, how they are read, and why they are not. */
export const timeWords = {
  utc: "UTC",
  /** Lengths of time. */
  millis: (count: string) => `${count} ms`,
  hoursAnd: (hours: number, minutes: number) => `${hours} h${minutes > 0 ? ` ${minutes} min` : ""}`,
  untilNow: (ago: string) => `${ago} – now`,
  range: (text: string) => `Range: ${text}`,
  aroundNoBeginning: (text: string) => `${text} goes around a moment: write one as the beginning.`,
  aroundNoEnd: (text: string) => `${text} goes around a moment: write one as the end.`,
  countsFromBeginning: (text: string) => `${text} counts from the beginning: write it as the end.`,
  lacksBeginning: (text: string) => `${text} counts from the beginning: write that too.`,
  beginsAfterEnd: "Begins after it ends.",
  endsAtBeginning: "Ends where it begins.",
  nothingWritten: "Not a time: nothing is written here.",
  noTime: (text: string) => `Not a time: ${text}. Write 2026-11-20 21:19, 21:19, yesterday, -2 h or now.`,
  wrongMonth: (text: string, month: number) => `Not a time: ${text} has month ${month}.`,
  wrongDay: (text: string, day: number) => `Not a time: ${text} has day ${day}.`,
  wrongZone: (text: string, hours: number) => `Not a time: ${text} has a zone of ${hours} h.`,
  wrongHour: (text: string, hour: number) => `Not a time: ${text} has hour ${hour}.`,
  wrongMinute: (text: string, minute: number) => `Not a time: ${text} has minute ${minute}.`,
  wrongSecond: (text: string, second: number) => `Not a time: ${text} has second ${second}.`,
  wrongYear: (first: number, last: number) => `Not a time: years go from ${first} to ${last}.`,
  partOfMonth: (count: string | number, unit: string) =>
    `Not a time: ${count} ${unit}. Months and years are whole.`,
  days: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
  ends: { from: "From", to: "To" },
  themes: { system: "Theme: as the system", dark: "Theme: dark", light: "Theme: light" },
  atMoment: (pv: string, moment: string) => `${pv}, ${moment} UTC laid over`,
  /** By the units of lengths of time as they are typed. */
  earlier: (pv: string, count: string, unit: string) =>
    `${pv}, ${count} ${LENGTH_UNITS[unit]}${count === "1" ? "" : "s"} earlier`,
} as const;

/** Values that are no numbers, and why there are none. */
export const valueWords = {
  elements: (count: number) => `${count} elements`,
  structure: "structure",
  causes: {
    never_connected: "not yet found on the network",
    disconnected: "connection to the IOC lost",
    paused: "archiving paused",
    archiver_stopped: "archiver not running",
    queue_full: "samples came faster than they could be taken",
    store_refused: "store refused to write",
    server_error: "IOC answered with an error",
    not_archived: "taken out of the archive for a while",
    disabled: "disabled by its groups",
    expired: "no longer kept",
    damaged: "its file is missing or damaged",
  } as Record<string, string>,
} as const;

/** Everything about one PV. */
export const detailsWords = {
  asking: "asking what is missing …",
  resume: "Resume archiving",
  pause: "Pause archiving",
  download: "Download this range (CSV)",
  linear: "Linear axis",
  logarithmic: "Logarithmic axis",
  methodEvery: (method: string, seconds: number) => `${method} every ${seconds} s`,
  state: "State",
  since: (time: string) => ` since ${time}`,
  refusal: "Refusal",
  lacking: "Fields that are not there",
  description: "Description",
  by: "Archived by",
  server: "Server",
  type: "Type",
  units: "Units",
  states: "States",
  display: "Display range",
  warning: "Warning limits",
  alarm: "Alarm limits",
  added: "Added",
  firstConnected: "First connected",
  lastConnected: "Last connected",
  reconnects: "Reconnects",
  samples: "Samples",
  noGaps: "No gaps in this range.",
  gaps: (count: number) => `Gaps in this range: ${count}`,
} as const;

/** Why there is no data in a range, or not all. */
export const whyWords = {
  title: (range: string) => `Is everything here? ${range}`,
  since: (time: string, length: string) => ` since ${time} (${length})`,
  servedBy: (server: string) => `, served by ${server}`,
  iocSays: (refusal: string) => `. The IOC says: ${refusal}`,
  now: (connection: string, length: string, by: string, refusal: string) =>
    `Now: ${connection}${length}${by}${refusal}.`,
  nothingEver: "Nothing was ever recorded of this PV.",
  extent: (first: string, last: string) => `The first sample is of ${first}, the last of ${last}.`,
} as const;

/** What each key does. */
export const keyWords = {
  length: "length of the range: 5 min, 20 min, 1 h, 8 h, 1 d, 1 w, 1 mo, 1 y, all",
  find: "find PVs",
  earlier: "a quarter earlier",
  later: "a quarter later",
  zoomIn: "zoom in",
  zoomOut: "zoom out",
  zoomInHeight: "zoom in by height",
  zoomOutHeight: "zoom out by height",
  sampleBefore: "cursor to the sample before",
  nextSample: "cursor to the next sample",
  cursorA: "cursor A here",
  cursorB: "cursor B here",
  zoomBetween: "zoom to what lies between A and B",
  nextGap: "to the next gap",
  gapBefore: "to the gap before",
  nextEvent: "to what happened next",
  eventBefore: "to what happened before",
  why: "why is there no data, or not all",
  live: "follow now, or stop",
  zone: "local times, UTC, or the site's",
  lanes: "a lane of alarms for each PV",
  numbers: "numbers of the range in every row, or fewer lines",
  hide: "hide the PV of the row, or show it",
  menu: "menu of the row, or of the plot at the cursor",
  menuKey: "Menu",
  settings: "settings of the PV of the row",
  drawer: "drawer: waveforms, or XY, histogram, spectrum and samples",
  panel: "fold the panel, or show it",
  note: "note at the cursor, or from A to B",
  share: "share and export",
  theme: "light or dark",
  undo: "undo the last change of the view",
  redo: "redo it",
  unmark: "remove cursor B, then A",
  help: "this list",
  /** What has keys of its own while it has the focus. */
  within: [
    [
      "In the rows of the panel",
      [
        ["↑ ↓", "another PV"],
        ["Enter", "everything about the PV"],
        ["Delete", "take the PV out of the view"],
        ["Alt+↑ ↓", "zoom its pane by height"],
      ],
    ],
    ["In the overview", [["← →", "half a range earlier, later"]]],
    [
      "In a waveform",
      [
        ["← →", "another element"],
        ["Shift+← →", "ten elements on"],
        ["+ -", "zoom about the element"],
      ],
    ],
    [
      "In a chart of the drawer",
      [
        ["← →", "another pair, bar or point"],
        ["+ -", "zoom about it"],
        ["Escape", "show all again, then close the drawer"],
      ],
    ],
    [
      "In the table of samples",
      [
        ["↑ ↓ PageUp PageDown Home End", "another sample"],
        ["Space Shift+↑ ↓ Ctrl+A", "mark one, all on the way, all; by touch hold a row"],
        ["Enter", "cursor A there, or both at the ends of what is marked"],
        ["Ctrl+C", "copy what is marked"],
      ],
    ],
    [
      "In the table of all PVs",
      [
        ["/", "search; a pasted list is looked for and marked"],
        ["↑ ↓ PageUp PageDown Home End", "another PV"],
        ["Space", "mark the PV"],
        ["Shift+↑ ↓", "mark all on the way"],
        ["Ctrl+A", "mark all that the filter finds"],
        ["Enter", "plot the PV"],
        ["Escape", "unmark all"],
      ],
    ],
  ] as [string, [string, string][]][],
} as const;

/** Why something in a list is no name of a PV, or no way to archive it. */
export const nameWords = {
  noProtocol: (protocol: string) => `There is no protocol ${protocol}: ca:// and pva:// are known.`,
  noName: "There is no name behind the protocol.",
  noSpace: "A PV’s name has no space.",
  noControls: "A PV’s name has no control characters.",
  tooLong: (most: number) => `A PV’s name has 1 to ${most} bytes.`,
  kept: "The archiver keeps this name for itself.",
  noMethod: (method: string) => `There is no method ${method}: monitor and scan are known.`,
  wrongPeriod: (least: number, most: number) => `A period is from ${least} s to ${most} s.`,
  comment: "this is a comment",
  unknownProtocol: (protocol: string) => `there is no protocol ${protocol}: ca:// and pva:// are known`,
  lacksName: "there is no name behind the protocol",
} as const;

/** Who one is, what one may, and how one logs in. */
export const loginWords = {
  logIn: "Log in",
  logInTitle: "Log in, or see what you may do",
  whoTitle: (name: string) => `${name}: who you are, and what you may do`,
  over: (name: string) => `The session of ${name} is over.`,
  nothingBefore: "Whoever has not logged in may see nothing of this archive.",
  andMay: ", and ",
  without: (may: string) => `Without a login one may ${may}.`,
  elsewhere: "Nobody can log in at this address; at another of the archiver’s, by https, it may be possible.",
  goOn: "Go on without a login",
  noLogin: "No login here",
  nothingFor: (name: string) => `${name} may see nothing here`,
  nothingNew: "Nothing new is shown until somebody logs in.",
  anybody: "What is shown is what anybody may see.",
  overAnd: (name: string, rest: string) => `The session of ${name} is over. ${rest}`,
  who: "Who",
  knownBy: "Known by",
  groups: "Groups",
  mayWithout: "Without a login you may",
  may: "You may",
  staysAt: (host: string) => `You stay logged in at ${host} itself.`,
  logOut: "Log out",
  logInWith: (host: string) => `Log in with ${host}`,
  askingHost: (host: string) => `Asking ${host} …`,
  capsLock: "Caps Lock is on.",
  name: "Name",
  password: "Password",
  asking: "Asking …",
  provider: "The OpenID provider",
  silent: (host: string) => `${host} does not answer, so that nobody can say who this is.`,
  notEnded: "The login did not come to its end: it was refused, or took longer than ten minutes.",
  again: (seconds: number) => ` Try again in ${seconds} s.`,
  someProvider: "the OpenID provider",
  byOidc: (host: string) => `a login with ${host}`,
  byPassword: "a login by name and password",
  byCertificate: "the certificate that this browser shows",
  byToken: "a token",
  byProxy: "what the proxy in front of the archiver says",
  byMachine: "a user of the archiver’s machine",
  byNothing: "nothing: nobody has logged in here",
  allPvs: (verbs: string) => `${verbs} all PVs`,
  nothing: "nothing",
  mostHere: (verbs: string) => `At this address nobody may do more than ${verbs}.`,
  and: (before: string, last: string) => `${before} and ${last}`,
  morePatterns: (count: number) => ` and ${count} more patterns`,
  /** What each right adds to the one before it. */
  verbs: {
    read: ["read"],
    operate: ["pause", "resume", "add"],
    administer: ["remove", "rename"],
  } as Record<"read" | "operate" | "administer", string[]>,
} as const;

/** How the archiver fares as a whole. */
export const overviewWords = {
  asking: "asking the archiver …",
  byState: "PVs by state",
  noOther: (state: string) => `No other PV is ${state}.`,
  none: (state: string) => `No PV is ${state}.`,
  never: "never",
  pv: "PV",
  stateFor: (state: string) => `${state} for`,
  since: "Since",
  last: "Last sample",
  nothingWrong: "Nothing is wrong.",
  notConnected: (searching: string, total: string) =>
    `${searching} of ${total} PVs are not connected: no IOC has answered for them yet.`,
  received: "Received",
  receivedNow: (all: string, rate: string) => `${all}, now ${rate} a second`,
  stored: "Stored",
  onTheirWay: "On their way to disk",
  queue: "Queue",
  of: (part: string, whole: string) => `${part} of ${whole}`,
  updates: "Updates since the start",
  inMemory: "In memory",
  samplesAnd: (samples: string, bytes: string) => `${samples} samples, ${bytes}`,
  log: "Log",
  dataFolder: "Data folder",
  place: (name: string) => `Place ${name}`,
  inSegments: (bytes: string, segments: string) => `${bytes} in ${segments} segments`,
  aSample: "A sample takes",
  bytes: (bytes: string) => `${bytes} bytes`,
  scrubbed: "All read and found right",
  notYet: "not yet",
  workOf: (key: string, bytes: string, all: string) => `${key}, ${bytes} of ${all}`,
  week: "Week",
  state: "State",
  samples: "Samples",
  size: "Size",
  segments: "Segments",
  storage: "Storage",
  enabled: "enabled",
  disabled: "disabled",
  groups: "Groups",
  group: "Group",
  by: "By",
  pvs: "PVs",
  /** What happens to updates apart from being stored, as an operator calls it. */
  fates: {
    dropped_queue: "Lost, because the queue was full",
    dropped_store: "Lost, because the store took none",
    overruns: "Updates before which a server threw others away",
    rate_capped: "Left out by a cap",
    skipped: "Not to be sampled",
    bad_stamps: "Stored with an odd time stamp",
  },
} as const;

/** What of an address cannot be read. */
export const unreadWords = {
  leftOut: (part: string, why: string) => `Of this address ${part} is left out: ${why}`,
  notKnown: "the page knows no such part.",
  noZone: "this browser knows no such zone; names are those of the IANA database, as Europe/Stockholm.",
  oneOf: (texts: string[]) => `it can be ${texts.join(" or ")}.`,
  noTime: "it is no time.",
  noSeconds: "it is no number of seconds.",
  noDrawer: "there is no such drawer.",
  noSetting: "there is no such setting of a PV.",
} as const;

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
  noValue: "no value yet",
} as const;

/** Whether the archiver is there, and how many of its PVs are. */
export const statusWords = {
  unknownSince: (time: string) => `Nothing is known since ${time}`,
  lag: (samples: number) => `${samples} samples on their way to disk`,
  allOnDisk: "all samples on disk",
  running: (version: string, since: string) => `pvark ${version}, running since ${since}`,
  connected: "Archiver connected",
  noAnswer: "it does not answer",
  clockOff: (length: string, isAhead: boolean) =>
    `This computer’s clock is ${length} ${isAhead ? "ahead" : "behind"}; times on this page are the archiver’s.`,
  lost: (time: string, reason: string) =>
    `No archiver since ${time}: ${reason}. Trying again; what is shown may be out of date.`,
  pvsUnknown: "PVs: not known",
  silentSince: (time: string) => `silent since ${time}`,
  silent: "The archiver does not answer",
  elsewhere: (pvs: string) => `${pvs} PVs, all of them at other nodes of the cluster`,
  paused: (pvs: string) => `, ${pvs} paused`,
  well: (pvs: string, connected: string, rest: string) => `${pvs} PVs: ${connected} connected${rest}`,
  lostPvs: (lost: number, total: number, how: string, rest: string) =>
    `${lost.toLocaleString("en")} of ${total.toLocaleString("en")} PVs ${lost === 1 ? "is" : "are"} not connected: ${how}${rest}`,
} as const;

/** The reports of the Archiver Appliance under its names, by its calls: what each is, and what to do about what it shows. */
export const reportWords = {
  getNeverConnectedPVs: {
    name: "PVs that may not exist",
    is: "No IOC has ever answered for these PVs.",
    todo: "Look for misspelt names; remove what does not exist, or start its IOC: the archiver goes on searching.",
  },
  getCurrentlyDisconnectedPVs: {
    name: "Currently disconnected PVs",
    is: "These PVs were connected and are not now: nothing is recorded of them.",
    todo: "Look at the IOC that is named. Pause PVs that are off for long, so that others stand out.",
  },
  getEventRateReport: {
    name: "Top PVs by event rate",
    is: "PVs by the samples a second that are stored of them.",
    todo: "Give noisy PVs a dead band or a scan period, by Policy in the table.",
  },
  getStorageRateReport: {
    name: "Top PVs by storage rate",
    is: "PVs by the bytes that they take a day.",
    todo: "Give PVs that cost most a dead band, or let them be kept for a shorter time.",
  },
  getPVsByStorageConsumed: {
    name: "Top PVs by storage consumed",
    is: "PVs by the bytes that lie on disk.",
    todo: "Look whether the history is needed; delete stretches of it by the command line.",
  },
  getSilentPVsReport: {
    name: "Silent PVs",
    is: "Connected PVs by how long ago their last sample was.",
    todo: "A constant value is no fault. Look whether the record still processes.",
  },
  getLostConnectionsReport: {
    name: "Lost connections",
    is: "PVs by how often they lost their IOC.",
    todo: "Look at the network and at IOCs that restart.",
  },
  getPVsByDroppedEventsBuffer: {
    name: "Dropped: buffer full",
    is: "PVs by samples that were lost because they came faster than they could be taken.",
    todo: "Give them a dead band or a rate cap; look at the load of the archiver's machine.",
  },
  getPVsByDroppedEventsTimestamp: {
    name: "Dropped: odd time stamps",
    is: "PVs by samples with time stamps that cannot be right. They are stored all the same.",
    todo: "Look at the clock of the IOC.",
  },
  getPVsByDroppedEventsTypeChange: {
    name: "Dropped: type changes",
    is: "PVs whose type has changed.",
    todo: "Nothing: pvark stores samples of both types.",
  },
  getPausedPVsReport: {
    name: "Paused PVs",
    is: "Somebody has paused these PVs: nothing is recorded of them.",
    todo: "Resume what is needed again.",
  },
  getRecentlyAddedPVs: {
    name: "Recently added PVs",
    is: "PVs by when they were added, the newest first.",
    todo: "Look whether each is connected.",
  },
  getRecentlyModifiedPVs: {
    name: "Recently modified PVs",
    is: "PVs by when their settings were last changed, the newest first.",
    todo: "The audit says who changed them.",
  },
} as const;

/** The page as it is before any script runs: the build puts these into index.html. */
export const frameWords = {
  nav: "Parts of the page",
  plot: "Plot",
  snapshot: "Snapshot",
  manage: "Manage",
  find: "Find PVs",
  findTitle: "Find PVs ( / )",
  findHint: "Find PVs   ( / )",
  findHow: "Words of names, descriptions, units or groups; *glob* or ~regex of names",
  earlier: "Earlier",
  earlierTitle: "Earlier ( ← )",
  from: "From",
  to: "To",
  swap: "Swap them?",
  later: "Later",
  laterTitle: "Later ( → )",
  go: "Go",
  length: "Length of the time range",
  lengthTitle: "Length ( 1 … 9 )",
  liveTitle: "Follow now ( l )",
  live: "Live",
  zone: "Zone of the times",
  zoneTitle: "UTC or local times ( u )",
  undo: "Undo",
  undoTitle: "Undo the last change of the view ( Ctrl Z )",
  share: "Share and export",
  shareTitle: "Share and export ( x )",
  fares: "How the archiver fares",
  more: "More",
  when: "Find when …",
  drawerTitle: "Below the plot ( w )",
  drawer: "XY, histogram, spectrum, samples",
  views: "Named views …",
  archive: "Archive PVs …",
  themeTitle: "Light or dark ( t )",
  theme: "Theme",
  wall: "Wall",
  alone: "The plot alone",
  helpTitle: "Keyboard and mouse ( ? )",
  helpOpen: "Keys and mouse",
  connecting: "Connecting …",
  login: "Login",
  nothingPlotted: "Nothing is plotted yet",
  press: "Press",
  typeName: "and type part of a PV’s name;",
  enterKey: "Enter",
  thenPlotted:
    "plots it. The address of this page always names the whole view: mail it, bookmark it, go back to it.",
  nothingArchived: "Nothing is archived yet",
  nameFirst:
    "Name the first PVs: the archiver finds them on the network by Channel Access or pvAccess and records every change from then on.",
  plotHow: "Plot of the PVs in the panel; arrow keys move it, Shift and arrow keys move its cursor",
  backToNow: "Back to now",
  overview: "Overview",
  drawerLabel: "Drawer",
  waveforms: "Waveforms",
  xy: "XY",
  histogram: "Histogram",
  spectrum: "Spectrum",
  samples: "Samples",
  closeDrawer: "Close the drawer",
  closeDrawerTitle: "Close the drawer ( w )",
  panel: "Values",
  sheet: "More or fewer values",
  settings: "Settings of a PV",
  settingsTitle: "Settings of a PV ( M )",
  findToPlot: "Find PVs to plot",
  findToPlotTitle: "Find PVs to plot ( / )",
  fold: "Fold the panel",
  foldTitle: "Fold the panel ( ] )",
  panelPart: "PVs and what happened",
  unfold: "Show the panel",
  unfoldTitle: "Show the panel ( ] )",
  tabs: "Parts",
  findTab: "Find",
  eventsTab: "Events",
  manageTab: "Archiver",
  archiveDialog: "Archive PVs",
  names: "Names, one per line; pva:// or ca:// before a name chooses the protocol",
  everyChange: "every change",
  newestEvery: "the newest value every",
  seconds: "Seconds",
  archiveButton: "Archive",
  help: "Keyboard and mouse",
  mouse:
    "Drag to zoom into a stretch, with Alt into a height; turn the wheel to zoom about the cursor; drag with Shift to pan; click to set cursor A, with Shift cursor B; double click to go back. One finger pans, two pinch, a tap reads; a right click, or a finger held still, opens the menu of what is there.",
  keysOff: "Keys of one letter do nothing",
} as const;
