// What the page says on a wall.

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
