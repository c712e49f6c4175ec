import { expect } from 'vitest';

/** A small deterministic generator (mulberry32) of numbers in [0, 1). */
export function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** n normal numbers. */
export function normals(n: number, seed: number, scale = 1): Float32Array {
  const next = uniform(seed);
  return Float32Array.from(
    { length: n },
    () => scale * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  );
}

/** The largest error of an element, relative to max(1, |expected|), is at most `tolerance`; NaN and infinities must be equal. */
export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  expect(actual.length).toBe(expected.length);
  let worst = 0;
  let at = -1;
  for (let i = 0; i < expected.length; i++) {
    const a = actual[i]!;
    const e = expected[i]!;
    const error = Object.is(a, e) || a === e ? 0 : Math.abs(a - e) / Math.max(1, Math.abs(e));
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  expect(worst, `element ${at}: ${actual[at]} for ${expected[at]}`).toBeLessThanOrEqual(tolerance);
}

/** Bits of an f32 array. */
export function bits(array: ArrayLike<number>): number[] {
  return [...new Int32Array(Float32Array.from(array).buffer)];
}

export function roundBf16(x: number): number {
  const u = new Uint32Array(Float32Array.of(x).buffer)[0]!;
  return new Float32Array(Uint32Array.of(((u + 0x7fff + ((u >>> 16) & 1)) & 0xffff0000) >>> 0).buffer)[0]!;
}

/** Nearest f16, ties to even, from the definition: the spacing at x is 2^(exponent - 10), at least 2^-24. */
export function roundF16(x: number): number {
  if (!Number.isFinite(x) || x === 0) return x;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -14) - 10);
  const scaled = x / step;
  const low = Math.floor(scaled);
  const rest = scaled - low;
  const rounded = (rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low) * step;
  return Math.abs(rounded) > 65504 ? Math.sign(x) * Infinity : rounded;
}
