import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeviceDouble } from '../test/device-double.js';
import type { CacheKey } from './cache-key.js';
import { KvCacheManager } from './kv-cache-manager.js';

interface Model {
  readonly id: number;
  readonly key: CacheKey | undefined;
  readonly tokens: Int32Array;
  /** Positions allocated for the step in the making. */
  planned: number;
  /** Shares blocks whose copies belong to the step in the making: readable once its transfers have run. */
  awaitsCopies: boolean;
}

const KEYS: readonly (CacheKey | undefined)[] = [
  undefined,
  undefined,
  { adapter: 'a' },
  { images: [{ start: 2, length: 3, hash: 'cat' }] },
  { images: [{ start: 2, length: 3, hash: 'dog' }] },
];

const operation = fc.record({
  kind: fc.constantFrom(
    'open',
    'open',
    'allocate',
    'allocate',
    'allocate',
    'step',
    'step',
    'fork',
    'free',
    'fail',
    'clear',
  ),
  pick: fc.nat(1000),
  amount: fc.nat(9),
  key: fc.nat(KEYS.length - 1),
  tokens: fc.array(fc.nat(1), { minLength: 1, maxLength: 24 }),
});

describe('KvCacheManager', () => {
  it.each([
    ['unlimited attention', null, 'radix'],
    ['a window of 5', 5, 'radix'],
    ['no prefix cache', null, 'none'],
  ] as const)('every read finds what it needs and everything comes back: %s', (_, window, prefixCache) => {
    let steps = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 24 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(operation, { minLength: 20, maxLength: 150, size: 'max' }),
        (numBlocks, blockSize, operations) => {
          const spec = { groups: [{ layers: [0], bytesPerToken: 1, window }] };
          const kv = new KvCacheManager({ spec, numBlocks, blockSize, prefixCache });
          const device = new DeviceDouble(kv, numBlocks);
          const models: Model[] = [];
          let nextId = 0;
          const oldest = (computed: number): number => (window === null ? 0 : Math.max(0, computed - window + 1));
          const expectReadable = ({ id, key, tokens }: Model): void => {
            const computed = kv.numComputed(id);
            expect(device.firstWrong(id, tokens, key, oldest(computed), computed)).toBe(-1);
          };
          const runStep = (): void => {
            steps++;
            device.transfer(kv.takeTransfers());
            for (const model of models) {
              model.awaitsCopies = false;
              expectReadable(model);
            }
            for (const model of models) {
              if (model.planned === 0) continue;
              device.write(model.id, model.tokens, model.key, kv.numComputed(model.id), model.planned);
            }
            kv.completeTransfers();
            for (const model of models) {
              if (model.planned === 0) continue;
              kv.commit(model.id, model.tokens, model.planned);
              model.planned = 0;
            }
          };
          for (const { kind, pick, amount, key: keyIndex, tokens } of operations) {
            const model = models[pick % Math.max(1, models.length)];
            if (kind === 'open') {
              const opened = {
                id: nextId++,
                key: KEYS[keyIndex],
                tokens: Int32Array.from(tokens),
                planned: 0,
                awaitsCopies: false,
              };
              const expected = kv.matchPrefix(opened.tokens, tokens.length, opened.key).numTokens;
              const hit = kv.open(opened.id, opened.tokens, tokens.length, { key: opened.key });
              expect(hit).toBe(expected);
              expect(hit).toBeLessThan(tokens.length);
              models.push(opened);
              expectReadable(opened);
            } else if (kind === 'step') runStep();
            else if (kind === 'clear') kv.clearPrefixCache();
            else if (model !== undefined) {
              if (kind === 'allocate') {
                const total = Math.min(model.tokens.length, kv.numComputed(model.id) + amount);
                if (total <= Math.max(model.planned, kv.numComputed(model.id))) continue;
                if (kv.peakBlocks(total, amount) > kv.totalBlocks) continue;
                const before = kv.numBlocks(model.id);
                const appended = kv.allocate(model.id, total);
                expect(kv.numBlocks(model.id)).toBe(before + (appended ?? 0));
                if (appended !== null) model.planned = total;
                else if (models.length === 1 && window === null) expect.fail('alone, a sequence that can fit must fit');
              } else if (kind === 'fork') {
                const count = Math.max(kv.minForkTokens(model.id), kv.numComputed(model.id) - amount);
                const changed = model.tokens.slice();
                if (count < changed.length) changed[count]! ^= 1;
                kv.fork(model.id, nextId, count);
                // A changed token inside an image's span or not: the key stays, the tokens decide.
                const awaitsCopies = model.planned > 0 || model.awaitsCopies;
                const child = { id: nextId++, key: model.key, tokens: changed, planned: 0, awaitsCopies };
                models.push(child);
                if (!awaitsCopies) expectReadable(child);
              } else if (kind === 'free' || kind === 'fail') {
                kv.free(model.id, { cache: kind === 'free' });
                models.splice(models.indexOf(model), 1);
              }
            }
            kv.checkIntegrity();
          }
          runStep();
          while (models.length > 0) kv.free(models.pop()!.id, { cache: true });
          kv.completeTransfers();
          const { usedBlocks, cachedBlocks, freeBlocks, totalBlocks } = kv.stats();
          expect([usedBlocks, cachedBlocks + freeBlocks]).toEqual([0, totalBlocks]);
          kv.clearPrefixCache();
          expect(kv.stats().freeBlocks).toBe(totalBlocks);
          kv.checkIntegrity();
        },
      ),
      { numRuns: 60 },
    );
    expect(steps).toBeGreaterThan(500);
  });
});
