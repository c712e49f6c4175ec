import { openModel } from '@dsi/model-files';
import { loadModelDefinition } from '@dsi/models';
import type { LoadedEngine } from '../core/serve-core.js';
import { assembleEngine } from './assemble-engine.js';
import { chooseBackend, type ChosenBackend } from './backends.js';
import { defaultSampling } from './default-sampling.js';
import { dummyDefinition } from './dummy-definition.js';
import { resolveEngineOptions, type EngineOptions, type ResolvedEngineOptions } from './engine-options.js';
import type { LoadEvent } from './load-event.js';
import { locateModel } from './locate-model.js';
import { endOfSequenceIds, noText, openTokenizer, tokenText } from './open-tokenizer.js';

/**
 * Finds, opens and loads a model; everything an EngineCore needs. Runs in the worker.
 * @throws EngineConfigError, BackendUnavailableError, errors of the model's files, the signal's reason
 */
export async function loadEngine(
  options: EngineOptions,
  onEvent: (event: LoadEvent) => void,
  signal: AbortSignal,
): Promise<LoadedEngine> {
  const resolved = resolveEngineOptions(options);
  // First: a missing backend is known at once, a download takes its time.
  const chosen = chooseBackend(resolved.backend, resolved.threads);
  if (resolved.loadFormat === 'dummy') return loadDummy(resolved, chosen, onEvent, signal);
  const path = await locateModel(resolved.model, onEvent, signal);
  const files = await openModel(path);
  try {
    const definition = await loadModelDefinition(files);
    const tokenizer = await openTokenizer(files);
    const { config } = definition;
    const parts = {
      path,
      definition,
      text: tokenizer ? tokenText(tokenizer) : noText,
      bosTokenId: tokenizer?.specialTokens.bos?.id ?? config.bosTokenId,
      eosTokenIds: endOfSequenceIds(config.eosTokenIds, tokenizer),
      defaultSampling: defaultSampling(files.generationConfig),
    };
    const notices = tokenizer
      ? chosen.notices
      : [...chosen.notices, 'the model has no tokenizer: it takes token ids only'];
    return await assembleEngine(parts, resolved, { ...chosen, notices }, onEvent, signal);
  } finally {
    await files.close();
  }
}

async function loadDummy(
  options: ResolvedEngineOptions,
  chosen: ChosenBackend,
  onEvent: (event: LoadEvent) => void,
  signal: AbortSignal,
): Promise<LoadedEngine> {
  const { path, definition } = await dummyDefinition(options);
  const { bosTokenId, eosTokenIds } = definition.config;
  const parts = { path, definition, text: noText, bosTokenId, eosTokenIds, defaultSampling: {} };
  return assembleEngine(parts, options, chosen, onEvent, signal);
}
