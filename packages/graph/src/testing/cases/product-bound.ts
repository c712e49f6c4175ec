import type { Tolerances } from '../tolerances.js';

/** What a product y[n] = x . w[n] may err by, element by element. */
export interface ProductBounds {
  /** Largest error, by n. */
  readonly worst: Float64Array;
  /** Standard deviation of the error if activations are rounded uniformly to max|x| / 127, and x and w to bf16. */
  readonly sigma: Float64Array;
}

/** @param x one row [K] @param w [N, K] from element `wAt` on @param xError error that x already has (same for all k) */
export function productBounds(
  x: Float32Array,
  w: Float32Array,
  wAt: number,
  N: number,
  t: Tolerances,
  xError = 0,
): ProductBounds {
  const K = x.length;
  const largest = x.reduce((m, v) => Math.max(m, Math.abs(v)), 0) + xError;
  const worst = new Float64Array(N);
  const sigma = new Float64Array(N);
  for (let n = 0; n < N; n++) {
    let products = 0;
    let magnitudes = 0;
    let squares = 0;
    let productSquares = 0;
    for (let k = 0; k < K; k++) {
      const weight = Math.abs(w[wAt + n * K + k]!);
      const product = (Math.abs(x[k]!) + xError) * weight;
      products += product;
      magnitudes += weight;
      squares += weight * weight;
      productSquares += product * product;
    }
    const relative = Math.sqrt(K) * t.chain + t.rounding;
    worst[n] = products * relative + magnitudes * (t.activation * largest + xError) + 1e-7;
    const step = largest / 127;
    sigma[n] = Math.sqrt((squares * step * step) / 12 + (productSquares * (2 ** -8) ** 2) / 6) + 1e-7;
  }
  return { worst, sigma };
}
