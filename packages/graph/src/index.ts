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
export { compile, type Compiled, type CompileOptions, type CompileReport } from './compile.js';
export { checkProgram } from './check-program.js';
export { weightUses } from '@dsi/kernels';
export { defaultPasses } from './passes/index.js';
export type { Pass, PassResult } from './passes/pass.js';
export { foldConstants } from './passes/fold-constants.js';
export { eliminateSlices } from './passes/eliminate-slices.js';
export { fuseAddNorm } from './passes/fuse-add-norm.js';
export { mergeLinears } from './passes/merge-linears.js';
export { removeDead } from './passes/remove-dead.js';
export { lifetimes, planArena, type ArenaPlan, type Lifetime } from './plan-arena.js';
export { createReferenceBackend, type ReferenceBackendOptions } from './reference/backend.js';
export { gumbel, philox4x32, xtcDraw, type DrawPosition } from './reference/sampling/philox.js';
export { drawToken } from './reference/sampling/sample.js';
/** The contract that programs are bound through, for packages that may not import @dsi/kernels. */
export type {
  Backend,
  DimSymbol,
  Executable,
  HostArray,
  KvStorage,
  KvTensorSpec,
  Numerics,
  Program,
  WeightBytes,
  WeightFormat,
  WeightSet,
  WeightTensor,
  WeightUse,
} from '@dsi/kernels';
