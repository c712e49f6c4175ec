import { Fields } from './config/fields.js';
import type { WeightFormat } from './contract.js';
import type { ModelDefinition } from './model-definition.js';
import { architectureOfHuggingFace } from './registry.js';
import { DummyWeights } from './weights/dummy-weights.js';

export interface DummyOptions {
  /** Format of the matrices; norms, biases and routers are F32. Default BF16. */
  readonly format?: WeightFormat;
  /** Default 0. */
  readonly seed?: number;
}

/**
 * A model of the shape that a config.json gives, with random weights instead of files: for speed and memory work on sizes whose weights
 * are not at hand. Deterministic in its configuration, format and seed; bytes are made when a backend loads them.
 *
 * @throws UnsupportedModelError, ModelConfigError as {@link loadModelDefinition}; UnsupportedModelError for a format that cannot be made
 */
export function dummyModel(config: Readonly<Record<string, unknown>>, options: DummyOptions = {}): ModelDefinition {
  const { quantization_config: _, ...plain } = config;
  const fields = Fields.ofObject('config.json', plain);
  const architecture = architectureOfHuggingFace(fields);
  const weights = new DummyWeights(options.format ?? 'BF16', options.seed ?? 0);
  return { architecture, config: architecture.configure(fields), openWeights: () => weights };
}
