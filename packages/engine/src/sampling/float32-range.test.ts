import { expect, test } from 'vitest';
import { InvalidParameterError } from '../errors/request-errors.js';
import { resolveSampling } from './resolve-sampling.js';
import type { SamplingParams } from './sampling-params.js';

const context = { vocabSize: 10, encode: () => [], maxChoices: 4 };

// The sampler computes in float32: a value that becomes 0 there would be refused by the kernel, with the whole step.
test.each<SamplingParams>([
  { topP: 1e-46 },
  { topP: 1e-320 },
  { typicalP: 1e-40 },
  { repetitionPenalty: 1e-60 },
  { repetitionPenalty: 1e-38 },
  { temperature: 1e-46 },
  { temperature: 1e-30 },
])('%o is refused at admission', (params) => {
  expect(() => resolveSampling(params, context)).toThrow(InvalidParameterError);
});

test.each<SamplingParams>([{ topP: 1e-9 }, { temperature: 0 }, { temperature: 1e-5 }, { repetitionPenalty: 0.01 }])(
  '%o is fine',
  (params) => {
    expect(() => resolveSampling(params, context)).not.toThrow();
  },
);
