// What the page says in many places.

/** What stands in more than one place. */
export const commonWords = {
  name: "pvark",
  plotIt: "Plot it",
  andMore: (count: number) => `and ${count.toLocaleString("en")} more`,
  loading: "loading …",
  close: "Close",
  none: "none",
  csv: "CSV",
  pageTitle: (part: string) => `${part} · pvark`,
} as const;
