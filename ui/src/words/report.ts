// What the page says in reports.

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
