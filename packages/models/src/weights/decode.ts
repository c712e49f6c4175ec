import { dequantize, dequantizeFp8, dequantizeInt4Group, formatByName } from '@dsi/model-files';
import type { WeightTensor } from '../contract.js';
import { WeightFormatError } from '../errors.js';
import type { CheckpointTensor } from './checkpoint.js';
import { asFloat32, readPart, readParts } from './read-part.js';

/** Values of a small tensor in f32 (norms, scales, RoPE factors). */
export function decodeTensor(tensor: CheckpointTensor): Float32Array {
  const elements = tensor.shape.reduce((n, d) => n * d, 1);
  return dequantize(formatByName(tensor.dtype).name, readPart(tensor.data), elements);
}

/** A matrix [N, K] in f32, row-major, exactly as its format decodes (one f32 multiplication a value). */
export function decodeMatrix(weight: WeightTensor): Float32Array {
  const [rows, columns] = weight.shape as readonly [number, number];
  const { format, blockScales, int4 } = weight;
  if (format === 'F8_E4M3' || format === 'F8_E5M2') {
    if (blockScales === undefined) throw new WeightFormatError(weight.name, format, 'it has no scales');
    const { blockRows, blockCols, data } = blockScales;
    const scales = asFloat32(readParts(data));
    return dequantizeFp8(readParts(weight.data), { rows, cols: columns, format, blockRows, blockCols, scales });
  }
  if (format === 'INT4_GROUP') {
    if (int4 === undefined) throw new WeightFormatError(weight.name, format, 'it has no scales');
    return dequantizeInt4Group({
      rows,
      cols: columns,
      groupSize: int4.groupSize,
      codes: readParts(weight.data),
      scales: asFloat32(readParts(int4.scales)),
      zeros: asFloat32(readParts(int4.zeros)),
      ...(int4.perm && { perm: int4.perm }),
    });
  }
  return dequantize(format, readParts(weight.data), rows * columns);
}
