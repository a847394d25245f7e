// What the page says where it is about storage.

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
