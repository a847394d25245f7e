// What the page says between two cursors.

/** What lies between the cursors A and B. */
export const betweenWords = {
  title: "Between A and B",
  mean: "mean",
  std: "std",
  min: "min",
  max: "max",
  change: "B − A",
  integral: "integral",
  known: (known: string, all: string) => `known for ${known} of ${all}`,
  samples: (count: number) => `${count.toLocaleString("en")} samples`,
  rest: (count: number) => `and ${count} more: hide some to see these`,
} as const;
