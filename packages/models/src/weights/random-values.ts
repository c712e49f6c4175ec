/** A 32-bit hash of a text (FNV-1a) mixed with a seed: where a weight's random stream starts. */
export function hashName(name: string, seed: number): number {
  let h = 0x811c9dc5 ^ seed;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** A stream of 32-bit words (mulberry32). Deterministic; not for cryptography. */
export function randomWords(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** Normal values (Box-Muller) of the given standard deviation around `mean`. */
export function normalValues(count: number, deviation: number, seed: number, mean = 0): Float32Array {
  const words = randomWords(seed);
  const out = new Float32Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log((words() + 0.5) / 2 ** 32));
    const angle = 2 * Math.PI * (words() / 2 ** 32);
    out[i] = mean + radius * Math.cos(angle);
    if (i + 1 < count) out[i + 1] = mean + radius * Math.sin(angle);
  }
  return out;
}
