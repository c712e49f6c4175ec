import { f32Bits, f32FromBits } from './bits.js';

/** bfloat16 bits to float32, exact. */
export function bf16ToF32(bits: number): number {
  return f32FromBits((bits & 0xffff) << 16);
}

/** float32 bits to bfloat16 bits, to nearest, ties to even; NaN becomes a quiet NaN of the same sign. */
function roundBits(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return ((bits >>> 16) | 0x40) & 0xffff;
  return ((bits >>> 16) + (((bits & 0xffff) + 0x7fff + ((bits >>> 16) & 1)) >>> 16)) & 0xffff;
}

/** float32 to bfloat16 bits, to nearest, ties to even; NaN becomes a quiet NaN. */
export function f32ToBf16(value: number): number {
  return roundBits(f32Bits(value));
}

/** `bf16ToF32` over an array; writes into `out` (same length) if given. */
export function bf16ArrayToF32(bits: Uint16Array, out: Float32Array = new Float32Array(bits.length)): Float32Array {
  const words = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return out;
}

/** `f32ToBf16` over an array; writes into `out` (same length) if given. */
export function f32ArrayToBf16(values: Float32Array, out: Uint16Array = new Uint16Array(values.length)): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < values.length; i++) out[i] = roundBits(words[i]!);
  return out;
}
