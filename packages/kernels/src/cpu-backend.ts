import type { Backend, Executable, KvStorage, KvTensorSpec, LoadOptions, WeightSet, WeightUse } from './backend.js';
import { CpuExecutable } from './cpu/executable.js';
import { CpuKvStorage } from './cpu/kv-storage.js';
import { CpuWeightSet, loadWeightSet } from './cpu/weight-set.js';
import { DisposedError } from './errors.js';
import type { NativeAddon, NativeBackend } from './native/addon.js';
import { translateNativeError } from './native/errors.js';
import { loadNative } from './native/loader.js';
import type { Program } from './program.js';
import { availableCores } from './threads.js';
import type { WeightTensor } from './weights.js';

/** Instruction sets of the CPU kernels. */
export type Isa = 'generic' | 'avx2' | 'avx512';

export interface CpuBackendOptions {
  /** Threads that compute, the step thread included. Default: the cores that the process may use ({@link availableCores}). */
  readonly threads?: number;
  /** Default: the best that the machine offers. One for the whole process: backends alive at the same time must agree. */
  readonly isa?: Isa;
}

/** The native backend, with what it was given. */
export interface CpuBackend extends Backend {
  readonly isa: Isa;
  readonly threads: number;
}

const isaDescriptions: Readonly<Record<Isa, string>> = {
  generic: 'generic',
  avx2: 'avx2',
  avx512: 'avx512 (vnni, bf16)',
};
const maxThreads = 1024;

class NativeCpuBackend implements CpuBackend {
  readonly name = 'cpu';
  readonly isa: Isa;
  readonly threads: number;
  readonly #addon: NativeAddon;
  readonly #native: NativeBackend;
  #disposed = false;

  constructor(addon: NativeAddon, native: NativeBackend) {
    this.#addon = addon;
    this.#native = native;
    this.isa = native.isa() as Isa;
    this.threads = native.threads();
  }

  get description(): string {
    return `${isaDescriptions[this.isa]}, ${this.threads} ${this.threads === 1 ? 'thread' : 'threads'}`;
  }

  async loadWeights(
    weights: readonly WeightTensor[],
    uses: ReadonlyMap<string, ReadonlySet<WeightUse>>,
    options: LoadOptions,
  ): Promise<WeightSet> {
    return await loadWeightSet(this.#addon, this.#alive(), weights, uses, options);
  }

  createKv(specs: readonly KvTensorSpec[], numBlocks: number, blockSize: number): KvStorage {
    return new CpuKvStorage(this.#addon, this.#alive(), specs, numBlocks, blockSize);
  }

  compile(program: Program, weights: WeightSet, kv: KvStorage): Executable {
    if (!(weights instanceof CpuWeightSet)) throw new TypeError('compile: the weights come from another backend');
    if (!(kv instanceof CpuKvStorage)) throw new TypeError('compile: the KV storage comes from another backend');
    return new CpuExecutable(this.#addon, this.#alive(), program, weights, kv);
  }

  dispose(): void {
    this.#disposed = true;
    this.#native.dispose();
  }

  #alive(): NativeBackend {
    if (this.#disposed) throw new DisposedError('the Backend');
    return this.#native;
  }
}

/**
 * Starts a native CPU backend: a step thread and `threads - 1` helpers.
 *
 * @throws NativeUnavailableError when no native build loads here; RangeError for options that this machine or process cannot honour
 */
export function createCpuBackend(options: CpuBackendOptions = {}): CpuBackend {
  const threads = options.threads ?? availableCores();
  if (!Number.isSafeInteger(threads) || threads < 1 || threads > maxThreads) {
    throw new RangeError(`createCpuBackend: threads is ${threads}, it must be a whole number in 1..${maxThreads}`);
  }
  const addon = loadNative();
  try {
    return new NativeCpuBackend(addon, new addon.NativeBackend(threads, options.isa ?? ''));
  } catch (error) {
    throw translateNativeError(error, { create: 'createCpuBackend' });
  }
}
