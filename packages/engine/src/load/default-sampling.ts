import type { SamplingParams } from '../sampling/sampling-params.js';

const fields: readonly [keyof SamplingParams, string, (value: number) => boolean][] = [
  ['temperature', 'temperature', (v) => v >= 0],
  ['topK', 'top_k', (v) => Number.isInteger(v)],
  ['topP', 'top_p', (v) => v > 0 && v <= 1],
  ['minP', 'min_p', (v) => v >= 0 && v <= 1],
  ['typicalP', 'typical_p', (v) => v > 0 && v <= 1],
  ['repetitionPenalty', 'repetition_penalty', (v) => v > 0],
];

/** The decoding defaults that a generation_config.json gives. Values that are not usable are left out. */
export function defaultSampling(generationConfig: Readonly<Record<string, unknown>> | undefined): SamplingParams {
  const found: Record<string, number> = {};
  for (const [field, key, usable] of fields) {
    const value = generationConfig?.[key];
    if (typeof value === 'number' && usable(value)) found[field] = value;
  }
  return found;
}
