import { clamp, nearest, putScale, type EncodeTarget, type RowEncoder } from './encoder.js';
import { fp4DoubledValues } from './grids.js';
import { searchAffine, searchSymmetric, type AffineSteps } from './scale-search.js';
import { e8m0Half } from './decode-legacy.js';

// Without importance these give the bytes of ggml's reference functions: every step is rounded to float32 as there.

const fround = Math.fround;
const weights = new Float64Array(32);
const codes = new Uint8Array(32);
const result = new Float64Array(2);
const affineSteps: AffineSteps = { first: -0.9, increment: 0.05, steps: 36, absolute: false };

/** Mean square of the row: keeps the weights of small values from vanishing. */
function meanSquare(row: EncodeTarget): number {
  let sum = 0;
  for (let i = row.start; i < row.start + row.length; i++) sum += row.values[i]! ** 2;
  return sum / row.length;
}

/** Weights of a block: importance times sqrt(mean square + x^2). */
function weighBlock(row: EncodeTarget, importance: Float32Array, first: number, variance: number): void {
  for (let j = 0; j < 32; j++) {
    const v = row.values[row.start + first + j]!;
    weights[j] = importance[first + j]! * Math.sqrt(variance + v * v);
  }
}

function extremeOf(row: EncodeTarget, first: number): number {
  let extreme = 0;
  for (let j = 0; j < 32; j++) {
    const v = row.values[row.start + first + j]!;
    if (Math.abs(v) > Math.abs(extreme)) extreme = v;
  }
  return extreme;
}

/** Writes 32 codes as nibbles at `p`, and their fifth bits at `high` if given. */
function putCodes(out: Uint8Array, p: number, high?: number): void {
  for (let j = 0; j < 16; j++) out[p + j] = (codes[j]! & 15) | ((codes[j + 16]! & 15) << 4);
  if (high === undefined) return;
  for (let b = 0; b < 4; b++) {
    let bits = 0;
    for (let j = 0; j < 8; j++) bits |= (codes[b * 8 + j]! >> 4) << j;
    out[high + b] = bits;
  }
}

/** Q4_0 (limit 8) and Q5_0 (limit 16). */
function symmetric(limit: 8 | 16): RowEncoder {
  const bytes = limit === 8 ? 18 : 22;
  return (row) => {
    const variance = row.importance === undefined ? 0 : meanSquare(row);
    for (let first = 0, p = row.outStart; first < row.length; first += 32, p += bytes) {
      const block = row.start + first;
      let d: number;
      if (row.importance !== undefined) {
        weighBlock(row, row.importance, first, variance);
        d = putScale(row, p, searchSymmetric(row.values, block, 32, limit, weights), block);
        const inverse = d === 0 ? 0 : 1 / d;
        for (let j = 0; j < 32; j++)
          codes[j] = clamp(nearest(row.values[block + j]! * inverse), -limit, limit - 1) + limit;
      } else {
        d = fround(extremeOf(row, first) / -limit);
        putScale(row, p, d, block);
        const inverse = d === 0 ? 0 : fround(1 / d);
        for (let j = 0; j < 32; j++)
          codes[j] = Math.min(2 * limit - 1, fround(fround(row.values[block + j]! * inverse) + limit + 0.5));
      }
      if (limit === 8) putCodes(row.out, p + 2);
      else putCodes(row.out, p + 6, p + 2);
    }
  };
}

/** Q4_1 (limit 15) and Q5_1 (limit 31). */
function affine(limit: 15 | 31): RowEncoder {
  const bytes = limit === 15 ? 20 : 24;
  return (row) => {
    const variance = row.importance === undefined ? 0 : meanSquare(row);
    for (let first = 0, p = row.outStart; first < row.length; first += 32, p += bytes) {
      const block = row.start + first;
      if (row.importance !== undefined) {
        weighBlock(row, row.importance, first, variance);
        searchAffine(row.values, block, 32, limit, weights, affineSteps, result);
        const d = putScale(row, p, result[0]!, block);
        const m = putScale(row, p + 2, -result[1]!, block);
        const inverse = d === 0 ? 0 : 1 / d;
        for (let j = 0; j < 32; j++) codes[j] = clamp(nearest((row.values[block + j]! - m) * inverse), 0, limit);
      } else {
        let low = Infinity;
        let high = -Infinity;
        for (let j = 0; j < 32; j++) {
          const v = row.values[block + j]!;
          if (v < low) low = v;
          if (v > high) high = v;
        }
        const d = fround(fround(high - low) / limit);
        const inverse = d === 0 ? 0 : fround(1 / d);
        putScale(row, p, d, block);
        putScale(row, p + 2, low, block);
        for (let j = 0; j < 32; j++)
          codes[j] = Math.min(limit, fround(fround(fround(row.values[block + j]! - low) * inverse) + 0.5));
      }
      if (limit === 15) putCodes(row.out, p + 4);
      else putCodes(row.out, p + 8, p + 4);
    }
  };
}

export const encodeQ4_0 = symmetric(8);
export const encodeQ5_0 = symmetric(16);
export const encodeQ4_1 = affine(15);
export const encodeQ5_1 = affine(31);

/** To the nearest integer, ties away from zero, as C's roundf. */
export function roundAway(v: number): number {
  return v < 0 ? -Math.floor(0.5 - v) : Math.floor(v + 0.5);
}

export const encodeQ8_0: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 32, p += 34) {
    const block = row.start + first;
    const d = fround(Math.abs(extremeOf(row, first)) / 127);
    const inverse = d === 0 ? 0 : fround(1 / d);
    putScale(row, p, d, block);
    for (let j = 0; j < 32; j++) row.out[p + 2 + j] = roundAway(fround(row.values[block + j]! * inverse)) & 255;
  }
};

/** MXFP4: the exponent of the largest magnitude, less 2, is the shared scale; each value takes the nearest code. */
export const encodeMXFP4: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 32, p += 17) {
    const block = row.start + first;
    const largest = Math.abs(extremeOf(row, first));
    const e = largest > 0 ? clamp(Math.floor(Math.log2(largest)) - 2 + 127, 0, 254) : 0;
    const d = e8m0Half(e);
    row.out[p] = e;
    for (let j = 0; j < 32; j++) {
      const v = row.values[block + j]!;
      let best = 0;
      let bestError = Infinity;
      for (let c = 0; c < 16; c++) {
        const error = fround(Math.abs(fround(fround(d * fp4DoubledValues[c]!) - v)));
        if (error < bestError) {
          bestError = error;
          best = c;
        }
      }
      codes[j] = best;
    }
    putCodes(row.out, p + 1);
  }
};
