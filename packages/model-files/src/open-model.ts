import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ModelNotFoundError } from './errors.js';
import { readGgufHeader } from './gguf/header.js';
import { readSplitHeaders, splitPaths } from './gguf/split.js';
import { readJsonFile, readTextFile } from './json-file.js';
import type { ModelFiles, TensorInfo } from './model-files.js';
import { readSafetensorsHeader } from './safetensors/header.js';
import { readSafetensorsDirectory } from './safetensors/shards.js';
import { TensorReader } from './tensor-reader.js';

const maxConfigBytes = 16 * 2 ** 20;
const maxTokenizerBytes = 256 * 2 ** 20;

function tensorAccess(path: string, tensors: ReadonlyMap<string, TensorInfo>) {
  const reader = new TensorReader(path, tensors);
  return {
    read: (name: string) => reader.read(name),
    readRange: (name: string, begin: number, end: number) => reader.readRange(name, begin, end),
    close: () => reader.close(),
  };
}

async function openGguf(path: string): Promise<ModelFiles> {
  const shards = splitPaths(path);
  const header = shards === undefined ? await readGgufHeader(path) : await readSplitHeaders(shards);
  const metadata = new Map([...header.fields].map(([key, field]) => [key, field.value]));
  return { kind: 'gguf', path, tensors: header.tensors, metadata, ...tensorAccess(path, header.tensors) };
}

async function chatTemplate(directory: string): Promise<string | undefined> {
  const text = await readTextFile(join(directory, 'chat_template.jinja'), maxConfigBytes);
  if (text !== undefined) return text;
  const template = (await readJsonFile(join(directory, 'tokenizer_config.json'), maxConfigBytes))?.chat_template;
  if (typeof template === 'string') return template;
  if (!Array.isArray(template)) return undefined;
  // Several named templates: the one called "default" is the chat template.
  const named = template as { name?: unknown; template?: unknown }[];
  const found = named.find((entry) => entry?.name === 'default')?.template;
  return typeof found === 'string' ? found : undefined;
}

/** Configuration files beside the weights; the large ones are read only when asked for. */
async function hubFiles(directory: string) {
  const config = await readJsonFile(join(directory, 'config.json'), maxConfigBytes);
  const generationConfig = await readJsonFile(join(directory, 'generation_config.json'), maxConfigBytes);
  return {
    ...(config && { config }),
    ...(generationConfig && { generationConfig }),
    tokenizerJson: () => readJsonFile(join(directory, 'tokenizer.json'), maxTokenizerBytes),
    tokenizerConfig: () => readJsonFile(join(directory, 'tokenizer_config.json'), maxConfigBytes),
    chatTemplate: () => chatTemplate(directory),
  };
}

/**
 * Opens a model: a `.gguf` file (any file of a split one), a `.safetensors` file, or a directory in Hugging Face layout
 * (config.json and model.safetensors, or its index and shards). Only headers and small configuration files are read;
 * everything in them is checked first. A `.safetensors` file brings the configuration files beside it.
 *
 * @throws ModelNotFoundError if there is no such model
 * @throws ModelFileError (a subclass) if a file is not valid
 */
export async function openModel(path: string): Promise<ModelFiles> {
  const absolute = resolve(path);
  const entry = await stat(absolute).catch((cause: unknown) => {
    throw new ModelNotFoundError(
      'no such file or directory',
      { file: absolute, field: 'path', value: path, limit: 'a .gguf file, a .safetensors file or a model directory' },
      { cause },
    );
  });
  if (entry.isDirectory()) {
    const tensors = await readSafetensorsDirectory(absolute);
    const files = await hubFiles(absolute);
    return {
      kind: 'safetensors',
      path: absolute,
      tensors,
      metadata: new Map(),
      ...files,
      ...tensorAccess(absolute, tensors),
    };
  }
  if (absolute.endsWith('.gguf')) return openGguf(absolute);
  if (absolute.endsWith('.safetensors')) {
    const { tensors } = await readSafetensorsHeader(absolute);
    const files = await hubFiles(dirname(absolute));
    return {
      kind: 'safetensors',
      path: absolute,
      tensors,
      metadata: new Map(),
      ...files,
      ...tensorAccess(absolute, tensors),
    };
  }
  throw new ModelNotFoundError('neither a .gguf nor a .safetensors file, nor a directory', {
    file: absolute,
    field: 'path',
    value: path,
    limit: 'a .gguf file, a .safetensors file or a model directory',
  });
}
