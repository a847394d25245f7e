// What the page says of times.

const LENGTH_UNITS: Record<string, string> = {
  mo: "month",
  y: "year",
  w: "week",
  d: "day",
  h: "hour",
  min: "minute",
  s: "second",
};

/** Times as they are typed, how they are read, and why they are not. */
export const timeWords = {
  utc: "UTC",
  /** Lengths of time. */
  millis: (count: string) => `${count} ms`,
  hoursAnd: (hours: number, minutes: number) => `${hours} h${minutes > 0 ? ` ${minutes} min` : ""}`,
  untilNow: (ago: string) => `${ago} – now`,
  range: (text: string) => `Range: ${text}`,
  aroundNoBeginning: (text: string) => `${text} goes around a moment: write one as the beginning.`,
  aroundNoEnd: (text: string) => `${text} goes around a moment: write one as the end.`,
  countsFromBeginning: (text: string) => `${text} counts from the beginning: write it as the end.`,
  lacksBeginning: (text: string) => `${text} counts from the beginning: write that too.`,
  beginsAfterEnd: "Begins after it ends.",
  endsAtBeginning: "Ends where it begins.",
  nothingWritten: "Not a time: nothing is written here.",
  noTime: (text: string) => `Not a time: ${text}. Write 2026-11-20 21:19, 21:19, yesterday, -2 h or now.`,
  wrongMonth: (text: string, month: number) => `Not a time: ${text} has month ${month}.`,
  wrongDay: (text: string, day: number) => `Not a time: ${text} has day ${day}.`,
  wrongZone: (text: string, hours: number) => `Not a time: ${text} has a zone of ${hours} h.`,
  wrongHour: (text: string, hour: number) => `Not a time: ${text} has hour ${hour}.`,
  wrongMinute: (text: string, minute: number) => `Not a time: ${text} has minute ${minute}.`,
  wrongSecond: (text: string, second: number) => `Not a time: ${text} has second ${second}.`,
  wrongYear: (first: number, last: number) => `Not a time: years go from ${first} to ${last}.`,
  partOfMonth: (count: string | number, unit: string) =>
    `Not a time: ${count} ${unit}. Months and years are whole.`,
  days: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
  ends: { from: "From", to: "To" },
  themes: { system: "Theme: as the system", dark: "Theme: dark", light: "Theme: light" },
  atMoment: (pv: string, moment: string) => `${pv}, ${moment} UTC laid over`,
  /** By the units of lengths of time as they are typed. */
  earlier: (pv: string, count: string, unit: string) =>
    `${pv}, ${count} ${LENGTH_UNITS[unit]}${count === "1" ? "" : "s"} earlier`,
} as const;
