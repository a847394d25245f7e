// What the page says of notes.

/** Notes on times and PVs. */
export const noteWords = {
  title: "Note",
  newTitle: "New note",
  editTitle: "Change the note",
  removedTitle: "The note is taken away",
  text: "What is to be noted",
  hint: "What happened, what was done, what to look at",
  when: "On",
  from: "From",
  to: "To",
  toHint: "one moment",
  about: "About",
  aboutWhich: "About these PVs; without any it stands in every plot of that time",
  everything: "no PV in particular: it stands in every plot of that time",
  by: "By",
  changed: "Changed",
  written: (by: string, time: string) => `${by}, ${time}`,
  edit: "Change",
  remove: "Take away",
  undo: "Bring it back",
  save: "Save",
  cancel: "Cancel",
  nothing: "Write what is to be noted.",
  noTime: "A note needs a moment that it is about. Times are written as 2026-06-01 08:30, 8:00, -8h, or now.",
  endsBefore: "It ends before it begins.",
} as const;
