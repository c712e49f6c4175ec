import type { CacheKey } from './cache-key.js';

/** A place in the cache at a block boundary, held by a sequence. Opaque but for these two. */
export interface PrefixHandle {
  /** Whole blocks from the sequence's start to this place. */
  readonly end: number;
  /** false: what it named has been removed; it can only be unlocked. */
  readonly alive: boolean;
}

/**
 * Finds and keeps blocks by what they hold. Only whole blocks are kept; equality of tokens and key fields is always
 * compared in full. The cache holds one reference on each of its blocks (`BlockPool.addToCache`).
 *
 * A locked handle protects all blocks from the start up to it; the rest may be evicted, a prefix never before what
 * extends it. Every implementation passes the suite in test/prefix-cache-conformance.ts.
 */
export interface PrefixCache<Handle extends PrefixHandle = PrefixHandle> {
  /** Blocks that `evict` may take. */
  readonly numEvictable: number;
  /** All blocks held by the cache. */
  readonly numBlocks: number;

  /** Appends the blocks of the longest match, at most `maxBlocks`, to `out` from index 0. Changes nothing. @returns how many. */
  match(key: CacheKey | undefined, tokens: Int32Array, maxBlocks: number, out: Int32Array): number;
  /** The longest match of at most `maxBlocks`, locked (0 blocks: the start, locked). */
  acquire(key: CacheKey | undefined, tokens: Int32Array, maxBlocks: number): Handle;
  /** Writes the blocks from the start to `handle` into out[0, handle.end). */
  path(handle: Handle, out: Int32Array): void;
  /**
   * Extends a locked, living handle by blocks [handle.end, end) of `table`, whose KV is complete. Where an equal block is
   * cached already, the table's entry is replaced by it and the reference moved, so that the table up to the result equals
   * its path. The lock moves with it.
   */
  insert(handle: Handle, key: CacheKey | undefined, tokens: Int32Array, table: Int32Array, end: number): Handle;
  /** A further lock on the path of a locked handle, at `end` blocks (at most handle.end). */
  lock(handle: Handle, end: number): Handle;
  unlock(handle: Handle): void;
  /** Drops least valuable blocks until `count` became free or nothing evictable is left. @returns how many became free. */
  evict(count: number): number;
  /** Drops the handle's path from block `from` on with everything built on it, locked or not. */
  remove(handle: Handle, from: number): void;
  /** Calls `visit` for every block of the cache. */
  forEachBlock(visit: (block: number) => void): void;
  /** @throws {KvIntegrityError} */
  checkIntegrity(): void;
}
