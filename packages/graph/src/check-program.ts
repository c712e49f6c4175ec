import { checkProgram as checkOps, dimSize, dtypeBytes, ProgramError, type Program, type Shape } from '@dsi/kernels';

/** Bytes of a value tensor at the program's maxima. */
export function maxBytes(shape: Shape, dtype: 'f32' | 'i32', maxDims: Program['maxDims']): number {
  return shape.reduce<number>((n, d) => n * dimSize(d, maxDims), dtypeBytes[dtype]);
}

/** A stretch of the arena: bytes [begin, end). */
interface Span {
  readonly begin: number;
  readonly end: number;
}

function spanOf(program: Program, id: number): Span | undefined {
  const t = program.tensors[id];
  if (t?.kind !== 'value') return undefined;
  return { begin: t.offset, end: t.offset + maxBytes(t.shape, t.dtype, program.maxDims) };
}

const overlap = (a: Span, b: Span) => a.begin < b.end && b.begin < a.end;

/**
 * Walks the ops in order with what the arena holds: what an op reads must be exactly what was last written there, whole, and an
 * op's outputs must not overlap its inputs or one another.
 */
function checkMemory(program: Program): void {
  const held = new Map<number, Span>();
  const read = (id: number, where: string): void => {
    const span = spanOf(program, id);
    if (span === undefined || held.get(span.begin)?.end === span.end) return;
    const { name } = program.tensors[id]!;
    throw new ProgramError(program.name, where, name, 'it is read, but was not written before or has been overwritten');
  };
  program.ops.forEach((op, index) => {
    const where = `op ${index} (${op.op})`;
    for (const id of op.inputs) read(id, where);
    const taken = op.inputs.map((id) => spanOf(program, id)).filter((s) => s !== undefined);
    for (const id of op.outputs) {
      const span = spanOf(program, id)!;
      if (taken.some((s) => overlap(s, span)))
        throw new ProgramError(program.name, where, program.tensors[id]!.name, 'it would overwrite another operand');
      taken.push(span);
    }
    for (const id of op.outputs) {
      const span = spanOf(program, id)!;
      for (const [begin, s] of held) if (overlap(s, span)) held.delete(begin);
      held.set(span.begin, span);
    }
  });
  for (const [name, id] of Object.entries(program.outputs)) read(id, `output "${name}"`);
}

/**
 * Checks a program whole: what {@link checkOps} of @dsi/kernels checks (tensors, every op under its declaration, outputs), and that
 * its memory plan holds (nothing is read that was not written or has been overwritten).
 *
 * @throws ProgramError naming op, operand and finding
 */
export function checkProgram(program: Program): void {
  checkOps(program);
  checkMemory(program);
}
