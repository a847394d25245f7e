// What the page says where it is about storage.

import { pvsText } from "./counts.ts";

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
    `The first line that fits a PV decides; a week goes when it has been over for so long. ${segments === 0 ? "Nothing was taken away in this run." : `${segments.toLocaleString("en")} segments with ${bytes} were taken away in this run, each with a line of the audit (“expired”).`}${purging > 0 ? ` ${purging.toLocaleString("en")} purges are under way.` : ""}`,
  backups: "Backups",
  backupsAre:
    "“pvark backup --data DIR --to FOLDER --verify” makes one, reads it back, says whether it is whole, and tells the archive. What other programs copy it is not told of.",
  backupHeads: ["Made", "Age", "The archive was", "Bytes", "Folder"],
  noBackup: "No backup is known of.",
  ago: (length: string) => `${length} ago`,
  whole: "whole",
  damaged: "DAMAGED: run “pvark check”",
  keptHeads: ["PVs", "Kept", "Next to go", "From"],
  forEver: "for ever",
  noneGoes: "nothing",
  goes: (week: string) => `samples of ${week}`,
  others: "all others",
  byRule: (names: string) => `${names} (rule)`,
  byPolicies: (policies: string, pvs: number) => `${pvsText(pvs)} by the policy ${policies}`,
  byHand: (pvs: number) => `${pvsText(pvs)}, set by hand`,
} as const;
