import type { WeightTensor } from '../contract.js';
import { WeightFormatError, WeightShapeError } from '../errors.js';
import type { CheckpointTensor } from './checkpoint.js';
import { decodeTensor } from './decode.js';
import { isFp8, weightFormat } from './formats.js';
import { bytesOf, lazyPart } from './lazy-bytes.js';

/** Throws unless the tensor's shape is the expected one, up to leading axes of 1. */
export function checkShape(tensor: CheckpointTensor, expected: readonly number[]): void {
  if (significant(tensor.shape) !== significant(expected))
    throw new WeightShapeError(tensor.name, tensor.shape, expected);
}

/** The shape as text, without leading axes of 1. */
function significant(shape: readonly number[]): string {
  return shape.join(',').replace(/^(1,)+/, '');
}

/** A weight whose bytes are one tensor of the checkpoint, used as they are. */
export function wholeTensorWeight(name: string, tensor: CheckpointTensor, shape: readonly number[]): WeightTensor {
  checkShape(tensor, shape);
  const format = weightFormat(tensor.name, tensor.dtype);
  if (isFp8(format))
    throw new WeightFormatError(tensor.name, tensor.dtype, 'an 8-bit float tensor needs a scale tensor beside it');
  return { name, format, shape, data: [tensor.data] };
}

/** Scale layouts of 8-bit float matrices [N, K]. */
interface ScaleLayout {
  readonly blockRows: number;
  readonly blockCols: number;
}

/**
 * An 8-bit float matrix with its scales (`weight_scale_inv` or `weight_scale`): [ceil(N/b), ceil(K/b)] blocks, [N, 1] or [N] rows,
 * or one number. Scales that are not f32 in the file are widened when loaded.
 */
export function fp8Weight(
  name: string,
  tensor: CheckpointTensor,
  scales: CheckpointTensor,
  shape: readonly number[],
  block: readonly [number, number] | undefined,
): WeightTensor {
  checkShape(tensor, shape);
  const [rows, columns] = shape as readonly [number, number];
  const layout = scaleLayout(scales, rows, columns, block);
  const count = Math.ceil(rows / layout.blockRows) * Math.ceil(columns / layout.blockCols);
  const data = scales.dtype === 'F32' ? scales.data : lazyPart(4 * count, () => bytesOf(decodeTensor(scales)));
  return {
    name,
    format: weightFormat(tensor.name, tensor.dtype),
    shape,
    data: [tensor.data],
    blockScales: { data: [data], ...layout },
  };
}

function scaleLayout(
  scales: CheckpointTensor,
  rows: number,
  columns: number,
  block: readonly [number, number] | undefined,
): ScaleLayout {
  const shape = scales.shape.filter((d, i) => d !== 1 || i === 0);
  const elements = scales.shape.reduce((n, d) => n * d, 1);
  if (block !== undefined) {
    const [blockRows, blockCols] = block;
    const expected = [Math.ceil(rows / blockRows), Math.ceil(columns / blockCols)];
    if (scales.shape.join() === expected.join()) return { blockRows, blockCols };
    throw new WeightShapeError(scales.name, scales.shape, expected);
  }
  if (elements === 1) return { blockRows: rows, blockCols: columns };
  if (shape.length === 1 && elements === rows) return { blockRows: 1, blockCols: columns };
  throw new WeightShapeError(scales.name, scales.shape, [rows, 1]);
}
