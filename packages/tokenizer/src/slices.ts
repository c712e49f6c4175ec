/** Work that may be interrupted at every `yield`: a large description takes some hundred milliseconds to read. */
export type Slices<T> = Generator<void, T, undefined>;

/** Entries of a vocabulary between two places to interrupt; together well below a millisecond. */
export const sliceEntries = 256;

/** Does the work at once. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/**
 * Does the work in slices of about `sliceMs` milliseconds.
 * @param pause awaited between two slices: lets the event loop run
 */
export async function inSlices<T>(work: Slices<T>, pause: () => Promise<unknown>, sliceMs: number): Promise<T> {
  let begin = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (performance.now() - begin < sliceMs) continue;
    await pause();
    begin = performance.now();
  }
}
