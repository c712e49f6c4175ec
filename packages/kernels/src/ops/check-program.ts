import { dtypeBytes } from '../dtype.js';
import { ProgramError } from '../errors.js';
import { dimSize, shapeSize, type Dim, type Program, type ProgramTensor } from '../program.js';
import { checkOp } from './rules.js';

const symbols = new Set<Dim>(['T', 'S', 'R', 'B', 'S+1']);
const alignment = 64;

/**
 * Checks a whole program without its weights and KV: maxima, tensors and their place in the arena, every op, outputs.
 *
 * @throws ProgramError naming the op or tensor, the operand, what was found and what is allowed
 */
export function checkProgram(program: Program): void {
  const fail = (where: string, detail: string): never => {
    throw new ProgramError(program.name, where, '', detail);
  };
  if (program.version !== 1) fail('version', `it is ${String(program.version)}, this backend runs version 1`);
  for (const [symbol, max] of Object.entries(program.maxDims)) {
    if (!Number.isSafeInteger(max) || max < 0 || max > 2 ** 31 - 2) {
      fail(`maxDims.${symbol}`, `it is ${max}, it must be a whole number in 0..${2 ** 31 - 2}`);
    }
  }
  if (!Number.isSafeInteger(program.arenaBytes) || program.arenaBytes < 0) {
    fail('arenaBytes', `it is ${program.arenaBytes}, it must be a whole number >= 0`);
  }
  const names = new Map<string, number>();
  program.tensors.forEach((tensor, id) => {
    const problem = tensorProblem(tensor, program);
    if (problem) fail(`tensor ${id} ("${tensor.name}")`, problem);
    const before = names.get(tensor.name);
    if (before !== undefined) fail(`tensor ${id}`, `its name "${tensor.name}" is that of tensor ${before} too`);
    names.set(tensor.name, id);
  });
  program.ops.forEach((_, index) => checkOp(program, index));
  for (const [name, id] of Object.entries(program.outputs)) {
    const tensor = program.tensors[id];
    if (tensor?.kind !== 'value') fail(`output "${name}"`, `tensor ${id} is ${tensor?.kind ?? 'absent'}, not a value`);
  }
}

function tensorProblem(tensor: ProgramTensor, program: Program): string | undefined {
  if (tensor.shape.length > 4) return `it has ${tensor.shape.length} axes, at most 4 are supported`;
  for (const dim of tensor.shape) {
    const ok = typeof dim === 'number' ? Number.isSafeInteger(dim) && dim >= 0 && dim < 2 ** 31 : symbols.has(dim);
    if (!ok) return `its size ${String(dim)} is neither a whole number in 0..${2 ** 31 - 1} nor T, S, R, B, S+1`;
  }
  switch (tensor.kind) {
    case 'input':
      if (tensor.dtype !== 'f32' && tensor.dtype !== 'i32') return `inputs are f32 or i32, not ${tensor.dtype}`;
      return undefined;
    case 'weight':
      return tensor.shape.every((dim) => typeof dim === 'number' && dim > 0)
        ? undefined
        : `a weight's sizes are numbers above 0, not [${tensor.shape.join(', ')}]`;
    case 'const': {
      const size = tensor.shape.reduce<number>((n, dim) => n * (typeof dim === 'number' ? dim : Number.NaN), 1);
      const array = tensor.dtype === 'f32' ? Float32Array : Int32Array;
      if (!(tensor.data instanceof array)) return `its data must be a ${array.name}`;
      return tensor.data.length === size ? undefined : `it has ${tensor.data.length} elements, its shape has ${size}`;
    }
    case 'value': {
      const bytes = shapeSize(tensor.shape, program.maxDims) * dtypeBytes[tensor.dtype];
      if (!Number.isSafeInteger(tensor.offset) || tensor.offset < 0 || tensor.offset % alignment !== 0) {
        return `its offset ${tensor.offset} is not a multiple of ${alignment}`;
      }
      return tensor.offset + bytes <= program.arenaBytes
        ? undefined
        : `its ${bytes} bytes at ${tensor.offset} end beyond the arena of ${program.arenaBytes}`;
    }
    case 'kv':
      return Number.isSafeInteger(tensor.width) && tensor.width > 0 ? undefined : `its width is ${tensor.width}`;
  }
}

/** Elements that an input must have under these dims; undefined where its length is free. */
export function inputElements(tensor: ProgramTensor, dims: Program['maxDims']): number | undefined {
  return tensor.shape.length === 0 ? undefined : tensor.shape.reduce<number>((n, dim) => n * dimSize(dim, dims), 1);
}
