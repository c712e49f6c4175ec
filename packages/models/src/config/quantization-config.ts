import { UnsupportedModelError } from '../errors.js';
import { Fields } from './fields.js';

/** How the linear layers of a Hugging Face checkpoint are stored (`quantization_config`). */
export type QuantizationConfig =
  /** `weight` in 8-bit floats with `weight_scale_inv` (DeepSeek) or `weight_scale` (compressed-tensors). */
  | {
      readonly method: 'fp8';
      /** Rows and columns that share a scale; undefined: per tensor or per row, as the scale tensor's shape says. */
      readonly blockShape: readonly [rows: number, columns: number] | undefined;
    }
  | {
      readonly method: 'gptq';
      readonly groupSize: number;
      /** v1 stores zero points less one. */
      readonly version: 1 | 2;
    }
  | { readonly method: 'awq'; readonly groupSize: number };

const supported = ['fp8', 'compressed-tensors (float, 8 bits)', 'gptq (4 bits)', 'awq (4 bits, gemm)'];

export function quantizationFromHuggingFace(config: Fields): QuantizationConfig | undefined {
  const fields = config.object('quantization_config');
  if (fields === undefined) return undefined;
  const method = fields.optionalString('quant_method') ?? '';
  switch (method) {
    case 'fp8':
      return { method: 'fp8', blockShape: blockShape(fields, 'weight_block_size') };
    case 'compressed-tensors':
      return compressedTensors(fields);
    case 'gptq': {
      requireBits(fields, 'bits');
      const format = fields.optionalString('checkpoint_format') ?? 'gptq';
      if (format !== 'gptq' && format !== 'gptq_v2') {
        throw new UnsupportedModelError('GPTQ checkpoint format', format, ['gptq', 'gptq_v2']);
      }
      return { method: 'gptq', groupSize: groupSize(fields), version: format === 'gptq' ? 1 : 2 };
    }
    case 'awq': {
      requireBits(fields, 'bits');
      const version = fields.optionalString('version') ?? 'gemm';
      if (version.toLowerCase() !== 'gemm') throw new UnsupportedModelError('AWQ version', version, ['gemm']);
      return { method: 'awq', groupSize: groupSize(fields) };
    }
    default:
      throw new UnsupportedModelError('quantization method', method, supported);
  }
}

function requireBits(fields: Fields, field: string): void {
  const bits = fields.integer(field, { min: 1, max: 64 });
  if (bits !== 4) throw new UnsupportedModelError('quantization width', `${bits} bits`, ['4 bits']);
}

/** Columns a group; -1 in the file (one group a row) becomes 0. */
function groupSize(fields: Fields): number {
  const size = fields.integer('group_size', { min: -1, max: 65_536 });
  if (size === 0) throw fields.error('group_size', size, 'a positive size, or -1 for whole rows');
  return size === -1 ? 0 : size;
}

function blockShape(fields: Fields, field: string): readonly [number, number] | undefined {
  if (!fields.has(field)) return undefined;
  const [rows, columns] = fields.numbers(field, 2, { min: 1, max: 65_536 });
  if (!Number.isInteger(rows) || !Number.isInteger(columns)) {
    throw fields.error(field, fields.raw(field), 'two whole numbers');
  }
  return [rows as number, columns as number];
}

function compressedTensors(fields: Fields): QuantizationConfig {
  const groups = fields.object('config_groups');
  const raw = fields.raw('config_groups');
  const names = typeof raw === 'object' && raw !== null ? Object.keys(raw) : [];
  if (groups === undefined || names.length !== 1) {
    throw fields.error('config_groups', raw, 'exactly one group');
  }
  const weights = groups.object(names[0] as string)?.object('weights');
  if (weights === undefined) throw groups.error(`${names[0]}.weights`, undefined, 'a quantization scheme');
  const type = weights.optionalString('type') ?? 'int';
  const bits = weights.integer('num_bits', { min: 1, max: 64 });
  if (type !== 'float' || bits !== 8) {
    throw new UnsupportedModelError('compressed-tensors scheme', `${type} ${bits} bits`, ['float 8 bits']);
  }
  return { method: 'fp8', blockShape: blockShape(weights, 'block_structure') };
}
