// What the page says in English, for what came with its panel, its keys and the page for whoever runs the archiver.

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
  loading: "…",
  everySample: "every sample",
  madeOfBoth: "means of bins, or every sample",
  complete: "complete",
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
  limits: "Limits of its IOC as lines",
  from: "Axis from",
  to: "to",
  byValues: "by its values",
  fixWrong: "An axis needs two numbers, the lower one first.",
  reset: "As without settings",
  done: "Done",
} as const;

/** The page for whoever runs the archiver. */
export const manageWords = {
  parts: {
    pvs: "PVs",
    iocs: "IOCs",
    add: "Add",
    reports: "Reports",
    policies: "Policies",
    removed: "Removed",
    storage: "Storage",
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
  ],
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
} as const;

/** The wall. */
export const wallWords = {
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

type Part = "pvs" | "iocs" | "add" | "reports" | "policies" | "removed" | "storage" | "audit";
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
    pause: "Resume; “Undo” stands in the bar afterwards.",
    resume: "Pause; “Undo” stands in the bar afterwards.",
    policy:
      "“Undo” in the bar afterwards, up to 500 PVs; of more, another choice of the same sheet. Where there was no dead band, “Undo” leaves one of 1e-300, which every change passes: the archiver takes none away.",
    groups: "The same sheet with the groups as they were.",
    rename: "Renaming it back; “Undo” stands in the bar afterwards.",
    remove: "Bringing them back, until a purge; “Undo” stands in the bar afterwards.",
    restore: "Removing them again; “Undo” stands in the bar afterwards.",
  },
  cancel: "Cancel",
  button: (verb: VerbWord, count: number) =>
    `${manageWords.verbs[verb]} ${verb === "policy" ? "of " : verb === "groups" ? "of " : ""}${pvsText(count)}`,
  progress: (verb: VerbWord, done: number, total: number, refused: number) =>
    `${manageWords.verbs[verb]}: ${done.toLocaleString("en")} of ${total.toLocaleString("en")}${refused > 0 ? `, ${refused.toLocaleString("en")} refused` : ""}`,
  outcome: (verb: VerbWord, count: number) =>
    `${pvsText(count)} ${count === 1 ? "is" : "are"} ${DONE[verb]}.`,
  broken: (rest: number, why: string) => `Of ${rest.toLocaleString("en")} nothing is known: ${why}.`,
  refused: (count: number) => `${count.toLocaleString("en")} refused: show`,
  refusedTitle: (verb: VerbWord) => `${manageWords.verbs[verb]}: refused`,
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
  begin: "Paste a list or drop a file, then Check: nothing is changed before you say so.",
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
  byPolicies: "by the policy that fits the name",
  givenScan: "given in the list: the newest value every so many seconds",
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
  download: "Download",
  csv: "CSV as recorded",
  aligned: "CSV with times aligned",
  png: "PNG of the plot",
  svg: "SVG",
  samples: (count: number, isLeast: boolean) =>
    `${isLeast ? "At least " : "About "}${count.toLocaleString("en")} samples are in sight.`,
  nothing: "Nothing is plotted: there is nothing to share but this page.",
  embed: "Within another page",
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
export const whenWords = {
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
