import type { WeightTensor } from '../contract.js';

/** The three matrices of a gated MLP. */
export type Projection = 'gate' | 'up' | 'down';

/**
 * Finds weights by their canonical names (those of Hugging Face checkpoints, `model.layers.0.self_attn.q_proj.weight`), whatever
 * the checkpoint's own names and packing are. Every method checks shapes against the expected ones; none reads tensor data.
 */
export interface WeightSource {
  has(name: string): boolean;
  /** A vector [K] or matrix [N, K]. @throws WeightMissingError, WeightShapeError, WeightFormatError */
  weight(name: string, shape: readonly number[]): WeightTensor;
  /** One projection of all experts of `mlp` (`model.layers.3.mlp`): [E, N, K]. */
  experts(mlp: string, projection: Projection, shape: readonly [number, number, number]): WeightTensor;
  /** Tensors of the checkpoint that nothing has asked for, in file order. */
  unused(): string[];
}
