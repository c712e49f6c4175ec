import { openModel, resolveModel } from '@dsi/model-files';
import { Tokenizer } from '@dsi/tokenizer';
import { modelPath } from '../options/engine-options.js';
import { UsageError } from '../terminal/usage-error.js';

/** The tokenizer of a model, without its weights. */
export async function openModelTokenizer(model: string): Promise<Tokenizer> {
  const files = await openModel(await resolveModel(modelPath(model)));
  try {
    if (files.kind === 'gguf') return Tokenizer.fromGguf(files.metadata);
    const json = await files.tokenizerJson?.();
    if (json === undefined) throw new UsageError(`${model} has no tokenizer.json.`);
    return Tokenizer.fromJson(json as never, (await files.tokenizerConfig?.()) as never);
  } finally {
    await files.close();
  }
}
