import type { WeightTensor } from '../contract.js';
import { WeightFormatError } from '../errors.js';

/** Matrices of one format and shape as one [E, N, K] weight: their parts in order. */
export function stackMatrices(name: string, matrices: readonly WeightTensor[]): WeightTensor {
  const first = matrices[0];
  if (first === undefined) throw new WeightFormatError(name, 'empty', 'a stack needs at least one matrix');
  const data = matrices.flatMap((m) => m.data);
  const shape = [matrices.length, ...first.shape];
  const odd = matrices.find(
    (m) =>
      m.format !== first.format ||
      m.blockScales?.blockRows !== first.blockScales?.blockRows ||
      m.blockScales?.blockCols !== first.blockScales?.blockCols ||
      m.int4?.groupSize !== first.int4?.groupSize,
  );
  if (odd !== undefined) {
    throw new WeightFormatError(
      odd.name,
      odd.format,
      `the other experts of its layer are stored as ${first.format} with other scales`,
    );
  }
  const base = { name, format: first.format, shape, data };
  if (first.blockScales !== undefined) {
    const scales = matrices.flatMap((m) => m.blockScales?.data ?? []);
    return { ...base, blockScales: { ...first.blockScales, data: scales } };
  }
  if (first.int4 !== undefined) {
    const ordered = matrices.find((m) => m.int4 !== undefined && 'perm' in m.int4);
    if (ordered !== undefined) {
      throw new WeightFormatError(
        ordered.name,
        'gptq',
        'experts in activation order (desc_act) are not supported; requantise without it',
      );
    }
    const scales = matrices.flatMap((m) => m.int4?.scales ?? []);
    const zeros = matrices.flatMap((m) => m.int4?.zeros ?? []);
    return { ...base, int4: { groupSize: first.int4.groupSize, scales, zeros } };
  }
  return base;
}
