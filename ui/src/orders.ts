// Orders over many PVs by the HTTP API: what one would do, giving it, and taking it back for a day.

import { get, post, type Right } from "./api.ts";

/** What became of one PV by an order over many, or would become of it. */
export interface Moved {
  name: string;
  status: string;
  message?: string;
}

/** What an order did, or would do. */
export interface Outcome {
  /** To so many PVs it did something. */
  changes: number;
  pvs: Moved[];
}

/** An order, as the archiver takes it: all of its PVs in one change. */
export interface Order {
  path: "/pause" | "/resume" | "/remove" | "/restore" | "/pvs";
  body(names: string[]): object | Promise<object>;
  /** What the archive calls it where it can be taken back. */
  actions: string[];
}

/** The archiver takes no more PVs at once. */
export const ORDER_MAX = 100_000;

const named = (names: string[]) => ({ pvs: names });

export const PAUSE: Order = { path: "/pause", body: named, actions: ["paused"] };
export const RESUME: Order = { path: "/resume", body: named, actions: ["resumed"] };
export const RESTORE: Order = { path: "/restore", body: named, actions: ["restored"] };

export function removal(data: "keep" | "delete"): Order {
  return { path: "/remove", body: (pvs) => ({ pvs, data }), actions: ["removed", "deleted"] };
}

/** Other settings, those of each PV by its name. */
export function change(settings: (names: string[]) => object[] | Promise<object[]>): Order {
  return { path: "/pvs", body: async (names) => ({ pvs: await settings(names) }), actions: ["changed"] };
}

export async function give(order: Order, names: string[]): Promise<Outcome> {
  return post(order.path, await order.body(names));
}

/** What an order would do; nothing is changed. */
export async function foresee(order: Order, names: string[], signal: AbortSignal): Promise<Outcome> {
  return post(`${order.path}?plan=true`, await order.body(names), signal);
}

/** An order that can be taken back. */
export interface Undoable {
  number: number;
  time: string;
  by: string;
  action: string;
  detail: string;
  pvs: number;
  until: string;
  /** What one must be allowed for it. */
  right: Right;
}

/** What taking an order back does, PV by PV. */
export interface Undoing extends Omit<Undoable, "pvs"> {
  changes: number;
  refused: number;
  pvs: Moved[];
}

/** The newest first. */
export async function getUndoable(): Promise<Undoable[]> {
  return (await get<{ orders: Undoable[] }>("/undo")).orders;
}

export function foreseeUndo(number: number): Promise<Undoing> {
  return get(`/undo/${number}`);
}

export function takeBack(number: number): Promise<Undoing> {
  return post(`/undo/${number}`, {});
}

/** The number of the newest order: what is given from now on has a higher one. */
export async function newestOrder(): Promise<number> {
  return (await getUndoable())[0]?.number ?? -1;
}

/** The order that was just given; none where others of its kind came at the same time, so that it cannot be told which it is. */
export async function justGiven(since: number, actions: string[], changes: number): Promise<Undoable | null> {
  const fresh = (await getUndoable()).filter(
    ({ number, action, pvs }) => number > since && actions.includes(action) && pvs === changes,
  );
  return fresh.length === 1 ? fresh[0]! : null;
}

/** What changed nothing because of what the PV is, or was already. */
export function refusedOf(pvs: Moved[]): Moved[] {
  return pvs.filter(({ status }) => !DONE.includes(status));
}

const DONE = ["paused", "resumed", "removed", "restored", "renamed", "changed", "added", "settings"];
