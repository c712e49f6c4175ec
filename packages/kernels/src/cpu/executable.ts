import type { Executable, HostArray, LaunchArgs } from '../backend.js';
import { LaunchError, ProgramError } from '../errors.js';
import type { NativeAddon, NativeBackend, NativeExecutable } from '../native/addon.js';
import { translateNativeError } from '../native/errors.js';
import { lowerProgram } from '../native/lower.js';
import { checkProgram } from '../ops/check-program.js';
import type { InputTensor, Program } from '../program.js';
import type { CpuKvStorage } from './kv-storage.js';
import type { CpuWeightSet } from './weight-set.js';

/** A program on the native executor. */
export class CpuExecutable implements Executable {
  readonly #native: NativeExecutable;
  readonly #inputs: readonly InputTensor[];
  readonly #outputs: readonly string[];

  /** @internal */
  constructor(
    addon: NativeAddon,
    backend: NativeBackend,
    readonly program: Program,
    weights: CpuWeightSet,
    kv: CpuKvStorage,
  ) {
    checkProgram(program);
    checkBinding(program, weights, kv);
    this.#inputs = program.tensors.filter((tensor) => tensor.kind === 'input');
    this.#outputs = Object.keys(program.outputs);
    try {
      this.#native = new addon.NativeExecutable(backend, lowerProgram(program, kv.index), weights.native, kv.native);
    } catch (error) {
      throw translateNativeError(error, { compile: program.name });
    }
  }

  async launch(args: LaunchArgs): Promise<Readonly<Record<string, HostArray>>> {
    const { T, S, R, B } = args.dims;
    for (const [symbol, size] of Object.entries({ T, S, R, B })) {
      if (!Number.isSafeInteger(size)) this.#fail(`dims.${symbol} is ${size}: it must be a whole number`);
    }
    const arrays = this.#inputs.map((tensor) => this.#input(tensor, args.inputs));
    if (args.blockCopies && !(args.blockCopies instanceof Int32Array)) this.#fail('blockCopies must be an Int32Array');
    try {
      const dims = Float64Array.of(T, S, R, B);
      const profiled = args.onProfile !== undefined;
      const [outputs, times] = await this.#native.launch(dims, arrays, args.blockCopies, profiled);
      if (times) args.onProfile?.({ ops: times.slice(0, -1), blockCopies: times.at(-1) ?? 0 });
      return Object.fromEntries(outputs.map((array, i) => [this.#outputs[i] ?? '', array]));
    } catch (error) {
      throw translateNativeError(error, { launch: this.program.name });
    }
  }

  #input(tensor: InputTensor, inputs: LaunchArgs['inputs']): HostArray {
    const array = Object.hasOwn(inputs, tensor.name) ? inputs[tensor.name] : undefined;
    if (!array) return this.#fail(`the input "${tensor.name}" is missing`);
    const wanted = tensor.dtype === 'f32' ? Float32Array : Int32Array;
    if (!(array instanceof wanted)) return this.#fail(`the input "${tensor.name}" must be a ${wanted.name}`);
    return array;
  }

  #fail(detail: string): never {
    throw new LaunchError(this.program.name, detail);
  }

  dispose(): void {
    this.#native.dispose();
  }
}

/** What the program expects of its weights and its KV tensors is there, in that shape. */
function checkBinding(program: Program, weights: CpuWeightSet, kv: CpuKvStorage): void {
  const fail = (where: string, detail: string): never => {
    throw new ProgramError(program.name, where, '', detail);
  };
  if (program.numerics !== weights.numerics) {
    fail('numerics', `it is ${program.numerics} and the weights were loaded as ${weights.numerics}`);
  }
  program.tensors.forEach((tensor, id) => {
    if (tensor.kind === 'weight') {
      const shape = weights.shapes.get(tensor.name);
      if (!shape) return fail(`tensor ${id}`, `the weight "${tensor.name}" was not loaded`);
      if (!sameShape(tensor.shape, shape)) {
        fail(`tensor ${id}`, `the weight "${tensor.name}" is [${shape.join(', ')}], not [${tensor.shape.join(', ')}]`);
      }
    } else if (tensor.kind === 'kv') {
      const spec = kv.specs[kv.index.get(tensor.name) ?? -1];
      if (!spec) return fail(`tensor ${id}`, `the KV storage has no tensor "${tensor.name}"`);
      if (spec.width !== tensor.width || spec.dtype !== tensor.dtype) {
        const found = `${spec.width} x ${spec.dtype}`;
        fail(`tensor ${id}`, `the KV tensor "${tensor.name}" is ${found}, not ${tensor.width} x ${tensor.dtype}`);
      }
    }
    return undefined;
  });
  program.ops.forEach((op, index) => {
    const blockSize = op.attrs['blockSize'];
    if (blockSize !== undefined && blockSize !== kv.blockSize) {
      fail(`op ${index} (${op.op})`, `its blockSize is ${String(blockSize)}, that of the KV storage ${kv.blockSize}`);
    }
  });
}

function sameShape(a: readonly unknown[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, i) => size === b[i]);
}
