import type { ModelFiles } from '@dsi/model-files';
import type { Architecture } from './architectures/architecture.js';
import { Fields } from './config/fields.js';
import { ggufFields } from './config/gguf.js';
import { tokenIds } from './config/hugging-face.js';
import type { ModelConfig } from './config/model-config.js';
import { ModelConfigError } from './errors.js';
import { architectureOfGguf, architectureOfHuggingFace } from './registry.js';
import { checkpointOfFiles, type Checkpoint } from './weights/checkpoint.js';
import { checkpointTensors } from './weights/gguf-tensors.js';

/** A model before it is built: what it is, what one layer of it computes, and where its weights are. Plain data apart from the architecture. */
export interface ModelDefinition {
  readonly architecture: Architecture;
  readonly config: ModelConfig;
  readonly checkpoint: Checkpoint;
}

/**
 * Recognises an opened model and reads its configuration. Small GGUF tensors that belong to it (RoPE divisors) are read; no other
 * tensor data is.
 *
 * @throws UnsupportedModelError for an architecture, RoPE scaling or quantization method that is not implemented
 * @throws ModelConfigError for a field that is absent, of the wrong type or out of range
 */
export function loadModelDefinition(files: ModelFiles): ModelDefinition {
  const checkpoint = checkpointOfFiles(files);
  return files.kind === 'gguf' ? ggufDefinition(files, checkpoint) : huggingFaceDefinition(files, checkpoint);
}

function huggingFaceDefinition(files: ModelFiles, checkpoint: Checkpoint): ModelDefinition {
  if (files.config === undefined) {
    throw new ModelConfigError('config.json', undefined, `a file of this name beside the weights (${files.path})`);
  }
  const fields = Fields.ofObject('config.json', files.config);
  const architecture = architectureOfHuggingFace(fields);
  const config = architecture.configure(fields);
  const generation = files.generationConfig;
  if (generation === undefined) return { architecture, config, checkpoint };
  const more = tokenIds(Fields.ofObject('generation_config.json', generation), 'eos_token_id', config.vocabSize);
  const eosTokenIds = [...new Set([...config.eosTokenIds, ...more])];
  return { architecture, config: { ...config, eosTokenIds }, checkpoint };
}

function ggufDefinition(files: ModelFiles, checkpoint: Checkpoint): ModelDefinition {
  const name = files.metadata.get('general.architecture');
  if (typeof name !== 'string') throw new ModelConfigError('GGUF: general.architecture', name, 'a string');
  const fields = ggufFields(files.metadata, name);
  const architecture = architectureOfGguf(name, fields);
  return { architecture, config: architecture.configureGguf(fields, checkpointTensors(checkpoint)), checkpoint };
}
