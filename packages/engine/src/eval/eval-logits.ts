import type { LLM } from '../llm/llm.js';
import type { Prompt } from '../llm/prompt.js';

export interface EvalLogitsOptions {
  /** Tokens of the greedy continuation at most. Default 64. */
  readonly maxTokens?: number;
  /** Go on after the end-of-sequence token. Default false. */
  readonly ignoreEos?: boolean;
  readonly signal?: AbortSignal;
  /** As for `generate`. */
  readonly addSpecialTokens?: boolean;
}

export interface LogitsResult {
  readonly promptIds: Int32Array;
  /** Raw logits after the last prompt token, [V]. */
  readonly logits: Float32Array;
  /** ln(sum(exp(logits))). */
  readonly logSumExp: number;
  /** Greedy continuation. */
  readonly tokenIds: readonly number[];
  readonly text: string;
}

/**
 * Logits after the last token of each prompt, and the greedy continuation.
 * @param llm loaded with `captureLogits` (see `loadForEval`)
 */
export async function evalLogits(
  llm: LLM,
  prompts: readonly Prompt[],
  options: EvalLogitsOptions = {},
): Promise<LogitsResult[]> {
  const { maxTokens = 64, ignoreEos = false, signal, addSpecialTokens = true } = options;
  const params = { temperature: 0, repetitionPenalty: 1, maxTokens, ignoreEos };
  const generations = await llm.generate(prompts, params, {
    captureLogits: 1,
    addSpecialTokens,
    ...(signal ? { signal } : {}),
  });
  return generations.map(({ promptIds, choices }) => {
    const { tokenIds, text, logits } = choices[0]!;
    return { promptIds, logits: logits![0]!, logSumExp: logSumExp(logits![0]!), tokenIds, text };
  });
}

/** In float64, stable. */
function logSumExp(logits: Float32Array): number {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  return max + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
}
