/** Element types of activations, inputs, outputs and KV tensors. Weights have a {@link WeightFormat} instead. */
export type DType = 'f32' | 'f16' | 'bf16' | 'i32' | 'u32' | 'u8';

/** Bytes of one element. */
export const dtypeBytes: Readonly<Record<DType, number>> = { f32: 4, f16: 2, bf16: 2, i32: 4, u32: 4, u8: 1 };
