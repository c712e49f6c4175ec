export { blockTagOf, namespaceOf, type CacheKey, type ImageSpan } from './cache-key.js';
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
export type { Transfer } from './transfer.js';
