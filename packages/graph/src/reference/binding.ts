import {
  dimSize,
  LaunchError,
  ProgramError,
  shapeSize,
  type HostArray,
  type InputTensor,
  type LaunchArgs,
  type Program,
  type ProgramTensor,
} from '@dsi/kernels';
import { formatShape, sameShape } from '../shape.js';
import type { BoundTensor } from './call.js';
import type { ReferenceKv } from './kv.js';
import type { ReferenceWeights } from './weights.js';

/** That weights and KV are what the program expects. @throws ProgramError, DisposedError */
export function checkBinding(program: Program, weights: ReferenceWeights, kv: ReferenceKv): void {
  const fail = (where: string, operand: string, detail: string): never => {
    throw new ProgramError(program.name, where, operand, detail);
  };
  if (program.numerics !== weights.numerics)
    fail('numerics', '', `it is ${program.numerics} and the weights were loaded as ${weights.numerics}`);
  for (const t of program.tensors) {
    if (t.kind === 'weight') {
      const shape = weights.get(t.name)?.shape ?? fail('weights', t.name, 'it was not loaded');
      if (!sameShape(shape, t.shape))
        fail('weights', t.name, `it is ${formatShape(shape)}, not ${formatShape(t.shape)}`);
    }
    if (t.kind === 'kv') {
      const { width, dtype } = kv.get(t.name)?.spec ?? fail('KV', t.name, 'the storage has no such tensor');
      if (width !== t.width || dtype !== t.dtype)
        fail('KV', t.name, `it is ${width} x ${dtype}, not ${t.width} x ${t.dtype}`);
    }
  }
  program.ops.forEach((op, i) => {
    const { blockSize } = op.attrs;
    if (blockSize !== undefined && blockSize !== kv.blockSize)
      fail(`op ${i} (${op.op})`, 'blockSize', `it is ${String(blockSize)}, that of the KV storage ${kv.blockSize}`);
  });
}

/** A program's tensor under a launch's sizes: a view, never a copy. @throws LaunchError for an input that does not fit */
export function bindTensor(
  program: Program,
  t: ProgramTensor,
  args: LaunchArgs,
  arena: ArrayBuffer,
  weights: ReferenceWeights,
  kv: ReferenceKv,
): BoundTensor {
  const { name } = t;
  const shape = t.shape.map((d) => dimSize(d, args.dims));
  switch (t.kind) {
    case 'weight':
      return { name, ...weights.get(name)! };
    case 'kv': {
      const { data, round } = kv.get(name)!;
      return { name, data, round, shape: [data.length / t.width, t.width] };
    }
    case 'const':
      return { name, data: t.data, shape };
    case 'input':
      return { name, data: boundInput(program, t, args), shape };
    case 'value': {
      const type = t.dtype === 'f32' ? Float32Array : Int32Array;
      return { name, data: new type(arena, t.offset, shapeSize(t.shape, args.dims)), shape };
    }
  }
}

function boundInput(program: Program, t: InputTensor, { inputs, dims }: LaunchArgs): HostArray {
  const data = Object.hasOwn(inputs, t.name) ? inputs[t.name] : undefined;
  const size = t.shape.length === 0 ? undefined : shapeSize(t.shape, dims);
  const type = t.dtype === 'f32' ? Float32Array : Int32Array;
  if (data instanceof type && (size === undefined || data.length === size)) return data;
  const expected = size === undefined ? '' : ` of ${size} elements ${formatShape(t.shape)}`;
  const actual = data === undefined ? 'missing' : `${data.constructor.name} of ${data.length}`;
  throw new LaunchError(program.name, `the input "${t.name}" must be a ${type.name}${expected}, but is ${actual}`);
}
