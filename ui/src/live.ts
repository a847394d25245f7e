// The live stream: samples and states of PVs as they come, from a moment that the history already covers.

import { liveUrl, type PvState, type WireChunk } from "./api.ts";
import { instantOf } from "./time.ts";

export interface LiveActions {
  /** The stream has brought something. */
  heard(): void;
  samples(pv: string, chunk: WireChunk): void;
  state(pv: string, state: PvState, since: string | null): void;
  /** The stream is back after it was lost: what came meanwhile is not in it. */
  resumed(): void;
  /** The stream was lost. */
  lost(): void;
  /** The archiver has ended the stream: who gets it may not, or not as before. It is not opened again by itself. */
  barred(): void;
}

/** Waits before the next attempt, in milliseconds: short at first, the last one from then on. */
const RETRY_MILLIS = [500, 1000, 2000, 5000];

/** The stream begins so long before now: earlier than any history ends that is asked for at the same time. */
export const OVERLAP_SECONDS = 12;

export class Live {
  private source: EventSource | null = null;
  private names: string[] = [];
  private failures = 0;
  private timer = 0;

  constructor(
    private actions: LiveActions,
    private now: () => number,
  ) {}

  /** Follows these PVs; does nothing if it does so already. */
  follow(names: string[]): void {
    const isSame = names.length === this.names.length && names.every((name, i) => name === this.names[i]);
    if (isSame && (this.source !== null || this.timer !== 0 || names.length === 0)) return;
    this.stop();
    this.names = [...names];
    this.failures = 0;
    if (names.length > 0) this.open();
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.source?.close();
    this.source = null;
    this.names = [];
  }

  private open(): void {
    this.timer = 0;
    const source = new EventSource(liveUrl(this.names, instantOf(this.now() - OVERLAP_SECONDS)));
    this.source = source;
    source.addEventListener("open", () => {
      if (this.failures > 0) this.actions.resumed();
      this.failures = 0;
    });
    source.addEventListener("samples", (message: MessageEvent<string>) => {
      this.actions.heard();
      const chunk = JSON.parse(message.data) as WireChunk & { pv: string };
      this.actions.samples(chunk.pv, chunk);
    });
    source.addEventListener("state", (message: MessageEvent<string>) => {
      this.actions.heard();
      const { pv, state, since } = JSON.parse(message.data) as {
        pv: string;
        state: PvState;
        since: string | null;
      };
      this.actions.state(pv, state, since);
    });
    // The browser's own reconnection would ask again from the first moment, so it is done here.
    source.addEventListener("error", (event) => {
      source.close();
      if (this.source !== source) return;
      this.source = null;
      // One that the archiver has sent.
      if (event instanceof MessageEvent) return this.actions.barred();
      this.actions.lost();
      const wait = RETRY_MILLIS[Math.min(this.failures, RETRY_MILLIS.length - 1)]!;
      this.failures += 1;
      this.timer = window.setTimeout(() => this.open(), wait);
    });
  }
}
