export {
  BlockPool,
  DEFAULT_BLOCK_SIZE,
  MAX_BLOCKS,
  MAX_BLOCK_SIZE,
  NULL_BLOCK,
  type BlockPoolOptions,
} from './block-pool.js';
export { blockTagOf, namespaceOf, validateKey, type CacheKey, type ImageSpan } from './cache-key.js';
export { KvCacheError, KvCapacityError, KvConfigError, KvIntegrityError, KvStateError } from './errors.js';
export type { KvCache, KvCacheStats, OpenOptions, PrefixMatchResult, SequenceId } from './kv-cache.js';
export {
  blocksForMemory,
  bytesPerToken,
  effectiveWindow,
  layerBytesPerToken,
  uniformSpec,
  validateSpec,
  type AttentionShape,
  type GqaShape,
  type KvGroup,
  type KvSpec,
  type MlaShape,
} from './kv-spec.js';
export { KvCacheManager, type KvCacheManagerOptions } from './kv-cache-manager.js';
export type { PrefixCache, PrefixHandle } from './prefix-cache.js';
export { RadixPrefixCache } from './radix-prefix-cache.js';
export type { Transfer } from './transfer.js';
