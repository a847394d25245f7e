// What the page says in fields of times.

/** What snapshots and searches have in common. */
export const analysisWords = {
  noTime: "This is no time.",
} as const;
