import { formatByName } from '@dsi/model-files';
import type { WeightFormat } from '../contract.js';
import { WeightFormatError } from '../errors.js';

const formats: ReadonlySet<string> = new Set<Exclude<WeightFormat, 'INT4_GROUP'>>([
  'F32',
  'F16',
  'BF16',
  'Q4_0',
  'Q4_1',
  'Q5_0',
  'Q5_1',
  'Q8_0',
  'Q2_K',
  'Q3_K',
  'Q4_K',
  'Q5_K',
  'Q6_K',
  'IQ1_S',
  'IQ1_M',
  'IQ2_XXS',
  'IQ2_XS',
  'IQ2_S',
  'IQ3_XXS',
  'IQ3_S',
  'IQ4_NL',
  'IQ4_XS',
  'TQ1_0',
  'TQ2_0',
  'MXFP4',
  'NVFP4',
  'F8_E4M3',
  'F8_E5M2',
]);

/** The weight format of a file's dtype. */
export function weightFormat(tensor: string, dtype: string): WeightFormat {
  if (formats.has(dtype)) return dtype as WeightFormat;
  throw new WeightFormatError(tensor, dtype, `no weight format of this name; supported: ${[...formats].join(', ')}`);
}

export function isFp8(format: WeightFormat): format is 'F8_E4M3' | 'F8_E5M2' {
  return format === 'F8_E4M3' || format === 'F8_E5M2';
}

/** Bytes of `elements` consecutive elements of a row; they must be whole blocks. */
export function spanBytes(tensor: string, format: WeightFormat, elements: number): number {
  if (isFp8(format)) return elements;
  if (format === 'INT4_GROUP') return elements / 2;
  const { blockSize, blockBytes } = formatByName(format);
  if (elements % blockSize !== 0) {
    throw new WeightFormatError(tensor, format, `${elements} elements are not whole blocks of ${blockSize}`);
  }
  return (elements / blockSize) * blockBytes;
}
