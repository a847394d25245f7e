// What the page says of IOCs, and of outages.

import { pvsText } from "./counts.ts";

/** IOCs: the bar that names one that is lost, and their part of the page for whoever runs the archiver. */
export const iocWords = {
  unknown: "an IOC that is not known any more",
  lost: (ioc: string, since: string, length: string, pvs: number, others: number) =>
    `${ioc} has not answered since ${since} (${length}): ${pvsText(pvs)} ${pvs === 1 ? "is" : "are"} not recorded${others > 0 ? `, and ${others} more IOCs` : ""}.`,
  /** On a phone. */
  lostShort: (ioc: string, since: string, length: string, pvs: number, others: number) =>
    `${ioc} lost at ${since} (${length}): ${pvsText(pvs)} not recorded${others > 0 ? `, ${others} more IOCs` : ""}`,
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
      "Last 24 h",
      "PVs",
      "Connected",
      "Lost",
      "Circuit",
      "Circuits lost",
      "Restarts",
      "Last beacon",
    ],
  ],
  dayWhole: (pv: string) => `Recorded all day, by ${pv}`,
  dayMissing: (length: string, pv: string) => `Not recorded for ${length} of the last day, by ${pv}`,
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
