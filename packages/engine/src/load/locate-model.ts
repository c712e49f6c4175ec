import { resolveModel } from '@dsi/model-files';
import type { LoadEvent } from './load-event.js';

/** Milliseconds between two reports of a download. */
const reportEveryMs = 100;

/**
 * The local path of a model: a path as it is, a hub id from the hub or its cache.
 * @throws ModelNotFoundError, HubError (of @dsi/model-files), the signal's reason
 */
export function locateModel(
  model: string,
  onEvent: (event: LoadEvent) => void,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): Promise<string> {
  let reported = -Infinity;
  return resolveModel(model, {
    signal,
    onProgress: ({ file, doneBytes, totalBytes }) => {
      if (now() - reported < reportEveryMs && doneBytes < totalBytes) return;
      reported = now();
      onEvent({ stage: 'download', file, loadedBytes: doneBytes, totalBytes });
    },
  });
}
