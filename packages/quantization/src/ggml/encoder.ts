import { UnrepresentableWeightError } from '../errors.js';
import { f32ToF16, f16Table } from '../float16.js';
import type { GgmlTypeName } from '../formats.js';

/** One row to encode. */
export interface EncodeTarget {
  readonly format: GgmlTypeName;
  /** All values; the row is [start, start + length). */
  readonly values: Float32Array;
  readonly start: number;
  readonly length: number;
  /** Receives the row's blocks from `outStart`. */
  readonly out: Uint8Array;
  readonly outStart: number;
  /** [length]: importance of each column, not negative. */
  readonly importance: Float32Array | undefined;
}

/** Encodes one row (a whole number of blocks, all values finite). */
export type RowEncoder = (row: EncodeTarget) => void;

/**
 * Stores `scale` as f16 at `p` and returns what a reader will see.
 *
 * @throws UnrepresentableWeightError if it overflows f16
 */
export function putScale(row: EncodeTarget, p: number, scale: number, blockStart: number): number {
  const bits = f32ToF16(scale);
  if ((bits & 0x7c00) === 0x7c00) throw new UnrepresentableWeightError(row.format, blockStart, scale);
  row.out[p] = bits & 255;
  row.out[p + 1] = bits >> 8;
  return f16Table()[bits]!;
}

/** To the nearest integer, ties to even; for magnitudes below 2^51. */
export function nearest(value: number): number {
  return value + 6755399441055744 - 6755399441055744;
}

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}
