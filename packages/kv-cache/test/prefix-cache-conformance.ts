import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockPool, KvStateError, NULL_BLOCK } from '@dsi/kv-cache';
import type { CacheKey, PrefixCache, PrefixHandle } from '@dsi/kv-cache';

const KEYS: readonly (CacheKey | undefined)[] = [
  undefined,
  { adapter: 'a' },
  { salt: 'a' },
  { images: [{ start: 3, length: 2, hash: 'x' }] },
  { images: [{ start: 3, length: 2, hash: 'y' }] },
];

const image = (hash: string): CacheKey => ({ images: [{ start: 2, length: 2, hash }] });

/** What a block's KV depends on, as text: everything up to its end. */
function contentOf(key: CacheKey | undefined, tokens: Int32Array, end: number): string {
  const images = (key?.images ?? []).filter((span) => span.start < end);
  return JSON.stringify([key?.adapter, key?.salt, images, [...tokens.subarray(0, end)]]);
}

/** A sequence that holds blocks and a handle, as the manager does. */
interface Holder {
  readonly key: CacheKey | undefined;
  readonly tokens: Int32Array;
  readonly table: Int32Array;
  length: number;
  handle: PrefixHandle;
}

/** What every prefix cache must do, whatever its structure and its order of eviction. */
export function describePrefixCache(name: string, make: (pool: BlockPool) => PrefixCache): void {
  describe(`${name} keeps the PrefixCache contract`, () => {
    const size = 2;

    function setUp(numBlocks = 33) {
      const pool = new BlockPool({ numBlocks, blockSize: size });
      return { pool, cache: make(pool) };
    }

    /** Computes `tokens` from scratch, inserts all whole blocks and lets go. */
    function store(pool: BlockPool, cache: PrefixCache, tokens: number[], key?: CacheKey): void {
      const ids = Int32Array.from(tokens);
      const whole = Math.floor(ids.length / size);
      const handle = cache.acquire(key, ids, 0);
      const table = Int32Array.from({ length: whole }, () => pool.allocate());
      const end = cache.insert(handle, key, ids, table, whole);
      for (const block of table) pool.release(block);
      cache.unlock(end);
    }

    function matched(
      cache: PrefixCache,
      tokens: number[],
      key?: CacheKey,
      max = Math.floor(tokens.length / size),
    ): number {
      return cache.match(key, Int32Array.from(tokens), max, new Int32Array(max));
    }

    it('matches whole blocks only, up to the limit', () => {
      const { pool, cache } = setUp();
      store(pool, cache, [1, 2, 3, 4, 5]);
      expect(matched(cache, [1, 2, 3, 4, 5, 6])).toBe(2);
      expect(matched(cache, [1, 2, 3, 9])).toBe(1);
      expect(matched(cache, [1, 9, 3, 4])).toBe(0);
      expect(matched(cache, [1, 2, 3, 4], undefined, 1)).toBe(1);
    });

    it('branches inside what was one sequence', () => {
      const { pool, cache } = setUp();
      store(pool, cache, [1, 2, 3, 4, 5, 6]);
      store(pool, cache, [1, 2, 3, 4, 7, 8]);
      store(pool, cache, [1, 2, 9, 9]);
      expect(matched(cache, [1, 2, 3, 4, 5, 6])).toBe(3);
      expect(matched(cache, [1, 2, 3, 4, 7, 8])).toBe(3);
      expect(matched(cache, [1, 2, 9, 9])).toBe(2);
      expect(cache.numBlocks).toBe(5);
      cache.checkIntegrity();
    });

    it('never crosses keys, and shares what lies before an image', () => {
      const { pool, cache } = setUp();
      const tokens = [1, 2, 3, 4, 5, 6];
      store(pool, cache, tokens, image('cat'));
      expect(matched(cache, tokens, image('cat'))).toBe(3);
      expect(matched(cache, tokens, image('dog'))).toBe(1);
      expect(matched(cache, tokens)).toBe(1);
      expect(matched(cache, tokens, { salt: 's' })).toBe(0);
      store(pool, cache, tokens, { adapter: 'sql' });
      expect(matched(cache, tokens, { adapter: 'sql' })).toBe(3);
      expect(matched(cache, tokens, { salt: 'sql' })).toBe(0);
      expect(matched(cache, tokens)).toBe(1);
    });

    it('exchanges a block that is cached already', () => {
      const { pool, cache } = setUp();
      store(pool, cache, [1, 2, 3, 4]);
      const tokens = Int32Array.of(1, 2, 3, 4, 5, 6);
      const table = Int32Array.from({ length: 3 }, () => pool.allocate());
      const own = table.slice();
      const end = cache.insert(cache.acquire(undefined, tokens, 0), undefined, tokens, table, 3);
      const path = new Int32Array(3);
      cache.path(end, path);
      expect(path).toEqual(table);
      expect(table[0]).not.toBe(own[0]);
      expect(table[2]).toBe(own[2]);
      expect([pool.refCount(own[0]!), pool.refCount(own[1]!)]).toEqual([0, 0]);
      cache.checkIntegrity();
    });

    it('evicts what is not locked, extensions before what they extend', () => {
      const { pool, cache } = setUp();
      store(pool, cache, [1, 2, 3, 4, 5, 6, 7, 8]);
      const held = cache.acquire(undefined, Int32Array.of(1, 2, 3, 4), 2);
      expect(cache.numEvictable).toBe(2);
      expect(cache.evict(1)).toBe(1);
      expect(matched(cache, [1, 2, 3, 4, 5, 6, 7, 8])).toBe(3);
      expect(cache.evict(100)).toBe(1);
      expect(matched(cache, [1, 2, 3, 4, 5, 6, 7, 8])).toBe(2);
      cache.unlock(held);
      expect(cache.evict(100)).toBe(2);
      expect([cache.numBlocks, pool.numFree]).toEqual([0, 32]);
      cache.checkIntegrity();
    });

    it('removes a path with all that was built on it, whoever holds it', () => {
      const { pool, cache } = setUp();
      store(pool, cache, [1, 2, 3, 4, 5, 6]);
      store(pool, cache, [1, 2, 3, 4, 7, 8]);
      const held = cache.acquire(undefined, Int32Array.of(1, 2, 3, 4, 7, 8), 3);
      const doomed = cache.acquire(undefined, Int32Array.of(1, 2, 3, 4, 5, 6), 3);
      cache.remove(doomed, 1);
      expect([held.alive, doomed.alive]).toEqual([false, false]);
      expect(matched(cache, [1, 2, 3, 4, 7, 8])).toBe(1);
      cache.checkIntegrity();
      cache.unlock(doomed);
      cache.unlock(held);
      expect(cache.evict(100)).toBe(1);
      expect(pool.numFree).toBe(32);
      cache.checkIntegrity();
    });

    it('refuses handles that are not locked', () => {
      const { cache } = setUp();
      const tokens = Int32Array.of(1, 2);
      const handle = cache.acquire(undefined, tokens, 0);
      expect(() => cache.lock(handle, 1)).toThrow(KvStateError);
      cache.unlock(handle);
      expect(() => cache.unlock(handle)).toThrow(KvStateError);
      expect(() => cache.insert(handle, undefined, tokens, Int32Array.of(1), 1)).toThrow(KvStateError);
    });

    it('agrees with a list of everything stored, under random operations', () => {
      const operation = fc.record({
        kind: fc.constantFrom(
          'open',
          'open',
          'extend',
          'extend',
          'extend',
          'fork',
          'close',
          'evict',
          'remove',
          'match',
        ),
        pick: fc.nat(1000),
        key: fc.nat(KEYS.length - 1),
        tokens: fc.array(fc.nat(1), { minLength: 2, maxLength: 14 }),
        amount: fc.nat(4),
      });
      fc.assert(
        fc.property(fc.array(operation, { minLength: 5, maxLength: 120, size: 'max' }), (operations) => {
          const { pool, cache } = setUp(25);
          /** Block to content, for every block written and not given away since. */
          const written = new Map<number, string>();
          const holders: Holder[] = [];
          const longest = (key: CacheKey | undefined, tokens: Int32Array, max: number): number => {
            const inCache = new Set<string>();
            cache.forEachBlock((block) => inCache.add(written.get(block)!));
            let count = 0;
            while (count < max && inCache.has(contentOf(key, tokens, (count + 1) * size))) count++;
            return count;
          };
          const close = (holder: Holder): void => {
            for (let i = 0; i < holder.length; i++) pool.release(holder.table[i]!);
            cache.unlock(holder.handle);
            holders.splice(holders.indexOf(holder), 1);
          };
          for (const { kind, pick, key: keyIndex, tokens: raw, amount } of operations) {
            const holder = holders.length > 0 ? holders[pick % holders.length]! : undefined;
            const key = KEYS[keyIndex];
            const tokens = Int32Array.from(raw);
            const whole = Math.floor(tokens.length / size);
            if (kind === 'open') {
              const expected = longest(key, tokens, whole);
              const handle = cache.acquire(key, tokens, whole);
              expect(handle.end).toBe(expected);
              const table = new Int32Array(whole);
              cache.path(handle, table);
              pool.fork(table, handle.end);
              holders.push({ key, tokens, table, length: handle.end, handle });
            } else if (kind === 'match') {
              const out = new Int32Array(whole);
              const count = cache.match(key, tokens, whole, out);
              expect(count).toBe(longest(key, tokens, whole));
              for (let i = 0; i < count; i++) expect(written.get(out[i]!)).toBe(contentOf(key, tokens, (i + 1) * size));
            } else if (kind === 'evict') {
              const free = pool.numFree;
              const evictable = cache.numEvictable;
              const freed = cache.evict(amount);
              expect(freed).toBe(Math.min(amount, evictable));
              expect(pool.numFree).toBe(free + freed);
            } else if (holder !== undefined) {
              const { handle, table } = holder;
              if (kind === 'extend' && handle.alive) {
                const end = Math.min(handle.end + amount, Math.floor(holder.tokens.length / size));
                while (holder.length < end) {
                  if (pool.numFree === 0 && cache.evict(1) === 0) break;
                  const block = pool.allocate();
                  expect(block).not.toBe(NULL_BLOCK);
                  table[holder.length] = block;
                  holder.length++;
                  written.set(block, contentOf(holder.key, holder.tokens, holder.length * size));
                }
                const reached = Math.min(end, holder.length);
                holder.handle = cache.insert(handle, holder.key, holder.tokens, table, reached);
                expect(holder.handle.end).toBe(reached);
                expect(longest(holder.key, holder.tokens, reached)).toBe(reached);
              } else if (kind === 'fork') {
                // A handle whose path was removed keeps its old end; what the holder holds is its own table.
                const end = Math.min(amount, handle.end, holder.length);
                const copy = table.slice();
                const lock = cache.lock(handle, end);
                if (lock.alive) expect(lock.end).toBe(end);
                pool.fork(copy, end);
                holders.push({ ...holder, table: copy, length: end, handle: lock });
              } else if (kind === 'close') close(holder);
              else if (kind === 'remove') {
                const covered = handle.alive && handle.end > amount;
                const own = Math.floor(holder.tokens.length / size);
                const stored = longest(holder.key, holder.tokens, own);
                cache.remove(handle, amount);
                const left = longest(holder.key, holder.tokens, own);
                if (covered) expect(left).toBe(amount);
                else if (handle.alive) expect(left).toBe(stored);
              }
            }
            for (const { handle, table, length } of holders) {
              if (!handle.alive) continue;
              const path = new Int32Array(handle.end);
              cache.path(handle, path);
              expect(length).toBeGreaterThanOrEqual(handle.end);
              expect(path).toEqual(table.slice(0, handle.end));
            }
            cache.checkIntegrity();
            pool.checkIntegrity();
          }
          while (holders.length > 0) close(holders[0]!);
          cache.evict(Number.MAX_SAFE_INTEGER);
          expect([cache.numBlocks, cache.numEvictable, pool.numFree]).toEqual([0, 0, pool.total]);
          cache.checkIntegrity();
        }),
        { numRuns: 80 },
      );
    });
  });
}
