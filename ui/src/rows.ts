// Rows in order of time, and which of them a moment falls on.

/** Of rows of which from some on all are behind a place, and none before it: the last that is not; -1 if all are. */
export function lastBefore(count: number, isBehind: (row: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBehind(middle)) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

/** The row of the newest x that is not after `at`; -1 if all are. */
export function lastAtOrBefore(x: ArrayLike<number>, at: number): number {
  return lastBefore(x.length, (row) => !(x[row]! <= at));
}
