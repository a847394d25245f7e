// Numbers that look random and are the same each time: figures that are compared are made of them.

/** A number between 0 and 1 that looks random, the next of its row at each call. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
