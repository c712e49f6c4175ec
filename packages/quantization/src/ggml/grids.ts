import { gridData } from './grid-data.js';

type GridName = keyof typeof gridData;

/**
 * Signs of eight weights by their 7-bit code: bit j set means weight j is negative. The eighth bit is not stored, it
 * makes the number of negative weights even.
 */
export const evenSigns: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  let parity = 0;
  for (let bits = code; bits !== 0; bits >>= 1) parity ^= bits & 1;
  return code | (parity << 7);
});

/** Code points of IQ4_NL and IQ4_XS. */
export const iq4Values = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

/** Twice the e2m1 values, as MXFP4 and NVFP4 use them. */
export const fp4DoubledValues = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

const unpacked = new Map<GridName, Int8Array>();

/** All points of a grid, [points, width] row-major, unpacked on first use. Shared: do not modify. */
export function grid(name: GridName): Int8Array {
  const cached = unpacked.get(name);
  if (cached !== undefined) return cached;
  const { points, width, bits, values, packed } = gridData[name];
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const out = new Int8Array(points * width);
  const perByte = 8 / bits;
  const mask = (1 << bits) - 1;
  for (let i = 0; i < out.length; i++) {
    const index = (bytes[Math.floor(i / perByte)]! >> ((i % perByte) * bits)) & mask;
    out[i] = (values as readonly number[])[index]!;
  }
  unpacked.set(name, out);
  return out;
}
