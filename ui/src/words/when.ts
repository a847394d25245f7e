// What the page says where it is asked when a condition held.

export const whenWords = {
  saveHow: "Saved in the folder moments, as moments/last fill, its last time can be laid over any plot.",
  filled: "Filled in from the plot. Search, or change it first.",
  title: "Find when",
  sentence: "The condition",
  pv: (i: number) => `PV ${i + 1}`,
  pvHint: "PV",
  relation: (i: number) => `How PV ${i + 1} is compared`,
  relations: {
    above: "above",
    below: "below",
    is: "is",
    isnot: "is not",
    alarm: "in alarm, at least",
    missing: "not recorded",
  },
  value: (i: number) => `With what PV ${i + 1} is compared`,
  levels: ["minor", "major", "invalid", "undefined"],
  while: "while",
  and: "and",
  more: "Another PV",
  without: (i: number) => `Without PV ${i + 1}`,
  length: "for at least",
  anyLength: "any time",
  between: "between",
  anyUnits: "whatever the units",
  expression: "The condition as an expression",
  expressionHint: "as an expression, A > 3 while B = ON",
  find: "Find",
  stop: "Stop",
  progress: "How far the search is",
  results: "Times that were found",
  begin: "The archiver looks through all that it has: days that their summaries decide are not read.",
  nothing: "Name a PV and with what it is compared.",
  outcome: (count: number, held: string) =>
    count === 0
      ? "Not once"
      : `${count === 1 ? "Once" : `${count.toLocaleString("en")} times`}, ${held} together`,
  searching: (until: string, read: number) =>
    until === ""
      ? "searching …"
      : `searching, so far up to ${until}; ${read.toLocaleString("en")} samples read`,
  stopped: (until: string) => (until === "" ? "stopped" : `stopped: it was looked up to ${until}`),
  looked: (
    seconds: number | null,
    tally: { read: number; unknown: number; by_summaries: number },
    until: string,
  ) =>
    [
      seconds === null ? "" : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`,
      `${tally.read.toLocaleString("en")} samples read, all else decided by summaries`,
      tally.unknown > 0 ? "hatched: nobody recorded, so nobody knows" : "",
      until === "" ? "" : `looked only up to ${until}: ask for the rest by itself`,
    ]
      .filter((text) => text !== "")
      .join("; "),
  heads: ["Began", "Lasted", "Remark", "In the plot"],
  beginsUnknown: "nobody knows what was before",
  endsUnknown: "nobody knows what came behind",
  endsRange: "goes on to the end of the search",
  plot: "Plot it",
  more500: (rest: number) => `and ${rest.toLocaleString("en")} earlier ones; the CSV has all`,
} as const;
