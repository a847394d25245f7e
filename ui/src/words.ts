// What the page says in English, for what came with its panel, its keys and the page for whoever runs the archiver.

export const wordOf = {
  hihi: "HIHI",
  high: "HIGH",
  low: "LOW",
  lolo: "LOLO",
  now: "Now",
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
  loading: "…",
  everySample: "every sample",
  complete: "complete",
} as const;

/** `1 PV`, `4,977 PVs`. */
export function pvsText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "PV" : "PVs"}`;
}

/** `1 event`, `9 events`. */
export function eventsText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "event" : "events"}`;
}

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

/** What the chip at the top right says of the archiver's PVs. */
export function chipText(total: number, lost: number): string {
  return lost === 0 ? pvsText(total) : `${lost.toLocaleString("en")} of ${pvsText(total)} lost`;
}

export const settingsWords = {
  title: (name: string) => `Settings of ${name}`,
  axis: "Axis",
  axes: { "": "by its units", left: "left", right: "right, in the pane above", own: "a pane of its own" },
  pane: "Pane",
  colour: "Colour",
  width: "Width",
  line: "Line",
  lines: { "": "steps, means of bins", steps: "steps", line: "straight lines", points: "points" },
  log: "Logarithmic axis",
  limits: "Limits of its IOC as lines",
  from: "Axis from",
  to: "to",
  byValues: "by its values",
  fixWrong: "An axis needs two numbers, the lower one first.",
  reset: "As without settings",
  done: "Done",
} as const;
