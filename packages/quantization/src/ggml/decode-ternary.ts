import { f16Table } from '../float16.js';
import type { BlockDecoder } from './decoder.js';

const powersOf3 = [1, 3, 9, 27, 81] as const;

/** Trit n of a byte that holds five (or four) of them as a fixed-point fraction of 3^5. */
function trit(byte: number, n: number): number {
  return ((((byte * powersOf3[n]!) & 255) * 3) >> 8) - 1;
}

/** Layout: qs[48] (32 bytes of 5 x 32, 16 bytes of 5 x 16 elements), qh[4] (4 x 4 elements), d. */
export const decodeTQ1_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 54) {
    const d = f16[src[p + 52]! | (src[p + 53]! << 8)]!;
    for (let n = 0; n < 5; n++) for (let j = 0; j < 32; j++) out[o++] = d * trit(src[p + j]!, n);
    for (let n = 0; n < 5; n++) for (let j = 0; j < 16; j++) out[o++] = d * trit(src[p + 32 + j]!, n);
    for (let n = 0; n < 4; n++) for (let j = 0; j < 4; j++) out[o++] = d * trit(src[p + 48 + j]!, n);
  }
};

/** Layout: qs[64] (2 bits each; byte j of a group of 32 holds elements j, j + 32, j + 64, j + 96), d. */
export const decodeTQ2_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 66) {
    const d = f16[src[p + 64]! | (src[p + 65]! << 8)]!;
    for (let g = 0; g < 2; g++)
      for (let shift = 0; shift < 8; shift += 2)
        for (let j = 0; j < 32; j++) out[o++] = d * (((src[p + g * 32 + j]! >> shift) & 3) - 1);
  }
};

/** Layout: d, 128 sign bits, least significant first; a set bit is +d. */
export const decodeQ1_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 18, o += 128) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let j = 0; j < 128; j++) out[o + j] = (src[p + 2 + (j >> 3)]! >> (j & 7)) & 1 ? d : -d;
  }
};

/** Layout: d, qs[16] (2 bits each, four consecutive elements a byte): -1, 0, 1 or 2 times d. */
export const decodeQ2_0: BlockDecoder = (src, blocks, out) => {
  const f16 = f16Table();
  for (let b = 0, p = 0, o = 0; b < blocks; b++, p += 18, o += 64) {
    const d = f16[src[p]! | (src[p + 1]! << 8)]!;
    for (let j = 0; j < 64; j++) out[o + j] = d * (((src[p + 2 + (j >> 2)]! >> ((j & 3) * 2)) & 3) - 1);
  }
};
