// What the page says of names that are not there.

/** Why something in a list is no name of a PV, or no way to archive it. */
export const nameWords = {
  noProtocol: (protocol: string) => `There is no protocol ${protocol}: ca:// and pva:// are known.`,
  noName: "There is no name behind the protocol.",
  noSpace: "A PV’s name has no space.",
  noControls: "A PV’s name has no control characters.",
  tooLong: (most: number) => `A PV’s name has 1 to ${most} bytes.`,
  kept: "The archiver keeps this name for itself.",
  noMethod: (method: string) => `There is no method ${method}: monitor and scan are known.`,
  wrongPeriod: (least: number, most: number) => `A period is from ${least} s to ${most} s.`,
  comment: "this is a comment",
  unknownProtocol: (protocol: string) => `there is no protocol ${protocol}: ca:// and pva:// are known`,
  lacksName: "there is no name behind the protocol",
} as const;
