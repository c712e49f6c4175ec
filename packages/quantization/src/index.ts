export {
  QuantizationError,
  SizeMismatchError,
  UnknownFormatError,
  UnrepresentableWeightError,
  UnsupportedFormatError,
} from './errors.js';
export { formatByGgmlId, formatByName, ggmlFormats, rowBytes, type BlockFormat, type GgmlTypeName } from './formats.js';
export { f16ArrayToF32, f16Table, f16ToF32, f32ArrayToF16, f32ToF16 } from './float16.js';
export { bf16ArrayToF32, bf16ToF32, f32ArrayToBf16, f32ToBf16 } from './bfloat16.js';
export {
  f32ArrayToFp8E4m3,
  f32ArrayToFp8E5m2,
  f32ToFp8E4m3,
  f32ToFp8E5m2,
  fp8E4m3ArrayToF32,
  fp8E4m3Table,
  fp8E4m3ToF32,
  fp8E5m2ArrayToF32,
  fp8E5m2Table,
  fp8E5m2ToF32,
  type Fp8Overflow,
} from './float8.js';
export { dequantize } from './ggml/dequantize.js';
export { dequantizeFp8, quantizeFp8, type Fp8BlockShape, type Fp8Format } from './fp8-blocks.js';
export { dequantizeInt4Group, type Int4GroupWeight } from './int4/int4-group.js';
export { unpackAwq, type AwqTensors } from './int4/awq.js';
export { unpackGptq, type GptqTensors } from './int4/gptq.js';
export { quantizableFormats, quantize, type QuantizeOptions } from './ggml/quantize.js';
