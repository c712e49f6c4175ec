import { BlockPool, NULL_BLOCK } from './block-pool.js';
import { validateKey, type CacheKey } from './cache-key.js';
import { KvCapacityError, KvIntegrityError, KvStateError, requireInteger } from './errors.js';
import type { KvCache, KvCacheStats, OpenOptions, PrefixMatchResult, SequenceId } from './kv-cache.js';
import { KvSequence } from './kv-sequence.js';
import { effectiveWindow, validateSpec, type KvSpec } from './kv-spec.js';
import type { PrefixCache } from './prefix-cache.js';
import { RadixPrefixCache } from './radix-prefix-cache.js';
import { TransferQueue } from './transfer-queue.js';
import type { Transfer } from './transfer.js';

export interface KvCacheManagerOptions {
  readonly spec: KvSpec;
  /** Blocks in device memory, the null block included (see `blocksForMemory`). */
  readonly numBlocks: number;
  /** Token slots of a block, 1 to 256. Default 16. */
  readonly blockSize?: number;
  /** 'radix' (default), 'none', or a maker of any other implementation of the contract. */
  readonly prefixCache?: 'radix' | 'none' | ((pool: BlockPool) => PrefixCache);
}

/** The `KvCache` of one device pool: block pool, prefix cache and transfers tied together per sequence. */
export class KvCacheManager implements KvCache {
  readonly spec: KvSpec;
  readonly pool: BlockPool;
  private readonly cache: PrefixCache | null;
  private readonly transfers: TransferQueue;
  private readonly window: number | null;
  private readonly sequences = new Map<SequenceId, KvSequence>();
  private queries = 0;
  private queryTokens = 0;
  private hitTokens = 0;
  private evictedBlocks = 0;
  private copiedBlocks = 0;

  /** @throws {KvConfigError} for sizes out of range or a malformed spec. */
  constructor(options: KvCacheManagerOptions) {
    validateSpec(options.spec);
    this.spec = options.spec;
    this.pool = new BlockPool(options);
    this.window = effectiveWindow(options.spec);
    this.transfers = new TransferQueue(this.pool);
    const { prefixCache = 'radix' } = options;
    if (prefixCache === 'none') this.cache = null;
    else if (prefixCache === 'radix') this.cache = new RadixPrefixCache(this.pool);
    else this.cache = prefixCache(this.pool);
  }

  get blockSize(): number {
    return this.pool.blockSize;
  }
  get totalBlocks(): number {
    return this.pool.total;
  }
  get numSequences(): number {
    return this.sequences.size;
  }
  get availableBlocks(): number {
    return this.pool.numFree + (this.cache?.numEvictable ?? 0);
  }

  matchPrefix(tokens: Int32Array, numTokens: number, key?: CacheKey): PrefixMatchResult {
    validateKey(key);
    const limit = this.matchLimit(tokens, numTokens);
    const out = new Int32Array(limit);
    const count = this.cache?.match(key, tokens, limit, out) ?? 0;
    return { blocks: out.slice(0, count), numTokens: count * this.blockSize };
  }

  open(id: SequenceId, tokens: Int32Array, numTokens: number, options: OpenOptions = {}): number {
    if (this.sequences.has(id)) throw new KvStateError(`sequence ${id}`, 'is open already');
    validateKey(options.key);
    const limit = options.usePrefixCache === false ? 0 : this.matchLimit(tokens, numTokens);
    const sequence = new KvSequence(options.key);
    this.sequences.set(id, sequence);
    if (options.countQuery !== false && options.usePrefixCache !== false) sequence.queryTokens = numTokens;
    if (this.cache !== null) {
      const handle = this.cache.acquire(options.key, tokens, limit);
      const { table } = sequence;
      sequence.handle = handle;
      sequence.inserting = true;
      table.reserve(handle.end);
      this.cache.path(handle, table.blocks);
      table.length = handle.end;
      this.pool.fork(table.blocks, table.length);
      sequence.numComputed = handle.end * this.blockSize;
      this.leaveWindow(sequence);
    }
    const written = Math.floor((options.writtenFrom ?? sequence.numComputed) / this.blockSize);
    sequence.writtenFrom = Math.min(written, sequence.table.length);
    return sequence.numComputed;
  }

  allocate(id: SequenceId, totalTokens: number): number | null {
    const sequence = this.sequence(id);
    const { table } = sequence;
    const size = this.pool.blockSize;
    const wanted = Math.ceil(totalTokens / size);
    const appended = Math.max(0, wanted - table.length);
    const writeIndex = Math.floor(sequence.numComputed / size);
    let shared = this.isSharedAt(sequence, writeIndex);
    if (appended > 0 || shared) {
      if (wanted - sequence.firstLive > this.totalBlocks)
        throw this.capacityError(totalTokens, wanted - sequence.firstLive);
      let found = this.makeRoom(appended + (shared ? 1 : 0));
      if (!found && shared && !this.isSharedAt(sequence, writeIndex)) {
        // Its other holder was the prefix cache, which has just let go: no copy is needed any more.
        shared = false;
        found = this.makeRoom(appended);
      }
      if (!found) return null;
      if (shared) {
        const source = table.blocks[writeIndex]!;
        const copy = this.pool.copyOnWrite(source);
        table.blocks[writeIndex] = copy;
        if (sequence.numComputed % size !== 0) {
          this.transfers.copy(source, copy);
          this.copiedBlocks++;
        }
      }
      for (let i = 0; i < appended; i++) table.push(this.pool.allocate());
    }
    if (sequence.queryTokens > 0) {
      this.queries++;
      this.queryTokens += sequence.queryTokens;
      this.hitTokens += sequence.numComputed;
      sequence.queryTokens = 0;
    }
    return appended;
  }

  commit(id: SequenceId, tokens: Int32Array, numComputed: number): void {
    const sequence = this.sequence(id);
    const { table, handle } = sequence;
    if (numComputed < sequence.numComputed || numComputed > table.length * this.pool.blockSize) {
      throw new KvStateError(
        `sequence ${id}`,
        `cannot have ${numComputed} tokens computed: ${sequence.numComputed} were, and its blocks hold ` +
          `${table.length * this.pool.blockSize}`,
      );
    }
    sequence.numComputed = numComputed;
    const full = Math.floor(numComputed / this.pool.blockSize);
    if (handle !== null && sequence.inserting && full > handle.end) {
      if (handle.alive) sequence.handle = this.cache!.insert(handle, sequence.key, tokens, table.blocks, full);
      else this.stopInserting(sequence);
    }
    if (this.window !== null) this.leaveWindow(sequence);
  }

  free(id: SequenceId, options: { readonly cache: boolean }): void {
    const sequence = this.sequence(id);
    const { table, handle } = sequence;
    if (!options.cache && handle !== null) this.cache!.remove(handle, sequence.writtenFrom);
    for (let i = table.length - 1; i >= sequence.firstLive; i--) this.pool.release(table.blocks[i]!);
    this.transfers.cancelUnneeded();
    this.stopInserting(sequence);
    this.sequences.delete(id);
  }

  fork(parent: SequenceId, child: SequenceId, numTokens?: number): void {
    const from = this.sequence(parent);
    const count = numTokens ?? from.numComputed;
    if (this.sequences.has(child)) throw new KvStateError(`sequence ${child}`, 'is open already');
    const least = this.minForkTokens(parent);
    if (!Number.isInteger(count) || count < least || count > from.numComputed) {
      throw new KvStateError(
        `sequence ${parent}`,
        `can be forked at ${least} to ${from.numComputed} tokens, not at ${count}`,
      );
    }
    const sequence = new KvSequence(from.key);
    const blocks = Math.ceil(count / this.blockSize);
    sequence.table.reserve(blocks);
    sequence.table.blocks.set(from.table.blocks.subarray(0, blocks));
    sequence.table.length = blocks;
    sequence.firstLive = Math.min(from.firstLive, blocks);
    sequence.numComputed = count;
    sequence.writtenFrom = Math.floor(count / this.blockSize);
    this.pool.fork(sequence.table.blocks, blocks);
    if (from.inserting && from.handle !== null) {
      const end = Math.min(from.handle.end, sequence.writtenFrom);
      sequence.handle = this.cache!.lock(from.handle, end);
      sequence.inserting = true;
    }
    this.sequences.set(child, sequence);
  }

  minForkTokens(id: SequenceId): number {
    const { firstLive } = this.sequence(id);
    return firstLive === 0 || this.window === null ? 0 : firstLive * this.blockSize + this.window - 1;
  }

  blockTable(id: SequenceId): Int32Array {
    return this.sequence(id).table.blocks;
  }

  numBlocks(id: SequenceId): number {
    return this.sequence(id).table.length;
  }

  heldBlocks(id: SequenceId): number {
    const sequence = this.sequence(id);
    return sequence.table.length - sequence.firstLive;
  }

  numComputed(id: SequenceId): number {
    return this.sequence(id).numComputed;
  }

  peakBlocks(totalTokens: number, maxChunk: number): number {
    const all = Math.ceil(totalTokens / this.blockSize);
    if (this.window === null) return all;
    // A step that computes n tokens reads and writes window - 1 + n consecutive positions.
    return Math.min(all, Math.ceil((this.window - 1 + maxChunk) / this.blockSize) + 1);
  }

  requireFits(totalTokens: number, maxChunk: number): void {
    const peak = this.peakBlocks(totalTokens, maxChunk);
    if (peak > this.totalBlocks) throw this.capacityError(totalTokens, peak);
  }

  takeTransfers(): readonly Transfer[] {
    return this.transfers.take();
  }

  completeTransfers(): void {
    this.transfers.complete();
  }

  stats(): KvCacheStats {
    return {
      totalBlocks: this.pool.total,
      usedBlocks: this.pool.numUsed,
      cachedBlocks: this.pool.numCached,
      freeBlocks: this.pool.numFree,
      queryTokens: this.queryTokens,
      hitTokens: this.hitTokens,
      queries: this.queries,
      evictedBlocks: this.evictedBlocks,
      copiedBlocks: this.copiedBlocks,
    };
  }

  clearPrefixCache(): number {
    return this.cache?.evict(Number.MAX_SAFE_INTEGER) ?? 0;
  }

  checkIntegrity(): void {
    this.pool.checkIntegrity();
    this.cache?.checkIntegrity();
    const holders = new Int32Array(this.pool.numBlocks);
    this.transfers.countPins(holders);
    for (let block = 0; block < holders.length; block++) {
      if (holders[block] !== this.pool.pinCount(block)) throw new KvIntegrityError(`block ${block} has a stray pin`);
    }
    for (const [id, sequence] of this.sequences) this.checkSequence(id, sequence, holders);
    this.cache?.forEachBlock((block) => holders[block]!++);
    for (let block = 0; block < holders.length; block++) {
      if (holders[block] !== this.pool.refCount(block)) {
        throw new KvIntegrityError(
          `block ${block} has ${holders[block]} holders and ${this.pool.refCount(block)} references`,
        );
      }
    }
  }

  private checkSequence(id: SequenceId, sequence: KvSequence, holders: Int32Array): void {
    const { table, handle } = sequence;
    for (let i = 0; i < table.length; i++) {
      const block = table.blocks[i]!;
      if ((block === NULL_BLOCK) !== i < sequence.firstLive) {
        throw new KvIntegrityError(
          `sequence ${id} has block ${block} at ${i}, its window begins at ${sequence.firstLive}`,
        );
      }
      if (block !== NULL_BLOCK) holders[block]!++;
    }
    if (sequence.numComputed > table.length * this.blockSize) {
      throw new KvIntegrityError(`sequence ${id} has ${sequence.numComputed} tokens in ${table.length} blocks`);
    }
    if (handle !== null && handle.alive && sequence.inserting) {
      const path = new Int32Array(handle.end);
      this.cache!.path(handle, path);
      for (let i = 0; i < path.length; i++) {
        if (path[i] !== table.blocks[i])
          throw new KvIntegrityError(`sequence ${id} and its prefix differ at block ${i}`);
      }
    }
  }

  private sequence(id: SequenceId): KvSequence {
    const sequence = this.sequences.get(id);
    if (sequence === undefined) throw new KvStateError(`sequence ${id}`, 'is not open');
    return sequence;
  }

  /** Whole blocks that a query may match: the last token is always left to compute. */
  private matchLimit(tokens: Int32Array, numTokens: number): number {
    requireInteger('numTokens', numTokens, 1, tokens.length);
    return Math.floor((numTokens - 1) / this.blockSize);
  }

  private isSharedAt(sequence: KvSequence, index: number): boolean {
    return index < sequence.table.length && this.pool.isShared(sequence.table.blocks[index]!);
  }

  private makeRoom(needed: number): boolean {
    const missing = needed - this.pool.numFree;
    if (missing <= 0) return true;
    if (this.cache === null || this.cache.numEvictable < missing) return false;
    const freed = this.cache.evict(missing);
    this.evictedBlocks += freed;
    return freed >= missing;
  }

  /** Leading blocks that no position from `numComputed` on looks back to. */
  private passedBlocks(numComputed: number): number {
    if (this.window === null) return 0;
    return Math.floor(Math.max(0, numComputed - this.window + 1) / this.blockSize);
  }

  private leaveWindow(sequence: KvSequence): void {
    const passed = Math.min(this.passedBlocks(sequence.numComputed), sequence.table.length);
    if (passed <= sequence.firstLive) return;
    const { blocks } = sequence.table;
    for (let i = sequence.firstLive; i < passed; i++) {
      this.pool.release(blocks[i]!);
      blocks[i] = NULL_BLOCK;
    }
    sequence.firstLive = passed;
    this.stopInserting(sequence);
  }

  private stopInserting(sequence: KvSequence): void {
    if (!sequence.inserting || sequence.handle === null) return;
    sequence.inserting = false;
    this.cache!.unlock(sequence.handle);
  }

  private capacityError(neededTokens: number, neededBlocks: number): KvCapacityError {
    return new KvCapacityError(neededTokens, this.totalBlocks * this.blockSize, neededBlocks, this.totalBlocks);
  }
}
