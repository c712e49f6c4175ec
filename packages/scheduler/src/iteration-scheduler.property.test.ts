import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CacheKey } from '@dsi/kv-cache';
import { SimulatedEngine } from '../test/simulated-engine.js';
import { FcfsPolicy } from './fcfs-policy.js';
import { PriorityPolicy } from './priority-policy.js';
import type { SequenceView } from './request.js';

interface Expectation {
  readonly view: SequenceView;
  readonly prompt: readonly number[];
  readonly generated: readonly number[];
  readonly key: CacheKey | undefined;
  /** Ended by us, not by the "model". */
  cut: boolean;
}

const KEYS: readonly (CacheKey | undefined)[] = [undefined, undefined, { adapter: 'a' }, { salt: 's' }];

const operation = fc.record({
  kind: fc.constantFrom('add', 'add', 'add', 'fork', 'abort', 'fail', 'step', 'step', 'step', 'step', 'step', 'step'),
  pick: fc.nat(1000),
  shape: fc.nat(1000),
  priority: fc.nat(3),
});

const configuration = fc.record({
  numBlocks: fc.integer({ min: 4, max: 40 }),
  blockSize: fc.integer({ min: 1, max: 4 }),
  maxNumSeqs: fc.integer({ min: 1, max: 6 }),
  spare: fc.nat(20),
  longPrefillTokenThreshold: fc.constantFrom(0, 0, 1, 3, 7),
  window: fc.constantFrom(null, null, null, 4, 9),
  prefixCache: fc.constantFrom('radix' as const, 'radix' as const, 'none' as const),
});

describe('IterationScheduler', () => {
  it.each([
    ['fcfs', () => new FcfsPolicy()],
    ['priority', () => new PriorityPolicy({ ageingMs: 40 })],
  ] as const)(
    '%s: outputs depend on the request alone, nothing stalls, everything comes back',
    (_, makePolicy) => {
      const seen = { steps: 0, preemptions: 0, hits: 0, inFlightAborts: 0, copies: 0, failures: 0, forks: 0 };
      fc.assert(
        fc.property(
          configuration,
          fc.array(operation, { minLength: 100, maxLength: 300, size: 'max' }),
          (config, operations) => {
            const policy = makePolicy();
            const maxNumBatchedTokens = config.maxNumSeqs + config.spare;
            const engine = new SimulatedEngine({ ...config, maxNumBatchedTokens, maxModelLen: 120, policy });
            const { scheduler, kv } = engine;
            const live = new Map<string, Expectation>();
            let nextId = 0;
            let forked = false;

            const settle = (finished: readonly { id: string; reason: string; numGenerated: number }[]): void => {
              for (const { id, reason, numGenerated } of finished) {
                const { view, prompt, generated, cut } = live.get(id)!;
                const got = [...view.tokens.subarray(prompt.length, view.numTokens)];
                expect(got).toEqual(generated.slice(0, got.length));
                expect(numGenerated).toBe(got.length);
                if (!cut) {
                  expect(got).toEqual(generated);
                  expect(reason).toBe(got.at(-1) === 0 ? 'stop' : 'length');
                }
                live.delete(id);
              }
            };
            const failing = new Set<string>();
            const land = (): void => {
              settle(engine.land((id) => (failing.has(id) ? 'numerical_error' : undefined)).finished);
              for (const id of failing) if (!live.has(id)) failing.delete(id);
            };
            const runStep = (between: () => void, shape = 0): void => {
              const budget = shape % 2 === 0 ? undefined : 1 + (shape % (maxNumBatchedTokens + 3));
              const floor = scheduler.stats().numRunning;
              const plan = engine.launch(budget);
              expect(plan.numTokens).toBeLessThanOrEqual(
                Math.min(maxNumBatchedTokens, Math.max(budget ?? maxNumBatchedTokens, floor)),
              );
              seen.steps++;
              seen.copies += plan.transfers.length;
              seen.preemptions += plan.preempted.length;
              if (policy.name === 'fcfs' && !forked) {
                // In order of arrival, that is of insertion: the oldest is served in every step.
                const oldest = [...live.keys()][0];
                if (plan.requests.every(({ id }) => id !== oldest) && oldest !== undefined)
                  expect.fail(`${oldest} stalls`);
              }
              between();
              if (engine.plan !== null) land();
              engine.now++;
              scheduler.checkIntegrity();
            };
            const apply = ({ kind, pick, shape, priority }: (typeof operations)[number]): void => {
              const chosen = [...live.values()][pick % Math.max(1, live.size)];
              if (kind === 'add') {
                const prompt = Array.from(
                  { length: 1 + (shape % 30) },
                  (_unused, i) => 1 + ((i * (1 + (pick % 2))) % 3),
                );
                const maxTokens = 1 + (pick % 60);
                if (kv.peakBlocks(prompt.length + maxTokens, 1000) > kv.totalBlocks) return;
                const key = KEYS[pick % KEYS.length];
                const id = `r${nextId++}`;
                const usePrefixCache = shape % 5 !== 0;
                const view = engine.add(id, prompt, maxTokens, {
                  priority,
                  usePrefixCache,
                  ...(key && { cacheKey: key }),
                });
                live.set(id, { view, prompt, generated: engine.expected(prompt, maxTokens, key), key, cut: false });
              } else if (chosen !== undefined) {
                const { id } = chosen.view;
                const inFlight = engine.plan?.requests.some((request) => request.id === id) === true;
                if (kind === 'fork' && !chosen.cut && chosen.view.numGenerated > 0 && live.size < 12) {
                  const child = `r${nextId++}`;
                  const { view: parent, prompt, key } = chosen;
                  if (shape % 3 === 0 && parent.numGenerated + 1 < parent.maxTokens) {
                    // Another way: some of the parent's tokens, then one that it did not take.
                    const kept = [
                      ...parent.tokens.subarray(prompt.length, prompt.length + (pick % parent.numGenerated)),
                    ];
                    const other = [...kept, 1 + (parent.tokens[prompt.length + kept.length]! % 39)];
                    const rest = engine.expected([...prompt, ...other], parent.maxTokens - other.length, key);
                    live.set(child, { ...chosen, view: engine.fork(id, child, other), generated: [...other, ...rest] });
                  } else if (shape % 3 === 1) {
                    const fresh = engine.expected(prompt, parent.maxTokens, key);
                    live.set(child, { ...chosen, view: engine.fork(id, child, []), generated: fresh });
                  } else live.set(child, { ...chosen, view: engine.fork(id, child) });
                  seen.forks++;
                  forked = true;
                } else if (kind === 'abort') {
                  chosen.cut = true;
                  const held = kv.stats().usedBlocks;
                  expect(scheduler.abort(id)).toBe(!failing.has(id) || chosen.view.status !== 'finished');
                  expect(scheduler.abort(id)).toBe(false);
                  if (inFlight) seen.inFlightAborts++;
                  else {
                    expect(chosen.view.status).toBe('finished');
                    expect(kv.stats().usedBlocks).toBeLessThanOrEqual(held);
                    live.delete(id);
                  }
                } else if (kind === 'fail' && inFlight) {
                  chosen.cut = true;
                  failing.add(id);
                  seen.failures++;
                }
              }
            };

            for (const [index, current] of operations.entries()) {
              if (current.kind !== 'step') apply(current);
              else
                runStep(() => {
                  const following = operations[index + 1];
                  if (current.shape % 3 === 0 && following !== undefined && following.kind !== 'step') apply(following);
                }, current.shape);
            }
            for (let steps = 0; scheduler.hasWork; steps++) {
              runStep(() => {});
              expect(steps).toBeLessThan(5000);
            }
            seen.hits += kv.stats().hitTokens;
            expect(live.size).toBe(0);
            engine.expectAllReturned();
          },
        ),
        // Shrinking runs of this length takes minutes; the seed and path of a failure replay it.
        { numRuns: 55, endOnFailure: true },
      );
      // The random runs must have reached what they are there for.
      expect(seen.steps).toBeGreaterThan(8_000);
      expect(Math.min(seen.preemptions, seen.forks, seen.hits)).toBeGreaterThan(20);
      expect(Math.min(seen.copies, seen.failures, seen.inFlightAborts)).toBeGreaterThan(5);
    },
    120_000,
  );
});
