import { TensorLayoutError } from './errors.js';
import type { TensorInfo } from './model-files.js';

/**
 * Checks that no two tensors of one file share bytes.
 *
 * @returns the tensors in file order
 * @throws TensorLayoutError
 */
export function checkNoOverlap(tensors: Iterable<TensorInfo>): TensorInfo[] {
  const sorted = [...tensors].toSorted((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  for (let i = 1; i < sorted.length; i++) {
    const before = sorted[i - 1]!;
    const t = sorted[i]!;
    if (before.offset + before.byteLength > t.offset)
      throw new TensorLayoutError(`tensors ${before.name} and ${t.name} overlap at byte ${t.offset}`, {
        file: t.file,
        field: `tensor ${t.name}`,
        value: t.offset,
        limit: before.offset + before.byteLength,
      });
  }
  return sorted;
}
