import { f32Bits, f32FromBits } from './bits.js';

function decode(h: number): number {
  const sign = (h & 0x8000) << 16;
  const exponent = (h >> 10) & 0x1f;
  const mantissa = h & 0x3ff;
  if (exponent === 0x1f) return f32FromBits(sign | 0x7f800000 | (mantissa << 13));
  if (exponent !== 0) return f32FromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const magnitude = mantissa * 2 ** -24;
  return sign === 0 ? magnitude : -magnitude;
}

let decodeTable: Float32Array | undefined;

/** float32 value of each of the 65,536 IEEE binary16 bit patterns (built on first use, shared: do not modify). */
export function f16Table(): Float32Array {
  if (decodeTable === undefined) {
    decodeTable = new Float32Array(65536);
    for (let h = 0; h < 65536; h++) decodeTable[h] = decode(h);
  }
  return decodeTable;
}

/** IEEE binary16 bits to float32, exact. */
export function f16ToF32(bits: number): number {
  return f16Table()[bits & 0xffff]!;
}

/** float32 to IEEE binary16 bits, to nearest, ties to even; above 65,519.99 becomes infinity; NaN stays a quiet NaN. */
export function f32ToF16(value: number): number {
  const bits = f32Bits(value);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000)
    return sign | 0x7c00 | (magnitude === 0x7f800000 ? 0 : 0x200 | ((magnitude >>> 13) & 0x3ff));
  // 65520 is half-way between 65504 and 2^16, and rounds away.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
  if (magnitude <= 0x33000000) return sign;
  // Subnormal result: mantissa with its hidden bit, shifted to units of 2^-24.
  const shift = 126 - (magnitude >>> 23);
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const quotient = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (quotient + (rest > half || (rest === half && (quotient & 1) === 1) ? 1 : 0));
}

/** `f16ToF32` over an array; writes into `out` (same length) if given. */
export function f16ArrayToF32(bits: Uint16Array, out: Float32Array = new Float32Array(bits.length)): Float32Array {
  const table = f16Table();
  for (let i = 0; i < bits.length; i++) out[i] = table[bits[i]!]!;
  return out;
}

/** `f32ToF16` over an array; writes into `out` (same length) if given. */
export function f32ArrayToF16(values: Float32Array, out: Uint16Array = new Uint16Array(values.length)): Uint16Array {
  for (let i = 0; i < values.length; i++) out[i] = f32ToF16(values[i]!);
  return out;
}
