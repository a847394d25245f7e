// What the page says in the plot.

/** The plot: its bands, gaps, its overview, and what is said where nothing is drawn. */
export const plotWords = {
  noSamples: (name: string) => `${name}: no samples`,
  severalStates: " several states,",
  gapSince: (time: string, length: string) => `since ${time} (${length})`,
  samplesLost: (count: number) => `, ${count} samples lost`,
  recordedAgain: "recorded again",
  notArchived: "not in this archive",
  allHidden: "All PVs are hidden.",
  notKnown: "not known",
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
  marked: (expression: string, times: number, isMost: boolean) =>
    `blue: ${expression}, ${isMost ? "the first " : ""}${times === 1 ? "once" : `${times.toLocaleString("en")} times`}`,
  unmark: "Without these marks",
  noOther: (what: "gap" | "event", where: "later" | "earlier") => `No ${where} ${what} in this range`,
} as const;
