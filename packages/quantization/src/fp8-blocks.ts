import { SizeMismatchError } from './errors.js';
import { f32ToFp8E4m3, f32ToFp8E5m2, fp8E4m3Table, fp8E5m2Table } from './float8.js';

/** Encoding of an 8-bit float weight, named as safetensors names it. */
export type Fp8Format = 'F8_E4M3' | 'F8_E5M2';

/**
 * How scales cover a [rows, cols] matrix: one for each `blockRows` x `blockCols` tile, the last tiles ragged.
 * Per tensor: blockRows = rows, blockCols = cols. Per output channel: blockRows = 1, blockCols = cols.
 * DeepSeek: 128 x 128.
 */
export interface Fp8BlockShape {
  readonly rows: number;
  readonly cols: number;
  readonly format: Fp8Format;
  readonly blockRows: number;
  readonly blockCols: number;
}

function tiles(shape: Fp8BlockShape): { tileRows: number; tileCols: number } {
  for (const field of ['rows', 'cols', 'blockRows', 'blockCols'] as const)
    if (!Number.isSafeInteger(shape[field]) || shape[field] <= 0)
      throw new SizeMismatchError(field, shape[field], 'a positive whole number', 'FP8 weight');
  return { tileRows: Math.ceil(shape.rows / shape.blockRows), tileCols: Math.ceil(shape.cols / shape.blockCols) };
}

/**
 * float32 of a scaled FP8 matrix: value * scale, one float32 multiplication each.
 *
 * @param bytes [rows, cols]
 * @param options.scales [ceil(rows / blockRows), ceil(cols / blockCols)]: the factor that multiplies the stored value
 * (`weight_scale`, or `weight_scale_inv` as DeepSeek names it)
 * @param out [rows, cols], allocated if absent
 * @throws SizeMismatchError
 */
export function dequantizeFp8(
  bytes: Uint8Array,
  options: Fp8BlockShape & { readonly scales: Float32Array },
  out?: Float32Array,
): Float32Array {
  const { rows, cols, blockRows, blockCols, scales } = options;
  const { tileRows, tileCols } = tiles(options);
  const context = `FP8 weight [${rows}, ${cols}] in blocks of ${blockRows} x ${blockCols}`;
  if (bytes.length !== rows * cols) throw new SizeMismatchError('bytes', bytes.length, rows * cols, context);
  if (scales.length !== tileRows * tileCols)
    throw new SizeMismatchError('scales', scales.length, tileRows * tileCols, context);
  if (out !== undefined && out.length < rows * cols)
    throw new SizeMismatchError('out', out.length, `at least ${rows * cols}`, context);
  const table = options.format === 'F8_E4M3' ? fp8E4m3Table() : fp8E5m2Table();
  const target = out ?? new Float32Array(rows * cols);
  for (let r = 0; r < rows; r++) {
    const scaleRow = Math.floor(r / blockRows) * tileCols;
    for (let t = 0; t < tileCols; t++) {
      const scale = scales[scaleRow + t]!;
      const end = r * cols + Math.min(cols, (t + 1) * blockCols);
      for (let i = r * cols + t * blockCols; i < end; i++) target[i] = table[bytes[i]!]! * scale;
    }
  }
  return target;
}

/**
 * Quantises a float32 matrix to FP8 with one scale per tile: scale = largest magnitude / largest finite FP8 number
 * (1 for a tile of zeros), values rounded to nearest, ties to even.
 *
 * @param values [rows, cols], finite
 * @returns bytes [rows, cols] and scales [ceil(rows / blockRows), ceil(cols / blockCols)], the factors that
 * `dequantizeFp8` takes
 * @throws SizeMismatchError
 */
export function quantizeFp8(values: Float32Array, options: Fp8BlockShape): { bytes: Uint8Array; scales: Float32Array } {
  const { rows, cols, blockRows, blockCols, format } = options;
  const { tileRows, tileCols } = tiles(options);
  if (values.length !== rows * cols)
    throw new SizeMismatchError('values', values.length, rows * cols, `FP8 weight [${rows}, ${cols}]`);
  const limit = format === 'F8_E4M3' ? 448 : 57344;
  const scales = new Float32Array(tileRows * tileCols);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < cols; c++) {
      const tile = Math.floor(r / blockRows) * tileCols + Math.floor(c / blockCols);
      scales[tile] = Math.max(scales[tile]!, Math.abs(values[r * cols + c]!));
    }
  for (let t = 0; t < scales.length; t++) scales[t] = scales[t] === 0 ? 1 : scales[t]! / limit;
  const bytes = new Uint8Array(rows * cols);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < cols; c++) {
      const scale = scales[Math.floor(r / blockRows) * tileCols + Math.floor(c / blockCols)]!;
      // The scale's own rounding may push the largest value a little past the limit: clamp, never to infinity.
      const v = Math.max(-limit, Math.min(limit, values[r * cols + c]! / scale));
      bytes[r * cols + c] = format === 'F8_E4M3' ? f32ToFp8E4m3(v) : f32ToFp8E5m2(v);
    }
  return { bytes, scales };
}
