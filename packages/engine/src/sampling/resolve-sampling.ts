import { InvalidParameterError } from '../errors/request-errors.js';
import { maxLogprobs, type ResolvedSampling, type SamplingParams } from './sampling-params.js';

export interface SamplingContext {
  readonly vocabSize: number;
  /** Taken where the request says nothing (a model's generation_config.json). */
  readonly defaults?: SamplingParams;
  /** Text to token ids without special tokens, for bad words. */
  readonly encode: (text: string) => readonly number[];
  /** Most choices a request may ask for. */
  readonly maxChoices: number;
}

const maxStopStrings = 64;
const maxStopLength = 1024;
const maxBiases = 4096;
const maxBadWords = 1024;

/**
 * Applies defaults and checks every value. Pure.
 * @throws InvalidParameterError naming the field, its value and the limit.
 */
export function resolveSampling(params: SamplingParams, context: SamplingContext): ResolvedSampling {
  const p: SamplingParams = { ...context.defaults, ...withoutUndefined(params) };
  const stop = stopStrings(p.stop);
  const { ids, values } = biases(p.logitBias, context.vocabSize);
  const maxTokens = p.maxTokens === undefined ? undefined : integer('maxTokens', p.maxTokens, 1, 2 ** 31 - 1);
  const minTokens = integer('minTokens', p.minTokens ?? 0, 0, 2 ** 31 - 1);
  if (maxTokens !== undefined && minTokens > maxTokens) {
    throw new InvalidParameterError({
      field: 'minTokens',
      value: minTokens,
      limit: `at most maxTokens (${maxTokens})`,
    });
  }
  const topK = integer('topK', p.topK ?? 0, -1, 2 ** 31 - 1);
  return {
    maxTokens,
    minTokens,
    temperature: temperature(p.temperature ?? 1),
    topK: topK <= 0 ? 0 : topK,
    topP: positive('topP', p.topP ?? 1, 1),
    minP: number('minP', p.minP ?? 0, 0, 1),
    typicalP: positive('typicalP', p.typicalP ?? 1, 1),
    topNSigma: number('topNSigma', p.topNSigma ?? 0, 0, 1e6),
    xtcProbability: number('xtcProbability', p.xtcProbability ?? 0, 0, 1),
    xtcThreshold: number('xtcThreshold', p.xtcThreshold ?? 0.1, 0, 1),
    repetitionPenalty: positive('repetitionPenalty', p.repetitionPenalty ?? 1, 100, 0.01),
    frequencyPenalty: number('frequencyPenalty', p.frequencyPenalty ?? 0, -2, 2),
    presencePenalty: number('presencePenalty', p.presencePenalty ?? 0, -2, 2),
    biasIds: ids,
    biasValues: values,
    badWordIds: badWords(p.badWords, context.encode),
    seed: seed(p.seed),
    n: integer('n', p.n ?? 1, 1, context.maxChoices),
    stop,
    stopTokenIds: tokenIds('stopTokenIds', p.stopTokenIds ?? [], context.vocabSize),
    includeStopStrInOutput: boolean('includeStopStrInOutput', p.includeStopStrInOutput ?? false),
    ignoreEos: boolean('ignoreEos', p.ignoreEos ?? false),
    logprobs: p.logprobs === undefined ? -1 : integer('logprobs', p.logprobs, 0, maxLogprobs),
    promptLogprobs: p.promptLogprobs === undefined ? -1 : integer('promptLogprobs', p.promptLogprobs, 0, maxLogprobs),
    processedLogprobs: oneOf('logprobsMode', p.logprobsMode ?? 'raw', ['raw', 'processed']) === 'processed',
    skipSpecialTokens: boolean('skipSpecialTokens', p.skipSpecialTokens ?? true),
  };
}

/**
 * Checks that a value is an array of token ids of the vocabulary.
 * @throws InvalidParameterError
 */
export function tokenIds(field: string, value: unknown, vocabSize: number): number[] {
  const list: unknown[] | undefined =
    Array.isArray(value) || value instanceof Int32Array || value instanceof Uint32Array ? Array.from(value) : undefined;
  if (list === undefined) throw new InvalidParameterError({ field, value, limit: 'an array of token ids' });
  return list.map((id, i) => integer(`${field}[${i}]`, id, 0, vocabSize - 1));
}

function withoutUndefined(params: SamplingParams): SamplingParams {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined && value !== null));
}

function number(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw new InvalidParameterError({ field, value, limit: `a number from ${min} to ${max}` });
  }
  return value;
}

/** Smallest normal float32: what the sampler computes in. Anything below would become 0 or lose its digits on the way. */
const smallest = 2 ** -126;

function positive(field: string, value: unknown, max: number, min = smallest): number {
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw new InvalidParameterError({ field, value, limit: `a number above 0 (at least ${min}), at most ${max}` });
  }
  return value;
}

/** 0 is greedy; what is so small that logits divided by it overflow is neither greedy nor a temperature. */
function temperature(value: unknown): number {
  const t = number('temperature', value, 0, 100);
  if (t > 0 && t < 1e-6)
    throw new InvalidParameterError({ field: 'temperature', value, limit: '0 (greedy) or a number from 1e-6 to 100' });
  return t;
}

function integer(field: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new InvalidParameterError({ field, value, limit: `an integer from ${min} to ${max}` });
  }
  return value;
}

function boolean(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new InvalidParameterError({ field, value, limit: 'true or false' });
  return value;
}

function oneOf<T extends string>(field: string, value: T, allowed: readonly T[]): T {
  if (!allowed.includes(value))
    throw new InvalidParameterError({ field, value, limit: `one of ${allowed.join(', ')}` });
  return value;
}

function seed(value: unknown): bigint | undefined {
  if (value === undefined) return undefined;
  const limit = 'an integer from -2^63 to 2^64 - 1 (a bigint beyond 2^53)';
  if (typeof value === 'number' ? !Number.isSafeInteger(value) : typeof value !== 'bigint') {
    throw new InvalidParameterError({ field: 'seed', value, limit });
  }
  const big = BigInt(value as number | bigint);
  if (big < -(2n ** 63n) || big >= 2n ** 64n) throw new InvalidParameterError({ field: 'seed', value, limit });
  return BigInt.asUintN(64, big);
}

function stopStrings(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list))
    throw new InvalidParameterError({ field: 'stop', value, limit: 'a string or an array of strings' });
  if (list.length > maxStopStrings) {
    throw new InvalidParameterError({ field: 'stop', value, limit: `at most ${maxStopStrings} strings` });
  }
  list.forEach((s: unknown, i) => {
    if (typeof s !== 'string' || s.length === 0 || s.length > maxStopLength) {
      throw new InvalidParameterError({
        field: `stop[${i}]`,
        value: s,
        limit: `a string of 1 to ${maxStopLength} characters`,
      });
    }
  });
  return list as string[];
}

function biases(value: SamplingParams['logitBias'], vocabSize: number): { ids: number[]; values: number[] } {
  if (value === undefined) return { ids: [], values: [] };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidParameterError({ field: 'logitBias', value, limit: 'an object of token id to number' });
  }
  const entries: [number | string, number][] =
    value instanceof Map ? [...(value as ReadonlyMap<number, number>)] : Object.entries(value);
  if (entries.length > maxBiases) {
    throw new InvalidParameterError({ field: 'logitBias', value: entries, limit: `at most ${maxBiases} entries` });
  }
  const ids: number[] = [];
  const values: number[] = [];
  for (const [key, bias] of entries) {
    const id = typeof key === 'number' ? key : /^\d+$/.test(key) ? Number(key) : Number.NaN;
    if (!(Number.isInteger(id) && id >= 0 && id < vocabSize)) {
      throw new InvalidParameterError({
        field: 'logitBias',
        value: key,
        limit: `keyed by token ids from 0 to ${vocabSize - 1}`,
      });
    }
    ids.push(id);
    values.push(number(`logitBias[${id}]`, bias, -100, 100));
  }
  return { ids, values };
}

/** Each word with and without a leading space, as it may stand at the start of a text or inside one. */
function badWords(value: unknown, encode: (text: string) => readonly number[]): readonly (readonly number[])[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > maxBadWords) {
    throw new InvalidParameterError({ field: 'badWords', value, limit: `an array of at most ${maxBadWords} strings` });
  }
  const sequences = new Map<string, readonly number[]>();
  value.forEach((word: unknown, i) => {
    if (typeof word !== 'string' || word.length === 0 || word.length > maxStopLength) {
      const limit = `a string of 1 to ${maxStopLength} characters`;
      throw new InvalidParameterError({ field: `badWords[${i}]`, value: word, limit });
    }
    for (const text of [word, ` ${word.trimStart()}`]) {
      const ids = encode(text);
      if (ids.length > 0) sequences.set(ids.join(','), ids);
    }
  });
  return [...sequences.values()];
}
