// What the page says in the panel of the PVs, and beside traces.

export const wordOf = {
  hihi: "HIHI",
  high: "HIGH",
  low: "LOW",
  lolo: "LOLO",
  now: "Now",
  lastKnown: (time: string) => `Last known ${time}`,
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
  meant: "Did you mean",
  loading: "…",
  everySample: "every sample",
  madeOfBoth: "means of bins, or every sample",
  complete: "complete",
  note: "note",
  write: "Note …",
  writeTitle: "Note on the cursor, or from A to B ( n )",
  read: "Read",
  readNote: (text: string) => `Read the note “${text}”`,
  whyTitle: (name: string) => `Why is there no data of ${name}, or not all? ( y )`,
  archive: (name: string) => `Archive ${name}`,
  archiveIt: "archive it …",
  menuOf: (name: string) => `Menu of ${name} ( m )`,
  remove: (name: string) => `Remove ${name}`,
  span: (min: string, max: string, mean: string) => `${min} … ${max}, mean ${mean}`,
  seeBelow: "see below",
  notKnownSince: (time: string) => `not known since ${time}`,
  truncated: "too many samples for this range: zoom in to see the rest",
  turn: (name: string, isHidden: boolean) => `${isHidden ? "Show" : "Hide"} ${name}`,
} as const;

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
