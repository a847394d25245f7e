// Reads Arrow's stream format as far as bins come in it: one schema, then record batches of plain columns, neither nested nor compressed.
//
//   0xFFFFFFFF | length of the message | message (a flatbuffer: schema or record batch) | body: for each column a validity bitmap and its values

import { answerWords as words } from "./words/answer.ts";

/** What cannot be read as such a stream. */
export class NoArrow extends Error {}

export interface ArrowStream {
  /** What is said of the stream as a whole. */
  metadata: Map<string, string>;
  batches: Map<string, Float64Array>[];
}

/** How the values of a column are written. */
type Width = "f64" | "i64" | "u8" | "u16" | "time";

interface Column {
  name: string;
  width: Width;
}

const CONTINUES = 0xffffffff;
const HEADERS = { schema: 1, batch: 3 };
const TYPES = { int: 2, float: 3, timestamp: 10 };
const SIZES: Record<Width, number> = { f64: 8, i64: 8, time: 8, u8: 1, u16: 2 };

/** All columns as floats: times in seconds since 1970. What is said to be missing keeps whatever stands in its place. */
export function readArrow(bytes: ArrayBuffer): ArrowStream {
  try {
    return read(new DataView(bytes));
  } catch (error) {
    if (error instanceof RangeError) throw new NoArrow(words.noStream);
    throw error;
  }
}

function read(view: DataView): ArrowStream {
  const stream: ArrowStream = { metadata: new Map(), batches: [] };
  let columns: Column[] = [];
  for (let at = 0; at + 8 <= view.byteLength;) {
    if (view.getUint32(at, true) !== CONTINUES) throw new NoArrow(words.noBeginning);
    const length = view.getInt32(at + 4, true);
    if (length === 0) return stream;
    const message = rootAt(view, at + 8);
    const body = at + 8 + length;
    const header = message.table(2);
    const kind = message.u8(1);
    if (!header) throw new NoArrow(words.noHeader);
    if (kind === HEADERS.schema) {
      columns = header.tables(1).map(columnOf);
      for (const pair of header.tables(2)) stream.metadata.set(pair.text(0), pair.text(1));
    } else if (kind === HEADERS.batch) {
      stream.batches.push(batchOf(view, header, columns, body));
    }
    at = body + message.long(3);
    if (at > view.byteLength) throw new NoArrow(words.streamCut);
  }
  throw new NoArrow(words.noEnd);
}

function columnOf(field: Table): Column {
  const name = field.text(0);
  const type = field.table(3);
  const kind = field.u8(2);
  const bits = kind === TYPES.int && type ? type.i32(0) : 64;
  const width: Width | undefined =
    kind === TYPES.float
      ? "f64"
      : kind === TYPES.timestamp
        ? "time"
        : kind === TYPES.int
          ? ({ 8: "u8", 16: "u16", 64: "i64" } as const)[bits as 8 | 16 | 64]
          : undefined;
  if (!width) throw new NoArrow(words.wrongType(name));
  return { name, width };
}

function batchOf(view: DataView, header: Table, columns: Column[], body: number): Map<string, Float64Array> {
  const rows = header.long(0);
  const buffers = header.structs(2, 16);
  if (header.table(3)) throw new NoArrow(words.compressed);
  if (buffers.length !== 2 * columns.length) throw new NoArrow(words.otherColumns);
  const batch = new Map<string, Float64Array>();
  columns.forEach(({ name, width }, i) => {
    const at = body + longAt(view, buffers[2 * i + 1]!);
    const bytes = longAt(view, buffers[2 * i + 1]! + 8);
    if (bytes < rows * SIZES[width] || at + bytes > view.byteLength) throw new NoArrow(words.columnCut(name));
    batch.set(name, floatsOf(view, at, rows, width));
  });
  return batch;
}

function floatsOf(view: DataView, at: number, rows: number, width: Width): Float64Array {
  const start = view.byteOffset + at;
  if (width === "f64") return new Float64Array(view.buffer.slice(start, start + 8 * rows) as ArrayBuffer);
  if (width === "u8") return Float64Array.from(new Uint8Array(view.buffer, start, rows));
  const floats = new Float64Array(rows);
  for (let i = 0; i < rows; i++) {
    if (width === "u16") floats[i] = view.getUint16(at + 2 * i, true);
    else {
      const [low, high] = [view.getUint32(at + 8 * i, true), view.getInt32(at + 8 * i + 4, true)];
      floats[i] = width === "time" ? secondsOf(low, high) : high * 4294967296 + low;
    }
  }
  return floats;
}

/** Nanoseconds as seconds. They are more than a float can count, so what lies beyond whole seconds is reckoned in 32 bits. */
function secondsOf(low: number, high: number): number {
  const seconds = Math.floor((high * 4294967296 + low) / 1e9);
  const nanos = (low - Math.imul(seconds, 1e9)) | 0;
  return seconds + nanos / 1e9;
}

/** A table of a flatbuffer: its fields stand where its table of places says, or are not there. */
class Table {
  constructor(
    private view: DataView,
    private at: number,
  ) {}

  private place(field: number): number {
    const table = this.at - this.view.getInt32(this.at, true);
    const slot = 4 + 2 * field;
    const offset = slot < this.view.getUint16(table, true) ? this.view.getUint16(table + slot, true) : 0;
    return offset === 0 ? 0 : this.at + offset;
  }

  private led(field: number): number {
    const place = this.place(field);
    return place === 0 ? 0 : place + this.view.getUint32(place, true);
  }

  u8(field: number): number {
    const place = this.place(field);
    return place === 0 ? 0 : this.view.getUint8(place);
  }

  i32(field: number): number {
    const place = this.place(field);
    return place === 0 ? 0 : this.view.getInt32(place, true);
  }

  long(field: number): number {
    const place = this.place(field);
    return place === 0 ? 0 : longAt(this.view, place);
  }

  table(field: number): Table | null {
    const at = this.led(field);
    return at === 0 ? null : new Table(this.view, at);
  }

  text(field: number): string {
    const at = this.led(field);
    if (at === 0) return "";
    const length = this.view.getUint32(at, true);
    return new TextDecoder().decode(new Uint8Array(this.view.buffer, this.view.byteOffset + at + 4, length));
  }

  tables(field: number): Table[] {
    return this.structs(field, 4).map(
      (place) => new Table(this.view, place + this.view.getUint32(place, true)),
    );
  }

  /** Where the elements of a vector stand. */
  structs(field: number, size: number): number[] {
    const at = this.led(field);
    if (at === 0) return [];
    const count = this.view.getUint32(at, true);
    if (at + 4 + count * size > this.view.byteLength) throw new NoArrow(words.streamCut);
    return Array.from({ length: count }, (_, i) => at + 4 + i * size);
  }
}

function rootAt(view: DataView, at: number): Table {
  return new Table(view, at + view.getUint32(at, true));
}

/** Lengths and places: none that an answer has is longer than a float can say. */
function longAt(view: DataView, at: number): number {
  return view.getInt32(at + 4, true) * 4294967296 + view.getUint32(at, true);
}
