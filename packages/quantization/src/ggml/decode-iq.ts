import { f16Table } from '../float16.js';
import type { BlockDecoder } from './decoder.js';
import { evenSigns, grid, iq4Values } from './grids.js';

// Super-blocks of 256 elements whose groups of 4 or 8 are points of a grid, with signs apart.

/** Writes one grid point of `width` elements times `d`, negated where `signs` has a bit. */
function putSigned(
  out: Float32Array,
  o: number,
  points: Int8Array,
  index: number,
  width: number,
  d: number,
  signs: number,
): void {
  for (let j = 0; j < width; j++) {
    const v = d * points[index * width + j]!;
    out[o + j] = (signs >> j) & 1 ? -v : v;
  }
}

/** Layout: d, then 8 x { 4 grid bytes, uint32: 4 sign codes of 7 bits | scale << 28 }. */
export const decodeIQ2_XXS: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ2_XXS');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 66) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let g = 0; g < 8; g++) {
      const q = p + 2 + g * 8;
      const aux = src[q + 4]! | (src[q + 5]! << 8) | (src[q + 6]! << 16) | (src[q + 7]! << 24);
      const db = d * (0.5 + (aux >>> 28)) * 0.25;
      for (let l = 0; l < 4; l++, o += 8)
        putSigned(out, o, points, src[q + l]!, 8, db, evenSigns[(aux >>> (7 * l)) & 127]!);
    }
  }
};

/** Layout: d, qs[32] (uint16: 9-bit point, 7-bit sign code), scales[8] (a nibble for each 16 elements). */
export const decodeIQ2_XS: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ2_XS');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 74) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let l = 0; l < 32; l++, o += 8) {
      const scale = (src[p + 66 + (l >> 2)]! >> (((l >> 1) & 1) * 4)) & 15;
      const q = src[p + 2 + 2 * l]! | (src[p + 3 + 2 * l]! << 8);
      putSigned(out, o, points, q & 511, 8, d * (0.5 + scale) * 0.25, evenSigns[q >> 9]!);
    }
  }
};

/** Layout: d, qs[32], signs[32], qh[8] (2 high bits of each point), scales[8]. */
export const decodeIQ2_S: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ2_S');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 82) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let l = 0; l < 32; l++, o += 8) {
      const scale = (src[p + 74 + (l >> 2)]! >> (((l >> 1) & 1) * 4)) & 15;
      const index = src[p + 2 + l]! | (((src[p + 66 + (l >> 2)]! >> (2 * (l & 3))) & 3) << 8);
      putSigned(out, o, points, index, 8, d * (0.5 + scale) * 0.25, src[p + 34 + l]!);
    }
  }
};

/** Layout: d, qs[64] (points of 4), then 8 x uint32: 4 sign codes of 7 bits | scale << 28. */
export const decodeIQ3_XXS: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ3_XXS');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 98) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let g = 0; g < 8; g++) {
      const a = p + 66 + g * 4;
      const aux = src[a]! | (src[a + 1]! << 8) | (src[a + 2]! << 16) | (src[a + 3]! << 24);
      const db = d * (0.5 + (aux >>> 28)) * 0.5;
      for (let l = 0; l < 4; l++, o += 8) {
        const signs = evenSigns[(aux >>> (7 * l)) & 127]!;
        const q = p + 2 + g * 8 + l * 2;
        putSigned(out, o, points, src[q]!, 4, db, signs);
        putSigned(out, o + 4, points, src[q + 1]!, 4, db, signs >> 4);
      }
    }
  }
};

/** Layout: d, qs[64], qh[8] (ninth bit of each point), signs[32], scales[4] (a nibble for each 32 elements). */
export const decodeIQ3_S: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ3_S');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 110) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let l = 0; l < 64; l++, o += 4) {
      const scale = (src[p + 106 + (l >> 4)]! >> (((l >> 3) & 1) * 4)) & 15;
      const index = src[p + 2 + l]! | (((src[p + 66 + (l >> 3)]! >> (l & 7)) & 1) << 8);
      const signs = src[p + 74 + (l >> 1)]! >> ((l & 1) * 4);
      putSigned(out, o, points, index, 4, d * (1 + 2 * scale), signs);
    }
  }
};

function putShifted(out: Float32Array, o: number, points: Int8Array, index: number, dl: number, delta: number): void {
  for (let j = 0; j < 8; j++) out[o + j] = dl * (points[index * 8 + j]! + delta);
}

/** Layout: d, qs[32], qh[8] (uint16: 4 x 3 high bits of the points, 3 bits of scale, sign of the shift). */
export const decodeIQ1_S: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ1_S');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 50) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let g = 0; g < 8; g++) {
      const high = src[p + 34 + 2 * g]! | (src[p + 35 + 2 * g]! << 8);
      const dl = d * (2 * ((high >> 12) & 7) + 1);
      const delta = high & 0x8000 ? -0.125 : 0.125;
      for (let l = 0; l < 4; l++, o += 8)
        putShifted(out, o, points, src[p + 2 + g * 4 + l]! | (((high >> (3 * l)) & 7) << 8), dl, delta);
    }
  }
};

/** Layout: qs[32], qh[16] (nibbles: 3 high bits, sign of the shift), scales[4] (uint16: 4 x 3 bits | 4 bits of d). */
export const decodeIQ1_M: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  const points = grid('IQ1_S');
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 56) {
    const s = p + 48;
    const d =
      f16[(src[s + 1]! >> 4) | (src[s + 3]! & 0xf0) | ((src[s + 5]! & 0xf0) << 4) | ((src[s + 7]! & 0xf0) << 8)]!;
    for (let l = 0; l < 32; l++, o += 8) {
      const sub = l >> 1;
      const word = src[s + 2 * (sub >> 2)]! | (src[s + 1 + 2 * (sub >> 2)]! << 8);
      const dl = d * (2 * ((word >> (3 * (sub & 3))) & 7) + 1);
      const high = src[p + 32 + (l >> 1)]! >> ((l & 1) * 4);
      putShifted(out, o, points, src[p + l]! | ((high & 7) << 8), dl, high & 8 ? -0.125 : 0.125);
    }
  }
};

/** Layout: d, scales_h (uint16, 2 bits each), scales_l[4] (nibbles), qs[128]; scales are offset by 32. */
export const decodeIQ4_XS: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 136) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    const high = src[p + 2]! | (src[p + 3]! << 8);
    for (let g = 0; g < 8; g++, o += 32) {
      const scale = ((src[p + 4 + (g >> 1)]! >> ((g & 1) * 4)) & 15) | (((high >> (2 * g)) & 3) << 4);
      const dl = d * (scale - 32);
      const q = p + 8 + g * 16;
      for (let j = 0; j < 16; j++) {
        out[o + j] = dl * iq4Values[src[q + j]! & 15]!;
        out[o + j + 16] = dl * iq4Values[src[q + j]! >> 4]!;
      }
    }
  }
};
