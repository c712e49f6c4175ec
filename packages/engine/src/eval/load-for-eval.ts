import { LLM, type LLMOptions } from '../llm/llm.js';

/** Loads a model for evaluation: exact numerics, steps as large as allowed, raw logits available; options given win. */
export function loadForEval(options: LLMOptions): Promise<LLM> {
  return LLM.load({ numerics: 'exact', maxStepMs: Infinity, captureLogits: true, maxNumSeqs: 8, ...options });
}
