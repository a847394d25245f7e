// What people write beside the samples, by the HTTP API: notes on times and PVs, and views under names in folders.

import { get, post, send } from "./api.ts";
import type { Range } from "./state.ts";
import { iso } from "./time.ts";

/** What a note and a view have in common. */
interface Memo {
  number: number;
  text: string;
  pvs: string[];
  by: string;
  time: string;
  changed: string | null;
  changed_by: string | null;
}

export interface Note extends Memo {
  from: string | null;
  to: string | null;
}

export interface SavedView extends Memo {
  /** With the folders in which it stands: `operation/trip`. */
  name: string;
  /** What the page shows by it. */
  query: string;
  /** Its short link, without the host. */
  link: string;
}

/** A note as it is written. */
export interface NoteText {
  text: string;
  pvs: string[];
  from: string | null;
  to: string | null;
}

export interface ViewText {
  name: string;
  text: string;
  query: string;
  pvs: string[];
}

/** More notes of a range than this are not looked at. */
const NOTES_MAX = 1000;

/** Notes about a time in a range. */
export async function notesIn(range: Range, signal: AbortSignal): Promise<Note[]> {
  const path = `/notes?from=${iso(range.from)}&to=${iso(range.to)}&limit=${NOTES_MAX}`;
  return (await get<{ notes: Note[] }>(path, signal)).notes;
}

export async function findNotes(match: string, limit: number, signal: AbortSignal): Promise<Note[]> {
  const path = `/notes?match=${encodeURIComponent(match)}&limit=${limit}`;
  return (await get<{ notes: Note[] }>(path, signal)).notes;
}

export async function writeNote(note: NoteText): Promise<Note> {
  return (await post<{ notes: [Note] }>("/notes", note)).notes[0];
}

export function changeNote(number: number, note: NoteText): Promise<Note> {
  return send("PUT", `/notes/${number}`, note);
}

export function removeNote(number: number): Promise<Note> {
  return send("DELETE", `/notes/${number}`);
}

/** Views that have these words, the newest first. */
export async function findViews(match: string, limit: number, signal?: AbortSignal): Promise<SavedView[]> {
  const path = `/views?match=${encodeURIComponent(match)}&limit=${limit}`;
  return (await get<{ views: SavedView[] }>(path, signal)).views;
}

/** The view that has exactly this name. */
export async function viewNamed(name: string): Promise<SavedView | null> {
  const path = `/views?name=${encodeURIComponent(name)}&limit=1`;
  return (await get<{ views: SavedView[] }>(path)).views[0] ?? null;
}

/** Saves a view; it takes the place of the one that has its name. */
export async function saveView(view: ViewText): Promise<SavedView> {
  return (await post<{ views: [SavedView] }>("/views", view)).views[0];
}

export function changeView(number: number, view: ViewText): Promise<SavedView> {
  return send("PUT", `/views/${number}`, view);
}

export function removeView(number: number): Promise<SavedView> {
  return send("DELETE", `/views/${number}`);
}

/** The short link of a view, with the host of the page. */
export function linkOf(view: SavedView): string {
  return new URL(view.link.replace(/^\//, ""), new URL("./", location.href)).href;
}

/** The first line of what somebody wrote. */
export function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]!;
}
