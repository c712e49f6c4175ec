import {
  dequantize,
  dequantizeFp8,
  dequantizeInt4Group,
  f16ArrayToF32,
  unpackAwq,
  unpackGptq,
  type GgmlTypeName,
} from '@dsi/quantization';
import { MalformedFieldError } from '../errors.js';
import type { ModelFiles, TensorInfo } from '../model-files.js';
import { UnsupportedConversionError } from './errors.js';
import type { RowSource } from './row-source.js';

/** A weight of a Hugging Face model whatever its storage: name and shape of the float tensor it stands for. */
export interface HfTensor {
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  /** dtype in the file; GPTQ or AWQ for packed 4-bit weights. */
  readonly storage: string;
  readonly source: RowSource;
}

const floatTypes: ReadonlySet<string> = new Set(['F32', 'F16', 'BF16', 'F64']);

/** Tensors that only describe how another one is stored, or are recomputed. */
const auxiliary =
  /\.(weight_scale_inv|weight_scale|input_scale|activation_scale|qzeros|scales|g_idx|rotary_emb\.inv_freq)$|\.attention\.(masked_)?bias$/;

function matrixShape(shape: readonly number[]): { rows: number; cols: number } {
  const cols = shape.at(-1) ?? 1;
  return { rows: shape.slice(0, -1).reduce((a, b) => a * b, 1), cols };
}

function asInt32(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

async function readFloats(model: ModelFiles, name: string): Promise<Float32Array> {
  const tensor = model.tensors.get(name)!;
  if (!floatTypes.has(tensor.dtype))
    throw new MalformedFieldError(`tensor ${name} has dtype ${tensor.dtype}`, {
      file: tensor.file,
      field: `tensor ${name}`,
      value: tensor.dtype,
      limit: 'a float type',
    });
  const elements = tensor.shape.reduce((a, b) => a * b, 1);
  return dequantize(tensor.dtype as GgmlTypeName, await model.read(name), elements);
}

function plainSource(model: ModelFiles, tensor: TensorInfo): RowSource {
  const { rows, cols } = matrixShape(tensor.shape);
  const rowBytes = tensor.byteLength / Math.max(1, rows);
  return {
    rows,
    cols,
    async read(begin, end) {
      const bytes = await model.readRange(tensor.name, begin * rowBytes, end * rowBytes);
      return dequantize(tensor.dtype as GgmlTypeName, bytes, (end - begin) * cols);
    },
  };
}

/** Keeps the last computed value: ranges of one tensor are read one after the other. */
class RecentValue {
  private key: string | undefined;
  private value: Promise<Float32Array> | undefined;

  get(key: string, compute: () => Promise<Float32Array>): Promise<Float32Array> {
    if (this.key !== key || this.value === undefined) {
      this.key = key;
      this.value = compute();
    }
    return this.value;
  }
}

function fp8Source(model: ModelFiles, tensor: TensorInfo, recent: RecentValue): RowSource {
  const { rows, cols } = matrixShape(tensor.shape);
  const inverse = model.tensors.get(`${tensor.name}_scale_inv`);
  const scaleInfo = inverse ?? model.tensors.get(`${tensor.name}_scale`);
  const field = `tensor ${tensor.name}`;
  if (scaleInfo === undefined)
    throw new UnsupportedConversionError(`${field} is ${tensor.dtype} without a weight_scale or weight_scale_inv`, {
      file: tensor.file,
      field,
      value: tensor.dtype,
    });
  const block = (model.config?.quantization_config as { weight_block_size?: unknown } | undefined)?.weight_block_size;
  const count = scaleInfo.shape.reduce((a, b) => a * b, 1);
  let blockRows = rows;
  let blockCols = cols;
  if (inverse !== undefined && Array.isArray(block) && block.length === 2)
    [blockRows, blockCols] = block as [number, number];
  else if (count === rows && count !== 1) blockRows = 1;
  const tileCols = Math.ceil(cols / blockCols);
  if (!(blockRows > 0 && blockCols > 0) || Math.ceil(rows / blockRows) * tileCols !== count)
    throw new MalformedFieldError(
      `${scaleInfo.name} has ${count} scales, ${field} [${rows}, ${cols}] in blocks of ${blockRows} x ${blockCols} needs ` +
        `${Math.ceil(rows / blockRows) * tileCols}`,
      { file: scaleInfo.file, field: scaleInfo.name, value: count },
    );
  const format = tensor.dtype as 'F8_E4M3' | 'F8_E5M2';
  return {
    rows,
    cols,
    async read(begin, end) {
      // Whole blocks of rows, then the part that was asked for.
      const first = Math.floor(begin / blockRows) * blockRows;
      const last = Math.min(rows, Math.ceil(end / blockRows) * blockRows);
      const bytes = await model.readRange(tensor.name, first * cols, last * cols);
      const all = await recent.get(scaleInfo.name, () => readFloats(model, scaleInfo.name));
      const part = all.subarray((first / blockRows) * tileCols, Math.ceil(last / blockRows) * tileCols);
      const shape = { rows: last - first, cols, format, blockRows, blockCols, scales: part };
      const values = dequantizeFp8(bytes, shape);
      return values.slice((begin - first) * cols, (end - first) * cols);
    },
  };
}

interface PackedConfig {
  readonly method: string;
  readonly bits: number;
  readonly groupSize: number;
  readonly checkpointFormat: string;
}

function packedConfig(model: ModelFiles): PackedConfig {
  const config = (model.config?.quantization_config ?? {}) as Record<string, unknown>;
  const method = String(config.quant_method ?? '');
  return {
    method,
    bits: Number(config.bits ?? config.w_bit ?? 4),
    groupSize: Number(config.group_size ?? config.q_group_size ?? 128),
    checkpointFormat: String(config.checkpoint_format ?? 'gptq'),
  };
}

function packedTensor(model: ModelFiles, stem: string, qweight: TensorInfo, recent: RecentValue): HfTensor {
  const { method, bits, groupSize, checkpointFormat } = packedConfig(model);
  const field = `tensor ${qweight.name}`;
  if (method !== 'gptq' && method !== 'awq')
    throw new UnsupportedConversionError(`${field} is packed by quant_method ${JSON.stringify(method)}`, {
      file: qweight.file,
      field,
      value: method,
      limit: 'gptq or awq',
    });
  const [first = 0, second = 0] = qweight.shape;
  const [rows, cols] = method === 'gptq' ? [second, first * 8] : [second * 8, first];
  const load = async (): Promise<Float32Array> => {
    const read = async (part: string) => asInt32(await model.read(`${stem}.${part}`));
    const scaleInfo = model.tensors.get(`${stem}.scales`);
    const scales =
      scaleInfo?.dtype === 'F16'
        ? f16ArrayToF32(new Uint16Array((await model.read(`${stem}.scales`)).buffer))
        : await readFloats(model, `${stem}.scales`);
    const shape = [rows, cols] as const;
    const common = { qweight: await read('qweight'), qzeros: await read('qzeros'), scales, bits, groupSize, shape };
    if (method === 'awq') return dequantizeInt4Group(unpackAwq(common));
    const hasIndex = model.tensors.has(`${stem}.g_idx`);
    return dequantizeInt4Group(
      unpackGptq({
        ...common,
        checkpointFormat: checkpointFormat === 'gptq_v2' ? 'gptq_v2' : 'gptq',
        ...(hasIndex && { gIdx: await read('g_idx') }),
      }),
    );
  };
  return {
    name: `${stem}.weight`,
    shape: [rows, cols],
    storage: method.toUpperCase(),
    source: { rows, cols, read: async (begin, end) => (await recent.get(stem, load)).slice(begin * cols, end * cols) },
  };
}

/**
 * All weights of a Hugging Face model as float matrices, dequantised on reading where they are FP8 (by tensor, row or
 * block), GPTQ or AWQ.
 *
 * @throws UnsupportedConversionError for another storage
 */
export function hfTensors(model: ModelFiles): HfTensor[] {
  const out: HfTensor[] = [];
  const recent = new RecentValue();
  for (const tensor of model.tensors.values()) {
    if (auxiliary.test(tensor.name)) continue;
    if (tensor.name.endsWith('.qweight')) {
      out.push(packedTensor(model, tensor.name.slice(0, -'.qweight'.length), tensor, recent));
      continue;
    }
    const { name, shape, dtype } = tensor;
    if (floatTypes.has(dtype)) out.push({ name, shape, storage: dtype, source: plainSource(model, tensor) });
    else if (dtype === 'F8_E4M3' || dtype === 'F8_E5M2')
      out.push({ name, shape, storage: dtype, source: fp8Source(model, tensor, recent) });
    else
      throw new UnsupportedConversionError(`tensor ${name} has dtype ${dtype}, which is not converted`, {
        file: tensor.file,
        field: `tensor ${name}`,
        value: dtype,
        limit: 'F32, F16, BF16, F64, F8_E4M3, F8_E5M2, GPTQ, AWQ',
      });
  }
  return out;
}
