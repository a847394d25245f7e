// What the page says of what is missing.

import { pvsText } from "./counts.ts";

/** Lists of a cluster for a part of which nobody answers. */
export const missingWords = {
  unanswered: (parts: string, pvs: number) =>
    `Nobody answers for ${parts}: ${pvsText(pvs)} ${pvs === 1 ? "is" : "are"} listed of which nobody knows how ${pvs === 1 ? "it fares" : "they fare"}. ${pvs === 1 ? "It is" : "They are"} recorded again as soon as a node takes over.`,
  unread: (parts: string) =>
    `Nobody answers for ${parts}: how its PVs fare nobody knows, and some that are archived may be missing here.`,
  madeWithout: (what: string) => `This list is made ${what}.`,
  nodes: "Look at the nodes",
} as const;
