import { createReferenceBackend, weightUses } from '@dsi/graph';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Backend } from '@dsi/graph';
import { buildModel, buildMtp, loadModelDefinition, SequenceRunner, type BuiltModel } from '../src/index.js';
import { fixtureNames, nativeBackend, openFixture, type FixturePrompt, type OpenFixture } from './fixture.js';

/** Largest difference of a logit from transformers' in float32. */
const tolerance = 1e-3;
const native = await nativeBackend();
const backends: [string, Backend][] = [
  ['reference', createReferenceBackend({ poisonArena: true })],
  ...(native === undefined ? [] : ([['cpu', native]] as [string, Backend][])),
];

const dims = { T: 300, S: 3, R: 300, B: 32 };

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a, (v, i) => Math.abs(v - (b[i] as number))).reduce((x, y) => Math.max(x, y), 0);
}

describe.each(fixtureNames)('%s', (name) => {
  let fixture: OpenFixture;
  beforeAll(async () => {
    fixture = await openFixture(name);
  });
  afterAll(() => fixture.close());

  function build(prompt: FixturePrompt, numerics: 'exact' | 'fast' = 'exact'): BuiltModel {
    const definition = loadModelDefinition(fixture.files);
    const { scaling } = definition.config.rope;
    const length = prompt.ids.length + prompt.greedy.length;
    // LongRoPE has two sets of factors, chosen by the longest sequence: run each prompt with the set that is meant for it.
    const short = scaling.type === 'longrope' && length <= scaling.originalMaxPositions;
    return buildModel(definition, {
      numerics,
      maxDims: dims,
      blockSize: 16,
      ...(short && { maxSequenceLength: scaling.originalMaxPositions }),
    });
  }

  describe.each(backends)('on %s', (_, backend) => {
    it.each([0, 1, 2])('prompt %i: prefill, chunked prefill and decode give the reference logits', async (index) => {
      const prompt = fixture.record.prompts[index] as FixturePrompt;
      const runner = await SequenceRunner.create(build(prompt), backend);
      for (const chunk of index === 1 ? [dims.T, 7, 1] : [dims.T, 7]) {
        const sequence = runner.open();
        const logits = await runner.prefill(sequence, prompt.ids, { chunk });
        expect(largestDifference(prompt.logits, logits), `chunks of ${chunk}`).toBeLessThan(tolerance);
        expect(await runner.greedy(sequence, logits, prompt.greedy.length), `chunks of ${chunk}`).toEqual(
          prompt.greedy,
        );
        runner.close(sequence);
      }
      runner.dispose();
    });

    it.each(['exact', 'fast'] as const)(
      '%s: a sequence has the same bits whatever shares its steps',
      async (numerics) => {
        const prompt = fixture.record.prompts[1] as FixturePrompt;
        const runner = await SequenceRunner.create(build(prompt, numerics), backend);
        const alone = runner.open();
        const expected = await runner.prefill(alone, prompt.ids);
        const [a, b, c] = [runner.open(), runner.open(), runner.open()];
        await runner.step([
          { sequence: a, tokens: prompt.ids.slice(5, 20) },
          { sequence: b, tokens: prompt.ids.slice(0, 11) },
          { sequence: c, tokens: [7] },
        ]);
        const [, second] = await runner.step([
          { sequence: c, tokens: [3] },
          { sequence: b, tokens: prompt.ids.slice(11) },
        ]);
        expect(second?.logits).toEqual(expected);
        runner.dispose();
      },
    );

    it.runIf(name.endsWith('deepseek_v3'))('predicts with its multi-token-prediction module', async () => {
      const { mtp } = fixture.record;
      if (mtp === undefined) throw new Error('the fixture has no mtp reference');
      const definition = loadModelDefinition(fixture.files);
      const options = { numerics: 'exact', maxDims: dims, blockSize: 16, hiddenStates: true } as const;
      const main = buildModel(definition, options);
      const module = buildMtp(definition, options);
      const weights = await backend.loadWeights(
        [...new Map([...main.weights, ...module.weights].map((w) => [w.name, w])).values()],
        weightUses([main.program, module.program]),
        { numerics: 'exact' },
      );
      const trunk = await SequenceRunner.create(main, backend, { weights });
      const draft = await SequenceRunner.create(module, backend, { weights });
      const [states] = await trunk.step([{ sequence: trunk.open(), tokens: mtp.ids }], 'all');
      const width = definition.config.hiddenSize;
      const hidden = states?.hidden?.subarray(0, (mtp.ids.length - 1) * width) as Float32Array;
      const sequence = draft.open();
      const first = 9;
      await draft.step([{ sequence, tokens: mtp.ids.slice(1, first + 1), hidden: hidden.subarray(0, first * width) }]);
      const [rest] = await draft.step([
        { sequence, tokens: mtp.ids.slice(first + 1), hidden: hidden.subarray(first * width) },
      ]);
      expect(largestDifference(mtp.last_logits, rest?.logits as Float32Array)).toBeLessThan(tolerance);
      trunk.dispose();
      draft.dispose();
      weights.dispose();
    });
  });
});
