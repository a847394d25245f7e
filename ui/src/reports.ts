// The reports of the Archiver Appliance under its names: what each is, and what to do about what it shows.

import { reportWords as words } from "./words/report.ts";

export interface Report {
  /** The call below /mgmt/bpl. */
  call: string;
  name: string;
  is: string;
  todo: string;
}

const CALLS = [
  "getNeverConnectedPVs",
  "getCurrentlyDisconnectedPVs",
  "getEventRateReport",
  "getStorageRateReport",
  "getPVsByStorageConsumed",
  "getSilentPVsReport",
  "getLostConnectionsReport",
  "getPVsByDroppedEventsBuffer",
  "getPVsByDroppedEventsTimestamp",
  "getPVsByDroppedEventsTypeChange",
  "getPausedPVsReport",
  "getRecentlyAddedPVs",
  "getRecentlyModifiedPVs",
] as const;

export const REPORTS: Report[] = CALLS.map((call) => ({ call, ...words[call] }));
