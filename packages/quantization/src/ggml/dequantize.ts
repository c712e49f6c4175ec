import { SizeMismatchError } from '../errors.js';
import { f16Table } from '../float16.js';
import { formatByName, type GgmlTypeName } from '../formats.js';
import * as iq from './decode-iq.js';
import * as k from './decode-k.js';
import * as legacy from './decode-legacy.js';
import * as ternary from './decode-ternary.js';
import type { BlockDecoder } from './decoder.js';

function viewDecoder(read: (view: DataView, offset: number) => number, bytes: number): BlockDecoder {
  return (src, blocks, out) => {
    const view = new DataView(src.buffer, src.byteOffset, src.length);
    for (let i = 0; i < blocks; i++) out[i] = read(view, i * bytes);
  };
}

const decodeF16: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let i = 0; i < blocks; i++) out[i] = f16[src[2 * i]! | (src[2 * i + 1]! << 8)]!;
};

// Bits are moved as integers, so that NaN payloads survive.
const decodeF32: BlockDecoder = (src, blocks, out) => {
  new Uint8Array(out.buffer, out.byteOffset, blocks * 4).set(src.subarray(0, blocks * 4));
};

const decodeBF16: BlockDecoder = (src, blocks, out) => {
  const words = new Uint32Array(out.buffer, out.byteOffset, blocks);
  for (let i = 0; i < blocks; i++) words[i] = (src[2 * i]! << 16) | (src[2 * i + 1]! << 24);
};

const decoders: Record<GgmlTypeName, BlockDecoder> = {
  F32: decodeF32,
  F16: decodeF16,
  BF16: decodeBF16,
  F64: viewDecoder((v, p) => v.getFloat64(p, true), 8),
  I8: viewDecoder((v, p) => v.getInt8(p), 1),
  I16: viewDecoder((v, p) => v.getInt16(p, true), 2),
  I32: viewDecoder((v, p) => v.getInt32(p, true), 4),
  I64: viewDecoder((v, p) => Number(v.getBigInt64(p, true)), 8),
  Q4_0: legacy.decodeQ4_0,
  Q4_1: legacy.decodeQ4_1,
  Q5_0: legacy.decodeQ5_0,
  Q5_1: legacy.decodeQ5_1,
  Q8_0: legacy.decodeQ8_0,
  Q8_1: legacy.decodeQ8_1,
  Q2_K: k.decodeQ2_K,
  Q3_K: k.decodeQ3_K,
  Q4_K: k.decodeQ4_K,
  Q5_K: k.decodeQ5_K,
  Q6_K: k.decodeQ6_K,
  Q8_K: k.decodeQ8_K,
  IQ1_S: iq.decodeIQ1_S,
  IQ1_M: iq.decodeIQ1_M,
  IQ2_XXS: iq.decodeIQ2_XXS,
  IQ2_XS: iq.decodeIQ2_XS,
  IQ2_S: iq.decodeIQ2_S,
  IQ3_XXS: iq.decodeIQ3_XXS,
  IQ3_S: iq.decodeIQ3_S,
  IQ4_NL: legacy.decodeIQ4_NL,
  IQ4_XS: iq.decodeIQ4_XS,
  TQ1_0: ternary.decodeTQ1_0,
  TQ2_0: ternary.decodeTQ2_0,
  MXFP4: legacy.decodeMXFP4,
  NVFP4: legacy.decodeNVFP4,
  Q1_0: ternary.decodeQ1_0,
  Q2_0: ternary.decodeQ2_0,
};

/**
 * Dequantises `elements` consecutive weights of a ggml type to float32, bit for bit as ggml does. Rows are stored
 * without gaps and begin on block boundaries, so any whole number of rows can be decoded in one call. Integer types
 * are converted to the nearest float32.
 *
 * @param bytes exactly the storage of `elements` weights, little-endian; not modified
 * @param out receives the result from its start if given (at least `elements` long), else an array is allocated
 * @returns `out`, or the new array of `elements` values
 * @throws UnknownFormatError, SizeMismatchError
 */
export function dequantize(
  format: GgmlTypeName,
  bytes: Uint8Array,
  elements: number,
  out?: Float32Array,
): Float32Array {
  const { name, blockSize, blockBytes } = formatByName(format);
  if (!Number.isSafeInteger(elements) || elements < 0 || elements % blockSize !== 0)
    throw new SizeMismatchError('elements', elements, `a multiple of ${blockSize}`, `Dequantising ${name}`);
  const blocks = elements / blockSize;
  if (bytes.length !== blocks * blockBytes)
    throw new SizeMismatchError('bytes', bytes.length, blocks * blockBytes, `Dequantising ${elements} x ${name}`);
  if (out !== undefined && out.length < elements)
    throw new SizeMismatchError('out', out.length, `at least ${elements}`, `Dequantising ${name}`);
  const target = out ?? new Float32Array(elements);
  decoders[name](bytes, blocks, target);
  return target;
}
