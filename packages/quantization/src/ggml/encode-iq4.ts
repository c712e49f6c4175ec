import { clamp, nearest, putScale, type EncodeTarget, type RowEncoder } from './encoder.js';
import { iq4Values } from './grids.js';

const weights = new Float64Array(32);
const scales = new Float64Array(8);

/** Index of the nearest code point by floor(2 v): every boundary between code points is a multiple of one half. */
const boundaryOffset = 256;
const nearestIndex = Uint8Array.from({ length: 2 * boundaryOffset }, (_, i) => {
  const v = (i - boundaryOffset) / 2;
  let index = 0;
  while (index < 15 && v >= (iq4Values[index]! + iq4Values[index + 1]!) / 2) index++;
  return index;
});

function indexOf(v: number): number {
  return nearestIndex[clamp(Math.floor(2 * v), -boundaryOffset, boundaryOffset - 1) + boundaryOffset]!;
}

/** Points that the largest magnitude is sent to, in the order of trial: 127 lies past the highest code point, 113. */
const plainTargets = [127, ...Array.from({ length: 15 }, (_, i) => i - 134)];
const importanceTargets = [...plainTargets, ...Array.from({ length: 15 }, (_, i) => i + 106)];

/**
 * Best scale of 32 values for the IQ4 code points: each target gives a rounding, whose scale is refitted by least
 * squares. Without importance the weights x^2 are a guess, and searching around the high end as thoroughly as around
 * the low one would only fit large weights at the cost of all others.
 */
function searchScale(values: Float32Array, start: number, targets: readonly number[]): number {
  let extreme = 0;
  for (let j = 0; j < 32; j++) if (Math.abs(values[start + j]!) > Math.abs(extreme)) extreme = values[start + j]!;
  if (Math.abs(extreme) < 1e-15) return 0;
  let best = 0;
  let scale = 0;
  for (const target of targets) {
    const inverse = target / extreme;
    let wqx = 0;
    let wqq = 0;
    for (let j = 0; j < 32; j++) {
      const v = values[start + j]!;
      const q = iq4Values[indexOf(inverse * v)]!;
      const wq = weights[j]! * q;
      wqx += wq * v;
      wqq += wq * q;
    }
    if (wqq > 0 && wqx * wqx > best * wqq) {
      scale = wqx / wqq;
      best = scale * wqx;
    }
  }
  return scale;
}

/** Weights of a sub-block: x^2, or importance * sqrt(variance + x^2). */
function weigh(row: EncodeTarget, first: number, variance: number): void {
  for (let j = 0; j < 32; j++) {
    const v = row.values[row.start + first + j]!;
    weights[j] = row.importance === undefined ? v * v : row.importance[first + j]! * Math.sqrt(variance + v * v);
  }
}

/** Twice the mean square of a block. */
function doubleMeanSquare(values: Float32Array, start: number, count: number): number {
  let sum = 0;
  for (let i = start; i < start + count; i++) sum += values[i]! * values[i]!;
  return (2 * sum) / count;
}

function putIndices(row: EncodeTarget, block: number, scale: number, p: number): void {
  const inverse = scale === 0 ? 0 : 1 / scale;
  for (let j = 0; j < 16; j++)
    row.out[p + j] = indexOf(row.values[block + j]! * inverse) | (indexOf(row.values[block + j + 16]! * inverse) << 4);
}

export const encodeIQ4_NL: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 32, p += 18) {
    const block = row.start + first;
    weigh(row, first, doubleMeanSquare(row.values, block, 32));
    putIndices(
      row,
      block,
      putScale(
        row,
        p,
        searchScale(row.values, block, row.importance === undefined ? plainTargets : importanceTargets),
        block,
      ),
      p + 2,
    );
  }
};

export const encodeIQ4_XS: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 136) {
    const block = row.start + first;
    const variance = doubleMeanSquare(row.values, block, 256);
    let extreme = 0;
    for (let s = 0; s < 8; s++) {
      weigh(row, first + s * 32, variance);
      scales[s] = searchScale(
        row.values,
        block + s * 32,
        row.importance === undefined ? plainTargets : importanceTargets,
      );
      if (Math.abs(scales[s]!) > Math.abs(extreme)) extreme = scales[s]!;
    }
    const fit = extreme / -32;
    const d = putScale(row, p, fit, block);
    const inverse = fit === 0 ? 0 : 1 / fit;
    let high = 0;
    row.out.fill(0, p + 4, p + 8);
    for (let s = 0; s < 8; s++) {
      const code = clamp(nearest(scales[s]! * inverse), -32, 31);
      row.out[p + 4 + (s >> 1)]! |= ((code + 32) & 15) << (4 * (s & 1));
      high |= ((code + 32) >> 4) << (2 * s);
      putIndices(row, block + s * 32, d * code, p + 8 + s * 16);
    }
    row.out[p + 2] = high & 255;
    row.out[p + 3] = high >> 8;
  }
};
