/** The backend contract's types, under one local name. */
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
} from '@dsi/graph';
