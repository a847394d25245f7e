// What the page says where many PVs are added.

import { pvsText } from "./counts.ts";

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
  countOf: (lines: number) => `${lines.toLocaleString("en")} ${lines === 1 ? "line" : "lines"}`,
  marks: { known: "known", refused: "✕ refused" },
  checked: (seconds: number) =>
    `Checked in ${seconds < 10 ? Math.max(0.1, seconds).toFixed(1) : Math.round(seconds)} s, nothing is changed yet`,
  willRest: "nothing is changed yet",
  takes: (bytes: string, lacking: number) =>
    `about ${bytes} a day${lacking > 0 ? `, without ${pvsText(lacking)} of which it is not known` : ""}`,
  lines: (lines: number[], areEntries: boolean) => {
    if (lines.length === 0) return "";
    const what = areEntries ? ["entry", "entries"] : ["line", "lines"];
    const told = lines.slice(0, 4).map((line) => line.toLocaleString("en"));
    const rest = lines.length - told.length;
    if (rest > 0) return `${what[1]} ${told.join(", ")} and ${rest.toLocaleString("en")} more`;
    const last = told.pop()!;
    return told.length === 0 ? `${what[0]} ${last}` : `${what[1]} ${told.join(", ")} and ${last}`;
  },
  areKnown: "are known already",
  knownRest: "left as they are",
  areRefused: "are refused",
  refusedHead: "Refused",
  howHead: "How they are archived",
  howHeads: ["Policy", "Fits", "PVs", "About", "Taken", "A day"],
  noPolicy: "none",
  noneFits: "no policy fits",
  given: "given in the list",
  scanOf: (seconds: number) => `scan, ${seconds} s`,
  newestOf: (seconds: number) => `the newest value every ${seconds} s`,
  ratesAre: "Figures are those of PVs under the same policy today; the real ones show after a minute.",
  readAs: {
    database: "Read as a database of an IOC: its records, and their aliases.",
    appliance: "Read as an export of the Archiver Appliance: how it took samples is taken over.",
  },
  entry: (entry: number) => `entry ${entry.toLocaleString("en")}`,
  pausedThere: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "was" : "were"} paused there, and will be here.`,
  then: "Then: progress until each has its first value, and which have none.",
  back: "Back",
  edit: (line: number) => `Edit line ${line.toLocaleString("en")}`,
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
