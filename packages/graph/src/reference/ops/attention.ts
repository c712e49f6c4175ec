import type { Call } from '../call.js';

/** Absolute positions of a chunk: [256 i, 256 (i + 1)). */
const chunkPositions = 256;

/** Rows of a cache that one query head reads: element d of slot s is data[s * stride + at + d]. */
interface CacheRows {
  readonly data: Float32Array;
  readonly stride: number;
  readonly at: number;
  readonly width: number;
}

/** slots[p] for the key positions first..last of a sequence. */
function slotsOf(
  c: Call,
  tables: Int32Array,
  row: number,
  columns: number,
  numSlots: number,
  last: number,
): Int32Array {
  const blockSize = c.num('blockSize');
  if (last >= columns * blockSize)
    c.fail('positions', `below ${columns * blockSize} (${columns} blocks of ${blockSize})`, String(last));
  const slots = new Int32Array(last + 1);
  for (let p = 0; p <= last; p++) {
    const block = c.index('block_tables', tables, row * columns + Math.floor(p / blockSize), numSlots / blockSize);
    slots[p] = block * blockSize + (p % blockSize);
  }
  return slots;
}

/**
 * One query head: softmax over key positions first..last in chunks, each with its own maximum, merged in ascending order.
 * float64 throughout; `out` (f32) is rounded once.
 */
function attend(
  q: Float64Array,
  scale: number,
  keys: CacheRows,
  values: CacheRows,
  slots: Int32Array,
  first: number,
  last: number,
  out: Float32Array,
  outAt: number,
): void {
  let max = -Infinity;
  let sum = 0;
  const acc = new Float64Array(values.width);
  const chunkAcc = new Float64Array(values.width);
  const scores = new Float64Array(chunkPositions);
  for (let chunk = Math.floor(first / chunkPositions); chunk * chunkPositions <= last; chunk++) {
    const begin = Math.max(first, chunk * chunkPositions);
    const end = Math.min(last + 1, (chunk + 1) * chunkPositions);
    let chunkMax = -Infinity;
    for (let p = begin; p < end; p++) {
      const k = slots[p]! * keys.stride + keys.at;
      let dot = 0;
      for (let d = 0; d < keys.width; d++) dot += q[d]! * keys.data[k + d]!;
      scores[p - begin] = dot * scale;
      chunkMax = Math.max(chunkMax, dot * scale);
    }
    let chunkSum = 0;
    chunkAcc.fill(0);
    for (let p = begin; p < end; p++) {
      const weight = Math.exp(scores[p - begin]! - chunkMax);
      const v = slots[p]! * values.stride + values.at;
      chunkSum += weight;
      for (let d = 0; d < values.width; d++) chunkAcc[d] = chunkAcc[d]! + weight * values.data[v + d]!;
    }
    const newMax = Math.max(max, chunkMax);
    const before = Math.exp(max - newMax);
    const added = Math.exp(chunkMax - newMax);
    sum = sum * before + chunkSum * added;
    for (let d = 0; d < values.width; d++) acc[d] = acc[d]! * before + chunkAcc[d]! * added;
    max = newMax;
  }
  for (let d = 0; d < values.width; d++) out[outAt + d] = acc[d]! / sum;
}

/** Calls `row(t, slots, first, last)` for every token: the slots of key positions 0..last of its sequence, of which first..last are visible. */
function eachRow(
  c: Call,
  cacheAt: number,
  stepAt: number,
  window: number,
  row: (t: number, slots: Int32Array, first: number, last: number) => void,
): void {
  const positions = c.i32(stepAt);
  const starts = c.i32(stepAt + 1);
  const tables = c.i32(stepAt + 2);
  const [S, B] = c.in(stepAt + 2).shape as [number, number];
  const numSlots = c.in(cacheAt).shape[0]!;
  if (starts[0] !== 0 || starts[S] !== positions.length)
    c.fail('seq_starts', `from 0 to ${positions.length}`, `from ${starts[0]} to ${starts[S]}`);
  for (let s = 0; s < S; s++) {
    const begin = starts[s]!;
    const end = starts[s + 1]!;
    if (end < begin) c.fail(`seq_starts[${s + 1}]`, `at least ${begin}`, String(end));
    if (begin === end) continue;
    for (let t = begin; t < end; t++) {
      const previous = t === begin ? -1 : positions[t - 1]!;
      if (positions[t]! <= previous) c.fail(`positions[${t}]`, `above ${previous}`, String(positions[t]));
    }
    const slots = slotsOf(c, tables, s, B, numSlots, positions[end - 1]!);
    for (let t = begin; t < end; t++) {
      const last = positions[t]!;
      row(t, slots, window > 0 ? Math.max(0, last - window + 1) : 0, last);
    }
  }
}

export function attention(c: Call): void {
  const [, H, D] = c.in(0).shape as [number, number, number];
  const G = c.num('kvHeads');
  const stride = c.in(1).shape[1]!;
  const valueStride = c.in(2).shape[1]!;
  const Dv = valueStride / G;
  const q = new Float64Array(D);
  eachRow(c, 1, 3, c.num('window'), (t, slots, first, last) => {
    for (let h = 0; h < H; h++) {
      const g = Math.floor(h / (H / G));
      q.set(c.f32(0).subarray((t * H + h) * D, (t * H + h + 1) * D));
      const keys = { data: c.f32(1), stride, at: g * D, width: D };
      const values = { data: c.f32(2), stride: valueStride, at: g * Dv, width: Dv };
      attend(q, c.num('scale'), keys, values, slots, first, last, c.outF32(0), (t * H + h) * Dv);
    }
  });
}

export function mlaAttention(c: Call): void {
  const [, H, C] = c.in(0).shape as [number, number, number];
  const Dr = c.in(1).shape[2]!;
  const q = new Float64Array(C + Dr);
  const keys = { data: c.f32(2), stride: C + Dr, at: 0, width: C + Dr };
  const values = { data: c.f32(2), stride: C + Dr, at: 0, width: C };
  eachRow(c, 2, 3, 0, (t, slots, first, last) => {
    for (let h = 0; h < H; h++) {
      const row = t * H + h;
      q.set(c.f32(0).subarray(row * C, (row + 1) * C));
      q.set(c.f32(1).subarray(row * Dr, (row + 1) * Dr), C);
      attend(q, c.num('scale'), keys, values, slots, first, last, c.outF32(0), row * C);
    }
  });
}

/** Mutates the cache: rows of the slots given, rounded to the cache's dtype. */
export function kvWrite(c: Call): void {
  const slots = c.i32(0);
  const cache = c.f32(1);
  const [numSlots, width] = c.in(1).shape as [number, number];
  const round = c.in(1).round!;
  for (let t = 0; t < slots.length; t++) {
    if (slots[t] === -1) continue;
    let at = c.index('slots', slots, t, numSlots) * width;
    for (let i = 2; i < c.inputs.length; i++) {
      const w = c.in(i).shape[1]!;
      for (let d = 0; d < w; d++) cache[at++] = round(c.f32(i)[t * w + d]!);
    }
  }
}
