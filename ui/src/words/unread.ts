// What the page says of an address that cannot be read whole.

/** What of an address cannot be read. */
export const unreadWords = {
  leftOut: (part: string, why: string) => `Of this address ${part} is left out: ${why}`,
  notKnown: "the page knows no such part.",
  noZone: "this browser knows no such zone; names are those of the IANA database, as Europe/Stockholm.",
  oneOf: (texts: string[]) => `it can be ${texts.join(" or ")}.`,
  noTime: "it is no time.",
  noSeconds: "it is no number of seconds.",
  noDrawer: "there is no such drawer.",
  noSetting: "there is no such setting of a PV.",
} as const;
