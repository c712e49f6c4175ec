export {
  BadMagicError,
  DuplicateNameError,
  LimitExceededError,
  MalformedFieldError,
  ModelFileError,
  ModelNotFoundError,
  TensorLayoutError,
  TensorNotFoundError,
  TruncatedFileError,
  UnknownTypeError,
  UnsupportedVersionError,
  type ModelFileErrorDetails,
} from './errors.js';
export type { ModelFiles, TensorInfo } from './model-files.js';
export type { GgufArray, GgufField, GgufNumberArray, GgufScalarType, GgufTypeName, GgufValue } from './gguf/value.js';
export { readGgufHeader, type GgufHeader } from './gguf/header.js';
export { readSafetensorsHeader, type SafetensorsHeader } from './safetensors/header.js';
export { openModel } from './open-model.js';
export {
  dequantize,
  dequantizeFp8,
  dequantizeInt4Group,
  f32ArrayToBf16,
  f32ArrayToF16,
  formatByName,
  quantizeFp8,
  rowBytes,
  unpackAwq,
  unpackGptq,
  type Int4GroupWeight,
} from './weights/codecs.js';
