import { SizeMismatchError } from '../errors.js';

/**
 * A [N, K] matrix of 4-bit codes with one scale and one zero per row and group: `w = (code - zero) * scale`.
 * Both GPTQ and AWQ checkpoints unpack into it.
 */
export interface Int4GroupWeight {
  /** N: output features. */
  readonly rows: number;
  /** K: input features. */
  readonly cols: number;
  /** Consecutive columns of `codes` that share a scale; divides `cols`. */
  readonly groupSize: number;
  /** [N, K/2], row-major along K: column 2j in the low, 2j + 1 in the high nibble. */
  readonly codes: Uint8Array;
  /** [N, K/groupSize] */
  readonly scales: Float32Array;
  /** [N, K/groupSize], whole numbers 0..16. */
  readonly zeros: Float32Array;
  /**
   * [K], activation order: column j of `codes` multiplies element `perm[j]` of the activation. Absent when the columns
   * are in the model's order.
   */
  readonly perm?: Int32Array;
}

/**
 * The matrix in float32, [N, K] in the model's column order (activation order undone). Equal bit for bit to computing
 * `(code - zero) * scale` in float32 for every weight.
 *
 * @throws SizeMismatchError if the arrays do not fit the shape
 */
export function dequantizeInt4Group(weight: Int4GroupWeight): Float32Array {
  const { rows, cols, groupSize, codes, scales, zeros, perm } = weight;
  const groups = cols / groupSize;
  const context = `Int4 weight [${rows}, ${cols}] in groups of ${groupSize}`;
  if (!Number.isSafeInteger(groups) || groups < 1)
    throw new SizeMismatchError('groupSize', groupSize, `a divisor of ${cols}`, context);
  if (codes.length !== (rows * cols) / 2)
    throw new SizeMismatchError('codes', codes.length, (rows * cols) / 2, context);
  if (scales.length !== rows * groups) throw new SizeMismatchError('scales', scales.length, rows * groups, context);
  if (zeros.length !== rows * groups) throw new SizeMismatchError('zeros', zeros.length, rows * groups, context);
  if (perm !== undefined && perm.length !== cols) throw new SizeMismatchError('perm', perm.length, cols, context);
  const out = new Float32Array(rows * cols);
  for (let n = 0; n < rows; n++) {
    for (let k = 0; k < cols; k++) {
      const g = n * groups + Math.floor(k / groupSize);
      const code = (codes[(n * cols + k) >> 1]! >> ((k & 1) * 4)) & 15;
      out[n * cols + (perm === undefined ? k : perm[k]!)] = (code - zeros[g]!) * scales[g]!;
    }
  }
  return out;
}
