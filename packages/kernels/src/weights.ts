/**
 * How a weight's bytes are laid out. ggml types use GGUF's block layouts; `F8_*` carry scales per block;
 * `INT4_GROUP` is what GPTQ and AWQ unpack to.
 */
export type WeightFormat =
  | 'F32'
  | 'F16'
  | 'BF16'
  | 'Q4_0'
  | 'Q4_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q8_0'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K'
  | 'IQ1_S'
  | 'IQ1_M'
  | 'IQ2_XXS'
  | 'IQ2_XS'
  | 'IQ2_S'
  | 'IQ3_XXS'
  | 'IQ3_S'
  | 'IQ4_NL'
  | 'IQ4_XS'
  | 'TQ1_0'
  | 'TQ2_0'
  | 'MXFP4'
  | 'NVFP4'
  | 'F8_E4M3'
  | 'F8_E5M2'
  | 'INT4_GROUP';

/** Bytes of a weight: a range of a file (mapped by the backend, never read through JavaScript) or memory. */
export type WeightBytes =
  { readonly file: string; readonly offset: number; readonly byteLength: number } | { readonly bytes: Uint8Array };

/**
 * A weight as it comes from a checkpoint. Logical shape `[K]`, `[N, K]` or `[G, N, K]` (experts or heads), row-major, K innermost.
 * `data` are the parts in order along the outermost axis, concatenated (one part an expert, or one for all).
 */
export interface WeightTensor {
  readonly name: string;
  readonly format: WeightFormat;
  readonly shape: readonly number[];
  readonly data: readonly WeightBytes[];
  /** F8 formats: f32 scales, one a block of `blockRows` x `blockCols`, `[ceil(N/blockRows), ceil(K/blockCols)]` a matrix, parts as in `data`. */
  readonly blockScales?: {
    readonly data: readonly WeightBytes[];
    readonly blockRows: number;
    readonly blockCols: number;
  };
  /**
   * INT4_GROUP: `data` = codes `[N, K/2]` (low nibble = even k), w = (code - zero) * scale.
   * `scales`, `zeros`: f32 `[N, K/groupSize]`. `perm`: column j multiplies activation element perm[j] (act-order).
   */
  readonly int4?: {
    readonly groupSize: number;
    readonly scales: readonly WeightBytes[];
    readonly zeros: readonly WeightBytes[];
    readonly perm?: Int32Array;
  };
}
