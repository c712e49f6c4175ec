import type { Numerics } from '@dsi/kernels';

/** Bounds on the error of one element against the reference (float64 inside, f32 at op boundaries). */
export interface Tolerances {
  /** Norms, gates, sums of few terms: relative to the largest magnitude of the row, at least 1. */
  readonly elementwise: number;
  /** Rotations: relative to the largest magnitude of the head. */
  readonly rope: number;
  /** Attention over normal q, k, v with scale 1/sqrt(D): absolute. */
  readonly attention: number;
  /** Expert weights: absolute. */
  readonly route: number;
  /** Log-probabilities: absolute. */
  readonly logprob: number;
  /** Products: sqrt(K) times this, relative to sum |x w|. One f32 chain errs by 2^-24 a step, and errors add like a random walk; 4 deviations. */
  readonly chain: number;
  /** Products: relative to max |x| * sum |w|. An int8 activation is off by at most half a step of max |x| / 127. */
  readonly activation: number;
  /** Products: relative to sum |x w|. x and w rounded to bf16, 2^-9 each. */
  readonly rounding: number;
  /** Root mean square of a product's error over that of uniform rounding noise of the same steps: catches what the worst case hides. */
  readonly noise: number;
}

const common = { elementwise: 2e-6, rope: 4e-6, attention: 2e-5, route: 2e-6, logprob: 2e-5, chain: 4 * 2 ** -24 };

/** The one table of tolerances of every op on every backend. */
export const tolerances: Readonly<Record<Numerics, Tolerances>> = {
  exact: { ...common, activation: 0, rounding: 0, noise: Infinity },
  fast: { ...common, activation: 1.01 / 254, rounding: 2 ** -8, noise: 1.5 },
};
