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
  quantizableFormats,
  quantize,
  quantizeFp8,
  rowBytes,
  unpackAwq,
  unpackGptq,
  type Int4GroupWeight,
} from './weights/codecs.js';
export { gguf } from './gguf/fields.js';
export { writeGguf, type GgufTensor, type WriteGgufOptions } from './gguf/write.js';
export { writeSafetensors, type SafetensorsTensor, type WriteSafetensorsOptions } from './safetensors/write.js';
export type { TensorData } from './tensor-data.js';
export {
  convertToGguf,
  type ConvertProgress,
  type ConvertResult,
  type ConvertToGgufOptions,
  type TensorToConvert,
} from './convert/convert-to-gguf.js';
export { UnsupportedConversionError } from './convert/errors.js';
export { ggufToHfName, hfToGgufName, isGgufArchitecture, type GgufArchitecture } from './convert/names.js';
export { quantizationPresets, type QuantizationPreset } from './convert/presets.js';
export { downloadFromHub, parseHubId, type HubId } from './hub/download-from-hub.js';
export type { DownloadProgress } from './hub/download-progress.js';
export {
  HubChecksumError,
  HubError,
  HubNotFoundError,
  HubOfflineError,
  HubUnauthorizedError,
  type HubErrorDetails,
} from './hub/errors.js';
export { resolveModel } from './hub/resolve-model.js';
export type { HubOptions } from './hub/settings.js';
export { convertToSafetensors, type ConvertToSafetensorsOptions } from './convert/convert-to-safetensors.js';
