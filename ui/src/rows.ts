// Rows in order of time, and which of them a moment falls on.

/** The row of the newest x that is not after `at`; -1 if all are. */
export function lastAtOrBefore(x: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
