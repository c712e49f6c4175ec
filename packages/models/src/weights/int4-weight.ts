import { unpackAwq, unpackGptq, type Int4GroupWeight } from '@dsi/model-files';
import type { WeightTensor } from '../contract.js';
import { WeightFormatError, WeightMissingError, WeightShapeError } from '../errors.js';
import type { QuantizationConfig } from '../config/quantization-config.js';
import type { CheckpointTensor } from './checkpoint.js';
import { decodeTensor } from './decode.js';
import { bytesOf, lazyParts } from './lazy-bytes.js';
import { asInt32, readPart } from './read-part.js';

export type Int4Config = Extract<QuantizationConfig, { method: 'gptq' | 'awq' }>;

/** Finds a tensor of the checkpoint by its name and notes that it is used. */
export type TensorLookup = (name: string) => CheckpointTensor | undefined;

/** A 4-bit GPTQ or AWQ matrix [N, K]: unpacked to INT4_GROUP when it is loaded, values unchanged. `base`: the name before `.qweight`. */
export function int4Weight(
  name: string,
  base: string,
  shape: readonly number[],
  config: Int4Config,
  lookup: TensorLookup,
): WeightTensor {
  const [rows, columns] = shape as readonly [number, number];
  const groupSize = config.groupSize === 0 ? columns : config.groupSize;
  if (rows % 8 !== 0 || columns % 8 !== 0 || columns % groupSize !== 0) {
    throw new WeightFormatError(
      base,
      config.method,
      `[${rows}, ${columns}] in groups of ${groupSize} cannot be packed in 4 bits`,
    );
  }
  const groups = columns / groupSize;
  const need = (suffix: string, expected: readonly number[]): CheckpointTensor => {
    const tensor = lookup(`${base}.${suffix}`);
    if (tensor === undefined) throw new WeightMissingError(name, [`${base}.${suffix}`]);
    if (tensor.shape.join() !== expected.join()) throw new WeightShapeError(tensor.name, tensor.shape, expected);
    return tensor;
  };
  const qzeros = need('qzeros', [groups, rows / 8]);
  const scales = need('scales', [groups, rows]);
  const shared = {
    scales: (): Float32Array => decodeTensor(scales),
    bits: 4,
    groupSize,
    shape: [rows, columns] as const,
  };
  let unpack: () => Int4GroupWeight;
  let ordered = true;
  if (config.method === 'gptq') {
    const qweight = need('qweight', [columns / 8, rows]);
    const order = groupOrder(lookup(`${base}.g_idx`), columns, groupSize);
    ordered = order === undefined;
    unpack = () =>
      unpackGptq({
        ...shared,
        scales: shared.scales(),
        qweight: words(qweight),
        qzeros: words(qzeros),
        checkpointFormat: config.version === 1 ? 'gptq' : 'gptq_v2',
        ...(order && { gIdx: order }),
      });
  } else {
    const qweight = need('qweight', [columns, rows / 8]);
    unpack = () => unpackAwq({ ...shared, scales: shared.scales(), qweight: words(qweight), qzeros: words(qzeros) });
  }
  return assemble(name, rows, columns, groupSize, ordered, unpack);
}

function assemble(
  name: string,
  rows: number,
  columns: number,
  groupSize: number,
  ordered: boolean,
  unpack: () => Int4GroupWeight,
): WeightTensor {
  const scaleBytes = 4 * rows * (columns / groupSize);
  const permBytes = ordered ? 0 : 4 * columns;
  const sizes = { codes: (rows * columns) / 2, scales: scaleBytes, zeros: scaleBytes, perm: permBytes };
  const parts = lazyParts(sizes, () => {
    const w = unpack();
    return {
      codes: w.codes,
      scales: bytesOf(w.scales),
      zeros: bytesOf(w.zeros),
      perm: w.perm === undefined ? new Uint8Array(0) : bytesOf(w.perm),
    };
  });
  const base = { groupSize, scales: [parts.scales], zeros: [parts.zeros] };
  const int4 = ordered
    ? base
    : {
        ...base,
        get perm(): Int32Array {
          return asInt32(readPart(parts.perm));
        },
      };
  return { name, format: 'INT4_GROUP', shape: [rows, columns], data: [parts.codes], int4 };
}

/** g_idx when it differs from the plain order. */
function groupOrder(tensor: CheckpointTensor | undefined, columns: number, groupSize: number): Int32Array | undefined {
  if (tensor === undefined) return undefined;
  if (tensor.shape.join() !== String(columns)) throw new WeightShapeError(tensor.name, tensor.shape, [columns]);
  const order = words(tensor);
  return order.every((g, k) => g === Math.floor(k / groupSize)) ? undefined : order;
}

function words(tensor: CheckpointTensor): Int32Array {
  if (tensor.dtype !== 'I32') throw new WeightFormatError(tensor.name, tensor.dtype, 'packed codes must be I32');
  return asInt32(readPart(tensor.data));
}
