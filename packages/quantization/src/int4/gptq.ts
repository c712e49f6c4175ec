import { SizeMismatchError } from '../errors.js';
import { checkInt4Shape, checkLength } from './check.js';
import type { Int4GroupWeight } from './int4-group.js';

/** Tensors of one GPTQ linear layer as the checkpoint stores them. N output, K input features, G = K / groupSize. */
export interface GptqTensors {
  /** int32 [K/8, N]: row k is in nibble k % 8 of word row k / 8, low nibble first. */
  readonly qweight: Int32Array;
  /** int32 [G, N/8]: column n is in nibble n % 8. */
  readonly qzeros: Int32Array;
  /** [G, N], already converted to float32. */
  readonly scales: Float32Array;
  /** int32 [K]: group of each input feature. Absent means k / groupSize. */
  readonly gIdx?: Int32Array;
  readonly bits: number;
  /** -1 means one group for the whole row. */
  readonly groupSize: number;
  /** `gptq` stores zero - 1, `gptq_v2` the zero itself. */
  readonly checkpointFormat: 'gptq' | 'gptq_v2';
  /** [N, K] */
  readonly shape: readonly [number, number];
}

/** Stable order of the input features by group, or undefined if they are in order already. */
function activationOrder(gIdx: Int32Array, groups: number, group: number): Int32Array | undefined {
  const next = new Int32Array(groups);
  let ordered = true;
  for (let k = 0; k < gIdx.length; k++) {
    const g = gIdx[k]!;
    if (g < 0 || g >= groups) throw new SizeMismatchError(`g_idx[${k}]`, g, `0 to ${groups - 1}`, 'GPTQ weight');
    if (g !== Math.floor(k / group)) ordered = false;
    next[g]!++;
  }
  if (ordered) return undefined;
  for (let g = 0; g < groups; g++) {
    if (next[g] !== group)
      throw new SizeMismatchError(`features of group ${g} in g_idx`, next[g]!, group, 'GPTQ weight');
    next[g] = g * group;
  }
  const perm = new Int32Array(gIdx.length);
  for (let k = 0; k < gIdx.length; k++) perm[next[gIdx[k]!]!++] = k;
  return perm;
}

/**
 * Unpacks a 4-bit GPTQ layer. With activation order the columns are sorted by group (stable) and `perm` says which
 * input feature each one is; otherwise they keep the model's order.
 *
 * @throws UnsupportedFormatError unless `bits` is 4
 * @throws SizeMismatchError if a tensor does not fit the shape, or `gIdx` does not fill every group equally
 */
export function unpackGptq(tensors: GptqTensors): Int4GroupWeight {
  const { qweight, qzeros, scales, gIdx, bits, groupSize, checkpointFormat, shape } = tensors;
  const { rows, cols, group, groups } = checkInt4Shape('GPTQ', bits, shape, groupSize);
  checkLength('GPTQ', 'qweight', qweight, (cols / 8) * rows);
  checkLength('GPTQ', 'qzeros', qzeros, groups * (rows / 8));
  checkLength('GPTQ', 'scales', scales, groups * rows);
  if (gIdx !== undefined) checkLength('GPTQ', 'g_idx', gIdx, cols);
  const perm = gIdx === undefined ? undefined : activationOrder(gIdx, groups, group);

  const codes = new Uint8Array((rows * cols) / 2);
  for (let j = 0; j < cols; j++) {
    const k = perm === undefined ? j : perm[j]!;
    const word = (k >> 3) * rows;
    const shift = (k & 7) * 4;
    for (let n = 0; n < rows; n++)
      codes[(n * cols + j) >> 1]! |= ((qweight[word + n]! >>> shift) & 15) << ((j & 1) * 4);
  }

  const offset = checkpointFormat === 'gptq' ? 1 : 0;
  const outScales = new Float32Array(rows * groups);
  const zeros = new Float32Array(rows * groups);
  for (let g = 0; g < groups; g++)
    for (let n = 0; n < rows; n++) {
      outScales[n * groups + g] = scales[g * rows + n]!;
      zeros[n * groups + g] = ((qzeros[g * (rows >> 3) + (n >> 3)]! >>> ((n & 7) * 4)) & 15) + offset;
    }
  return { rows, cols, groupSize: group, codes, scales: outScales, zeros, ...(perm && { perm }) };
}
