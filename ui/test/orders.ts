// Orders of the test server over many PVs, as the archiver answers them: said beforehand, given, listed for a day, taken back.

import { isoOf, instantOf } from "../src/time.ts";

/** What an order does to a PV: how it comes out, and how it is done; doing it gives what takes it back. */
export interface Step {
  name: string;
  status: string;
  message?: string;
  take: (() => Step["take"]) | null;
}

interface Order {
  number: number;
  at: number;
  action: string;
  right: "operate" | "administer";
  back: Map<string, NonNullable<Step["take"]>>;
}

const DAY = 86_400;

export class Orders {
  private orders: Order[] = [];
  private next = 0;

  constructor(private now: () => number) {}

  /** Says what each step does, and does it unless it is only a plan. */
  give(action: string, right: Order["right"], steps: Step[], isPlan: boolean): object {
    const changing = steps.filter(({ take }) => take !== null);
    if (!isPlan) this.keep(action, right, changing);
    const pvs = steps.map(({ name, status, message }) => ({ name, status, message }));
    return { changes: changing.length, plan: isPlan, pvs };
  }

  private keep(action: string, right: Order["right"], steps: Step[]): void {
    const back: Order["back"] = new Map();
    for (const { name, take } of steps) {
      const undo = take!();
      if (undo) back.set(name, undo);
    }
    if (back.size > 0) this.orders.unshift({ number: this.next++, at: this.now(), action, right, back });
  }

  list(): object {
    return { orders: this.orders.map((order) => ({ ...rowOf(order), pvs: order.back.size })) };
  }

  /** None if there is no such order. */
  undo(number: number, isPlan: boolean): object | null {
    const order = this.orders.find((order) => order.number === number);
    if (!order) return null;
    const pvs = [...order.back.keys()].map((name) => ({ name, status: "settings" }));
    if (!isPlan) {
      this.orders = this.orders.filter((other) => other !== order);
      const steps = [...order.back].map(([name, take]) => ({ name, status: "settings", take }));
      this.keep("undone", order.right, steps);
    }
    return { ...rowOf(order), changes: pvs.length, refused: 0, pvs };
  }
}

function rowOf({ number, at, action, right }: Order): object {
  const time = (seconds: number) => isoOf(instantOf(seconds));
  return { number, time: time(at), by: "oidc:ana", action, detail: "", until: time(at + DAY), right };
}
