import type { DType } from './dtype.js';
import type { DimSymbol, Numerics, Program } from './program.js';
import type { WeightTensor } from './weights.js';

/** Arrays a launch takes and gives. */
export type HostArray = Float32Array | Int32Array;

export interface LoadProgress {
  readonly loadedBytes: number;
  readonly totalBytes: number;
  /** The weight just finished. */
  readonly name: string;
}

export interface LoadOptions {
  readonly numerics: Numerics;
  readonly onProgress?: (progress: LoadProgress) => void;
  readonly signal?: AbortSignal;
}

/** How ops use a weight; decides its packed layout. A tied embedding has both. Derived by `weightUses(programs)`. */
export type WeightUse = 'embedding' | 'linear' | 'linear_f32' | 'head_linear' | 'experts' | 'vector';

/** Weights in a backend's own layout. Owned by the caller: dispose() frees them; using them afterwards throws. */
export interface WeightSet {
  readonly names: ReadonlySet<string>;
  /** Bytes resident for these weights. */
  readonly bytes: number;
  dispose(): void;
}

export interface KvTensorSpec {
  readonly name: string;
  /** Elements a token. */
  readonly width: number;
  readonly dtype: Extract<DType, 'f32' | 'f16' | 'bf16'>;
}

/** KV tensors of `numBlocks * blockSize` slots each, zero-filled. Owned by the caller. */
export interface KvStorage {
  readonly specs: readonly KvTensorSpec[];
  readonly numBlocks: number;
  readonly blockSize: number;
  readonly bytes: number;
  dispose(): void;
}

export interface LaunchArgs {
  readonly dims: Readonly<Record<DimSymbol, number>>;
  /** Every input of the program by name. Arrays are read until the promise settles: do not write to them before. */
  readonly inputs: Readonly<Record<string, HostArray>>;
  /** Block copies over all KV tensors, done before the first op: [src0, dst0, src1, dst1, ...] block numbers. */
  readonly blockCopies?: Int32Array;
  /** Asks for the times of this launch; called before the promise resolves. Costs two clock readings an op. */
  readonly onProfile?: (profile: LaunchProfile) => void;
}

/** Where a launch's time went, in nanoseconds. */
export interface LaunchProfile {
  /** One an op, in the program's order. */
  readonly ops: Float64Array;
  readonly blockCopies: number;
}

/** A program bound to weights and KV, ready to run. One launch at a time; a second one before the first settles is refused. */
export interface Executable {
  readonly program: Program;
  /** One call runs the whole step off the calling thread. Output arrays are fresh copies of exactly the bound size. */
  launch(args: LaunchArgs): Promise<Readonly<Record<string, HostArray>>>;
  dispose(): void;
}

/** Runs programs. `reference` (in @dsi/graph) is the oracle; `cpu` is native. */
export interface Backend {
  readonly name: string;
  /** For people and logs: `avx512 (vnni, bf16), 2 threads`. */
  readonly description: string;
  loadWeights(
    weights: readonly WeightTensor[],
    uses: ReadonlyMap<string, ReadonlySet<WeightUse>>,
    options: LoadOptions,
  ): Promise<WeightSet>;
  createKv(specs: readonly KvTensorSpec[], numBlocks: number, blockSize: number): KvStorage;
  /** Checks the program against its weights and KV; throws ProgramError naming op, operand, shape. */
  compile(program: Program, weights: WeightSet, kv: KvStorage): Executable;
  dispose(): void;
}
