import type { Tokenizer } from '@dsi/tokenizer';
import { InvalidParameterError } from '../errors/request-errors.js';
import { tokenIds } from '../sampling/resolve-sampling.js';

/** Text, or token ids as they are. */
export type Prompt = string | readonly number[] | Int32Array | Uint32Array;

export interface EncodePromptOptions {
  /** Put BOS (and what else the tokenizer's description asks for) in front. Default true; a BOS that the text spells is not doubled. */
  readonly addSpecialTokens?: boolean;
  /** Recognise control tokens by their text. Default true: a raw prompt is the caller's own text. */
  readonly parseSpecial?: boolean;
}

/**
 * Token ids of a prompt.
 * @param openTokenizer called for text only
 * @throws InvalidParameterError for ids outside the vocabulary or another type
 */
export function encodePrompt(
  prompt: Prompt,
  openTokenizer: () => Tokenizer,
  vocabSize: number,
  { addSpecialTokens = true, parseSpecial = true }: EncodePromptOptions = {},
): Int32Array {
  if (typeof prompt !== 'string') return Int32Array.from(tokenIds('prompt', prompt, vocabSize));
  const tokenizer = openTokenizer();
  const ids = tokenizer.encode(prompt, { addSpecialTokens, parseSpecial });
  const bos = tokenizer.specialTokens.bos?.id;
  const doubled = addSpecialTokens && tokenizer.addsBos && ids[0] === bos && ids[1] === bos;
  return Int32Array.from(doubled ? ids.subarray(1) : ids);
}

/** Whether the argument of `generate` is a list of prompts. */
export function isBatch(prompts: Prompt | readonly Prompt[]): prompts is readonly Prompt[] {
  if (typeof prompts === 'string' || ArrayBuffer.isView(prompts)) return false;
  if (!Array.isArray(prompts)) {
    throw new InvalidParameterError({ field: 'prompt', value: prompts, limit: 'text, token ids, or a list of them' });
  }
  return prompts.length === 0 || typeof prompts[0] !== 'number';
}
