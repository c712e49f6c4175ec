import { blocksForMemory, KvCacheManager, type KvSpec } from '@dsi/kv-cache';
import type { BuiltModel } from '@dsi/models';
import type { ResolvedEngineOptions } from './engine-options.js';
import { defaultKvShare, usableMemory } from './memory.js';

/** The model's KV tensors as the cache counts them: one entry a group, its layers' bytes together. */
export function kvSpecOf(model: Pick<BuiltModel, 'kvGroups'>): KvSpec {
  return {
    groups: model.kvGroups.map(({ bytesPerToken, window }, i) => ({
      layers: [i],
      bytesPerToken,
      window: window === 0 ? null : window,
    })),
  };
}

/**
 * Blocks of the pool, the null block included: as asked for, or a quarter of the memory but no more than every seat at its
 * longest can use.
 */
export function poolBlocks(
  spec: KvSpec,
  options: Pick<ResolvedEngineOptions, 'numBlocks' | 'kvCacheMemory' | 'blockSize' | 'maxNumSeqs'>,
  maxModelLen: number,
  memory = usableMemory(),
): number {
  const { numBlocks, kvCacheMemory, blockSize, maxNumSeqs } = options;
  if (numBlocks !== undefined) return numBlocks + 1;
  if (kvCacheMemory !== undefined) return blocksForMemory(spec, blockSize, kvCacheMemory);
  const affordable = blocksForMemory(spec, blockSize, memory * defaultKvShare);
  return Math.min(affordable, maxNumSeqs * Math.ceil(maxModelLen / blockSize) + 1);
}

/** Longest sequence that fits an empty pool, at most `wanted`. */
export function longestSequence(kv: KvCacheManager, wanted: number, maxChunk: number): number {
  return kv.peakBlocks(wanted, maxChunk) <= kv.totalBlocks ? wanted : kv.totalBlocks * kv.blockSize;
}
