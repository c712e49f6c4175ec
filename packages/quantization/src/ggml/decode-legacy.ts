import { f16Table } from '../float16.js';
import type { BlockDecoder } from './decoder.js';
import { fp4DoubledValues, iq4Values } from './grids.js';

// Formats of 32 elements (64 for NVFP4). Element j is in the low, element j + 16 in the high nibble of byte j.

export const decodeQ4_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 18, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let j = 0; j < 16; j++) {
      const q = src[p + 2 + j]!;
      out[o + j] = d * ((q & 15) - 8);
      out[o + j + 16] = d * ((q >> 4) - 8);
    }
  }
};

export const decodeQ4_1: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 20, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    const m = f16[src[p + 2]! | (src[p + 3]! << 8)]!;
    for (let j = 0; j < 16; j++) {
      const q = src[p + 4 + j]!;
      out[o + j] = d * (q & 15) + m;
      out[o + j + 16] = d * (q >> 4) + m;
    }
  }
};

export const decodeQ5_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 22, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    const high = src[p + 2]! | (src[p + 3]! << 8) | (src[p + 4]! << 16) | (src[p + 5]! << 24);
    for (let j = 0; j < 16; j++) {
      const q = src[p + 6 + j]!;
      out[o + j] = d * (((q & 15) | (((high >>> j) & 1) << 4)) - 16);
      out[o + j + 16] = d * (((q >> 4) | (((high >>> (j + 16)) & 1) << 4)) - 16);
    }
  }
};

export const decodeQ5_1: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 24, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    const m = f16[src[p + 2]! | (src[p + 3]! << 8)]!;
    const high = src[p + 4]! | (src[p + 5]! << 8) | (src[p + 6]! << 16) | (src[p + 7]! << 24);
    for (let j = 0; j < 16; j++) {
      const q = src[p + 8 + j]!;
      out[o + j] = d * ((q & 15) | (((high >>> j) & 1) << 4)) + m;
      out[o + j + 16] = d * ((q >> 4) | (((high >>> (j + 16)) & 1) << 4)) + m;
    }
  }
};

export const decodeQ8_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const q = new Int8Array(src.buffer, src.byteOffset, src.length);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 34, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let j = 0; j < 32; j++) out[o + j] = d * q[p + 2 + j]!;
  }
};

/** Q8_1 is Q8_0 with a stored sum (bytes 2 and 3) that only the dot products of ggml use. */
export const decodeQ8_1: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const q = new Int8Array(src.buffer, src.byteOffset, src.length);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 36, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let j = 0; j < 32; j++) out[o + j] = d * q[p + 4 + j]!;
  }
};

export const decodeIQ4_NL: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 18, o += 32) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let j = 0; j < 16; j++) {
      const q = src[p + 2 + j]!;
      out[o + j] = d * iq4Values[q & 15]!;
      out[o + j + 16] = d * iq4Values[q >> 4]!;
    }
  }
};

/** Half of the e8m0 scale 2^(e - 127): the code points are stored doubled. e = 0 and 1 give float32 subnormals. */
export function e8m0Half(e: number): number {
  return 2 ** (e - 128);
}

export const decodeMXFP4: BlockDecoder = (src, blocks, out) => {
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 17, o += 32) {
    const d = e8m0Half(src[p]!);
    for (let j = 0; j < 16; j++) {
      const q = src[p + 1 + j]!;
      out[o + j] = d * fp4DoubledValues[q & 15]!;
      out[o + j + 16] = d * fp4DoubledValues[q >> 4]!;
    }
  }
};

/** Half of the unsigned e4m3 scale (bit 7 is ignored); 0x7f, the NaN of e4m3, reads as 0. */
const halfUe4m3 = Float32Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x7f) return 0;
  const exponent = (byte >> 3) & 15;
  const mantissa = byte & 7;
  return 0.5 * (exponent === 0 ? mantissa * 2 ** -9 : (1 + mantissa / 8) * 2 ** (exponent - 7));
});

/** NVFP4: four groups of 16, their scales first; a group's elements j and j + 8 share byte j of its eight. */
export const decodeNVFP4: BlockDecoder = (src, blocks, out) => {
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 36) {
    for (let g = 0; g < 4; g++, o += 16) {
      const d = halfUe4m3[src[p + g]!]!;
      for (let j = 0; j < 8; j++) {
        const q = src[p + 4 + g * 8 + j]!;
        out[o + j] = d * fp4DoubledValues[q & 15]!;
        out[o + j + 8] = d * fp4DoubledValues[q >> 4]!;
      }
    }
  }
};
