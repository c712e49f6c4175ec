import { describe, expect, test } from 'vitest';
import { InvalidParameterError } from '../errors/request-errors.js';
import { resolveSampling, tokenIds } from './resolve-sampling.js';
import type { SamplingParams } from './sampling-params.js';

const context = {
  vocabSize: 100,
  maxChoices: 8,
  encode: (text: string) => [...text].map((c) => c.charCodeAt(0) % 100),
};
const resolve = (params: SamplingParams, defaults?: SamplingParams) =>
  resolveSampling(params, { ...context, ...(defaults ? { defaults } : {}) });

test('neutral without parameters, and defaults where the request says nothing', () => {
  expect(resolve({})).toMatchObject({ temperature: 1, topP: 1, topK: 0, n: 1, logprobs: -1, promptLogprobs: -1 });
  expect(resolve({ topP: 0.5 }, { temperature: 0.6, topP: 0.95 })).toMatchObject({ temperature: 0.6, topP: 0.5 });
  const undefinedField = { temperature: undefined } as unknown as SamplingParams;
  expect(resolve(undefinedField, { temperature: 0.6 }).temperature).toBe(0.6);
});

test('seeds are 64 bits, two’s complement', () => {
  expect(resolve({ seed: -1 }).seed).toBe(2n ** 64n - 1n);
  expect(resolve({ seed: 2n ** 63n }).seed).toBe(2n ** 63n);
  expect(resolve({}).seed).toBeUndefined();
});

test('top_k -1 and 0 keep all', () => {
  expect(resolve({ topK: -1 }).topK).toBe(0);
  expect(resolve({ topK: 5 }).topK).toBe(5);
});

test('bad words come with and without a leading space, once each', () => {
  const { badWordIds } = resolve({ badWords: ['ab', ' ab'] });
  expect(badWordIds).toEqual([
    [97, 98],
    [32, 97, 98],
  ]);
});

test('logit bias by id, as an object or a map', () => {
  expect(resolve({ logitBias: { 5: 1.5, '7': -100 } })).toMatchObject({ biasIds: [5, 7], biasValues: [1.5, -100] });
  expect(resolve({ logitBias: new Map([[9, 2]]) })).toMatchObject({ biasIds: [9], biasValues: [2] });
});

const refused: readonly [string, unknown, string][] = [
  ['temperature', -0.1, 'temperature'],
  ['temperature', Number.NaN, 'temperature'],
  ['temperature', '1', 'temperature'],
  ['topP', 0, 'topP'],
  ['topP', 1.01, 'topP'],
  ['topK', 1.5, 'topK'],
  ['topK', -2, 'topK'],
  ['minP', 2, 'minP'],
  ['typicalP', 0, 'typicalP'],
  ['topNSigma', -1, 'topNSigma'],
  ['xtcProbability', 1.1, 'xtcProbability'],
  ['repetitionPenalty', 0, 'repetitionPenalty'],
  ['frequencyPenalty', 2.1, 'frequencyPenalty'],
  ['presencePenalty', -2.1, 'presencePenalty'],
  ['logitBias', { 100: 1 }, 'logitBias'],
  ['logitBias', { 'a b': 1 }, 'logitBias'],
  ['logitBias', { 5: 101 }, 'logitBias[5]'],
  ['logitBias', [1], 'logitBias'],
  ['badWords', 'word', 'badWords'],
  ['badWords', [''], 'badWords[0]'],
  ['minTokens', -1, 'minTokens'],
  ['maxTokens', 0, 'maxTokens'],
  ['seed', 0.5, 'seed'],
  ['seed', 2 ** 60, 'seed'],
  ['seed', 2n ** 64n, 'seed'],
  ['n', 0, 'n'],
  ['n', 9, 'n'],
  ['stop', [''], 'stop[0]'],
  ['stop', 5, 'stop'],
  ['stopTokenIds', [100], 'stopTokenIds[0]'],
  ['stopTokenIds', 5, 'stopTokenIds'],
  ['ignoreEos', 1, 'ignoreEos'],
  ['logprobs', 21, 'logprobs'],
  ['promptLogprobs', -1, 'promptLogprobs'],
  ['logprobsMode', 'other', 'logprobsMode'],
];

describe('refused, naming field, value and limit', () => {
  test.each(refused)('%s = %s', (key, value, field) => {
    const act = () => resolve({ [key]: value } as SamplingParams);
    expect(act).toThrow(InvalidParameterError);
    expect(act).toThrow(expect.objectContaining({ field, limit: expect.any(String) as string }));
  });

  test('minTokens above maxTokens', () => {
    expect(() => resolve({ minTokens: 5, maxTokens: 4 })).toThrow('at most maxTokens (4)');
  });

  test('the name of the field in HTTP', () => {
    const error = new InvalidParameterError({ field: 'repetitionPenalty', value: 0, limit: 'x' });
    expect(error.param).toBe('repetition_penalty');
  });
});

test('token ids are checked', () => {
  expect(tokenIds('prompt', Int32Array.of(1, 2), 10)).toEqual([1, 2]);
  expect(() => tokenIds('prompt', [1, 10], 10)).toThrow('prompt[1] is 10');
  expect(() => tokenIds('prompt', 'text', 10)).toThrow('an array of token ids');
});
