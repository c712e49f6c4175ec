export { loadModelDefinition, type ModelDefinition } from './model-definition.js';
export { buildModel } from './build-model.js';
export { buildMtp, type MtpOptions } from './build-mtp.js';
export type { BuildOptions } from './build-options.js';
export type { BuildReport, BuiltModel, KvGroup } from './built-model.js';
export { dummyModel, type DummyOptions } from './dummy-model.js';
export { dummyFormats } from './weights/dummy-weights.js';
export { architectureNames } from './registry.js';
export type { BiasPresence, MlaConfig, ModelConfig, MoeConfig, RouterConfig } from './config/model-config.js';
export type { RopeConfig, RopeScaling } from './config/rope-config.js';
export type { QuantizationConfig } from './config/quantization-config.js';
export { SequenceRunner, argmax, type RunnerOptions } from './sequence-runner.js';
export type { Sequence, StepPart, StepResult } from './step.js';
export {
  BuildOptionError,
  ModelConfigError,
  UnsupportedModelError,
  WeightFormatError,
  WeightMissingError,
  WeightShapeError,
} from './errors.js';
