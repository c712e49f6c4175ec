export { dtypeBytes, type DType } from './dtype.js';
export {
  dimSize,
  shapeSize,
  type AttrValue,
  type ConstTensor,
  type Dim,
  type DimSymbol,
  type InputTensor,
  type KvTensor,
  type Numerics,
  type Program,
  type ProgramOp,
  type ProgramTensor,
  type Shape,
  type TensorId,
  type ValueTensor,
  type WeightTensorRef,
} from './program.js';
export { opNames, type OpName } from './ops/names.js';
export { opDeclarations, type OpDeclaration, type Operand } from './ops/declarations.js';
export { SampleF32, SampleI32, SampleStatus, sampleColumns } from './sampling.js';
export type { WeightBytes, WeightFormat, WeightTensor } from './weights.js';
export type {
  Backend,
  Executable,
  HostArray,
  KvStorage,
  KvTensorSpec,
  LaunchArgs,
  LaunchProfile,
  LoadOptions,
  LoadProgress,
  WeightSet,
  WeightUse,
} from './backend.js';
export {
  DisposedError,
  LaunchError,
  NativeUnavailableError,
  ProgramError,
  WeightLoadError,
  type NativeCandidate,
} from './errors.js';
export { opCost, type CostStep, type OpCost } from './ops/cost.js';
export { checkProgram } from './ops/check-program.js';
export { weightUses } from './ops/weight-uses.js';
export { nativeStatus, type NativeStatus } from './native/loader.js';
export { createCpuBackend, type CpuBackend, type CpuBackendOptions, type Isa } from './cpu-backend.js';
export { availableCores } from './threads.js';
