// What the page says before an order is given, and of what became of it.

import { pvsText } from "./counts.ts";
import { manageWords } from "./manage.ts";

type VerbWord = "pause" | "resume" | "policy" | "groups" | "rename" | "remove" | "restore";

const DONE: Record<VerbWord, string> = {
  pause: "paused",
  resume: "resumed",
  policy: "archived another way now",
  groups: "in other groups now",
  rename: "renamed",
  remove: "removed",
  restore: "restored",
};

export const sheetWords = {
  titles: {
    pause: "Pause recording",
    resume: "Resume recording",
    policy: "Archive another way",
    groups: "Put into groups",
    rename: "Rename",
    remove: "Remove from the archive",
    restore: "Bring back",
  },
  what: "What",
  toWhich: "To which",
  follows: "What follows",
  undone: "Undone by",
  does: {
    pause: "Nothing is recorded of them any more, and their IOCs are left.",
    resume: "They are searched for, and recorded again.",
    policy: "They are recorded as chosen below. What is not given follows the policy that fits the name.",
    groups: "They are in the groups below and in no others; what else is set for them stays.",
    rename: "The PV has another name, in its IOC and here; its history stays with it.",
    remove: "They leave the list of PVs. Nothing is recorded of them any more.",
    restore: "They are in the list of PVs again, with their history.",
  },
  then: {
    pause: "Gaps with the cause “paused” from now on.",
    resume: "A gap ends with the first value that each of them sends.",
    policy: "History stays as it is. Settings given by hand are not changed by policies.",
    groups: "They are recorded while one of their groups is enabled.",
    rename: "It is searched for by its new name.",
    remove: "They are not found and not plotted until somebody brings them back.",
    restore: "A gap stands for the time in which they were not archived.",
  },
  back: {
    pause: "“Undo”, for a day.",
    resume: "“Undo”, for a day.",
    policy: "“Undo”, for a day: each PV gets back what it had.",
    groups: "“Undo”, for a day: each PV gets back the groups that it had.",
    rename: "Renaming it back; “Undo” stands in the bar afterwards.",
    remove: "“Undo”, for a day; bringing them back, until a purge.",
    restore: "“Undo”, for a day.",
  },
  saved: "Saved",
  savesADay: (bytes: string) => `about ${bytes} a day`,
  planning: "asking the archiver what this would change …",
  wouldChange: (changes: number, asked: number, rest: number) =>
    `${changes === 0 ? "It would change nothing" : changes === asked ? (asked === 1 ? "It would change it" : `It would change all ${asked.toLocaleString("en")}`) : `It would change ${changes.toLocaleString("en")} of ${asked.toLocaleString("en")}`}${rest > 0 ? `; ${rest.toLocaleString("en")} more follow in another change` : ""}.`,
  wouldNot: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "stays" : "stay"} as ${count === 1 ? "it is" : "they are"}: which?`,
  because: (status: string) =>
    status === "already_archived" ? "is archived so already" : `is ${status.replaceAll("_", " ")}`,
  toNone: "none any more",
  takeBackTitle: "Take an order back",
  takesBack: (action: string, by: string, at: string) =>
    `That PVs were ${action.replaceAll("_", " ")} by ${by}, ${at}, is taken back.`,
  asBefore:
    "Each is archived as it was before, to the last setting; what was removed is back with its samples.",
  takenBackAgain: "Taking this back, for a day.",
  takeBackButton: (count: number) => `Take back for ${pvsText(count)}`,
  staysAsItIs: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "was" : "were"} changed again since and ${count === 1 ? "stays as it is" : "stay as they are"}: which?`,
  takingBack: "Taking it back …",
  takenBack: (count: number) =>
    `${pvsText(count)} ${count === 1 ? "is as it was" : "are as they were"} before.`,
  notTakenBack: "It was not taken back.",
  undoneUntil: (day: string) => `Can be undone until ${day}`,
  undoIsListed: "Undo …",
  cancel: "Cancel",
  button: (verb: VerbWord, count: number) =>
    `${manageWords.verbs[verb]} ${verb === "policy" ? "of " : verb === "groups" ? "of " : ""}${pvsText(count)}`,
  progress: (verb: VerbWord, done: number, total: number) =>
    `${manageWords.verbs[verb]}: ${done.toLocaleString("en")} of ${total.toLocaleString("en")} …`,
  outcome: (verb: VerbWord, count: number) =>
    `${pvsText(count)} ${count === 1 ? "is" : "are"} ${DONE[verb]}.`,
  broken: (rest: number, why: string) => `Of ${rest.toLocaleString("en")} nothing is known: ${why}.`,
  refused: (count: number) => `${count.toLocaleString("en")} unchanged: show`,
  refusedTitle: (count: number) => `Nothing was changed of ${pvsText(count)}`,
  undo: "Undo",
  data: "Their data",
  dataKept: "kept until a purge",
  dataDeleted: "to go at the next purge",
  newName: "New name",
  oldNameStays: (name: string) => `${name} stays as another name of it`,
  nameWanted: "Give it a name that it does not have yet.",
  policy: "Recorded",
  byPolicy: (policy: string) => `by the policy ${policy}`,
  everyChange: "every change",
  scanned: "the newest value every so many seconds",
  period: "Seconds",
  periodWrong: "A period is from 0.01 s to 86400 s.",
  deadband: "Dead band, as 0.5 or 5%",
  wouldKeep: "What would it have kept?",
  counting: "counting what was recorded in the last day …",
  kept: (all: number, kept: number, looked: number, pvs: number, cut: boolean) =>
    all === 0
      ? "Nothing was recorded in the last day."
      : `Of ${cut ? "the first " : ""}${all.toLocaleString("en")} samples of the last day it would have kept ${kept.toLocaleString("en")}: ${Math.round((1 - kept / all) * 100)} % less${looked < pvs ? `, by the first ${looked} of ${pvsText(pvs)}` : ""}.`,
  deadbandWrong: "A dead band is a number, or a number with %.",
  none: "none",
  groups: "Groups",
  groupsHint: (groups: string[]) =>
    `Names with blanks between them; nothing for none. ${groups.length > 0 ? `There are ${groups.slice(0, 8).join(", ")}${groups.length > 8 ? " and others" : ""}.` : "There are none yet: a group begins with its first PV."}`,
  groupWrong: (group: string) => `“${group}” is no name of a group: letters, digits and _ . : - make one.`,
  tooManyForGroups: (most: number) =>
    `At most ${most} PVs at once: what each has is looked at first. Mark fewer.`,
} as const;
