import { f16Table } from '../float16.js';
import type { BlockDecoder } from './decoder.js';

// Super-blocks of 256 elements: 8 sub-blocks of 32, or 16 of 16, with quantised scales (and minima).

const fround = Math.fround;

/**
 * Unpacks the eight 6-bit scales and eight 6-bit minima of Q4_K and Q5_K from 12 bytes:
 * bytes 0-3 scale 0-3 | 2 high bits of scale 4-7, bytes 4-7 the same for the minima, bytes 8-11 low nibbles of both 4-7.
 */
export function unpackScalesMins(src: Uint8Array, p: number, scales: Uint8Array, mins: Uint8Array): void {
  for (let j = 0; j < 4; j++) {
    const s = src[p + j]!;
    const m = src[p + 4 + j]!;
    const low = src[p + 8 + j]!;
    scales[j] = s & 63;
    mins[j] = m & 63;
    scales[j + 4] = (low & 15) | ((s >> 6) << 4);
    mins[j + 4] = (low >> 4) | ((m >> 6) << 4);
  }
}

/** The sixteen 6-bit scales of Q3_K, offset by 32, from 12 bytes: nibbles first, then 2 high bits each. */
export function unpackQ3Scales(src: Uint8Array, p: number, scales: Int8Array): void {
  for (let j = 0; j < 16; j++) {
    const low = j < 8 ? src[p + j]! & 15 : src[p + j - 8]! >> 4;
    const high = (src[p + 8 + (j & 3)]! >> (2 * (j >> 2))) & 3;
    scales[j] = (low | (high << 4)) - 32;
  }
}

/** Layout: scales[16] (scale | min << 4), qs[64], d, dmin. */
export const decodeQ2_K: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 84) {
    const d = f16[src[p + 80]! | (src[p + 81]! << 8)]!;
    const dmin = f16[src[p + 82]! | (src[p + 83]! << 8)]!;
    for (let s = 0; s < 16; s++, o += 16) {
      const scale = src[p + s]!;
      const dl = d * (scale & 15);
      const ml = fround(dmin * (scale >> 4));
      const shift = ((s >> 1) & 3) * 2;
      const q = p + 16 + (s >> 3) * 32 + (s & 1) * 16;
      for (let j = 0; j < 16; j++) out[o + j] = fround(dl * ((src[q + j]! >> shift) & 3)) - ml;
    }
  }
};

/** Layout: hmask[32], qs[64], scales[12], d. The offset of 4 applies where the mask bit is 0. */
export const decodeQ3_K: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const scales = new Int8Array(16);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 110) {
    const d = f16[src[p + 108]! | (src[p + 109]! << 8)]!;
    unpackQ3Scales(src, p + 96, scales);
    for (let s = 0; s < 16; s++, o += 16) {
      const dl = d * scales[s]!;
      const shift = ((s >> 1) & 3) * 2;
      const half = (s & 1) * 16;
      const q = p + 32 + (s >> 3) * 32 + half;
      const bit = s >> 1;
      for (let j = 0; j < 16; j++) {
        const high = ((src[p + half + j]! >> bit) & 1) << 2;
        out[o + j] = dl * (((src[q + j]! >> shift) & 3) + high - 4);
      }
    }
  }
};

/** Layout: d, dmin, scales[12], qs[128]; sub-blocks 2i and 2i + 1 are the low and high nibbles of 32 bytes. */
export const decodeQ4_K: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const scales = new Uint8Array(8);
  const mins = new Uint8Array(8);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 144) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    const dmin = f16[src[p + 2]! | (src[p + 3]! << 8)]!;
    unpackScalesMins(src, p + 4, scales, mins);
    for (let s = 0; s < 8; s += 2, o += 64) {
      const d0 = d * scales[s]!;
      const m0 = fround(dmin * mins[s]!);
      const d1 = d * scales[s + 1]!;
      const m1 = fround(dmin * mins[s + 1]!);
      const q = p + 16 + s * 16;
      for (let j = 0; j < 32; j++) {
        const byte = src[q + j]!;
        out[o + j] = fround(d0 * (byte & 15)) - m0;
        out[o + j + 32] = fround(d1 * (byte >> 4)) - m1;
      }
    }
  }
};

/** Layout: d, dmin, scales[12], qh[32], qs[128]; bit s of qh is the fifth bit of sub-block s. */
export const decodeQ5_K: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const scales = new Uint8Array(8);
  const mins = new Uint8Array(8);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 176) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    const dmin = f16[src[p + 2]! | (src[p + 3]! << 8)]!;
    unpackScalesMins(src, p + 4, scales, mins);
    for (let s = 0; s < 8; s += 2, o += 64) {
      const d0 = d * scales[s]!;
      const m0 = fround(dmin * mins[s]!);
      const d1 = d * scales[s + 1]!;
      const m1 = fround(dmin * mins[s + 1]!);
      const q = p + 48 + s * 16;
      for (let j = 0; j < 32; j++) {
        const byte = src[q + j]!;
        const high = src[p + 16 + j]! >> s;
        out[o + j] = fround(d0 * ((byte & 15) | ((high & 1) << 4))) - m0;
        out[o + j + 32] = fround(d1 * ((byte >> 4) | ((high & 2) << 3))) - m1;
      }
    }
  }
};

/** Layout: ql[128], qh[64], scales[16] (int8), d. Each half of 128 elements uses 64 bytes of ql and 32 of qh. */
export const decodeQ6_K: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const signed = new Int8Array(src.buffer, src.byteOffset, src.length);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 210) {
    const d = f16[src[p + 208]! | (src[p + 209]! << 8)]!;
    for (let s = 0; s < 16; s++, o += 16) {
      const dl = fround(d * signed[p + 192 + s]!);
      // Quarter (0-3) of the half, and 16-element part (0 or 1) of the quarter.
      const quarter = (s >> 1) & 3;
      const part = (s & 1) * 16;
      const low = p + (s >> 3) * 64 + (quarter & 1) * 32 + part;
      const high = p + 128 + (s >> 3) * 32 + part;
      const lowShift = (quarter >> 1) * 4;
      const highShift = quarter * 2;
      for (let j = 0; j < 16; j++) {
        const q = ((src[low + j]! >> lowShift) & 15) | (((src[high + j]! >> highShift) & 3) << 4);
        out[o + j] = dl * (q - 32);
      }
    }
  }
};

/** Layout: d (float32), qs[256] (int8), sums[16] (int16, only for dot products). */
export const decodeQ8_K: BlockDecoder = (src, blocks, out) => {
  const view = new DataView(src.buffer, src.byteOffset, src.length);
  const signed = new Int8Array(src.buffer, src.byteOffset, src.length);
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 292, o += 256) {
    const d = view.getFloat32(p, true);
    for (let j = 0; j < 256; j++) out[o + j] = d * signed[p + 4 + j]!;
  }
};
