// What the page says where it is asked why there is no data.

/** Why there is no data in a range, or not all. */
export const whyWords = {
  title: (range: string) => `Why? ${range}`,
  since: (time: string, length: string) => ` since ${time} (${length})`,
  servedBy: (server: string) => `, served by ${server}`,
  iocSays: (refusal: string) => `. The IOC says: ${refusal}`,
  now: (connection: string, length: string, by: string, refusal: string) =>
    `Now: ${connection}${length}${by}${refusal}.`,
  nothingEver: "Nothing was ever recorded of this PV.",
  extent: (first: string, last: string) => `The first sample is of ${first}, the last of ${last}.`,
  verdicts: {
    incomplete: "Not complete.",
    suspected: "Something may be missing.",
    unproved: "Complete as far as is known.",
    proved: "Complete, proved.",
  },
  missing: (length: string, of: string) => `Not complete: ${length} of ${of} is missing.`,
  lost: (samples: string) => `Not complete: ${samples} samples were lost.`,
  updates: "What became of each update",
  most: (count: string, length: string) => `${count} in ${length}`,
  stored: (count: string) => `stored ${count}`,
  lostOf: (count: string) => `lost ${count}`,
  notRecorded: (length: string) => `not recorded ${length}`,
  skipped: (count: string) => `not to be kept ${count}`,
  waiting: (count: string) => `waiting ${count}`,
  noUpdates: "The archiver’s account has no updates of this time.",
  causes: "By cause",
  sure: "How sure",
  sum: (received: string, parts: string) => `Received ${received} = ${parts}.`,
  sumIsWrong: "These do not add up: tell whoever keeps the archiver.",
  covered: (length: string, of: string) => `The account tells of ${length} of ${of}.`,
  proofs: {
    pulse: "Pulse ids run without a hole: proved.",
    counter: "Its counter runs without a hole: proved.",
  },
  holes: (count: string) => `By its count ${count} are missing.`,
  unproved: "No pulse ids or counter prove more.",
  toDo: "What to do",
  nothingToDo: "Nothing on this side.",
  zoom: "Zoom to the gap",
  iocs: "Open the IOCs",
  copy: "Copy as text",
  copied: "Copied.",
  timesIn: (zone: string) => `times in ${zone}`,
} as const;

/** What to do about a gap, by its cause. */
export const GAP_TO_DO: Record<string, string> = {
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
