/**
 * Decodes `blocks` consecutive blocks at the start of `src` into the start of `out`. The caller has checked both sizes.
 * Results are rounded as float32 after every operation that can be inexact, so that they equal ggml's bit for bit
 * (a product of an f16 scale and a small integer is exact in float64 and is rounded once, by the store).
 */
export type BlockDecoder = (src: Uint8Array, blocks: number, out: Float32Array) => void;
