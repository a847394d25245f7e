// What the page says of how many there are of something.

/** `1 PV`, `4,977 PVs`. */
export function pvsText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "PV" : "PVs"}`;
}

/** `1 event`, `9 events`. */
export function eventsText(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "event" : "events"}`;
}
