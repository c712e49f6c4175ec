import { KvIntegrityError, KvStateError, requireInteger } from './errors.js';

/** Never handed out: padded rows write there, and table entries that a sliding window has passed point there. */
export const NULL_BLOCK = 0;

export const MAX_BLOCKS = 2 ** 26;
export const MAX_BLOCK_SIZE = 256;
export const DEFAULT_BLOCK_SIZE = 16;

export interface BlockPoolOptions {
  /** Blocks in device memory, the null block included; 2 to 2^26. */
  readonly numBlocks: number;
  /** Token slots of a block, 1 to 256. Default 16. */
  readonly blockSize?: number;
}

/**
 * Who holds which block: pure accounting, every operation O(1) unless it says otherwise.
 *
 * Each block is in exactly one state, decided by its reference count r (one for each table entry, each pin, and one for
 * the prefix cache) and its cached flag c:
 *
 *   free    r = 0            in the free list
 *   cached  r = 1 and c      only the prefix cache holds it
 *   used    otherwise
 *
 * The free list is doubly linked through two integer arrays with entry 0 (the null block, never free) as its sentinel.
 * Blocks leave at the head and come back at the tail: the longest unused one is handed out first.
 */
export class BlockPool {
  readonly numBlocks: number;
  readonly blockSize: number;
  private readonly refs: Int32Array;
  private readonly pins: Int32Array;
  private readonly cachedFlag: Uint8Array;
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  private free: number;
  private cached = 0;

  /** @throws {KvConfigError} for sizes out of range. */
  constructor(options: BlockPoolOptions) {
    const { numBlocks, blockSize = DEFAULT_BLOCK_SIZE } = options;
    requireInteger('numBlocks', numBlocks, 2, MAX_BLOCKS);
    requireInteger('blockSize', blockSize, 1, MAX_BLOCK_SIZE);
    this.numBlocks = numBlocks;
    this.blockSize = blockSize;
    this.refs = new Int32Array(numBlocks);
    this.pins = new Int32Array(numBlocks);
    this.cachedFlag = new Uint8Array(numBlocks);
    this.next = new Int32Array(numBlocks);
    this.previous = new Int32Array(numBlocks);
    for (let block = 0; block < numBlocks; block++) {
      this.next[block] = block + 1 === numBlocks ? 0 : block + 1;
      this.previous[block] = block === 0 ? numBlocks - 1 : block - 1;
    }
    this.free = numBlocks - 1;
  }

  /** Usable blocks: numUsed + numCached + numFree. */
  get total(): number {
    return this.numBlocks - 1;
  }
  get numFree(): number {
    return this.free;
  }
  get numCached(): number {
    return this.cached;
  }
  get numUsed(): number {
    return this.total - this.free - this.cached;
  }

  /** @returns a block with one reference, or NULL_BLOCK when none is free. */
  allocate(): number {
    const block = this.next[NULL_BLOCK]!;
    if (block === NULL_BLOCK) return NULL_BLOCK;
    const after = this.next[block]!;
    this.next[NULL_BLOCK] = after;
    this.previous[after] = NULL_BLOCK;
    this.refs[block] = 1;
    this.free--;
    return block;
  }

  /** One more holder. @throws {KvStateError} for a free block. */
  retain(block: number): void {
    const refs = this.held(block);
    if (refs === 1 && this.cachedFlag[block] === 1) this.cached--;
    this.refs[block] = refs + 1;
  }

  /** One holder less; the last one frees the block. @throws {KvStateError} for a free block, or the cache's own reference. */
  release(block: number): void {
    const refs = this.held(block) - 1;
    const cached = this.cachedFlag[block]!;
    if (refs < this.pins[block]! + cached)
      throw new KvStateError(`block ${block}`, 'released more often than retained');
    this.refs[block] = refs;
    if (refs === 0) this.pushFree(block);
    else if (refs === 1 && cached === 1) this.cached++;
  }

  /** Every entry of table[0, length) other than the null block gets one more holder: the sharing half of a fork. O(length). */
  fork(table: Int32Array, length: number): void {
    for (let i = 0; i < length; i++) {
      const block = table[i]!;
      if (block !== NULL_BLOCK) this.retain(block);
    }
  }

  /**
   * The writing half: a block that the caller may write to in place of `block`, of which it is one holder.
   * @returns `block` itself when nobody else holds it (pins do not count: they only read, before the writing step); else
   * a fresh block, the caller's hold on `block` given up; NULL_BLOCK (nothing changed) when none is free.
   */
  copyOnWrite(block: number): number {
    if (!this.isShared(block)) return block;
    const copy = this.allocate();
    if (copy !== NULL_BLOCK) this.release(block);
    return copy;
  }

  /** More than one holder, pins left out. */
  isShared(block: number): boolean {
    return this.refs[block]! - this.pins[block]! > 1;
  }

  /** A transfer names the block: it stays out of the free list until `unpin`. */
  pin(block: number): void {
    this.retain(block);
    this.pins[block]!++;
  }

  unpin(block: number): void {
    if (this.held(block) === 0 || this.pins[block] === 0) throw new KvStateError(`block ${block}`, 'not pinned');
    this.pins[block]!--;
    this.release(block);
  }

  /** The prefix cache becomes a holder. @throws {KvStateError} for a free block or one that it holds already. */
  addToCache(block: number): void {
    const refs = this.held(block);
    if (this.cachedFlag[block] === 1) throw new KvStateError(`block ${block}`, 'already in the prefix cache');
    this.cachedFlag[block] = 1;
    this.refs[block] = refs + 1;
  }

  /** The prefix cache lets go. @returns true when the block became free. */
  removeFromCache(block: number): boolean {
    if (this.cachedFlag[block] !== 1) throw new KvStateError(`block ${block}`, 'not in the prefix cache');
    this.cachedFlag[block] = 0;
    const refs = this.refs[block]! - 1;
    this.refs[block] = refs;
    if (refs > 0) return false;
    this.cached--;
    this.pushFree(block);
    return true;
  }

  isCached(block: number): boolean {
    return this.cachedFlag[block] === 1;
  }

  refCount(block: number): number {
    return this.refs[block] ?? 0;
  }

  pinCount(block: number): number {
    return this.pins[block] ?? 0;
  }

  /** @throws {KvIntegrityError} if the free list, the counts and the states disagree. O(numBlocks). */
  checkIntegrity(): void {
    let cached = 0;
    let unheld = 0;
    for (let block = 1; block < this.numBlocks; block++) {
      const refs = this.refs[block]!;
      if (refs < this.pins[block]! + this.cachedFlag[block]!) {
        throw new KvIntegrityError(`block ${block} has ${refs} references, fewer than its pins and the cache take`);
      }
      if (refs === 0) unheld++;
      else if (refs === 1 && this.cachedFlag[block] === 1) cached++;
    }
    if (this.refs[NULL_BLOCK] !== 0) throw new KvIntegrityError('the null block is referenced');
    if (cached !== this.cached)
      throw new KvIntegrityError(`${cached} blocks are cached, the count says ${this.cached}`);
    let listed = 0;
    for (let block = this.next[NULL_BLOCK]!; block !== NULL_BLOCK; block = this.next[block]!) {
      if (this.refs[block] !== 0) throw new KvIntegrityError(`block ${block} is in the free list and held`);
      if (this.previous[this.next[block]!] !== block)
        throw new KvIntegrityError(`free list broken after block ${block}`);
      if (++listed > unheld) throw new KvIntegrityError('the free list has a cycle');
    }
    if (listed !== unheld || listed !== this.free) {
      throw new KvIntegrityError(`${listed} blocks listed free, ${unheld} unheld, the count says ${this.free}`);
    }
  }

  private held(block: number): number {
    const refs = this.refs[block];
    if (refs === undefined || refs === 0) throw new KvStateError(`block ${block}`, 'is not held by anyone');
    return refs;
  }

  private pushFree(block: number): void {
    const last = this.previous[NULL_BLOCK]!;
    this.next[last] = block;
    this.previous[block] = last;
    this.next[block] = NULL_BLOCK;
    this.previous[NULL_BLOCK] = block;
    this.free++;
  }
}
