import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DuplicateNameError, MalformedFieldError, ModelNotFoundError, TensorNotFoundError } from '../errors.js';
import { readJsonFile } from '../json-file.js';
import type { TensorInfo } from '../model-files.js';
import { readSafetensorsHeader } from './header.js';

const indexName = 'model.safetensors.index.json';
const singleName = 'model.safetensors';
const maxIndexBytes = 64 * 2 ** 20;

function shardNames(index: Record<string, unknown>, file: string): Map<string, string[]> {
  const map = index.weight_map;
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw new MalformedFieldError('weight_map is no object', { file, field: 'weight_map' });
  const byShard = new Map<string, string[]>();
  for (const [tensor, shard] of Object.entries(map)) {
    // A shard is a file beside the index: anything else could point outside the model's directory.
    if (typeof shard !== 'string' || shard !== basename(shard) || !shard.endsWith('.safetensors'))
      throw new MalformedFieldError(`weight_map sends ${tensor} to ${JSON.stringify(shard)}`, {
        file,
        field: `weight_map.${tensor}`,
        value: String(shard),
        limit: 'the name of a .safetensors file in the same directory',
      });
    const names = byShard.get(shard);
    if (names === undefined) byShard.set(shard, [tensor]);
    else names.push(tensor);
  }
  return byShard;
}

/** All tensors of a Hugging Face directory: from its index and shards, or its single model.safetensors. */
export async function readSafetensorsDirectory(directory: string): Promise<Map<string, TensorInfo>> {
  const indexFile = join(directory, indexName);
  const index = await readJsonFile(indexFile, maxIndexBytes);
  if (index === undefined) {
    const file = join(directory, singleName);
    await access(file).catch((cause: unknown) => {
      throw new ModelNotFoundError(
        `neither ${indexName} nor ${singleName} is there`,
        { file: directory, field: 'directory' },
        { cause },
      );
    });
    return new Map((await readSafetensorsHeader(file)).tensors);
  }
  const tensors = new Map<string, TensorInfo>();
  for (const [shard, expected] of shardNames(index, indexFile)) {
    const file = join(directory, shard);
    await access(file).catch((cause: unknown) => {
      throw new ModelNotFoundError(`shard ${shard} is missing`, { file, field: 'shard', value: shard }, { cause });
    });
    const header = await readSafetensorsHeader(file);
    for (const name of expected)
      if (!header.tensors.has(name))
        throw new TensorNotFoundError(`${indexName} puts tensor ${name} here, but it is not`, {
          file,
          field: `tensor ${name}`,
          value: name,
        });
    for (const [name, tensor] of header.tensors) {
      if (tensors.has(name))
        throw new DuplicateNameError(`tensor ${name} is in two shards`, {
          file,
          field: `tensor ${name}`,
          value: name,
        });
      tensors.set(name, tensor);
    }
  }
  return tensors;
}
