import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockPool, MAX_BLOCKS, NULL_BLOCK } from './block-pool.js';
import { KvConfigError, KvStateError } from './errors.js';

const drop = (list: number[], block: number): void => void list.splice(list.indexOf(block), 1);

describe('BlockPool', () => {
  it('hands out every usable block once, never the null block', () => {
    const pool = new BlockPool({ numBlocks: 5 });
    const blocks = [pool.allocate(), pool.allocate(), pool.allocate(), pool.allocate()];
    expect(new Set(blocks)).toEqual(new Set([1, 2, 3, 4]));
    expect(pool.allocate()).toBe(NULL_BLOCK);
    expect(pool.numFree).toBe(0);
    pool.checkIntegrity();
  });

  it('hands out the longest unused block first', () => {
    const pool = new BlockPool({ numBlocks: 4 });
    const [a, b, c] = [pool.allocate(), pool.allocate(), pool.allocate()];
    for (const block of [b, c, a]) pool.release(block);
    expect([pool.allocate(), pool.allocate(), pool.allocate()]).toEqual([b, c, a]);
  });

  it('copies on write only what somebody else holds', () => {
    const pool = new BlockPool({ numBlocks: 3 });
    const block = pool.allocate();
    expect(pool.copyOnWrite(block)).toBe(block);
    pool.fork(Int32Array.of(NULL_BLOCK, block), 2);
    const copy = pool.copyOnWrite(block);
    expect(copy).not.toBe(block);
    expect([pool.refCount(block), pool.refCount(copy)]).toEqual([1, 1]);
    pool.retain(block);
    expect(pool.copyOnWrite(block)).toBe(NULL_BLOCK);
    expect(pool.refCount(block)).toBe(2);
  });

  it('keeps a pinned block out of the free list', () => {
    const pool = new BlockPool({ numBlocks: 2 });
    const block = pool.allocate();
    pool.pin(block);
    expect(pool.isShared(block)).toBe(false);
    pool.release(block);
    expect(pool.allocate()).toBe(NULL_BLOCK);
    pool.unpin(block);
    expect(pool.allocate()).toBe(block);
  });

  it('counts used, cached and free', () => {
    const pool = new BlockPool({ numBlocks: 4 });
    const block = pool.allocate();
    pool.addToCache(block);
    expect([pool.numUsed, pool.numCached, pool.numFree]).toEqual([1, 0, 2]);
    pool.release(block);
    expect([pool.numUsed, pool.numCached, pool.numFree]).toEqual([0, 1, 2]);
    pool.retain(block);
    expect(pool.removeFromCache(block)).toBe(false);
    expect([pool.numUsed, pool.numCached, pool.numFree]).toEqual([1, 0, 2]);
    pool.release(block);
    expect([pool.numUsed, pool.numCached, pool.numFree]).toEqual([0, 0, 3]);
  });

  it('refuses what its state does not allow', () => {
    const pool = new BlockPool({ numBlocks: 3 });
    const block = pool.allocate();
    pool.addToCache(block);
    pool.release(block);
    expect(() => pool.release(block)).toThrow(KvStateError);
    expect(() => pool.addToCache(block)).toThrow(/already in the prefix cache/);
    expect(() => pool.unpin(block)).toThrow(/not pinned/);
    expect(pool.removeFromCache(block)).toBe(true);
    expect(() => pool.release(block)).toThrow(/not held/);
    expect(() => pool.retain(block)).toThrow(/not held/);
    expect(() => pool.removeFromCache(block)).toThrow(/not in the prefix cache/);
    expect(() => pool.retain(NULL_BLOCK)).toThrow(KvStateError);
    expect(() => pool.retain(99)).toThrow(KvStateError);
    pool.checkIntegrity();
  });

  it.each([
    { numBlocks: 1 },
    { numBlocks: MAX_BLOCKS + 1 },
    { numBlocks: 2.5 },
    { numBlocks: Number.NaN },
    { numBlocks: 8, blockSize: 0 },
    { numBlocks: 8, blockSize: 257 },
  ])('refuses %j before allocating', (options) => {
    expect(() => new BlockPool(options)).toThrow(KvConfigError);
  });

  it('agrees with a list of holders under random operations', () => {
    const operation = fc.record({
      kind: fc.constantFrom('allocate', 'retain', 'release', 'pin', 'unpin', 'cache', 'uncache', 'write'),
      pick: fc.nat(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 12 }),
        fc.array(operation, { maxLength: 200, size: 'max' }),
        (numBlocks, operations) => {
          const pool = new BlockPool({ numBlocks });
          let owners: number[] = [];
          const pins: number[] = [];
          const cached = new Set<number>();
          for (const { kind, pick } of operations) {
            const owner = owners.length > 0 ? owners[pick % owners.length]! : NULL_BLOCK;
            if (kind === 'allocate') {
              const held = new Set([...owners, ...pins, ...cached]);
              const block = pool.allocate();
              expect(held.has(block)).toBe(false);
              expect(block === NULL_BLOCK).toBe(held.size === numBlocks - 1);
              if (block !== NULL_BLOCK) owners.push(block);
            } else if (kind === 'unpin' && pins.length > 0) {
              pool.unpin(pins.splice(pick % pins.length, 1)[0]!);
            } else if (kind === 'uncache' && cached.size > 0) {
              const block = [...cached][pick % cached.size]!;
              cached.delete(block);
              expect(pool.removeFromCache(block)).toBe(!owners.includes(block) && !pins.includes(block));
            } else if (owner !== NULL_BLOCK) {
              if (kind === 'retain') {
                pool.retain(owner);
                owners.push(owner);
              } else if (kind === 'release') {
                pool.release(owner);
                drop(owners, owner);
              } else if (kind === 'pin') {
                pool.pin(owner);
                pins.push(owner);
              } else if (kind === 'cache' && !cached.has(owner)) {
                pool.addToCache(owner);
                cached.add(owner);
              } else if (kind === 'write') {
                const alone = owners.filter((block) => block === owner).length === 1 && !cached.has(owner);
                const target = pool.copyOnWrite(owner);
                if (alone) expect(target).toBe(owner);
                else if (target !== NULL_BLOCK) {
                  expect(owners.includes(target)).toBe(false);
                  drop(owners, owner);
                  owners.push(target);
                }
              }
            }
            const used = new Set([...owners, ...pins]);
            expect(pool.numUsed).toBe(used.size);
            expect(pool.numCached).toBe([...cached].filter((block) => !used.has(block)).length);
            pool.checkIntegrity();
          }
          for (const block of pins) pool.unpin(block);
          for (const block of cached) pool.removeFromCache(block);
          for (const block of owners) pool.release(block);
          owners = [];
          expect(pool.numFree).toBe(numBlocks - 1);
          pool.checkIntegrity();
        },
      ),
      { numRuns: 100 },
    );
  });
});
