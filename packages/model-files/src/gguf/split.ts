import { access } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DuplicateNameError, MalformedFieldError, ModelNotFoundError } from '../errors.js';
import type { TensorInfo } from '../model-files.js';
import { readGgufHeader, type GgufHeader } from './header.js';

const splitName = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;
/** Shards of one model; the name has room for 99,999. */
const maxShards = 4096;

/** Paths of all shards if `file` is named as one of a split GGUF, else undefined. */
export function splitPaths(file: string): string[] | undefined {
  const match = splitName.exec(basename(file));
  if (match === null) return undefined;
  const count = Number(match[3]);
  if (count < 1 || count > maxShards)
    throw new MalformedFieldError(`a split into ${count} files`, {
      file,
      field: 'split count',
      value: count,
      limit: `1 to ${maxShards}`,
    });
  return Array.from({ length: count }, (_, i) =>
    join(dirname(file), `${match[1]}-${String(i + 1).padStart(5, '0')}-of-${match[3]}.gguf`),
  );
}

function numberField(header: GgufHeader, key: string): number | undefined {
  const field = header.fields.get(key);
  return field === undefined || typeof field.value !== 'number' ? undefined : field.value;
}

/**
 * Reads all shards of a split GGUF model (named `NAME-00001-of-0000N.gguf`, any of them may be given) as one header.
 * Metadata is that of the first shard, which holds the model's.
 */
export async function readSplitHeaders(paths: readonly string[]): Promise<GgufHeader> {
  const tensors = new Map<string, TensorInfo>();
  let first: GgufHeader | undefined;
  for (const [index, path] of paths.entries()) {
    await access(path).catch((cause: unknown) => {
      throw new ModelNotFoundError(
        `shard ${index + 1} of ${paths.length} is missing`,
        { file: path, field: 'shard', value: index + 1, limit: paths.length },
        { cause },
      );
    });
    const header = await readGgufHeader(path);
    first ??= header;
    for (const [key, expected] of [
      ['split.count', paths.length],
      ['split.no', index],
    ] as const) {
      const value = numberField(header, key);
      if (value !== expected)
        throw new MalformedFieldError(`${key} is ${value ?? 'missing'}, expected ${expected} by the file's name`, {
          file: path,
          field: key,
          value,
          limit: expected,
        });
    }
    for (const tensor of header.tensors.values()) {
      if (tensors.has(tensor.name))
        throw new DuplicateNameError(`tensor ${tensor.name} is in two shards`, {
          file: path,
          field: `tensor ${tensor.name}`,
          value: tensor.name,
        });
      tensors.set(tensor.name, tensor);
    }
  }
  const total = numberField(first!, 'split.tensors.count');
  if (total !== undefined && total !== tensors.size)
    throw new MalformedFieldError(`split.tensors.count is ${total}, the shards hold ${tensors.size}`, {
      file: paths[0]!,
      field: 'split.tensors.count',
      value: total,
      limit: tensors.size,
    });
  return { ...first!, tensors };
}
