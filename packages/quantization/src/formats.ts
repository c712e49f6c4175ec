import { SizeMismatchError, UnknownFormatError } from './errors.js';

/** ggml tensor types by the names that GGUF tools print. */
export type GgmlTypeName =
  | 'F32'
  | 'F16'
  | 'BF16'
  | 'F64'
  | 'I8'
  | 'I16'
  | 'I32'
  | 'I64'
  | 'Q4_0'
  | 'Q4_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q8_0'
  | 'Q8_1'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'
  | 'Q8_K'
  | 'IQ1_S'
  | 'IQ1_M'
  | 'IQ2_XXS'
  | 'IQ2_XS'
  | 'IQ2_S'
  | 'IQ3_XXS'
  | 'IQ3_S'
  | 'IQ4_NL'
  | 'IQ4_XS'
  | 'TQ1_0'
  | 'TQ2_0'
  | 'MXFP4'
  | 'NVFP4'
  | 'Q1_0'
  | 'Q2_0';

/** Storage of a format: `blockSize` consecutive elements of a row occupy `blockBytes` bytes. */
export interface BlockFormat {
  readonly name: GgmlTypeName;
  /** Type number in GGUF files. */
  readonly ggmlId: number;
  /** Elements in a block. */
  readonly blockSize: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
}

// [name, id in GGUF, elements, bytes]: ggml.h and the block structs of ggml-common.h.
const table: readonly (readonly [GgmlTypeName, number, number, number])[] = [
  ['F32', 0, 1, 4],
  ['F16', 1, 1, 2],
  ['Q4_0', 2, 32, 18],
  ['Q4_1', 3, 32, 20],
  ['Q5_0', 6, 32, 22],
  ['Q5_1', 7, 32, 24],
  ['Q8_0', 8, 32, 34],
  ['Q8_1', 9, 32, 36],
  ['Q2_K', 10, 256, 84],
  ['Q3_K', 11, 256, 110],
  ['Q4_K', 12, 256, 144],
  ['Q5_K', 13, 256, 176],
  ['Q6_K', 14, 256, 210],
  ['Q8_K', 15, 256, 292],
  ['IQ2_XXS', 16, 256, 66],
  ['IQ2_XS', 17, 256, 74],
  ['IQ3_XXS', 18, 256, 98],
  ['IQ1_S', 19, 256, 50],
  ['IQ4_NL', 20, 32, 18],
  ['IQ3_S', 21, 256, 110],
  ['IQ2_S', 22, 256, 82],
  ['IQ4_XS', 23, 256, 136],
  ['I8', 24, 1, 1],
  ['I16', 25, 1, 2],
  ['I32', 26, 1, 4],
  ['I64', 27, 1, 8],
  ['F64', 28, 1, 8],
  ['IQ1_M', 29, 256, 56],
  ['BF16', 30, 1, 2],
  ['TQ1_0', 34, 256, 54],
  ['TQ2_0', 35, 256, 66],
  ['MXFP4', 39, 32, 17],
  ['NVFP4', 40, 64, 36],
  ['Q1_0', 41, 128, 18],
  ['Q2_0', 42, 64, 18],
];

/** Every ggml type by name. */
export const ggmlFormats: ReadonlyMap<GgmlTypeName, BlockFormat> = new Map(
  table.map(([name, ggmlId, blockSize, blockBytes]) => [
    name,
    Object.freeze({ name, ggmlId, blockSize, blockBytes }) as BlockFormat,
  ]),
);

const byId: ReadonlyMap<number, BlockFormat> = new Map([...ggmlFormats.values()].map((f) => [f.ggmlId, f]));

/** @throws UnknownFormatError */
export function formatByName(name: string): BlockFormat {
  const format = ggmlFormats.get(name as GgmlTypeName);
  if (format === undefined) throw new UnknownFormatError(name, [...ggmlFormats.keys()]);
  return format;
}

/** @throws UnknownFormatError */
export function formatByGgmlId(id: number): BlockFormat {
  const format = byId.get(id);
  if (format === undefined)
    throw new UnknownFormatError(
      id,
      [...ggmlFormats.values()].map((f) => `${f.ggmlId} (${f.name})`),
    );
  return format;
}

/**
 * Bytes of a row of `k` elements.
 *
 * @throws SizeMismatchError if `k` is no whole number of blocks
 */
export function rowBytes(format: GgmlTypeName | BlockFormat, k: number): number {
  const f = typeof format === 'string' ? formatByName(format) : format;
  if (!Number.isSafeInteger(k) || k < 0 || k % f.blockSize !== 0)
    throw new SizeMismatchError('row length', k, `a multiple of ${f.blockSize}`, `Rows of ${f.name}`);
  return (k / f.blockSize) * f.blockBytes;
}
