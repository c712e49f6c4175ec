import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ModelNotFoundError } from '../errors.js';
import { downloadFromHub, parseHubId } from './download-from-hub.js';
import type { HubOptions } from './settings.js';

/**
 * The local path of a model: an existing file or directory as it is, anything of the form `org/name` or
 * `org/name:QUANT` from the hub (or its cache).
 *
 * @throws ModelNotFoundError if `spec` is neither
 * @throws HubError (a subclass) if the download fails
 */
export async function resolveModel(spec: string, options: HubOptions = {}): Promise<string> {
  const path = resolve(spec);
  const found = await stat(path).then(
    () => true,
    () => false,
  );
  if (found) return path;
  if (/\.(gguf|safetensors)$/.test(spec) || parseHubId(spec) === undefined)
    throw new ModelNotFoundError('no such file or directory, and no hub id', {
      file: path,
      field: 'model',
      value: spec,
      limit: 'a path, org/name or org/name:QUANT',
    });
  return downloadFromHub(spec, options);
}
