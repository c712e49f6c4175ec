import {
  dimSize,
  shapeSize,
  type DimSymbol,
  type Executable,
  type HostArray,
  type LaunchArgs,
  type Program,
  type ProgramTensor,
} from '@dsi/kernels';
import { ProgramError } from '../errors.js';
import { dimSymbols, formatShape, sameShape } from '../shape.js';
import { Call, type BoundTensor } from './call.js';
import type { ReferenceKv } from './kv.js';
import { referenceOps } from './ops.js';
import type { ReferenceWeights } from './weights.js';

type Dims = Readonly<Record<DimSymbol, number>>;

/** Runs a program op by op, in the arena at the offsets that its plan gives. */
export class ReferenceExecutable implements Executable {
  readonly #arena: ArrayBuffer;
  #running = false;
  #disposed = false;

  /** @throws ProgramError when a weight or KV tensor is missing or of another shape */
  constructor(
    readonly program: Program,
    readonly weights: ReferenceWeights,
    readonly kv: ReferenceKv,
    readonly options: { readonly poisonArena: boolean },
  ) {
    for (const t of program.tensors) this.#checkBinding(t);
    for (const op of program.ops) {
      const blockSize = op.attrs.blockSize;
      if (blockSize !== undefined && blockSize !== kv.blockSize)
        throw new ProgramError(`${op.op}: blockSize is ${String(blockSize)}, but the KV storage has ${kv.blockSize}.`, {
          op: op.op,
          operand: 'blockSize',
        });
    }
    this.#arena = new ArrayBuffer(program.arenaBytes);
  }

  async launch(args: LaunchArgs): Promise<Readonly<Record<string, HostArray>>> {
    if (this.#disposed) throw new ProgramError(`Program "${this.program.name}" is disposed.`);
    if (this.#running)
      throw new ProgramError(`Program "${this.program.name}" is still running: await a launch before the next.`);
    this.#running = true;
    try {
      await new Promise((resolve) => setImmediate(resolve));
      return this.#run(args);
    } finally {
      this.#running = false;
    }
  }

  dispose(): void {
    this.#disposed = true;
  }

  #run(args: LaunchArgs): Record<string, HostArray> {
    this.#checkDims(args.dims);
    const bound = this.program.tensors.map((t) => this.#bind(t, args));
    if (args.blockCopies !== undefined) this.kv.copyBlocks(args.blockCopies);
    if (this.options.poisonArena) new Uint32Array(this.#arena).fill(0x7fc00000);
    for (const op of this.program.ops) {
      const inputs = op.inputs.map((id) => (id < 0 ? undefined : bound[id]));
      referenceOps[op.op](
        new Call(
          op.op,
          inputs,
          op.outputs.map((id) => bound[id]!),
          op.attrs,
        ),
      );
    }
    return Object.fromEntries(
      Object.entries(this.program.outputs).map(([name, id]) => [name, bound[id]!.data.slice()]),
    );
  }

  #checkDims(dims: Dims): void {
    for (const s of dimSymbols) {
      const max = this.program.maxDims[s];
      if (!Number.isSafeInteger(dims[s]) || dims[s] < 0 || dims[s] > max)
        throw new ProgramError(`Program "${this.program.name}": ${s} must be in 0..${max}, but is ${dims[s]}.`, {
          operand: s,
          expected: `0..${max}`,
          actual: String(dims[s]),
        });
    }
  }

  #checkBinding(t: ProgramTensor): void {
    if (t.kind === 'weight') {
      const { shape } = this.weights.get(t.name);
      if (!sameShape(shape, t.shape))
        throw new ProgramError(`Weight "${t.name}" must be ${formatShape(t.shape)}, but is ${formatShape(shape)}.`, {
          operand: t.name,
          expected: formatShape(t.shape),
          actual: formatShape(shape),
        });
    }
    if (t.kind === 'kv') {
      const { spec } = this.kv.get(t.name);
      if (spec.width !== t.width || spec.dtype !== t.dtype)
        throw new ProgramError(
          `KV tensor "${t.name}" must be ${t.width} x ${t.dtype}, but is ${spec.width} x ${spec.dtype}.`,
          { operand: t.name, expected: `${t.width} x ${t.dtype}`, actual: `${spec.width} x ${spec.dtype}` },
        );
    }
  }

  #bind(t: ProgramTensor, args: LaunchArgs): BoundTensor {
    const { name } = t;
    switch (t.kind) {
      case 'weight':
        return { name, ...this.weights.get(name) };
      case 'kv': {
        const { data, round } = this.kv.get(name);
        return { name, data, round, shape: [data.length / t.width, t.width] };
      }
      case 'const':
        return { name, data: t.data, shape: t.shape as number[] };
      case 'input': {
        const data = Object.hasOwn(args.inputs, name) ? args.inputs[name] : undefined;
        return { name, data: checkInput(t, data, args.dims), shape: t.shape.map((d) => dimSize(d, args.dims)) };
      }
      case 'value': {
        const size = shapeSize(t.shape, args.dims);
        const data = new (t.dtype === 'f32' ? Float32Array : Int32Array)(this.#arena, t.offset, size);
        return { name, data, shape: t.shape.map((d) => dimSize(d, args.dims)) };
      }
    }
  }
}

function checkInput(t: ProgramTensor & { kind: 'input' }, data: HostArray | undefined, dims: Dims): HostArray {
  const size = t.shape.length === 0 ? undefined : shapeSize(t.shape, dims);
  const type = t.dtype === 'f32' ? Float32Array : Int32Array;
  if (!(data instanceof type) || (size !== undefined && data.length !== size)) {
    const expected = `${type.name}${size === undefined ? '' : ` of ${size} elements ${formatShape(t.shape)}`}`;
    const actual = data === undefined ? 'missing' : `${data.constructor.name} of ${data.length}`;
    throw new ProgramError(`Input "${t.name}" must be a ${expected}, but is ${actual}.`, {
      operand: t.name,
      expected,
      actual,
    });
  }
  return data;
}
