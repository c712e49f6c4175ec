import { LLM, type LLMOptions, type LoadEvent } from '@dsi/engine';
import { progressBar } from '../terminal/progress.js';
import { toEngineOptions, type EngineFlags } from './engine-options.js';

/** Draws download and load on a terminal. */
export function loadProgress(): { onProgress: (event: LoadEvent) => void; stop: () => void } {
  const bar = progressBar('bytes');
  return {
    onProgress: (event) =>
      bar.update(event.stage === 'download' ? 'download' : 'load', event.loadedBytes, event.totalBytes),
    stop: () => bar.stop(),
  };
}

/** Loads the model of a command, with a bar, and prints the engine's notices to stderr. */
export async function loadLlm(flags: EngineFlags, extra: Partial<LLMOptions> = {}): Promise<LLM> {
  const progress = loadProgress();
  try {
    const llm = await LLM.load({ ...toEngineOptions(flags), ...extra, onProgress: progress.onProgress });
    progress.stop();
    for (const notice of llm.info.notices) console.error(`notice: ${notice}`);
    return llm;
  } finally {
    progress.stop();
  }
}
