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
