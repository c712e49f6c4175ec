import { InvalidParameterError } from '../errors/request-errors.js';
import type { LLM } from '../llm/llm.js';

export interface EvalPerplexityOptions {
  /** Text tokens of a window; BOS comes in front where the model has one. Default 1023, or what the context holds. */
  readonly windowTokens?: number;
  /** Windows at most; default: all of the text. */
  readonly maxWindows?: number;
  readonly onProgress?: (progress: PerplexityProgress) => void;
  readonly signal?: AbortSignal;
}

export interface PerplexityProgress {
  readonly windows: number;
  readonly totalWindows: number;
  /** Perplexity of the windows so far. */
  readonly perplexity: number;
}

export interface PerplexityResult {
  readonly perplexity: number;
  /** Mean negative log-likelihood of a token, in nats. */
  readonly loss: number;
  /** Of the text's UTF-8 bytes; only where the whole text was scored. */
  readonly bitsPerByte: number | undefined;
  readonly scoredTokens: number;
  readonly windows: number;
  readonly windowTokens: number;
  readonly seconds: number;
  readonly tokensPerSecond: number;
}

/** Windows in flight: the next one is planned while one is computed. */
const inFlight = 2;

/**
 * Perplexity of a text: tokenised as one string without special tokens and cut into windows that do not overlap; every token
 * is scored once, given BOS and the earlier tokens of its window. (Without a BOS the first token of a window is not scored.)
 * Memory does not grow with the text: log-probabilities are taken in the step that computes the logits, a bounded number of
 * rows at a time.
 */
export async function evalPerplexity(
  llm: LLM,
  text: string,
  options: EvalPerplexityOptions = {},
): Promise<PerplexityResult> {
  const { maxWindows = Infinity, onProgress, signal } = options;
  const bos = llm.info.bosTokenId;
  const prefix = bos === undefined ? [] : [bos];
  // The core asks for room for one new token.
  const longest = llm.info.maxModelLen - 1 - prefix.length;
  const windowTokens = options.windowTokens ?? Math.min(1023, longest);
  if (!Number.isInteger(windowTokens) || windowTokens < 2 || windowTokens > longest) {
    const limit = `an integer from 2 to ${longest}, what the context holds besides BOS and one more token`;
    throw new InvalidParameterError({ field: 'windowTokens', value: windowTokens, limit });
  }
  const ids = llm.tokenize(text);
  if (ids.length === 0)
    throw new InvalidParameterError({ field: 'text', value: text, limit: 'a text of at least one token' });
  const all = Math.ceil(ids.length / windowTokens);
  const totalWindows = Math.min(all, maxWindows);
  // By window, and added in their order, so that the result does not depend on which one ended first.
  const losses: number[] = [];
  let scoredTokens = 0;
  let windows = 0;
  let next = 0;
  const begin = performance.now();
  const scoreWindows = async (): Promise<void> => {
    while (next < totalWindows) {
      const index = next++;
      const window = ids.subarray(index * windowTokens, (index + 1) * windowTokens);
      const { promptLogprobs } = await llm.generate(
        Int32Array.from([...prefix, ...window]),
        { promptLogprobs: 0, maxTokens: 1, temperature: 0 },
        signal ? { signal } : {},
      );
      const scored = promptLogprobs!.filter((entry) => entry !== null);
      losses[index] = scored.reduce((sum, entry) => sum - entry.logprob, 0);
      scoredTokens += scored.length;
      windows++;
      onProgress?.({ windows, totalWindows, perplexity: Math.exp(total(losses) / scoredTokens) });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, scoreWindows));
  const seconds = (performance.now() - begin) / 1000;
  const sum = total(losses);
  const loss = sum / scoredTokens;
  const complete = totalWindows === all && scoredTokens === ids.length;
  return {
    perplexity: Math.exp(loss),
    loss,
    bitsPerByte: complete ? sum / Math.LN2 / Buffer.byteLength(text) : undefined,
    scoredTokens,
    windows,
    windowTokens,
    seconds,
    tokensPerSecond: scoredTokens / seconds,
  };
}

function total(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
