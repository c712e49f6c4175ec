import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { ModelFiles } from '@dsi/model-files';
import { Tokenizer } from '@dsi/tokenizer';
import { EngineConfigError } from '../errors/lifecycle-errors.js';
import type { TokenTextFactory } from '../text/token-text.js';

/** As the model's other files: more is refused before it is read. */
const maxTokenizerBytes = 256 * 2 ** 20;
const chunkBytes = 1 << 19;

/**
 * The tokenizer that a model's files hold. Reads a tokenizer.json piece by piece, so that the thread that serves is not held:
 * that of a vocabulary of 150,000 has 11 MB.
 * @returns undefined when there is none: such a model takes token ids only
 * @throws the tokenizer's own errors for a file that is not valid
 */
export async function openTokenizer(files: ModelFiles): Promise<Tokenizer | undefined> {
  if (files.kind === 'gguf') {
    const model = files.metadata.get('tokenizer.ggml.model');
    return model === undefined || model === 'none' ? undefined : Tokenizer.fromGguf(files.metadata);
  }
  const directory = files.path.endsWith('.safetensors') ? path.dirname(files.path) : files.path;
  const json = await readTextInSlices(path.join(directory, 'tokenizer.json'));
  if (json === undefined) return undefined;
  return Tokenizer.fromJsonInSlices(json, await files.tokenizerConfig?.(), setImmediate);
}

/** A UTF-8 file's text, decoded chunk by chunk; undefined when there is no such file. */
async function readTextInSlices(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  if (found.size > maxTokenizerBytes) {
    const limit = `${file} has ${found.size} bytes, more than ${maxTokenizerBytes}`;
    throw new EngineConfigError({ field: 'model', value: file, limit });
  }
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) {
    text += decoder.decode(chunk as Buffer, { stream: true });
  }
  return text + decoder.decode();
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
export function endOfSequenceIds(configured: readonly number[], tokenizer: Tokenizer | undefined): number[] {
  const { eos, eot } = tokenizer?.specialTokens ?? {};
  const ids = new Set(configured);
  for (const token of [eos, eot]) if (token !== undefined) ids.add(token.id);
  return [...ids].toSorted((a, b) => a - b);
}
