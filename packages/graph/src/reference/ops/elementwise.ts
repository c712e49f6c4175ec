import { rowsOf, type Call } from '../call.js';

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

export function embedding(c: Call): void {
  const [V, D] = c.in(1).shape as [number, number];
  const tokens = c.i32(0);
  for (let t = 0; t < tokens.length; t++) {
    const id = c.index('tokens', tokens, t, V);
    c.outF32(0).set(c.f32(1).subarray(id * D, (id + 1) * D), t * D);
  }
}

function normRow(x: Float32Array, at: number, D: number, weight: Float32Array, eps: number, y: Float32Array): void {
  let squares = 0;
  for (let d = 0; d < D; d++) squares += x[at + d]! * x[at + d]!;
  const factor = 1 / Math.sqrt(squares / D + eps);
  for (let d = 0; d < D; d++) y[at + d] = x[at + d]! * factor * weight[d]!;
}

export function rmsNorm(c: Call): void {
  const D = c.in(1).shape[0]!;
  for (let r = 0; r < rowsOf(c.in(0)); r++) normRow(c.f32(0), r * D, D, c.f32(1), c.num('eps'), c.outF32(0));
}

export function addRmsNorm(c: Call): void {
  const D = c.in(2).shape[0]!;
  const sum = c.outF32(0);
  for (let i = 0; i < sum.length; i++) sum[i] = c.f32(0)[i]! + c.f32(1)[i]!;
  for (let r = 0; r < rowsOf(c.in(0)); r++) normRow(sum, r * D, D, c.f32(2), c.num('eps'), c.outF32(1));
}

/** The angle is an f32 product; cos and sin (times scale) are rounded to f32; the rotation is rounded once. */
export function rope(c: Call): void {
  const [T, H, D] = c.in(0).shape as [number, number, number];
  const n = c.in(2).shape[0]!;
  const x = c.f32(0);
  const y = c.outF32(0);
  const half = c.attrs.style === 'half';
  y.set(x);
  for (let t = 0; t < T; t++)
    for (let i = 0; i < n; i++) {
      const angle = Math.fround(c.i32(1)[t]! * c.f32(2)[i]!);
      const cos = Math.fround(Math.cos(angle) * c.num('scale'));
      const sin = Math.fround(Math.sin(angle) * c.num('scale'));
      for (let h = 0; h < H; h++) {
        const start = (t * H + h) * D + c.num('offset');
        const a = start + (half ? i : 2 * i);
        const b = start + (half ? i + n : 2 * i + 1);
        y[a] = x[a]! * cos - x[b]! * sin;
        y[b] = x[b]! * cos + x[a]! * sin;
      }
    }
}

export function siluMul(c: Call): void {
  const y = c.outF32(0);
  for (let i = 0; i < y.length; i++) y[i] = c.f32(0)[i]! * sigmoid(c.f32(0)[i]!) * c.f32(1)[i]!;
}

export function add(c: Call): void {
  const y = c.outF32(0);
  for (let i = 0; i < y.length; i++) y[i] = c.f32(0)[i]! + c.f32(1)[i]!;
}

export function sigmoidMul(c: Call): void {
  const D = c.in(0).shape[1]!;
  const y = c.outF32(0);
  for (let i = 0; i < y.length; i++) y[i] = c.f32(0)[i]! * sigmoid(c.f32(1)[Math.floor(i / D)]!);
}

export function slice(c: Call): void {
  const D = c.in(0).shape.at(-1)!;
  const start = c.num('start');
  const length = c.num('length');
  for (let r = 0; r < rowsOf(c.in(0)); r++)
    c.outF32(0).set(c.f32(0).subarray(r * D + start, r * D + start + length), r * length);
}

export function gatherRows(c: Call): void {
  const [T, D] = c.in(0).shape as [number, number];
  const rows = c.i32(1);
  for (let r = 0; r < rows.length; r++) {
    const t = c.index('rows', rows, r, T);
    c.outF32(0).set(c.f32(0).subarray(t * D, (t + 1) * D), r * D);
  }
}
