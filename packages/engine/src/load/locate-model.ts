import type { LoadEvent } from './load-event.js';
export async function locateModel(
  model: string,
  _onEvent: (event: LoadEvent) => void,
  _signal: AbortSignal,
): Promise<string> {
  return model;
}
