import type { ModelFiles } from '@dsi/model-files';
import { Tokenizer } from '@dsi/tokenizer';
import { EngineConfigError } from '../errors/lifecycle-errors.js';
import type { TokenTextFactory } from '../text/token-text.js';

/**
 * The tokenizer that a model's files hold.
 * @throws EngineConfigError when there is none; the tokenizer's own errors for a file that is not valid
 */
export async function openTokenizer(files: ModelFiles): Promise<Tokenizer> {
  if (files.kind === 'gguf') return Tokenizer.fromGguf(files.metadata);
  const json = await files.tokenizerJson?.();
  if (json === undefined) {
    const limit = 'its directory has no tokenizer.json: put the file of the published model there';
    throw new EngineConfigError({ field: 'model', value: files.path, limit });
  }
  return Tokenizer.fromJson(json, await files.tokenizerConfig?.());
}

/** Opens incremental decoders of a tokenizer. */
export function tokenText(tokenizer: Tokenizer): TokenTextFactory {
  return {
    open({ skipSpecialTokens }) {
      const stream = tokenizer.decodeStream();
      return {
        push: (id) => (skipSpecialTokens && tokenizer.specialIds.has(id) ? '' : stream.push(id)),
        finish: () => stream.finish(),
      };
    },
  };
}

/** Where there is no tokenizer: tokens have no text. */
export const noText: TokenTextFactory = { open: () => ({ push: () => '', finish: () => '' }) };

/** Ids that end a sequence: what the model's configuration and its tokenizer name. */
export function endOfSequenceIds(configured: readonly number[], tokenizer: Tokenizer): number[] {
  const { eos, eot } = tokenizer.specialTokens;
  const ids = new Set(configured);
  for (const token of [eos, eot]) if (token !== undefined) ids.add(token.id);
  return [...ids].toSorted((a, b) => a - b);
}
