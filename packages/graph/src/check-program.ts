import {
  dimSize,
  dtypeBytes,
  opDeclarations,
  type Program,
  type ProgramOp,
  type ProgramTensor,
  type Shape,
} from '@dsi/kernels';
import { GraphError, ProgramError } from './errors.js';
import { dimSymbols, formatShape, isDim, sameShape, staticSize } from './shape.js';
import { inferShapes } from './shape-rules.js';

/** Bytes of a value tensor at the program's maxima. */
export function maxBytes(shape: Shape, dtype: 'f32' | 'i32', maxDims: Program['maxDims']): number {
  return shape.reduce<number>((n, d) => n * dimSize(d, maxDims), dtypeBytes[dtype]);
}

function fail(message: string, operand: string): never {
  throw new ProgramError(message, { operand });
}

function checkTensor(p: Program, t: ProgramTensor): void {
  const what = `Program "${p.name}": ${t.kind} "${t.name}"`;
  if (!t.shape.every(isDim)) fail(`${what} has the shape ${formatShape(t.shape)}.`, t.name);
  if (t.kind === 'const' && staticSize(t.shape) !== t.data.length)
    fail(`${what} is ${formatShape(t.shape)}, but has ${t.data.length} elements.`, t.name);
  if (t.kind === 'kv' && !(Number.isSafeInteger(t.width) && t.width > 0)) fail(`${what} has width ${t.width}.`, t.name);
  if (t.kind === 'value') {
    const end = t.offset + maxBytes(t.shape, t.dtype, p.maxDims);
    if (!Number.isSafeInteger(t.offset) || t.offset < 0 || t.offset % 64 !== 0 || end > p.arenaBytes)
      fail(`${what} takes bytes ${t.offset}..${end} of an arena of ${p.arenaBytes}, 64-byte aligned.`, t.name);
  }
}

function checkOp(p: Program, op: ProgramOp, index: number): void {
  const node = `op ${index}`;
  if (!Object.hasOwn(opDeclarations, op.op))
    fail(`Program "${p.name}": ${node} is "${String(op.op)}", which no declaration names.`, node);
  for (const id of [...op.inputs, ...op.outputs])
    if (id !== -1 && p.tensors[id] === undefined)
      fail(`Program "${p.name}": ${node} (${op.op}) refers to tensor ${id} of ${p.tensors.length}.`, node);
  const specs = inferShapes(
    node,
    op.op,
    op.inputs.map((id) => p.tensors[id]),
    op.attrs,
  );
  if (specs.length !== op.outputs.length)
    fail(`Program "${p.name}": ${node} (${op.op}) has ${op.outputs.length} outputs, expected ${specs.length}.`, node);
  specs.forEach((s, i) => {
    const t = p.tensors[op.outputs[i]!];
    if (t?.kind !== 'value' || t.dtype !== s.dtype || !sameShape(t.shape, s.shape))
      fail(
        `Program "${p.name}": output ${i} of ${node} (${op.op}) must be a value ${s.dtype} ${formatShape(s.shape)}, but is ${t === undefined ? 'absent' : `${t.kind} "${t.name}" ${formatShape(t.shape)}`}.`,
        node,
      );
  });
}

/**
 * Walks the ops in order with the arena's contents as intervals [begin, end) of bytes: what an op reads must be exactly what was last written
 * there, whole, and an op's outputs must not overlap its inputs or one another.
 */
function checkMemory(p: Program): void {
  const live = new Map<number, number>(); // begin -> end
  const span = (id: number): [number, number] | undefined => {
    const t = p.tensors[id];
    return t?.kind === 'value' ? [t.offset, t.offset + maxBytes(t.shape, t.dtype, p.maxDims)] : undefined;
  };
  const readable = (id: number, by: string) => {
    const s = span(id);
    if (s !== undefined && live.get(s[0]) !== s[1])
      fail(`Program "${p.name}": ${by} reads "${p.tensors[id]!.name}", which was not written or was overwritten.`, by);
  };
  p.ops.forEach((op, i) => {
    const by = `op ${i} (${op.op})`;
    for (const id of op.inputs) readable(id, by);
    const reads = op.inputs.map(span).filter((s) => s !== undefined);
    for (const id of op.outputs) {
      const [begin, end] = span(id)!;
      for (const [b, e] of reads)
        if (b < end && begin < e) fail(`Program "${p.name}": ${by} would overwrite its own operand.`, by);
      reads.push([begin, end]);
    }
    for (const id of op.outputs) {
      const [begin, end] = span(id)!;
      for (const [b, e] of live) if (b < end && begin < e) live.delete(b);
      live.set(begin, end);
    }
  });
  for (const [name, id] of Object.entries(p.outputs)) readable(id, `output "${name}"`);
}

/**
 * Checks a program whole: shapes, dtypes and attributes of every op against the declarations, and the memory plan (bounds, alignment,
 * nothing read that was not written or has been overwritten).
 *
 * @throws ProgramError naming op, operand and shape
 */
export function checkProgram(program: Program): void {
  if (program.version !== 1)
    fail(`Program version ${String(program.version)} is unknown; this build reads 1.`, 'version');
  for (const s of dimSymbols)
    if (!Number.isSafeInteger(program.maxDims[s]) || program.maxDims[s] < 1)
      fail(`Program "${program.name}": maxDims.${s} is ${program.maxDims[s]}.`, `maxDims.${s}`);
  if (!Number.isSafeInteger(program.arenaBytes) || program.arenaBytes < 0)
    fail(`Program "${program.name}": arenaBytes is ${program.arenaBytes}.`, 'arenaBytes');
  try {
    for (const t of program.tensors) checkTensor(program, t);
    program.ops.forEach((op, i) => checkOp(program, op, i));
    for (const [name, id] of Object.entries(program.outputs))
      if (program.tensors[id]?.kind !== 'value') fail(`Output "${name}" is no value tensor.`, name);
  } catch (e) {
    if (e instanceof GraphError && !(e instanceof ProgramError))
      throw new ProgramError(`Program "${program.name}": ${e.message}`, { ...e });
    throw e;
  }
  checkMemory(program);
}
