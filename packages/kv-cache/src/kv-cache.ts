import type { CacheKey } from './cache-key.js';
import type { KvSpec } from './kv-spec.js';
import type { Transfer } from './transfer.js';

/** Integer name of a sequence, chosen by the caller, unique among the open ones. */
export type SequenceId = number;

export interface PrefixMatchResult {
  /** Blocks of the matched prefix, in order; a fresh array. Nothing is held: an allocation may evict them. */
  readonly blocks: Int32Array;
  /** Tokens covered: blocks.length * blockSize, always less than the number of tokens asked for. */
  readonly numTokens: number;
}

export interface OpenOptions {
  /** What besides the tokens decides the KV bytes. Default: no adapter, no salt, no images. */
  readonly key?: CacheKey | undefined;
  /**
   * false: no prefix hit is taken (prompt_logprobs needs every row computed); what the sequence computes still becomes
   * matchable. Default true.
   */
  readonly usePrefixCache?: boolean;
  /** false: the query is not counted in the statistics (a preempted sequence that comes back). Default true. */
  readonly countQuery?: boolean;
  /**
   * Tokens from this position on were written by this sequence, in an earlier life before a preemption. It matters to
   * `free(..., {cache: false})` only. Default: whatever is not hit.
   */
  readonly writtenFrom?: number;
}

export interface KvCacheStats {
  /** Usable blocks; used + cached + free = total. The null block is not counted. */
  readonly totalBlocks: number;
  /** Held by at least one sequence (or by a transfer that is not completed). */
  readonly usedBlocks: number;
  /** Held by the prefix cache alone. */
  readonly cachedBlocks: number;
  readonly freeBlocks: number;
  /** Tokens asked for and tokens hit, over all counted queries since construction. */
  readonly queryTokens: number;
  readonly hitTokens: number;
  readonly queries: number;
  readonly evictedBlocks: number;
  readonly copiedBlocks: number;
}

/**
 * Who holds which KV block. Integers only: it never sees a tensor. One block holds `blockSize` token slots of ALL
 * layers. Calls are synchronous; not re-entrant.
 *
 * A sequence's life:
 *   open -> (allocate -> [step runs] -> commit)* -> free
 *
 * `tokens` arguments are the sequence's whole token buffer (prompt, then generated); only the first `numTokens` count.
 * They are read during the call and never kept.
 */
export interface KvCache {
  readonly spec: KvSpec;
  readonly blockSize: number;
  /** Usable blocks (without the null block 0). */
  readonly totalBlocks: number;
  /** Open sequences. */
  readonly numSequences: number;
  /** Blocks that an allocation can get right now: free ones plus evictable ones. */
  readonly availableBlocks: number;

  /** The longest cached prefix in whole blocks that leaves at least the last token to compute. Holds nothing. */
  matchPrefix(tokens: Int32Array, numTokens: number, key?: CacheKey): PrefixMatchResult;

  /**
   * Begins a sequence: its table starts with the blocks of the longest cached prefix, held from now on.
   * @returns tokens already computed (a multiple of blockSize, less than `numTokens`).
   * @throws {KvStateError} if `id` is open already.
   */
  open(id: SequenceId, tokens: Int32Array, numTokens: number, options?: OpenOptions): number;

  /**
   * Grows the table so that positions [0, totalTokens) have slots, and makes the block written next private
   * (copy-on-write: a transfer is queued). Evicts cached blocks when free ones do not suffice.
   * @returns how many blocks were appended, or null (table unchanged) when there is not enough memory now.
   * @throws {KvCapacityError} when the pool could not hold it even if it were empty.
   */
  allocate(id: SequenceId, totalTokens: number): number | null;

  /**
   * The step that computed positions up to `numComputed` is complete. Full blocks become matchable now, that is from
   * the next step on; blocks that a sliding window has passed are returned (their table entries become 0).
   */
  commit(id: SequenceId, tokens: Int32Array, numComputed: number): void;

  /**
   * Ends a sequence; every block goes back. `cache: false`: also what it wrote leaves the prefix cache, with all that
   * was built on it. Must not be called while a step that reads or writes the sequence's blocks is running.
   */
  free(id: SequenceId, options: { readonly cache: boolean }): void;

  /**
   * Begins `child` with the first `numTokens` computed tokens of `parent` (default: all of them), sharing its blocks;
   * whoever writes a shared block first gets a copy, by a transfer queued in its `allocate`.
   */
  fork(parent: SequenceId, child: SequenceId, numTokens?: number): void;
  /** The least `numTokens` at which `fork` can take place: 0, or what a sliding window has left behind demands. */
  minForkTokens(id: SequenceId): number;

  /**
   * Backing array of the block table: the first `numBlocks(id)` entries are valid, until the
   * next `allocate`, `commit` or `free` of the sequence (a commit may exchange a block for one of equal content). Read only.
   */
  blockTable(id: SequenceId): Int32Array;
  numBlocks(id: SequenceId): number;
  /** Blocks of the table without those that a sliding window has passed. */
  heldBlocks(id: SequenceId): number;
  /** Tokens whose KV is complete (hit at open, forked, or committed). */
  numComputed(id: SequenceId): number;

  /** Most blocks that a sequence of `totalTokens` can hold at once, computing at most `maxChunk` tokens a step. */
  peakBlocks(totalTokens: number, maxChunk: number): number;
  /** @throws {KvCapacityError} if such a sequence can never fit, with both figures. */
  requireFits(totalTokens: number, maxChunk: number): void;

  /** Transfers queued since the last call; they belong to the next step. Blocks named stay held until completed. */
  takeTransfers(): readonly Transfer[];
  /** The step that carried the taken transfers is complete (or will never run). */
  completeTransfers(): void;

  stats(): KvCacheStats;
  /** Drops every evictable block from the prefix cache. @returns how many became free. */
  clearPrefixCache(): number;
  /** @throws {KvIntegrityError} if any count, list, table or tree disagrees with another. O(everything). */
  checkIntegrity(): void;
}
