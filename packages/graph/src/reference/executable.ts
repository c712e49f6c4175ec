import {
  DisposedError,
  LaunchError,
  type Executable,
  type HostArray,
  type LaunchArgs,
  type Program,
} from '@dsi/kernels';
import { dimSymbols } from '../shape.js';
import { bindTensor, checkBinding } from './binding.js';
import { Call } from './call.js';
import type { ReferenceKv } from './kv.js';
import { referenceOps } from './ops.js';
import type { ReferenceWeights } from './weights.js';

const nanoseconds = () => performance.now() * 1e6;

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
    checkBinding(program, weights, kv);
    this.#arena = new ArrayBuffer(program.arenaBytes);
  }

  async launch(args: LaunchArgs): Promise<Readonly<Record<string, HostArray>>> {
    if (this.#disposed) throw new DisposedError('the Executable');
    if (this.#running) this.#fail('the one before is still running: await it first');
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
    const { program, kv, weights } = this;
    this.#checkArgs(args);
    const bound = program.tensors.map((t) => bindTensor(program, t, args, this.#arena, weights, kv));
    const begin = nanoseconds();
    if (args.blockCopies !== undefined) kv.copyBlocks(args.blockCopies);
    const blockCopies = nanoseconds() - begin;
    if (this.options.poisonArena) new Uint32Array(this.#arena).fill(0x7fc00000);
    const ops = new Float64Array(program.ops.length);
    program.ops.forEach((op, i) => {
      const start = nanoseconds();
      const inputs = op.inputs.map((id) => (id < 0 ? undefined : bound[id]));
      const outputs = op.outputs.map((id) => bound[id]!);
      referenceOps[op.op](new Call(program.name, op.op, inputs, outputs, op.attrs));
      ops[i] = nanoseconds() - start;
    });
    args.onProfile?.({ ops, blockCopies });
    return Object.fromEntries(Object.entries(program.outputs).map(([name, id]) => [name, bound[id]!.data.slice()]));
  }

  #checkArgs({ dims, blockCopies = new Int32Array(0) }: LaunchArgs): void {
    for (const s of dimSymbols) {
      const max = this.program.maxDims[s];
      if (!Number.isSafeInteger(dims[s]) || dims[s] < 0 || dims[s] > max)
        this.#fail(`dims.${s} must be in 0..${max}, but is ${dims[s]}`);
    }
    if (blockCopies.length % 2 !== 0) this.#fail(`blockCopies must hold pairs, but has ${blockCopies.length} numbers`);
    blockCopies.forEach((b, i) => {
      if (b < 0 || b >= this.kv.numBlocks)
        this.#fail(`blockCopies[${i}] must be in 0..${this.kv.numBlocks - 1}, but is ${b}`);
    });
  }

  #fail(detail: string): never {
    throw new LaunchError(this.program.name, detail);
  }
}
