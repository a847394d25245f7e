// What the page says of formulas.

/** Formulas. */
export const formulaWords = {
  found: "Formula",
  enter: "Enter plots it · = before a formula of one name",
  checking: "Is it one?",
  units: (units: string | null) => (units === null || units === "" ? "without units" : units),
} as const;
