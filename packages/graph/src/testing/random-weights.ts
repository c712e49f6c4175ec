import type { WeightBytes, WeightFormat, WeightTensor } from '@dsi/kernels';
import { dequantize, f32ArrayToBf16, f32ArrayToF16, f32ToF16, quantizeFp8, rowBytes } from '@dsi/quantization';
import type { Random } from './random.js';

/** Byte offsets of the f16 scales in a block, for the ggml formats that have them. */
const f16Scales: Partial<Record<WeightFormat, readonly number[]>> = {
  Q4_0: [0],
  Q4_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q8_0: [0],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
  IQ1_S: [0],
  IQ2_XXS: [0],
  IQ2_XS: [0],
  IQ2_S: [0],
  IQ3_XXS: [0],
  IQ3_S: [0],
  IQ4_NL: [0],
  IQ4_XS: [0],
  TQ1_0: [52],
  TQ2_0: [64],
};

/** Every weight format, with a row length that its blocks allow (as short as the format lets it be, and odd where it may be). */
export const formatCols: Readonly<Record<WeightFormat, number>> = {
  F32: 37,
  F16: 75,
  BF16: 51,
  Q4_0: 96,
  Q4_1: 96,
  Q5_0: 96,
  Q5_1: 96,
  Q8_0: 96,
  Q2_K: 512,
  Q3_K: 256,
  Q4_K: 512,
  Q5_K: 256,
  Q6_K: 512,
  IQ1_S: 256,
  IQ1_M: 256,
  IQ2_XXS: 256,
  IQ2_XS: 256,
  IQ2_S: 256,
  IQ3_XXS: 256,
  IQ3_S: 256,
  IQ4_NL: 96,
  IQ4_XS: 256,
  TQ1_0: 256,
  TQ2_0: 256,
  MXFP4: 96,
  NVFP4: 192,
  F8_E4M3: 300,
  F8_E5M2: 100,
  INT4_GROUP: 128,
};

/** Sets the f16 scales of every block (or its kin of IQ1_M, MXFP4, NVFP4). */
function setScale(format: WeightFormat, block: Uint8Array, scale: number, random: Random): void {
  const bits = f32ToF16(scale);
  for (const at of f16Scales[format] ?? []) {
    block[at] = bits & 255;
    block[at + 1] = bits >> 8;
  }
  // IQ1_M spreads the scale over the upper nibbles of four little-endian words.
  if (format === 'IQ1_M')
    for (let i = 0; i < 4; i++) block[49 + 2 * i] = (block[49 + 2 * i]! & 15) | (((bits >> (4 * i)) & 15) << 4);
  if (format === 'MXFP4') block[0] = random.int(119, 123);
  if (format === 'NVFP4') for (let i = 0; i < 4; i++) block[i] = random.int(0x10, 0x28);
}

type GgmlFormat = Exclude<WeightFormat, 'F8_E4M3' | 'F8_E5M2' | 'INT4_GROUP'>;

/** Random codes under scales that make the largest weight of a block about 0.1 .. 0.3. */
function ggmlBytes(format: GgmlFormat, elements: number, random: Random): Uint8Array {
  if (format === 'F32') return new Uint8Array(random.normals(elements, 0.1).buffer);
  if (format === 'F16') return new Uint8Array(f32ArrayToF16(random.normals(elements, 0.1)).buffer);
  if (format === 'BF16') return new Uint8Array(f32ArrayToBf16(random.normals(elements, 0.1)).buffer);
  const blockSize = [32, 64, 128, 256].find((n) => blockBytesOf(format, n) !== undefined)!;
  const size = blockBytesOf(format, blockSize)!;
  const bytes = random.bytes((elements / blockSize) * size);
  for (let at = 0; at < bytes.length; at += size) {
    const block = bytes.subarray(at, at + size);
    setScale(format, block, 1, random);
    if (format === 'MXFP4' || format === 'NVFP4') continue;
    const largest = dequantize(format, block, blockSize).reduce((m, v) => Math.max(m, Math.abs(v)), 1e-3);
    setScale(format, block, ((0.1 + 0.2 * random.unit()) / largest) * (random.unit() < 0.5 ? -1 : 1), random);
  }
  return bytes;
}

function blockBytesOf(format: GgmlFormat, elements: number): number | undefined {
  try {
    return rowBytes(format, elements);
  } catch {
    return undefined;
  }
}

const asBytes = (a: Float32Array): WeightBytes => ({ bytes: new Uint8Array(a.buffer, a.byteOffset, a.byteLength) });

/** A random valid weight [N, K] or [G, N, K] (or [K]) of any format; groups arrive as one part each. */
export function randomWeight(
  name: string,
  format: WeightFormat,
  shape: readonly number[],
  random: Random,
): WeightTensor {
  const cols = shape.at(-1)!;
  const rows = shape.length > 1 ? shape.at(-2)! : 1;
  const groups = shape.length > 2 ? shape[0]! : 1;
  const each = <T>(make: () => T): T[] => Array.from({ length: groups }, make);
  if (format === 'F8_E4M3' || format === 'F8_E5M2') {
    const block = format === 'F8_E4M3' ? { blockRows: 16, blockCols: 128 } : { blockRows: 1, blockCols: cols };
    const parts = each(() => quantizeFp8(random.normals(rows * cols, 0.1), { rows, cols, format, ...block }));
    return {
      name,
      format,
      shape,
      data: parts.map((p) => ({ bytes: p.bytes })),
      blockScales: { data: parts.map((p) => asBytes(p.scales)), ...block },
    };
  }
  if (format === 'INT4_GROUP') {
    const groupSize = cols % 64 === 0 ? 64 : 32;
    const count = (rows * cols) / groupSize;
    return {
      name,
      format,
      shape,
      data: each(() => ({ bytes: random.bytes((rows * cols) / 2) })),
      int4: {
        groupSize,
        scales: each(() => asBytes(Float32Array.from({ length: count }, () => 0.005 + 0.02 * random.unit()))),
        zeros: each(() => asBytes(Float32Array.from({ length: count }, () => random.int(6, 10)))),
        ...(groups === 1 ? { perm: random.permutation(cols) } : {}),
      },
    };
  }
  return { name, format, shape, data: each(() => ({ bytes: ggmlBytes(format, rows * cols, random) })) };
}

/** A plain f32 weight of these values. */
export function f32Weight(name: string, shape: readonly number[], values: Float32Array): WeightTensor {
  return { name, format: 'F32', shape, data: [asBytes(values)] };
}
