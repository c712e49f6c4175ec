/** A prompt of `length` token ids that no other `seed` shares a prefix with. Deterministic. */
export function randomPrompt(length: number, vocabSize: number, seed: number): Int32Array {
  let state = (seed + 1) * 0x9e3779b1;
  const next = () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    state = (state ^ (state >>> 15)) + 0x9e3779b9;
    return state >>> 0;
  };
  return Int32Array.from({ length }, () => next() % vocabSize);
}

/** Nearest-rank percentile. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil((p / 100) * sorted.length) - 1))] ?? NaN;
}
