// What the page says of views that have a name.

import { pvsText } from "./counts.ts";

/** Views under names. */
export const viewWords = {
  title: "Named views",
  found: "Views and notes",
  view: (pvs: number, by: string) => `named view, ${pvsText(pvs)}, ${by}`,
  noteOf: (time: string) => (time === "" ? "note" : `note, ${time}`),
  all: "All views",
  search: "Find views",
  searchHint: "Words of names, texts and PVs",
  none: "No view is saved yet. “Share and export” saves the one that is shown.",
  noneFits: "No view has these words.",
  loose: "In no folder",
  open: (name: string) => `Open ${name}`,
  copy: "Copy the link",
  copied: "Copied.",
  edit: "Change",
  remove: "Take away",
  removed: (name: string) => `${name} is taken away.`,
  undo: "Bring it back",
  save: "Save",
  cancel: "Cancel",
  saveAs: "Save as named view",
  name: "Name, with folders: operation/trip",
  nameLabel: "Name",
  text: "What it shows, for whoever looks for it",
  nameWanted: "Give it a name.",
  replaces: (by: string) => `There is a view of this name, by ${by}: saving takes its place.`,
  saved: (link: string) => `Saved. ${link} leads to it.`,
} as const;
