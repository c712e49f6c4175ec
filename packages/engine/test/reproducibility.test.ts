import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EngineClient } from '../src/client/engine-client.js';
import type { EngineOptions } from '../src/load/engine-options.js';
import { resolveSampling } from '../src/sampling/resolve-sampling.js';
import type { SamplingParams } from '../src/sampling/sampling-params.js';
import { backendCases, openEngine, trace, type Trace } from './model-harness.js';
import { vocabSize, writeTinyModel, type TinyArchitecture, type TinyModel } from './tiny-model.js';

/** The main promise: what a request gives depends on the request alone, to the last bit of every logit. */

/** The output crosses position 256, where attention begins its second chunk. */
const promptLength = 245;
const newTokens = 18;
const prompt = (salt: number, length = promptLength) =>
  Int32Array.from({ length }, (_, i) => (i * 37 + salt * 101 + ((i * i) % 11)) % 256);

const decodings: readonly [string, SamplingParams][] = [
  ['greedy', { temperature: 0 }],
  ['seeded at 0.8', { temperature: 0.8, seed: 1234, topP: 0.95, repetitionPenalty: 1.1 }],
];

function start(client: EngineClient, salt: number, params: SamplingParams, length?: number, priority = 0) {
  const full = { maxTokens: newTokens, ignoreEos: true, ...params };
  const sampling = resolveSampling(full, { vocabSize, maxChoices: 128, encode: () => [] });
  return trace(client.add({ promptIds: prompt(salt, length), sampling, priority, captureLogits: Infinity }));
}

/** Resolves after that many steps. */
function steps(client: EngineClient, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const stop = client.listen({
      step() {
        if (--left > 0) return;
        stop();
        resolve();
      },
    });
  });
}

function expectSame(actual: Trace, expected: Trace): void {
  expect(actual.tokens).toEqual(expected.tokens);
  actual.logits.forEach((row, i) => expect(row, `logits of token ${i}`).toEqual(expected.logits[i]));
}

const architectures: readonly TinyArchitecture[] = ['qwen2', 'deepseek_v3'];

describe.each(architectures)('%s', (architecture) => {
  let model: TinyModel;
  beforeAll(() => {
    model = writeTinyModel(architecture);
  });
  afterAll(() => model.remove());

  describe.each(backendCases)('$backend $numerics', ({ backend, numerics }) => {
    const open = (options: Partial<EngineOptions> = {}) =>
      openEngine({
        model: model.path,
        backend,
        numerics,
        threads: 1,
        maxNumSeqs: 17,
        maxModelLen: 320,
        maxStepMs: Infinity,
        captureLogits: true,
        ...options,
      });

    test.each(decodings)(
      '%s: alone, among strangers, chunked, hit, preempted, on two threads',
      async (_, params) => {
        const first = await open();
        const expected = await start(first, 0, params);
        expect(expected.tokens).toHaveLength(newTokens);
        expect(new Set(expected.tokens).size).toBeGreaterThan(3);
        expect(expected.logits).toHaveLength(newTokens);

        const again = await start(first, 0, params);
        expect(again.cachedTokens).toBeGreaterThan(0);
        expectSame(again, expected);

        const strangers = Array.from({ length: 15 }, (__, i) => start(first, i + 1, { seed: i }, 5 + 4 * i));
        expectSame(await start(first, 0, params), expected);
        await Promise.all(strangers);
        await first.close();

        const chunked = await open({ maxNumSeqs: 2, maxNumBatchedTokens: 7, prefixCaching: false });
        expectSame(await start(chunked, 0, params), expected);
        const [beside] = await Promise.all([start(chunked, 0, params), start(chunked, 5, params)]);
        expectSame(beside, expected);
        await chunked.close();

        // Steps as long as the measured rate allows: another cut at every run.
        const adaptive = await open({ maxNumSeqs: 3, maxStepMs: 3, prefixCaching: false });
        const [adapted] = await Promise.all([start(adaptive, 0, params), start(adaptive, 5, params)]);
        expectSame(adapted, expected);
        await adaptive.close();

        const single = await open({ maxNumSeqs: 1, schedulingPolicy: 'priority', prefixCaching: false });
        const pushedOut = start(single, 0, params, promptLength, 5);
        await steps(single, 9);
        await start(single, 3, params, 20, 0);
        expectSame(await pushedOut, expected);
        expect((await single.queryStats()).preemptions).toBeGreaterThan(0);
        await single.checkIntegrity();
        await single.close();

        const threaded = await open({ threads: 2, blockSize: 8 });
        expectSame(await start(threaded, 0, params), expected);
        await threaded.close();
      },
      120_000,
    );

    test('choices equal the same draws of other batches', async () => {
      const client = await open();
      const params = { temperature: 0.8, seed: 77 };
      const expected = await start(client, 0, params);
      const three = await start(client, 0, { ...params, n: 3 });
      expectSame(three, expected);
      await client.close();
    });
  });
});
