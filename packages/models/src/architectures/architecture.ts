import type { GraphValue } from '@dsi/graph';
import type { Fields } from '../config/fields.js';
import type { GgufTensors } from '../config/gguf.js';
import type { ModelConfig } from '../config/model-config.js';
import type { ModelBuilder } from '../layers/model-builder.js';

/** A family of decoders: how its configuration is read and what one of its layers computes. */
export interface Architecture {
  readonly name: string;
  /** `model_type` values of config.json. */
  readonly modelTypes: readonly string[];
  /** Entries of `architectures` in config.json. */
  readonly classNames: readonly string[];
  /** From config.json. @throws ModelConfigError, UnsupportedModelError */
  configure(fields: Fields): ModelConfig;
  /** From GGUF metadata (keys without their architecture prefix). @throws ModelConfigError, UnsupportedModelError */
  configureGguf(fields: Fields, tensors: GgufTensors): ModelConfig;
  /** One decoder layer on the residual stream: x [T, D] -> [T, D]. */
  layer(m: ModelBuilder, x: GraphValue, layer: number): GraphValue;
}
