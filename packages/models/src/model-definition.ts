import type { ModelFiles } from '@dsi/model-files';
import type { Architecture } from './architectures/architecture.js';
import { Fields } from './config/fields.js';
import { ggufFields } from './config/gguf.js';
import { tokenIds } from './config/hugging-face.js';
import type { ModelConfig } from './config/model-config.js';
import { ModelConfigError } from './errors.js';
import { architectureOfGguf, architectureOfHuggingFace } from './registry.js';
import { checkpointOfFiles } from './weights/checkpoint.js';
import { checkpointTensors } from './weights/gguf-tensors.js';
import { GgufWeights } from './weights/gguf-weights.js';
import { HuggingFaceWeights } from './weights/hugging-face-weights.js';
import type { WeightSource } from './weights/weight-source.js';

/** A model before it is built: what it is, what one layer of it computes, and where its weights are. */
export interface ModelDefinition {
  readonly architecture: Architecture;
  readonly config: ModelConfig;
  /** A fresh look at its weights, whose record of unused tensors starts empty. */
  openWeights(): WeightSource;
}

/**
 * Recognises an opened model and reads its configuration. Small GGUF tensors that belong to it (RoPE divisors) are read; no other
 * tensor data is.
 *
 * @throws UnsupportedModelError for an architecture, RoPE scaling or quantization method that is not implemented
 * @throws ModelConfigError for a field that is absent, of the wrong type or out of range
 */
export function loadModelDefinition(files: ModelFiles): ModelDefinition {
  return files.kind === 'gguf' ? ggufDefinition(files) : huggingFaceDefinition(files);
}

function huggingFaceDefinition(files: ModelFiles): ModelDefinition {
  if (files.config === undefined) {
    throw new ModelConfigError('config.json', undefined, `a file of this name beside the weights (${files.path})`);
  }
  const fields = Fields.ofObject('config.json', files.config);
  const architecture = architectureOfHuggingFace(fields);
  const config = withGenerationEnds(architecture.configure(fields), files.generationConfig);
  const checkpoint = checkpointOfFiles(files);
  return { architecture, config, openWeights: () => new HuggingFaceWeights(checkpoint, config.quantization) };
}

/** generation_config.json may name more ids that end a sequence (Llama 3's <|eot_id|>). */
function withGenerationEnds(config: ModelConfig, generation: Record<string, unknown> | undefined): ModelConfig {
  if (generation === undefined) return config;
  const more = tokenIds(Fields.ofObject('generation_config.json', generation), 'eos_token_id', config.vocabSize);
  return { ...config, eosTokenIds: [...new Set([...config.eosTokenIds, ...more])] };
}

function ggufDefinition(files: ModelFiles): ModelDefinition {
  const name = files.metadata.get('general.architecture');
  if (typeof name !== 'string') throw new ModelConfigError('GGUF: general.architecture', name, 'a string');
  const fields = ggufFields(files.metadata, name);
  const architecture = architectureOfGguf(name, fields);
  const checkpoint = checkpointOfFiles(files);
  const config = architecture.configureGguf(fields, checkpointTensors(checkpoint));
  return { architecture, config, openWeights: () => new GgufWeights(checkpoint) };
}
