// Files that the test server makes, as the archiver plans, makes, hands over and removes them.

import { isoOf, instantOf } from "../src/time.ts";
import type { Job, Plan } from "../src/exports.ts";

interface Ordered {
  job: Job;
  /** When it began, and how long it takes. */
  began: number;
  seconds: number;
  content: string;
}

export class Exports {
  /** So long a file takes. */
  seconds = 0.2;
  /** Why none can be made. */
  refused: Plan["refused"] = null;
  /** The next one breaks off. */
  breaks = false;
  /** Who orders. */
  owner = "anonymous";
  /** Nobody has said where files of exports are to lie. */
  isNowhere = false;
  private ordered: Ordered[] = [];
  private next = 1;

  constructor(private now: () => number) {}

  plan(query: URLSearchParams, names: string[]): Plan {
    const { rows, bytes } = this.sizes(query, names);
    return {
      ...{ file: this.fileOf(query), pvs: names.length, samples: rows, rows_count: rows, bytes },
      bytes_free: 19e9,
      notes:
        rows > 1_048_576
          ? ["It has more rows than the 1,048,576 of a sheet: it is split over several sheets."]
          : [],
      refused: this.refused,
    };
  }

  order(query: URLSearchParams, names: string[]): Job {
    const { rows, bytes } = this.sizes(query, names);
    const job: Job = {
      ...{ number: this.next++, state: "waiting", owner: this.owner, file: this.fileOf(query) },
      ...{
        format: query.get("format") as Job["format"],
        pvs: names.length,
        pvs_done: 0,
        samples: rows,
        bytes,
      },
      ...{ progress: 0, ordered: isoOf(instantOf(this.now())), expires: null, without: [], without_count: 0 },
      ...{ gaps: 2, damage: [], damage_count: 0, notes: [], error: null },
    };
    const content = `${query.get("rows")} ${names.join(" ")} ${query.get("from")} ${query.get("to")}\n`;
    this.ordered.unshift({ job, began: this.now(), seconds: this.seconds, content });
    return job;
  }

  list(): object {
    return { exports: this.ordered.map((one) => this.shown(one)) };
  }

  /** The bytes of a file that is made. */
  file(number: number): { name: string; content: string } | null {
    const found = this.ordered.find(({ job }) => job.number === number);
    return found && this.shown(found).state === "done"
      ? { name: found.job.file, content: found.content }
      : null;
  }

  remove(number: number): Job | null {
    const found = this.ordered.find(({ job }) => job.number === number);
    this.ordered = this.ordered.filter((one) => one !== found);
    return found ? this.shown(found) : null;
  }

  private shown({ job, began, seconds }: Ordered): Job {
    const progress = Math.min(1, (this.now() - began) / seconds);
    if (this.breaks && progress > 0.5) {
      const error = { code: "busy", message: "the disk for exports is full", hint: "remove a file below" };
      return { ...job, state: "failed", progress: 0.5, error };
    }
    const isDone = progress >= 1;
    const pvs_done = Math.floor(progress * job.pvs);
    const expires = isDone ? isoOf(instantOf(began + seconds + 86_400)) : null;
    return { ...job, state: isDone ? "done" : "running", progress, pvs_done, expires };
  }

  private sizes(query: URLSearchParams, names: string[]): { rows: number; bytes: number } {
    const seconds = (Date.parse(query.get("to")!) - Date.parse(query.get("from")!)) / 1000;
    const period = query.get("rows") === "aligned" ? Number(query.get("period")) : 0.1 / names.length;
    const rows = Math.round(seconds / period);
    return { rows, bytes: rows * 16 };
  }

  private fileOf(query: URLSearchParams): string {
    const short = (name: string) => query.get(name)!.replace(/[-:]|\.\d+/g, "");
    return `pvark-${short("from")}-${short("to")}-${query.get("rows")}.${query.get("format")}`;
  }
}
