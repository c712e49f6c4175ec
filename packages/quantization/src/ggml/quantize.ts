import { SizeMismatchError, UnrepresentableWeightError, UnsupportedFormatError } from '../errors.js';
import { f32ArrayToBf16 } from '../bfloat16.js';
import { f32ToF16 } from '../float16.js';
import { formatByName, rowBytes, type GgmlTypeName } from '../formats.js';
import * as iq4 from './encode-iq4.js';
import * as k from './encode-k.js';
import * as legacy from './encode-legacy.js';
import * as ternary from './encode-ternary.js';
import type { RowEncoder } from './encoder.js';

const encoders: Partial<Record<GgmlTypeName, RowEncoder>> = {
  Q4_0: legacy.encodeQ4_0,
  Q4_1: legacy.encodeQ4_1,
  Q5_0: legacy.encodeQ5_0,
  Q5_1: legacy.encodeQ5_1,
  Q8_0: legacy.encodeQ8_0,
  Q2_K: k.encodeQ2_K,
  Q3_K: k.encodeQ3_K,
  Q4_K: k.encodeQ4_K,
  Q5_K: k.encodeQ5_K,
  Q6_K: k.encodeQ6_K,
  IQ4_NL: iq4.encodeIQ4_NL,
  IQ4_XS: iq4.encodeIQ4_XS,
  TQ1_0: ternary.encodeTQ1_0,
  TQ2_0: ternary.encodeTQ2_0,
  MXFP4: legacy.encodeMXFP4,
};

/** Formats that `quantize` produces. */
export const quantizableFormats: readonly GgmlTypeName[] = [
  'F32',
  'F16',
  'BF16',
  ...(Object.keys(encoders) as GgmlTypeName[]),
];

export interface QuantizeOptions {
  /**
   * [rowLength]: how much an error in each column matters (mean square of the activation that it multiplies), not
   * negative. Formats with a scale search weight their error by it; F16, BF16, Q8_0, MXFP4 and the ternary formats
   * have none and ignore it.
   */
  readonly importance?: Float32Array;
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function encodeF16(values: Float32Array): Uint8Array {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const bits = f32ToF16(values[i]!);
    if ((bits & 0x7fff) === 0x7c00 && Number.isFinite(values[i]!))
      throw new UnrepresentableWeightError('F16', i, values[i]!);
    out[i] = bits;
  }
  return bytesOf(out);
}

function checkImportance(importance: Float32Array, rowLength: number): void {
  if (importance.length !== rowLength)
    throw new SizeMismatchError('importance', importance.length, rowLength, 'Quantising');
  for (let i = 0; i < rowLength; i++)
    if (!(importance[i]! >= 0 && importance[i]! < Infinity))
      throw new SizeMismatchError(`importance[${i}]`, importance[i]!, 'a finite number >= 0', 'Quantising');
}

/**
 * Quantises rows of float32 weights to a ggml type. The scale searches are those of llama.cpp: least weighted squared
 * error over a range of divisors. Without importance Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 equal ggml's reference byte for
 * byte.
 *
 * @param values rows of `rowLength` weights one after the other; not modified
 * @param rowLength a multiple of the format's block size
 * @returns the rows' blocks, in a new array
 * @throws UnknownFormatError, UnsupportedFormatError for a format that is only read
 * @throws SizeMismatchError if the sizes do not fit
 * @throws UnrepresentableWeightError for values that are not finite or overflow the format's 16-bit scale
 */
export function quantize(
  format: GgmlTypeName,
  values: Float32Array,
  rowLength: number,
  options: QuantizeOptions = {},
): Uint8Array {
  const { name } = formatByName(format);
  const bytes = rowBytes(format, rowLength);
  if (rowLength <= 0 || values.length % rowLength !== 0)
    throw new SizeMismatchError(
      'values',
      values.length,
      `a multiple of the row length ${rowLength}`,
      `Quantising ${name}`,
    );
  if (name === 'F32') return bytesOf(values.slice());
  if (name === 'F16') return encodeF16(values);
  if (name === 'BF16') return bytesOf(f32ArrayToBf16(values));
  const encode = encoders[name];
  if (encode === undefined) throw new UnsupportedFormatError('quantize', name, quantizableFormats);
  if (options.importance !== undefined) checkImportance(options.importance, rowLength);
  for (let i = 0; i < values.length; i++)
    if (!Number.isFinite(values[i]!)) throw new UnrepresentableWeightError(name, i, values[i]!);
  const out = new Uint8Array((values.length / rowLength) * bytes);
  for (let start = 0, outStart = 0; start < values.length; start += rowLength, outStart += bytes)
    encode({ format: name, values, start, length: rowLength, out, outStart, importance: options.importance });
  return out;
}
