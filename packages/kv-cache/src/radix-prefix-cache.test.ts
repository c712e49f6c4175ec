import { describe, expect, it } from 'vitest';
import { describePrefixCache } from '../test/prefix-cache-conformance.js';
import { BlockPool } from './block-pool.js';
import { RadixPrefixCache } from './radix-prefix-cache.js';

describePrefixCache('RadixPrefixCache', (pool) => new RadixPrefixCache(pool));

function setUp() {
  const pool = new BlockPool({ numBlocks: 17, blockSize: 1 });
  const cache = new RadixPrefixCache(pool);
  const store = (...ids: number[]): void => {
    const tokens = Int32Array.from(ids);
    const handle = cache.acquire(undefined, tokens, tokens.length);
    const table = new Int32Array(tokens.length);
    cache.path(handle, table);
    pool.fork(table, handle.end);
    for (let i = handle.end; i < table.length; i++) table[i] = pool.allocate();
    const end = cache.insert(handle, undefined, tokens, table, table.length);
    for (const block of table) pool.release(block);
    cache.unlock(end);
  };
  const has = (...ids: number[]): number =>
    cache.match(undefined, Int32Array.from(ids), ids.length, new Int32Array(16));
  return { pool, cache, store, has };
}

describe('RadixPrefixCache', () => {
  it('evicts the least recently used leaf first, from its end', () => {
    const { cache, store, has } = setUp();
    store(1, 2, 3);
    store(1, 2, 4);
    store(5, 6);
    store(1, 2, 3);
    cache.evict(1);
    expect([has(1, 2, 3), has(1, 2, 4), has(5, 6)]).toEqual([3, 2, 2]);
    cache.evict(1);
    expect([has(1, 2, 3), has(5, 6)]).toEqual([3, 1]);
    cache.evict(2);
    expect([has(1, 2, 3), has(5, 6)]).toEqual([2, 0]);
    cache.checkIntegrity();
  });

  it('grows a leaf in place while one sequence alone stands at it', () => {
    const { pool, cache, has } = setUp();
    const tokens = Int32Array.of(1, 2, 3, 4);
    const table = Int32Array.from({ length: 4 }, () => pool.allocate());
    const first = cache.insert(cache.acquire(undefined, tokens, 0), undefined, tokens, table, 1);
    expect(cache.insert(first, undefined, tokens, table, 2)).toBe(first);
    const other = cache.lock(first, 2);
    const third = cache.insert(first, undefined, tokens, table, 3);
    expect(third).not.toBe(first);
    expect([first.end, other.end, third.end]).toEqual([2, 2, 3]);
    expect(has(1, 2, 3, 4)).toBe(3);
    cache.checkIntegrity();
  });

  it('compares tokens, not hashes: equal hashes stay apart', () => {
    const pool = new BlockPool({ numBlocks: 9, blockSize: 2 });
    const cache = new RadixPrefixCache(pool);
    const hashOf = (tokens: Int32Array): number =>
      (cache as unknown as { hashBlock(tokens: Int32Array, offset: number, tag: string): number }).hashBlock(
        tokens,
        0,
        '',
      );
    const seen = new Map<number, Int32Array>();
    let pair: [Int32Array, Int32Array] | undefined;
    for (let i = 0; pair === undefined; i++) {
      const tokens = Int32Array.of(Math.imul(i, 0x9e3779b1) >>> 1, Math.imul(i, 0x85ebca6b) >>> 1);
      const twin = seen.get(hashOf(tokens));
      if (twin !== undefined && (twin[0] !== tokens[0] || twin[1] !== tokens[1])) pair = [twin, tokens];
      seen.set(hashOf(tokens), tokens);
    }
    const blocks = pair.map((tokens) => {
      const table = Int32Array.of(pool.allocate());
      cache.insert(cache.acquire(undefined, tokens, 0), undefined, tokens, table, 1);
      return table[0];
    });
    expect(blocks[0]).not.toBe(blocks[1]);
    pair.forEach((tokens, i) => {
      const out = new Int32Array(1);
      expect(cache.match(undefined, tokens, 1, out)).toBe(1);
      expect(out[0]).toBe(blocks[i]);
    });
    cache.checkIntegrity();
  });
});
