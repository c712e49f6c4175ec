/** Reinterpretation of one float32 as its bits, shared by the conversions (single-threaded scratch). */
const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** The 32 bits of `value` after rounding it to float32. */
export function f32Bits(value: number): number {
  scratch[0] = value;
  return scratchBits[0]!;
}

/** The float32 that has these bits. */
export function f32FromBits(bits: number): number {
  scratchBits[0] = bits;
  return scratch[0]!;
}
