import { rowsOf, type Call } from '../call.js';
import { sigmoid } from './elementwise.js';

/**
 * y[yAt + n] = sum_k x[xAt + k] w[wAt + n K + k] (+ bias[n]) for n < N: every sum one float64 chain in ascending k, rounded to f32
 * once. Four rows of w run side by side for speed; a row's bits do not depend on that.
 */
export function product(
  x: Float32Array,
  xAt: number,
  w: Float32Array,
  wAt: number,
  N: number,
  K: number,
  y: Float32Array,
  yAt: number,
  bias?: Float32Array,
): void {
  let n = 0;
  for (; n + 4 <= N; n += 4) {
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    const w0 = wAt + n * K;
    const w1 = w0 + K;
    const w2 = w1 + K;
    const w3 = w2 + K;
    for (let k = 0; k < K; k++) {
      const v = x[xAt + k]!;
      s0 += v * w[w0 + k]!;
      s1 += v * w[w1 + k]!;
      s2 += v * w[w2 + k]!;
      s3 += v * w[w3 + k]!;
    }
    y[yAt + n] = bias === undefined ? s0 : s0 + bias[n]!;
    y[yAt + n + 1] = bias === undefined ? s1 : s1 + bias[n + 1]!;
    y[yAt + n + 2] = bias === undefined ? s2 : s2 + bias[n + 2]!;
    y[yAt + n + 3] = bias === undefined ? s3 : s3 + bias[n + 3]!;
  }
  for (; n < N; n++) {
    let s = 0;
    const wn = wAt + n * K;
    for (let k = 0; k < K; k++) s += x[xAt + k]! * w[wn + k]!;
    y[yAt + n] = bias === undefined ? s : s + bias[n]!;
  }
}

export function linear(c: Call): void {
  const x = c.in(0);
  const K = x.shape.at(-1)!;
  const rows = rowsOf(x);
  c.outputs.forEach((y, i) => {
    const N = y.shape.at(-1)!;
    const bias = c.inputs[1 + c.outputs.length + i]?.data as Float32Array | undefined;
    for (let r = 0; r < rows; r++) product(c.f32(0), r * K, c.f32(1 + i), 0, N, K, c.outF32(i), r * N, bias);
  });
}

export function headLinear(c: Call): void {
  const [T, H, K] = c.in(0).shape as [number, number, number];
  const N = c.in(1).shape[1]!;
  for (let t = 0; t < T; t++)
    for (let h = 0; h < H; h++)
      product(c.f32(0), (t * H + h) * K, c.f32(1), h * N * K, N, K, c.outF32(0), (t * H + h) * N);
}

/** Each expert's gate, up, their gated product and down are rounded to f32; the weighted sum over experts is one float64 chain. */
export function moeMlp(c: Call): void {
  const [T, D] = c.in(0).shape as [number, number];
  const k = c.in(1).shape[1]!;
  const [E, I] = c.in(3).shape as [number, number, number];
  const gate = new Float32Array(I);
  const up = new Float32Array(I);
  const down = new Float32Array(D);
  const sum = new Float64Array(D);
  for (let t = 0; t < T; t++) {
    sum.fill(0);
    for (let j = 0; j < k; j++) {
      const e = c.index('ids', c.i32(1), t * k + j, E);
      product(c.f32(0), t * D, c.f32(3), e * I * D, I, D, gate, 0);
      product(c.f32(0), t * D, c.f32(4), e * I * D, I, D, up, 0);
      for (let i = 0; i < I; i++) gate[i] = gate[i]! * sigmoid(gate[i]!) * up[i]!;
      product(gate, 0, c.f32(5), e * D * I, D, I, down, 0);
      const weight = c.f32(2)[t * k + j]!;
      for (let d = 0; d < D; d++) sum[d] = sum[d]! + weight * down[d]!;
    }
    c.outF32(0).set(sum, t * D);
  }
}
