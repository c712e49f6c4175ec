import { describe, expect, it } from 'vitest';
import { KvCapacityError, KvConfigError, KvStateError } from './errors.js';
import { KvCacheManager } from './kv-cache-manager.js';
import { uniformSpec, type KvSpec } from './kv-spec.js';

const spec = uniformSpec({ kind: 'gqa', layers: 2, kvHeads: 1, headDim: 8, bytesPerElement: 2 });
const windowed = (window: number): KvSpec => ({ groups: [{ layers: [0, 1], bytesPerToken: 32, window }] });
const range = (length: number, first = 0): Int32Array => Int32Array.from({ length }, (_, i) => first + i);

function manager(numBlocks = 17, blockSize = 4, kvSpec = spec): KvCacheManager {
  return new KvCacheManager({ spec: kvSpec, numBlocks, blockSize });
}

/** Computes all of `tokens` and ends. */
function run(kv: KvCacheManager, id: number, tokens: Int32Array, cache = true): number {
  const hit = kv.open(id, tokens, tokens.length);
  kv.allocate(id, tokens.length);
  kv.commit(id, tokens, tokens.length);
  kv.free(id, { cache });
  kv.checkIntegrity();
  return hit;
}

describe('prefix hits', () => {
  it('never cover the whole prompt', () => {
    const kv = manager();
    const tokens = range(12);
    expect(run(kv, 1, tokens)).toBe(0);
    expect(run(kv, 2, tokens)).toBe(8);
    expect(kv.matchPrefix(tokens, 12).numTokens).toBe(8);
    expect(kv.matchPrefix(range(13), 13)).toMatchObject({ numTokens: 12, blocks: { length: 3 } });
  });

  it('begin with the step after the one that wrote the block', () => {
    const kv = manager();
    const tokens = range(20);
    kv.open(1, tokens, 20);
    kv.allocate(1, 8);
    expect(kv.matchPrefix(tokens, 20).numTokens).toBe(0);
    kv.commit(1, tokens, 8);
    expect(kv.matchPrefix(tokens, 20).numTokens).toBe(8);
    kv.allocate(1, 11);
    kv.commit(1, tokens, 11);
    expect(kv.matchPrefix(tokens, 20).numTokens).toBe(8);
  });

  it('can be declined, while the result still becomes matchable', () => {
    const kv = manager();
    const tokens = range(12);
    kv.open(1, tokens, 12, { usePrefixCache: false });
    kv.allocate(1, 12);
    kv.commit(1, tokens, 12);
    expect(kv.open(2, tokens, 12, { usePrefixCache: false })).toBe(0);
    expect(kv.open(3, tokens, 12)).toBe(8);
    expect(kv.stats()).toMatchObject({ queries: 0 });
  });

  it('merge equal blocks that two sequences computed at the same time', () => {
    const kv = manager();
    const tokens = range(9);
    for (const id of [1, 2]) {
      kv.open(id, tokens, 9);
      kv.allocate(id, 9);
    }
    expect(kv.stats().usedBlocks).toBe(6);
    for (const id of [1, 2]) kv.commit(id, tokens, 9);
    expect(kv.stats().usedBlocks).toBe(4);
    expect(kv.blockTable(2).slice(0, 2)).toEqual(kv.blockTable(1).slice(0, 2));
    kv.checkIntegrity();
  });

  it('are counted once memory was found', () => {
    const kv = manager(6);
    run(kv, 1, range(12));
    kv.open(2, range(20), 20);
    expect(kv.stats()).toMatchObject({ queries: 1, queryTokens: 12, hitTokens: 0 });
    kv.allocate(2, 20);
    kv.allocate(2, 20);
    expect(kv.stats()).toMatchObject({ queries: 2, queryTokens: 32, hitTokens: 12 });
  });

  it('do not exist without a prefix cache', () => {
    const kv = new KvCacheManager({ spec, numBlocks: 9, blockSize: 4, prefixCache: 'none' });
    run(kv, 1, range(12));
    expect(run(kv, 2, range(12))).toBe(0);
    expect(kv.stats()).toMatchObject({ freeBlocks: 8, cachedBlocks: 0 });
  });
});

describe('allocate', () => {
  it('appends what is missing and evicts what is not held', () => {
    const kv = manager(6);
    run(kv, 1, range(16));
    expect(kv.stats()).toMatchObject({ cachedBlocks: 4, freeBlocks: 1 });
    const tokens = range(12, 100);
    kv.open(2, tokens, 12);
    expect(kv.allocate(2, 12)).toBe(3);
    expect(kv.allocate(2, 12)).toBe(0);
    expect(kv.stats()).toMatchObject({ cachedBlocks: 2, freeBlocks: 0, usedBlocks: 3, evictedBlocks: 2 });
    kv.checkIntegrity();
  });

  it('gives null, and keeps the cache, when even evicting all would not do', () => {
    const kv = manager(6);
    kv.open(1, range(8), 8);
    kv.allocate(1, 8);
    run(kv, 2, range(8, 50));
    kv.open(3, range(16, 90), 16);
    expect(kv.allocate(3, 16)).toBe(null);
    expect(kv.numBlocks(3)).toBe(0);
    expect(kv.stats()).toMatchObject({ cachedBlocks: 2, evictedBlocks: 0 });
  });

  it('says what can never fit, with both figures', () => {
    const kv = manager(6);
    expect(() => kv.requireFits(20, 20)).not.toThrow();
    expect(() => kv.requireFits(21, 21)).toThrow(KvCapacityError);
    kv.open(1, range(40), 40);
    try {
      kv.allocate(1, 40);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ neededTokens: 40, capacityTokens: 20, neededBlocks: 10, capacityBlocks: 5 });
      expect(String(error)).toContain('40 tokens need 10 KV blocks, but the whole pool has 5 (20 tokens)');
    }
  });
});

describe('free', () => {
  it('keeps the blocks of a failed sequence, and what was built on them, out of the cache', () => {
    const kv = manager();
    run(kv, 1, range(8));
    const bad = range(16);
    kv.open(2, bad, 16);
    kv.allocate(2, 16);
    kv.commit(2, bad, 16);
    const follower = range(24);
    expect(kv.open(3, follower, 24)).toBe(16);
    kv.allocate(3, 24);
    kv.commit(3, follower, 20);
    kv.free(2, { cache: false });
    kv.checkIntegrity();
    expect(kv.matchPrefix(follower, 24).numTokens).toBe(8);
    kv.commit(3, follower, 24);
    expect(kv.matchPrefix(follower, 24).numTokens).toBe(8);
    kv.free(3, { cache: true });
    kv.checkIntegrity();
    expect(kv.stats()).toMatchObject({ usedBlocks: 0, cachedBlocks: 2 });
  });

  it('remembers over a preemption what the sequence wrote', () => {
    const kv = manager();
    const tokens = range(16);
    run(kv, 1, tokens);
    expect(kv.open(1, tokens, 16, { writtenFrom: 0, countQuery: false })).toBe(12);
    kv.free(1, { cache: false });
    expect(kv.matchPrefix(tokens, 16).numTokens).toBe(0);
    expect(kv.stats()).toMatchObject({ freeBlocks: 16, queries: 1 });
  });
});

describe('fork', () => {
  const parent = range(10);

  function forked() {
    const kv = manager();
    kv.open(1, parent, 10);
    kv.allocate(1, 10);
    kv.commit(1, parent, 10);
    kv.fork(1, 2);
    return kv;
  }

  it('shares all blocks; the first to write the last one copies it', () => {
    const kv = forked();
    expect(kv.stats().usedBlocks).toBe(3);
    const last = kv.blockTable(1)[2]!;
    expect(kv.allocate(2, 11)).toBe(0);
    const copy = kv.blockTable(2)[2]!;
    expect(copy).not.toBe(last);
    expect(kv.allocate(1, 11)).toBe(0);
    expect(kv.blockTable(1)[2]).toBe(last);
    expect(kv.takeTransfers()).toEqual([{ kind: 'copy', src: last, dst: copy }]);
    expect(kv.takeTransfers()).toEqual([]);
    kv.checkIntegrity();
  });

  it('needs no copy at a block boundary', () => {
    const kv = manager();
    const tokens = range(8);
    kv.open(1, tokens, 8);
    kv.allocate(1, 8);
    kv.commit(1, tokens, 8);
    kv.fork(1, 2);
    expect([kv.allocate(1, 9), kv.allocate(2, 9)]).toEqual([1, 1]);
    expect(kv.takeTransfers()).toEqual([]);
  });

  it('holds both ends of a copy until its step is complete', () => {
    const kv = forked();
    kv.allocate(2, 11);
    kv.takeTransfers();
    kv.free(1, { cache: true });
    kv.free(2, { cache: true });
    expect(kv.stats()).toMatchObject({ usedBlocks: 2, cachedBlocks: 2 });
    kv.completeTransfers();
    expect(kv.stats()).toMatchObject({ usedBlocks: 0, cachedBlocks: 2 });
    kv.checkIntegrity();
  });

  it('drops a copy that nobody needs any more', () => {
    const kv = forked();
    kv.allocate(2, 11);
    kv.free(2, { cache: true });
    expect(kv.takeTransfers()).toEqual([]);
    expect(kv.stats().usedBlocks).toBe(3);
    kv.checkIntegrity();
  });

  it('takes the bytes from where they are when the source still waits for them', () => {
    const kv = forked();
    const source = kv.blockTable(1)[2]!;
    kv.allocate(2, 11);
    kv.fork(2, 3);
    kv.allocate(3, 11);
    const transfers = kv.takeTransfers();
    expect(transfers.map(({ src }) => src)).toEqual([source, source]);
    expect(new Set(transfers.map(({ dst }) => dst)).size).toBe(2);
  });

  it('can take a shorter prefix, down to the middle of a full block', () => {
    const kv = forked();
    kv.fork(1, 3, 6);
    kv.allocate(3, 8);
    expect(kv.takeTransfers()).toEqual([{ kind: 'copy', src: kv.blockTable(1)[1], dst: kv.blockTable(3)[1] }]);
    const other = Int32Array.of(0, 1, 2, 3, 4, 5, 77, 78);
    kv.commit(3, other, 8);
    expect(kv.matchPrefix(Int32Array.of(...other, 9), 9).numTokens).toBe(8);
    for (const id of [1, 2, 3]) kv.free(id, { cache: true });
    kv.completeTransfers();
    kv.checkIntegrity();
  });

  it('needs no copy once the cache has let go of the block', () => {
    const kv = manager(3);
    const tokens = range(8);
    kv.open(1, tokens, 8);
    kv.allocate(1, 8);
    kv.commit(1, tokens, 8);
    kv.fork(1, 2, 6);
    kv.free(1, { cache: true });
    expect(kv.allocate(2, 8)).toBe(0);
    expect(kv.takeTransfers()).toEqual([]);
    kv.checkIntegrity();
  });

  it('refuses lengths that are not computed', () => {
    const kv = forked();
    expect(() => kv.fork(1, 3, 11)).toThrow(/forked at 0 to 10 tokens, not at 11/);
    expect(() => kv.fork(1, 2)).toThrow(/open already/);
  });
});

describe('sliding windows', () => {
  it('return what they passed, so that a long sequence fits into a small pool', () => {
    const kv = manager(6, 4, windowed(8));
    const tokens = range(200);
    kv.requireFits(200, 4);
    expect(kv.peakBlocks(200, 4)).toBe(4);
    kv.open(1, tokens, 200);
    for (let done = 0; done < 200; done += 4) {
      expect(kv.allocate(1, done + 4)).toBe(1);
      kv.commit(1, tokens, done + 4);
      expect(kv.heldBlocks(1)).toBeLessThanOrEqual(4);
      kv.checkIntegrity();
    }
    expect(kv.blockTable(1)[0]).toBe(0);
    kv.free(1, { cache: true });
    kv.checkIntegrity();
  });

  it('hold only the end of a hit', () => {
    const kv = manager(17, 4, windowed(6));
    run(kv, 1, range(8));
    const tokens = range(20);
    expect(kv.open(2, tokens, 20)).toBe(8);
    expect(kv.heldBlocks(2)).toBe(2);
    kv.allocate(2, 20);
    kv.commit(2, tokens, 14);
    expect(Array.from(kv.blockTable(2).slice(0, 5), (block) => block === 0)).toEqual([true, true, false, false, false]);
    expect(() => kv.fork(2, 3, 9)).toThrow(/13 to 14/);
    kv.fork(2, 3);
    kv.free(2, { cache: false });
    kv.free(3, { cache: true });
    kv.checkIntegrity();
    expect(kv.stats().usedBlocks).toBe(0);
  });

  it('do not count when a layer looks back without limit', () => {
    const groups = [
      { layers: [0], bytesPerToken: 32, window: 4 },
      { layers: [1], bytesPerToken: 32, window: null },
    ];
    expect(manager(9, 4, { groups }).peakBlocks(400, 4)).toBe(100);
  });
});

describe('wrong calls', () => {
  it('are typed errors that name the sequence', () => {
    const kv = manager();
    const tokens = range(8);
    expect(() => kv.allocate(7, 1)).toThrow(/sequence 7: is not open/);
    kv.open(1, tokens, 8);
    expect(() => kv.open(1, tokens, 8)).toThrow(KvStateError);
    expect(() => kv.commit(1, tokens, 1)).toThrow(KvStateError);
    kv.allocate(1, 8);
    kv.commit(1, tokens, 8);
    expect(() => kv.commit(1, tokens, 7)).toThrow(KvStateError);
    expect(() => kv.open(2, tokens, 9)).toThrow(KvConfigError);
    expect(() => kv.open(2, tokens, 0)).toThrow(KvConfigError);
    expect(() => kv.matchPrefix(tokens, 8, { images: [{ start: 0, length: 0, hash: '' }] })).toThrow(KvConfigError);
    expect(kv.numSequences).toBe(1);
    kv.checkIntegrity();
  });

  it('clearPrefixCache drops what nobody holds', () => {
    const kv = manager();
    run(kv, 1, range(12));
    kv.open(2, range(12), 12);
    expect(kv.clearPrefixCache()).toBe(1);
    kv.free(2, { cache: true });
    expect(kv.clearPrefixCache()).toBe(2);
    expect(kv.stats().freeBlocks).toBe(16);
  });
});
