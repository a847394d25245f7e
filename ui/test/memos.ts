// Notes and named views of the test server, as the archiver keeps and finds them.

import { isoOf, instantOf } from "../src/time.ts";
import { exactOf } from "../src/decode.ts";
import { floatOf } from "../src/time.ts";

interface Row {
  number: number;
  name?: string;
  query?: string;
  link?: string;
  text: string;
  pvs: string[];
  from: string | null;
  to: string | null;
  by: string;
  time: string;
  changed: string | null;
  changed_by: string | null;
  origin: string;
}

export class Memos {
  private rows: Row[] = [];
  private next = 1;

  constructor(
    private noun: "notes" | "views",
    private now: () => number,
  ) {}

  write(body: Partial<Row>, by: string): Row {
    const time = isoOf(instantOf(this.now()));
    const same = this.rows.find(({ name }) => name !== undefined && name === body.name);
    const number = same?.number ?? this.next++;
    const long = (text: string | null | undefined) => (text ? isoOf(exactOf(text)!) : null);
    const row: Row = {
      ...{ number, text: body.text ?? "", pvs: body.pvs ?? [], from: long(body.from), to: long(body.to) },
      ...{ by, time, changed: null, changed_by: null, origin: "" },
      ...(this.noun === "views" ? { name: body.name, query: body.query, link: `/v/${number}` } : {}),
    };
    this.rows = [row, ...this.rows.filter((other) => other.number !== number)];
    return row;
  }

  find(params: URLSearchParams): object {
    const words = (params.get("match") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const time = (key: string) => {
      const exact = exactOf(params.get(key) ?? "");
      return exact ? floatOf(exact) : null;
    };
    const [from, to, name] = [time("from"), time("to"), params.get("name")];
    const at = (text: string | null) => (text === null ? null : floatOf(exactOf(text)!));
    const found = this.rows.filter((row) => {
      const all = [row.name ?? "", row.text, ...row.pvs].join(" ").toLowerCase();
      const begin = at(row.from);
      const isWithin =
        (from === null && to === null) ||
        (begin !== null && begin < (to ?? Infinity) && (at(row.to) ?? begin) >= (from ?? -Infinity));
      return words.every((word) => all.includes(word)) && isWithin && (name === null || row.name === name);
    });
    return { [this.noun]: found.slice(0, Number(params.get("limit") ?? 100)) };
  }

  one(number: number): Row | null {
    return this.rows.find((row) => row.number === number) ?? null;
  }

  change(number: number, body: Partial<Row>, by: string): Row | null {
    const row = this.one(number);
    if (row) Object.assign(row, body, { changed: isoOf(instantOf(this.now())), changed_by: by });
    return row;
  }

  remove(number: number): Row | null {
    const row = this.one(number);
    this.rows = this.rows.filter((other) => other !== row);
    return row;
  }
}
