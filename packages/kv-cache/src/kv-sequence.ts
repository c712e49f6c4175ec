import { BlockTable } from './block-table.js';
import type { CacheKey } from './cache-key.js';
import type { PrefixHandle } from './prefix-cache.js';

/** What the manager keeps of an open sequence. */
export class KvSequence {
  readonly table = new BlockTable();
  /** Tokens whose KV is complete. */
  numComputed = 0;
  /** table[0, firstLive) have been returned, being out of every window. */
  firstLive = 0;
  /** Place in the prefix cache up to which the table's blocks are known there; null without a prefix cache. */
  handle: PrefixHandle | null = null;
  /** The handle is locked, and what is computed goes into the cache. Ends for good when a window leaves blocks behind. */
  inserting = false;
  /** Blocks from here on were written by this sequence. */
  writtenFrom = 0;
  /** A query not yet in the statistics: it counts when memory was found for the sequence. */
  queryTokens = 0;

  constructor(readonly key: CacheKey | undefined) {}
}
