import { roundAway } from './encode-legacy.js';
import { putScale, type EncodeTarget, type RowEncoder } from './encoder.js';

const fround = Math.fround;
const trits = new Uint8Array(256);

/** Rounds a block to {-d, 0, d}, d its largest magnitude, as codes 0 to 2; returns d. */
function roundBlock(row: EncodeTarget, block: number): number {
  let d = 0;
  for (let j = 0; j < 256; j++) d = Math.max(d, Math.abs(row.values[block + j]!));
  const inverse = d === 0 ? 0 : fround(1 / d);
  for (let j = 0; j < 256; j++) trits[j] = roundAway(fround(row.values[block + j]! * inverse)) + 1;
  return d;
}

/** A byte of `count` trits `stride` apart: their base-3 number, missing digits zero, as a fraction of 3^5 = 243. */
function packTrits(first: number, stride: number, count: number): number {
  let number = 0;
  for (let n = 0; n < 5; n++) number = number * 3 + (n < count ? trits[first + n * stride]! : 0);
  return Math.floor((number * 256 + 242) / 243);
}

export const encodeTQ1_0: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 54) {
    const d = roundBlock(row, row.start + first);
    for (let j = 0; j < 32; j++) row.out[p + j] = packTrits(j, 32, 5);
    for (let j = 0; j < 16; j++) row.out[p + 32 + j] = packTrits(160 + j, 16, 5);
    for (let j = 0; j < 4; j++) row.out[p + 48 + j] = packTrits(240 + j, 4, 4);
    putScale(row, p + 52, d, row.start + first);
  }
};

export const encodeTQ2_0: RowEncoder = (row) => {
  for (let first = 0, p = row.outStart; first < row.length; first += 256, p += 66) {
    const d = roundBlock(row, row.start + first);
    for (let g = 0; g < 2; g++)
      for (let j = 0; j < 32; j++) {
        const t = g * 128 + j;
        row.out[p + g * 32 + j] = trits[t]! | (trits[t + 32]! << 2) | (trits[t + 64]! << 4) | (trits[t + 96]! << 6);
      }
    putScale(row, p + 64, d, row.start + first);
  }
};
