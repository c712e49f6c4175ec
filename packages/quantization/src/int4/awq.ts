import { checkInt4Shape, checkLength } from './check.js';
import type { Int4GroupWeight } from './int4-group.js';

/** Tensors of one AWQ linear layer (GEMM layout). N output, K input features, G = K / groupSize. */
export interface AwqTensors {
  /** int32 [K, N/8]: nibble i of word c holds column 8c + [0, 2, 4, 6, 1, 3, 5, 7][i]. */
  readonly qweight: Int32Array;
  /** int32 [G, N/8], same order of nibbles. Absent means symmetric (zero = 8). */
  readonly qzeros?: Int32Array;
  /** [G, N], already converted to float32. */
  readonly scales: Float32Array;
  readonly bits: number;
  /** -1 means one group for the whole row. */
  readonly groupSize: number;
  /** [N, K] */
  readonly shape: readonly [number, number];
}

/** Bit offset of column n % 8 in its word: the inverse of the packing order. */
const shiftOfColumn = [0, 16, 4, 20, 8, 24, 12, 28] as const;

/**
 * Unpacks a 4-bit AWQ layer.
 *
 * @throws UnsupportedFormatError unless `bits` is 4
 * @throws SizeMismatchError if a tensor does not fit the shape
 */
export function unpackAwq(tensors: AwqTensors): Int4GroupWeight {
  const { qweight, qzeros, scales, bits, groupSize, shape } = tensors;
  const { rows, cols, group, groups } = checkInt4Shape('AWQ', bits, shape, groupSize);
  const words = rows / 8;
  checkLength('AWQ', 'qweight', qweight, cols * words);
  if (qzeros !== undefined) checkLength('AWQ', 'qzeros', qzeros, groups * words);
  checkLength('AWQ', 'scales', scales, groups * rows);

  const codes = new Uint8Array((rows * cols) / 2);
  for (let k = 0; k < cols; k++)
    for (let n = 0; n < rows; n++) {
      const code = (qweight[k * words + (n >> 3)]! >>> shiftOfColumn[n & 7]!) & 15;
      codes[(n * cols + k) >> 1]! |= code << ((k & 1) * 4);
    }

  const outScales = new Float32Array(rows * groups);
  const zeros = new Float32Array(rows * groups);
  for (let g = 0; g < groups; g++)
    for (let n = 0; n < rows; n++) {
      outScales[n * groups + g] = scales[g * rows + n]!;
      zeros[n * groups + g] = qzeros === undefined ? 8 : (qzeros[g * words + (n >> 3)]! >>> shiftOfColumn[n & 7]!) & 15;
    }
  return { rows, cols, groupSize: group, codes, scales: outScales, zeros };
}
