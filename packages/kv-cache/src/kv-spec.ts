import { MAX_BLOCKS, MAX_BLOCK_SIZE } from './block-pool.js';
import { KvCapacityError, KvConfigError, requireInteger } from './errors.js';

/** Layers that keep the same number of bytes a token and look back equally far. */
export interface KvGroup {
  /** Indices of the model's layers in this group. */
  readonly layers: readonly number[];
  /** Bytes that one token takes in ONE layer of the group. */
  readonly bytesPerToken: number;
  /** Tokens that a token attends to, itself included; null: all of them. */
  readonly window: number | null;
}

/** What a model keeps per token, as groups of layers; every layer is in exactly one. */
export interface KvSpec {
  readonly groups: readonly KvGroup[];
}

/** Grouped-query attention (multi-head when kvHeads equals the query heads): one K and one V row per KV head. */
export interface GqaShape {
  readonly kind: 'gqa';
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly bytesPerElement: number;
}

/** Multi-head latent attention: one latent row and one rotary key row, shared by all heads. */
export interface MlaShape {
  readonly kind: 'mla';
  readonly layers: number;
  readonly kvLoraRank: number;
  readonly ropeHeadDim: number;
  readonly bytesPerElement: number;
}

export type AttentionShape = GqaShape | MlaShape;

/** Bytes of one token in one layer. GQA: 2·n_kv·head_dim·bytes. MLA: (kv_lora_rank + rope_head_dim)·bytes. */
export function layerBytesPerToken(shape: AttentionShape): number {
  switch (shape.kind) {
    case 'gqa':
      return 2 * shape.kvHeads * shape.headDim * shape.bytesPerElement;
    case 'mla':
      return (shape.kvLoraRank + shape.ropeHeadDim) * shape.bytesPerElement;
  }
}

/** The spec of a model whose layers are all alike. */
export function uniformSpec(shape: AttentionShape, window: number | null = null): KvSpec {
  requireInteger('layers', shape.layers, 1, 1_000_000);
  const layers = Array.from({ length: shape.layers }, (_, layer) => layer);
  return { groups: [{ layers, bytesPerToken: layerBytesPerToken(shape), window }] };
}

/** Bytes of one token in all layers. */
export function bytesPerToken(spec: KvSpec | AttentionShape): number {
  if ('kind' in spec) return spec.layers * layerBytesPerToken(spec);
  return spec.groups.reduce((sum, group) => sum + group.layers.length * group.bytesPerToken, 0);
}

/**
 * The look-back that decides what may be returned early: the largest window when EVERY group has one, else null.
 * A block holds the slots of all layers, so one full-attention layer keeps all of it.
 */
export function effectiveWindow(spec: KvSpec): number | null {
  let largest = 0;
  for (const group of spec.groups) {
    if (group.window === null) return null;
    largest = Math.max(largest, group.window);
  }
  return largest;
}

/** @throws {KvConfigError} for an empty spec, a layer named twice, or a size that is no positive integer. */
export function validateSpec(spec: KvSpec): void {
  const seen = new Set<number>();
  for (const group of spec.groups) {
    requireInteger('KvGroup.bytesPerToken', group.bytesPerToken, 1, Number.MAX_SAFE_INTEGER);
    if (group.window !== null) requireInteger('KvGroup.window', group.window, 1, Number.MAX_SAFE_INTEGER);
    for (const layer of group.layers) {
      requireInteger('KvGroup.layers', layer, 0, 1_000_000);
      if (seen.has(layer)) throw new KvConfigError('KvGroup.layers', layer, 'in one group only');
      seen.add(layer);
    }
  }
  if (seen.size === 0) throw new KvConfigError('KvSpec.groups', spec.groups.length, 'groups with at least one layer');
}

/**
 * Blocks (the null block included) that fit into `memoryBytes`.
 * @throws {KvCapacityError} if not even one usable block besides the null block fits.
 */
export function blocksForMemory(spec: KvSpec, blockSize: number, memoryBytes: number): number {
  validateSpec(spec);
  requireInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE);
  const blocks = Math.floor(memoryBytes / (bytesPerToken(spec) * blockSize));
  if (!(blocks >= 2)) {
    const fitting = Math.max(0, blocks || 0);
    throw new KvCapacityError(2 * blockSize, fitting * blockSize, 2, fitting);
  }
  return Math.min(blocks, MAX_BLOCKS);
}
