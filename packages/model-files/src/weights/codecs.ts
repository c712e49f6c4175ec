/** What readers of checkpoint tensors need to decode them: the codecs of @dsi/quantization, under this package's entry. */
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
} from '@dsi/quantization';
