// Writes bins as the archiver does, in Arrow's stream format: a schema with facts, then a record batch for each PV.

/** A part of a flatbuffer that is written behind what leads to it. */
type Part = (writer: Writer) => number;

class Writer {
  private bytes = new Uint8Array(1 << 16);
  private view = new DataView(this.bytes.buffer);
  length = 0;

  private grow(by: number): void {
    if (this.length + by <= this.bytes.length) return;
    const more = new Uint8Array(Math.max(this.bytes.length * 2, this.length + by));
    more.set(this.bytes);
    this.bytes = more;
    this.view = new DataView(more.buffer);
  }

  pad(to: number): void {
    const by = (to - (this.length % to)) % to;
    this.grow(by);
    this.length += by;
  }

  put(size: 1 | 2 | 4 | 8, value: number): number {
    this.pad(size);
    this.grow(size);
    const at = this.length;
    if (size === 1) this.view.setUint8(at, value);
    else if (size === 2) this.view.setInt16(at, value, true);
    else if (size === 4) this.view.setInt32(at, value, true);
    else this.view.setBigInt64(at, BigInt(value), true);
    this.length += size;
    return at;
  }

  raw(bytes: Uint8Array): void {
    this.grow(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  lead(from: number, to: number): void {
    this.view.setUint32(from, to - from, true);
  }

  set16(at: number, value: number): void {
    this.view.setUint16(at, value, true);
  }

  set32(at: number, value: number): void {
    this.view.setInt32(at, value, true);
  }

  taken(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}

type Field = { size: 1 | 2 | 4 | 8; value: number } | { part: Part } | null;

const table =
  (fields: Field[]): Part =>
  (writer) => {
    writer.pad(8);
    const places = writer.put(2, 4 + 2 * fields.length);
    writer.put(2, 0);
    fields.forEach(() => writer.put(2, 0));
    writer.pad(8);
    const at = writer.put(4, 0);
    writer.set32(at, at - places);
    const led: [number, Part][] = [];
    fields.forEach((field, i) => {
      if (!field) return;
      const place = "part" in field ? writer.put(4, 0) : writer.put(field.size, field.value);
      writer.set16(places + 4 + 2 * i, place - at);
      if ("part" in field) led.push([place, field.part]);
    });
    writer.set16(places + 2, writer.length - at);
    for (const [place, part] of led) writer.lead(place, part(writer));
    return at;
  };

const text =
  (value: string): Part =>
  (writer) => {
    const bytes = new TextEncoder().encode(value);
    const at = writer.put(4, bytes.length);
    writer.raw(bytes);
    writer.raw(new Uint8Array(1));
    return at;
  };

const vector =
  (parts: Part[]): Part =>
  (writer) => {
    const at = writer.put(4, parts.length);
    const places = parts.map(() => writer.put(4, 0));
    parts.forEach((part, i) => writer.lead(places[i]!, part(writer)));
    return at;
  };

/** Pairs of long numbers. */
const pairs =
  (numbers: [number, number][]): Part =>
  (writer) => {
    // The numbers stand at multiples of eight, behind their count.
    writer.pad(8);
    writer.put(4, 0);
    const at = writer.put(4, numbers.length);
    for (const [a, b] of numbers) {
      writer.put(8, a);
      writer.put(8, b);
    }
    return at;
  };

function message(kind: number, header: Part, body: Uint8Array): Uint8Array {
  const writer = new Writer();
  const root = writer.put(4, 0);
  const fields: Field[] = [
    { size: 2, value: 4 },
    { size: 1, value: kind },
    { part: header },
    { size: 8, value: body.length },
  ];
  writer.lead(root, table(fields)(writer));
  writer.pad(8);
  const bytes = writer.taken();
  const whole = new Uint8Array(8 + bytes.length + body.length);
  const view = new DataView(whole.buffer);
  view.setUint32(0, 0xffffffff, true);
  view.setInt32(4, bytes.length, true);
  whole.set(bytes, 8);
  whole.set(body, 8 + bytes.length);
  return whole;
}

export interface ViewBins {
  start: number[];
  end: number[];
  count: number[];
  min: (number | null)[];
  max: (number | null)[];
  mean: (number | null)[];
  first: (number | null)[];
  last: (number | null)[];
  severity: number[];
}

const int = (bits: number): [number, Part] => [
  2,
  table([
    { size: 4, value: bits },
    { size: 1, value: 0 },
  ]),
];
const float: [number, Part] = [3, table([{ size: 2, value: 2 }])];
const time: [number, Part] = [10, table([{ size: 2, value: 3 }, { part: text("UTC") }])];

const COLUMNS: [string, [number, Part]][] = [
  ["pv", int(16)],
  ...(["start", "end"] as const).map((name): [string, [number, Part]] => [name, time]),
  ["count", int(64)],
  ...(["min", "max", "mean", "first", "last"] as const).map((name): [string, [number, Part]] => [
    name,
    float,
  ]),
  ["severity", int(8)],
];

/** The stream of a view: what is said of it, and the bins of each PV. */
export function arrowOf(facts: Record<string, string>, pvs: ViewBins[]): Buffer {
  return streamOf(facts, COLUMNS, pvs.map(batch));
}

/** A table of times and numbers: what is said of it, and its columns. */
export function tableOf(facts: Record<string, string>, columns: Record<string, number[]>): Buffer {
  const types = Object.keys(columns).map((name): [string, [number, Part]] => [
    name,
    name === "time" ? time : float,
  ]);
  const values = Object.entries(columns).map(([name, numbers]) =>
    name === "time"
      ? new Uint8Array(BigInt64Array.from(numbers, nanosOf).buffer)
      : new Uint8Array(Float64Array.from(numbers).buffer),
  );
  const rows = Object.values(columns)[0]?.length ?? 0;
  return streamOf(facts, types, [batchOf(rows, values)]);
}

/** Bins of arrays, a record batch for each: a row for each of their rows of elements. */
export function arrayBinsOf(bins: Record<string, number[]>[]): Buffer {
  const names = ["start", "end", "arrays", "severity", "element", "elements", "count", "min", "max", "mean"];
  const isTime = (name: string) => name === "start" || name === "end";
  const batches = bins.map((bin) => {
    const columns = names.map((name) =>
      isTime(name)
        ? new Uint8Array(BigInt64Array.from(bin[name]!, nanosOf).buffer)
        : new Uint8Array(Float64Array.from(bin[name]!).buffer),
    );
    return batchOf(bin.start!.length, columns);
  });
  return streamOf(
    {},
    names.map((name) => [name, isTime(name) ? time : float]),
    batches,
  );
}

function streamOf(
  facts: Record<string, string>,
  columns: [string, [number, Part]][],
  batches: Uint8Array[],
): Buffer {
  const fields = columns.map(([name, [kind, type]]) =>
    table([{ part: text(name) }, { size: 1, value: 1 }, { size: 1, value: kind }, { part: type }]),
  );
  const told = Object.entries(facts).map(([key, value]) =>
    table([{ part: text(key) }, { part: text(value) }]),
  );
  const schema = table([{ size: 2, value: 0 }, { part: vector(fields) }, { part: vector(told) }]);
  const parts = [message(1, schema, new Uint8Array(0)), ...batches];
  const end = new Uint8Array(8);
  new DataView(end.buffer).setUint32(0, 0xffffffff, true);
  return Buffer.concat([...parts, end]);
}

function batch(bins: ViewBins, number: number): Uint8Array {
  const rows = bins.count.length;
  const columns: Uint8Array[] = [
    new Uint8Array(Uint16Array.from({ length: rows }, () => number).buffer),
    new Uint8Array(BigInt64Array.from(bins.start, nanosOf).buffer),
    new Uint8Array(BigInt64Array.from(bins.end, nanosOf).buffer),
    new Uint8Array(BigInt64Array.from(bins.count, BigInt).buffer),
    ...(["min", "max", "mean", "first", "last"] as const).map(
      (name) => new Uint8Array(Float64Array.from(bins[name], (value) => value ?? 0).buffer),
    ),
    Uint8Array.from(bins.severity),
  ];
  return batchOf(rows, columns);
}

function nanosOf(at: number): bigint {
  return BigInt(Math.round(at * 1e6)) * 1000n;
}

function batchOf(rows: number, columns: Uint8Array[]): Uint8Array {
  const buffers: [number, number][] = [];
  const body = new Writer();
  for (const column of columns) {
    buffers.push([body.length, 0], [body.length, column.length]);
    body.raw(column);
    body.pad(8);
  }
  const nodes = columns.map((): [number, number] => [rows, 0]);
  const header = table([{ size: 8, value: rows }, { part: pairs(nodes) }, { part: pairs(buffers) }]);
  return message(3, header, body.taken());
}
