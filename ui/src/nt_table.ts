// Structures that are tables, as EPICS' NTTable: a label for each column, and columns of any type.

import type { Json } from "./api.ts";
import { numberOf } from "./decode.ts";

export interface TableColumn {
  label: string;
  cells: Json[];
  /** The cells as numbers, if they are numbers. */
  numbers: number[] | null;
}

export interface Table {
  columns: TableColumn[];
  rows: number;
}

/** How numbers are written that JSON has no number for: beyond 2^53, and what is no number. */
const WRITTEN = /^(NaN|-?Infinity|-?\d{16,20})$/;

/** A structure with the fields of a table; none of any other value. Columns that are shorter than others end there. */
export function tableOf(value: Json): Table | null {
  if (!isObject(value)) return null;
  const { labels, value: fields } = value;
  if (!Array.isArray(labels) || !labels.every((label) => typeof label === "string") || !isObject(fields))
    return null;
  const names = Object.keys(fields);
  if (!names.every((name) => Array.isArray(fields[name]))) return null;
  const columns = names.map((name, i) => {
    const cells = fields[name] as Json[];
    const isNumber = (cell: Json) =>
      typeof cell === "number" ||
      typeof cell === "boolean" ||
      (typeof cell === "string" && WRITTEN.test(cell));
    const numbers = cells.length > 0 && cells.every(isNumber) ? cells.map(numberOf) : null;
    return { label: labels[i] || name, cells, numbers };
  });
  return { columns, rows: columns.reduce((most, { cells }) => Math.max(most, cells.length), 0) };
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
