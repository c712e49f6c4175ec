import { SizeMismatchError, UnsupportedFormatError } from '../errors.js';

/** Shape facts that GPTQ and AWQ share. Throws typed errors for anything but 4 bits and whole groups and words. */
export function checkInt4Shape(
  method: string,
  bits: number,
  shape: readonly [number, number],
  groupSize: number,
): { rows: number; cols: number; group: number; groups: number } {
  const [rows, cols] = shape;
  const context = `${method} weight [${rows}, ${cols}]`;
  if (bits !== 4) throw new UnsupportedFormatError('unpack', `${method} with ${bits} bits`, [`${method} with 4 bits`]);
  for (const [field, size] of [
    ['rows', rows],
    ['cols', cols],
  ] as const)
    if (!Number.isSafeInteger(size) || size <= 0 || size % 8 !== 0)
      throw new SizeMismatchError(field, size, 'a positive multiple of 8 (eight codes share a word)', context);
  const group = groupSize === -1 ? cols : groupSize;
  if (!Number.isSafeInteger(group) || group <= 0 || cols % group !== 0)
    throw new SizeMismatchError('groupSize', groupSize, `-1 or a divisor of ${cols}`, context);
  return { rows, cols, group, groups: cols / group };
}

/** Throws if `array` does not have exactly `expected` elements. */
export function checkLength(method: string, field: string, array: { length: number }, expected: number): void {
  if (array.length !== expected) throw new SizeMismatchError(field, array.length, expected, `${method} weight`);
}
