import { f32Bits } from './bits.js';

/**
 * What happens to values beyond the largest finite e4m3 number (448): `saturate` gives 448, also for infinities;
 * `nan` gives NaN for everything that rounds above 448. OCP "8-bit Floating Point Specification" allows both.
 */
export type Fp8Overflow = 'saturate' | 'nan';

/** Values of all bytes as if every one were finite; the callers put the special values in. */
function finiteTable(exponentBits: number, bias: number): Float32Array {
  const mantissaBits = 7 - exponentBits;
  const table = new Float32Array(256);
  for (let b = 0; b < 256; b++) {
    const exponent = (b >> mantissaBits) & ((1 << exponentBits) - 1);
    const fraction = (b & ((1 << mantissaBits) - 1)) / (1 << mantissaBits);
    const magnitude = exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias);
    table[b] = b & 0x80 ? -magnitude : magnitude;
  }
  return table;
}

const e4m3 = finiteTable(4, 7);
e4m3[0x7f] = e4m3[0xff] = NaN;
const e5m2 = finiteTable(5, 15);
e5m2[0x7c] = Infinity;
e5m2[0xfc] = -Infinity;
for (const b of [0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff]) e5m2[b] = NaN;

/** float32 value of each e4m3fn byte (no infinities; 0x7f and 0xff are NaN). Shared: do not modify. */
export function fp8E4m3Table(): Float32Array {
  return e4m3;
}

/** float32 value of each e5m2 byte. Shared: do not modify. */
export function fp8E5m2Table(): Float32Array {
  return e5m2;
}

/** e4m3fn byte to float32, exact. */
export function fp8E4m3ToF32(byte: number): number {
  return e4m3[byte & 0xff]!;
}

/** e5m2 byte to float32, exact. */
export function fp8E5m2ToF32(byte: number): number {
  return e5m2[byte & 0xff]!;
}

/**
 * Rounds a finite magnitude (float32 bits, sign removed) to `mantissaBits` with exponent bias `bias`, ties to even.
 * The result is the 7 low bits of the byte and may exceed the format's range (the caller checks).
 */
function roundMagnitude(magnitude: number, mantissaBits: number, bias: number): number {
  const drop = 23 - mantissaBits;
  const exponent = (magnitude >>> 23) - 127 + bias;
  if (exponent > 0) {
    const rebased = magnitude - ((127 - bias) << 23);
    return (rebased + (1 << (drop - 1)) - 1 + ((rebased >>> drop) & 1)) >>> drop;
  }
  // Subnormal result, in units of 2^(1 - bias - mantissaBits).
  const shift = drop + 1 - exponent;
  if (shift > 24) return 0;
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const quotient = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return quotient + (rest > half || (rest === half && (quotient & 1) === 1) ? 1 : 0);
}

function bitsToE4m3(bits: number, overflow: Fp8Overflow): number {
  const sign = (bits >>> 24) & 0x80;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7f;
  const rounded = magnitude >= 0x43f00000 ? 0x7f : roundMagnitude(magnitude, 3, 7);
  if (rounded < 0x7f) return sign | rounded;
  return sign | (overflow === 'nan' ? 0x7f : 0x7e);
}

function bitsToE5m2(bits: number): number {
  const sign = (bits >>> 24) & 0x80;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7f;
  if (magnitude >= 0x47800000) return sign | 0x7c;
  return sign | roundMagnitude(magnitude, 2, 15);
}

/** float32 to e4m3fn byte, to nearest, ties to even. */
export function f32ToFp8E4m3(value: number, overflow: Fp8Overflow = 'saturate'): number {
  return bitsToE4m3(f32Bits(value), overflow);
}

/** float32 to e5m2 byte, to nearest, ties to even; what rounds beyond 57,344 becomes infinity. */
export function f32ToFp8E5m2(value: number): number {
  return bitsToE5m2(f32Bits(value));
}

/** `fp8E4m3ToF32` over an array; writes into `out` (same length) if given. */
export function fp8E4m3ArrayToF32(bytes: Uint8Array, out: Float32Array = new Float32Array(bytes.length)): Float32Array {
  for (let i = 0; i < bytes.length; i++) out[i] = e4m3[bytes[i]!]!;
  return out;
}

/** `fp8E5m2ToF32` over an array; writes into `out` (same length) if given. */
export function fp8E5m2ArrayToF32(bytes: Uint8Array, out: Float32Array = new Float32Array(bytes.length)): Float32Array {
  for (let i = 0; i < bytes.length; i++) out[i] = e5m2[bytes[i]!]!;
  return out;
}

/** `f32ToFp8E4m3` over an array; writes into `out` (same length) if given. */
export function f32ArrayToFp8E4m3(
  values: Float32Array,
  overflow: Fp8Overflow = 'saturate',
  out: Uint8Array = new Uint8Array(values.length),
): Uint8Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < values.length; i++) out[i] = bitsToE4m3(words[i]!, overflow);
  return out;
}

/** `f32ToFp8E5m2` over an array; writes into `out` (same length) if given. */
export function f32ArrayToFp8E5m2(values: Float32Array, out: Uint8Array = new Uint8Array(values.length)): Uint8Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < values.length; i++) out[i] = bitsToE5m2(words[i]!);
  return out;
}
