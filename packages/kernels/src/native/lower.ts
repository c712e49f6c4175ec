import type { WeightUse } from '../backend.js';
import { WeightLoadError } from '../errors.js';
import { opNames, type OpName } from '../ops/names.js';
import type { AttrValue, Dim, Program, ProgramOp } from '../program.js';
import type { WeightBytes, WeightFormat, WeightTensor } from '../weights.js';
import type { LoweredBytes, LoweredProgram, LoweredWeight } from './addon.js';

const tensorKinds = ['input', 'weight', 'const', 'value', 'kv'] as const;
const dimCodes: Readonly<Record<Exclude<Dim, number>, number>> = { T: -1, S: -2, R: -3, B: -4, 'S+1': -5 };
const maxRank = 4;

/** Order of `Format` in native/include/dsi/products.h. */
const formats: readonly WeightFormat[] = [
  ...(['F32', 'F16', 'BF16', 'Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q2_K', 'Q3_K', 'Q4_K', 'Q5_K', 'Q6_K'] as const),
  ...(['IQ1_S', 'IQ1_M', 'IQ2_XXS', 'IQ2_XS', 'IQ2_S', 'IQ3_XXS', 'IQ3_S', 'IQ4_NL', 'IQ4_XS'] as const),
  ...(['TQ1_0', 'TQ2_0', 'MXFP4', 'NVFP4', 'F8_E4M3', 'F8_E5M2', 'INT4_GROUP'] as const),
];

/** Bit numbers of `WeightUse` in native/executor/load.h. */
const weightUseNames: readonly WeightUse[] = ['embedding', 'linear', 'linear_f32', 'head_linear', 'experts', 'vector'];

/** Attributes in the order in which native/executor/executable.cc reads them. */
const attrOrder: Partial<Readonly<Record<OpName, readonly string[]>>> = {
  rms_norm: ['eps'],
  add_rms_norm: ['eps'],
  linear: ['f32'],
  rope: ['style', 'offset', 'scale'],
  attention: ['scale', 'kvHeads', 'window', 'blockSize'],
  mla_attention: ['scale', 'blockSize'],
  slice: ['start', 'length'],
  moe_route: ['scoring', 'topK', 'nGroup', 'topkGroup', 'groupScore', 'normalize', 'scale'],
  sample: ['topLogprobs'],
};

/** Words of attributes as numbers; what is not listed is 0. */
const attrWords: Readonly<Record<string, number>> = { interleaved: 1, sigmoid: 1, top2sum: 1 };

function attrNumber(value: AttrValue | undefined): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? (attrWords[value] ?? 0) : Number(value ?? false);
}

/** A checked program as the numbers that the addon reads. `kvIndex`: place of each KV tensor in the storage, by name. */
export function lowerProgram(program: Program, kvIndex: ReadonlyMap<string, number>): LoweredProgram {
  const inputs: number[] = [];
  const consts: (Float32Array | Int32Array)[] = [];
  const table: number[] = [];
  program.tensors.forEach((tensor, id) => {
    let index = 0;
    if (tensor.kind === 'input') index = inputs.push(id) - 1;
    if (tensor.kind === 'const') index = consts.push(tensor.data) - 1;
    if (tensor.kind === 'kv') index = kvIndex.get(tensor.name) ?? -1;
    const isI32 = 'dtype' in tensor && tensor.dtype === 'i32';
    const shape = tensor.kind === 'kv' ? [] : tensor.shape;
    const sizes = Array.from({ length: maxRank }, (_, axis) => {
      const dim = shape[axis] ?? 0;
      return typeof dim === 'number' ? dim : dimCodes[dim];
    });
    const ragged = tensor.kind === 'input' && shape.length === 0;
    table.push(tensorKinds.indexOf(tensor.kind), Number(isI32), shape.length, ...sizes, index, Number(ragged));
  });
  const ops: number[] = [];
  const attrs: number[] = [];
  for (const op of program.ops) {
    const values = lowerAttrs(op);
    ops.push(opNames.indexOf(op.op), op.inputs.length, op.outputs.length, values.length, ...op.inputs, ...op.outputs);
    attrs.push(...values);
  }
  const { T, S, R, B } = program.maxDims;
  return {
    name: program.name,
    fast: program.numerics === 'fast',
    arenaBytes: program.arenaBytes,
    maxDims: Float64Array.of(T, S, R, B),
    tensors: Int32Array.from(table),
    offsets: Float64Array.from(program.tensors, (tensor) => (tensor.kind === 'value' ? tensor.offset : 0)),
    names: program.tensors.map((tensor) => tensor.name),
    consts,
    ops: Int32Array.from(ops),
    attrs: Float64Array.from(attrs),
    inputs: Int32Array.from(inputs),
    outputs: Int32Array.from(Object.values(program.outputs)),
  };
}

function lowerAttrs(op: ProgramOp): number[] {
  return (attrOrder[op.op] ?? []).map((name) => attrNumber(op.attrs[name]));
}

/** A checkpoint weight as the numbers that the addon reads. Throws WeightLoadError for what is malformed in itself. */
export function lowerWeight(weight: WeightTensor, uses: ReadonlySet<WeightUse>): LoweredWeight {
  const fail = (detail: string): never => {
    throw new WeightLoadError(weight.name, detail);
  };
  const { shape, int4, blockScales } = weight;
  if (shape.length < 1 || shape.length > 3 || !shape.every((n) => Number.isSafeInteger(n) && n > 0 && n < 2 ** 31)) {
    fail(`its shape is [${shape.join(', ')}], it must be [K], [N, K] or [G, N, K] of whole numbers above 0`);
  }
  const [cols = 1, rows = 1, groups = 1] = shape.toReversed();
  const format = formats.indexOf(weight.format);
  if (format < 0) fail(`its format ${String(weight.format)} is unknown; known are ${formats.join(', ')}`);
  if ((weight.format === 'INT4_GROUP') !== (int4 !== undefined)) {
    fail(`format ${weight.format} ${int4 ? 'has no' : 'needs'} int4 scales and zeros`);
  }
  if (int4 && (!Number.isSafeInteger(int4.groupSize) || int4.groupSize < 1)) {
    fail(`its group size is ${int4.groupSize}, it must be a whole number above 0`);
  }
  if (int4?.perm && (int4.perm.length !== cols || !int4.perm.every((k) => k >= 0 && k < cols))) {
    fail(`its perm must hold ${cols} column numbers in 0..${cols - 1}`);
  }
  if (blockScales && ![blockScales.blockRows, blockScales.blockCols].every((n) => Number.isSafeInteger(n) && n > 0)) {
    fail(
      `its scale blocks are ${blockScales.blockRows} x ${blockScales.blockCols}, both must be whole numbers above 0`,
    );
  }
  const parts = (list: readonly WeightBytes[] | undefined): LoweredBytes[] =>
    (list ?? []).map((part) => {
      if ('bytes' in part) return part.bytes;
      if (![part.offset, part.byteLength].every((n) => Number.isSafeInteger(n) && n >= 0)) {
        return fail(`a part of it lies at ${part.offset}, ${part.byteLength} bytes long: both must be whole numbers`);
      }
      return part;
    });
  return {
    name: weight.name,
    format,
    groups,
    rows,
    cols,
    uses: weightUseNames.reduce((bits, use, bit) => bits | (uses.has(use) ? 1 << bit : 0), 0),
    data: parts(weight.data),
    blockScales: parts(blockScales?.data),
    blockRows: blockScales?.blockRows ?? 0,
    blockCols: blockScales?.blockCols ?? 0,
    scales: parts(int4?.scales),
    zeros: parts(int4?.zeros),
    groupSize: int4?.groupSize ?? 0,
    perm: int4?.perm,
  };
}

/** Bytes of a checkpoint weight, for progress. */
export function sourceBytes(weight: WeightTensor): number {
  const all = [weight.data, weight.blockScales?.data, weight.int4?.scales, weight.int4?.zeros];
  let total = 0;
  for (const part of all.flatMap((list) => list ?? []))
    total += 'bytes' in part ? part.bytes.byteLength : part.byteLength;
  return total;
}
