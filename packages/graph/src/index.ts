export { GraphBuilder, type MoeRouting, type SampleOutputs } from './builder.js';
export type { GraphOptions } from './build/options.js';
export type { AttentionAttrs, MoeRouteAttrs, RopeAttrs } from './build/attrs.js';
export type { StepInputs } from './build/step.js';
export { GraphError, type GraphErrorDetails } from './errors.js';
export type {
  Activation,
  Graph,
  GraphConst,
  GraphInput,
  GraphKv,
  GraphNode,
  GraphTensor,
  GraphValue,
  GraphWeight,
} from './graph.js';
