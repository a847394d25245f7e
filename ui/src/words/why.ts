// What the page says where it is asked why there is no data.

/** Why there is no data in a range, or not all. */
export const whyWords = {
  title: (range: string) => `Is everything here? ${range}`,
  since: (time: string, length: string) => ` since ${time} (${length})`,
  servedBy: (server: string) => `, served by ${server}`,
  iocSays: (refusal: string) => `. The IOC says: ${refusal}`,
  now: (connection: string, length: string, by: string, refusal: string) =>
    `Now: ${connection}${length}${by}${refusal}.`,
  nothingEver: "Nothing was ever recorded of this PV.",
  extent: (first: string, last: string) => `The first sample is of ${first}, the last of ${last}.`,
} as const;
