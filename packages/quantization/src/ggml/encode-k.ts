import { clamp, nearest, putScale, type EncodeTarget, type RowEncoder } from './encoder.js';
import { descendSymmetric, searchAffine, searchPositive, searchSymmetric, type AffineSteps } from './scale-search.js';

// Super-blocks of 256: search a scale (and minimum) for each sub-block, quantise those together, then round the
// weights again with the scales that a reader will see.

const weights = new Float64Array(32);
const result = new Float64Array(2);
const scales = new Float64Array(16);
const mins = new Float64Array(16);
const subWeights = new Float64Array(16);
const scaleCodes = new Int8Array(16);
const minCodes = new Int8Array(16);
const symmetricCodes = new Int8Array(16);
const codes = new Uint8Array(256);

const importanceSteps: AffineSteps = { first: -0.9, increment: 0.05, steps: 36, absolute: false };

function sumOfSquares(values: Float32Array, start: number, count: number): number {
  let sum = 0;
  for (let i = start; i < start + count; i++) sum += values[i]! * values[i]!;
  return sum;
}

/** Importance weights of `count` values: importance * sqrt(variance + x^2). Returns their sum. */
function weighByImportance(
  row: EncodeTarget,
  importance: Float32Array,
  first: number,
  count: number,
  variance: number,
): number {
  let sum = 0;
  for (let j = 0; j < count; j++) {
    const v = row.values[row.start + first + j]!;
    const w = importance[first + j]! * Math.sqrt(variance + v * v);
    weights[j] = w;
    sum += w;
  }
  return sum;
}

/**
 * Fills `scales` and `mins` for all sub-blocks and quantises both to codes 0 .. codeLimit.
 * Returns the two super-block scales.
 */
function fitAffine(
  row: EncodeTarget,
  first: number,
  subSize: 16 | 32,
  limit: number,
  codeLimit: number,
  plainSteps: AffineSteps,
  plainWeight: (v: number, rms: number) => number,
): { d: number; dmin: number } {
  const { values, start, importance } = row;
  const count = 256 / subSize;
  const variance = importance === undefined ? 0 : (2 * sumOfSquares(values, start + first, 256)) / 256;
  for (let s = 0; s < count; s++) {
    const sub = first + s * subSize;
    if (importance !== undefined) subWeights[s] = weighByImportance(row, importance, sub, subSize, variance);
    else {
      const rms = Math.sqrt(sumOfSquares(values, start + sub, subSize) / subSize);
      for (let j = 0; j < subSize; j++) weights[j] = plainWeight(values[start + sub + j]!, rms);
    }
    const steps = importance === undefined ? plainSteps : importanceSteps;
    searchAffine(values, start + sub, subSize, limit, weights, steps, result);
    scales[s] = Math.max(0, result[0]!);
    mins[s] = result[1]!;
  }
  if (importance !== undefined)
    return {
      d: searchPositive(scales, count, codeLimit, subWeights, scaleCodes),
      dmin: searchPositive(mins, count, codeLimit, subWeights, minCodes),
    };
  return {
    d: roundPositive(scales, count, codeLimit, scaleCodes),
    dmin: roundPositive(mins, count, codeLimit, minCodes),
  };
}

/** Plain rounding to 0 .. limit by the maximum; returns the scale. */
function roundPositive(values: Float64Array, count: number, limit: number, out: Int8Array): number {
  let max = 0;
  for (let i = 0; i < count; i++) max = Math.max(max, values[i]!);
  const inverse = max > 0 ? limit / max : 0;
  for (let i = 0; i < count; i++) out[i] = Math.min(limit, nearest(inverse * values[i]!));
  return max / limit;
}

/** Final codes with the stored scales: round((x + m) / d), clamped. */
function roundAffine(row: EncodeTarget, block: number, subSize: number, limit: number, d: number, dmin: number): void {
  for (let s = 0; s < 256 / subSize; s++) {
    const scale = d * scaleCodes[s]!;
    const inverse = scale === 0 ? 0 : 1 / scale;
    const min = dmin * minCodes[s]!;
    for (let j = s * subSize; j < (s + 1) * subSize; j++)
      codes[j] = clamp(nearest((row.values[block + j]! + min) * inverse), 0, limit);
  }
}

/** 2 bits of 256 codes into 64 bytes: byte j of each half holds elements j, j + 32, j + 64, j + 96. */
function putTwoBits(out: Uint8Array, p: number): void {
  for (let half = 0; half < 2; half++)
    for (let j = 0; j < 32; j++) {
      const c = half * 128 + j;
      out[p + half * 32 + j] =
        (codes[c]! & 3) | ((codes[c + 32]! & 3) << 2) | ((codes[c + 64]! & 3) << 4) | ((codes[c + 96]! & 3) << 6);
    }
}

const q2Steps: AffineSteps = { first: -0.5, increment: 0.1, steps: 15, absolute: true };

export const encodeQ2_K: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 84) {
    const block = row.start + first;
    const fit = fitAffine(row, first, 16, 3, 15, q2Steps, Math.abs);
    for (let s = 0; s < 16; s++) row.out[p + s] = scaleCodes[s]! | (minCodes[s]! << 4);
    const d = putScale(row, p + 80, fit.d, block);
    const dmin = putScale(row, p + 82, fit.dmin, block);
    roundAffine(row, block, 16, 3, d, dmin);
    putTwoBits(row.out, p + 16);
  }
};

/** Packs eight 6-bit scales and minima into 12 bytes (see `unpackScalesMins`). */
function putScalesMins(out: Uint8Array, p: number): void {
  for (let j = 0; j < 4; j++) {
    out[p + j] = scaleCodes[j]! | ((scaleCodes[j + 4]! >> 4) << 6);
    out[p + 4 + j] = minCodes[j]! | ((minCodes[j + 4]! >> 4) << 6);
    out[p + 8 + j] = (scaleCodes[j + 4]! & 15) | ((minCodes[j + 4]! & 15) << 4);
  }
}

function putNibbles(out: Uint8Array, p: number): void {
  for (let pair = 0; pair < 4; pair++)
    for (let j = 0; j < 32; j++)
      out[p + pair * 32 + j] = (codes[pair * 64 + j]! & 15) | ((codes[pair * 64 + 32 + j]! & 15) << 4);
}

const rmsWeight = (v: number, rms: number): number => rms + Math.abs(v);
const q4Steps: AffineSteps = { first: -1, increment: 0.1, steps: 20, absolute: false };

export const encodeQ4_K: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 144) {
    const block = row.start + first;
    const fit = fitAffine(row, first, 32, 15, 63, q4Steps, rmsWeight);
    const d = putScale(row, p, fit.d, block);
    const dmin = putScale(row, p + 2, fit.dmin, block);
    putScalesMins(row.out, p + 4);
    roundAffine(row, block, 32, 15, d, dmin);
    putNibbles(row.out, p + 16);
  }
};

const q5Steps: AffineSteps = { first: -0.5, increment: 0.1, steps: 15, absolute: false };

export const encodeQ5_K: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 176) {
    const block = row.start + first;
    const fit = fitAffine(row, first, 32, 31, 63, q5Steps, rmsWeight);
    const d = putScale(row, p, fit.d, block);
    const dmin = putScale(row, p + 2, fit.dmin, block);
    putScalesMins(row.out, p + 4);
    roundAffine(row, block, 32, 31, d, dmin);
    for (let j = 0; j < 32; j++) {
      let bits = 0;
      for (let s = 0; s < 8; s++) bits |= (codes[s * 32 + j]! >> 4) << s;
      row.out[p + 16 + j] = bits;
    }
    putNibbles(row.out, p + 48);
  }
};

/** Sub-block weights without importance: x^2 (larger weights matter more). Returns their sum. */
function weighBySquare(row: EncodeTarget, first: number): number {
  let sum = 0;
  for (let j = 0; j < 16; j++) {
    const v = row.values[row.start + first + j]!;
    weights[j] = v * v;
    sum += v * v;
  }
  return sum;
}

/** Final codes of a symmetric format with the stored scales: round(x / d), offset by `limit`. */
function roundSymmetric(row: EncodeTarget, block: number, limit: number, d: number): void {
  for (let s = 0; s < 16; s++) {
    const scale = d * scaleCodes[s]!;
    const inverse = scale === 0 ? 0 : 1 / scale;
    for (let j = s * 16; j < s * 16 + 16; j++)
      codes[j] = clamp(nearest(row.values[block + j]! * inverse), -limit, limit - 1) + limit;
  }
}

export const encodeQ3_K: RowEncoder = (row) => {
  const { importance } = row;
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 110) {
    const block = row.start + first;
    let fit: number;
    if (importance !== undefined) {
      const variance = (2 * sumOfSquares(row.values, block, 256)) / 256;
      for (let s = 0; s < 16; s++) {
        subWeights[s] = weighByImportance(row, importance, first + s * 16, 16, variance);
        scales[s] = searchSymmetric(row.values, block + s * 16, 16, 4, weights);
      }
      fit = searchSymmetric(scales, 0, 16, 32, subWeights);
    } else {
      let extreme = 0;
      for (let s = 0; s < 16; s++) {
        weighBySquare(row, first + s * 16);
        scales[s] = descendSymmetric(row.values, block + s * 16, 16, 4, weights, symmetricCodes);
        if (Math.abs(scales[s]!) > Math.abs(extreme)) extreme = scales[s]!;
      }
      fit = extreme / -32;
    }
    const d = putScale(row, p + 108, fit, block);
    const inverse = fit === 0 ? 0 : 1 / fit;
    row.out.fill(0, p + 96, p + 108);
    for (let s = 0; s < 16; s++) {
      scaleCodes[s] = clamp(nearest(scales[s]! * inverse), -32, 31);
      const stored = scaleCodes[s]! + 32;
      row.out[p + 96 + (s & 7)]! |= (stored & 15) << (s < 8 ? 0 : 4);
      row.out[p + 104 + (s & 3)]! |= (stored >> 4) << (2 * (s >> 2));
    }
    roundSymmetric(row, block, 4, d);
    for (let j = 0; j < 32; j++) {
      let bits = 0;
      for (let s = 0; s < 8; s++) bits |= (codes[s * 32 + j]! >> 2) << s;
      row.out[p + j] = bits;
    }
    putTwoBits(row.out, p + 32);
  }
};

export const encodeQ6_K: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 210) {
    const block = row.start + first;
    let extreme = 0;
    for (let s = 0; s < 16; s++) {
      if (row.importance === undefined) weighBySquare(row, first + s * 16);
      else for (let j = 0; j < 16; j++) weights[j] = row.importance[first + s * 16 + j]!;
      scales[s] = searchSymmetric(row.values, block + s * 16, 16, 32, weights);
      if (Math.abs(scales[s]!) > Math.abs(extreme)) extreme = scales[s]!;
    }
    const fit = extreme / -128;
    const d = putScale(row, p + 208, fit, block);
    const inverse = fit === 0 ? 0 : 1 / fit;
    for (let s = 0; s < 16; s++) {
      scaleCodes[s] = Math.min(127, nearest(scales[s]! * inverse));
      row.out[p + 192 + s] = scaleCodes[s]! & 255;
    }
    roundSymmetric(row, block, 32, d);
    for (let half = 0; half < 2; half++)
      for (let j = 0; j < 32; j++) {
        const c = half * 128 + j;
        row.out[p + half * 64 + j] = (codes[c]! & 15) | ((codes[c + 64]! & 15) << 4);
        row.out[p + half * 64 + 32 + j] = (codes[c + 32]! & 15) | ((codes[c + 96]! & 15) << 4);
        row.out[p + 128 + half * 32 + j] =
          (codes[c]! >> 4) | ((codes[c + 32]! >> 4) << 2) | ((codes[c + 64]! >> 4) << 4) | ((codes[c + 96]! >> 4) << 6);
      }
  }
};
