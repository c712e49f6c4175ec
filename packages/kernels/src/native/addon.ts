/** The addon's exports, typed by hand to match native/addon/wraps.h. */
export interface NativeAddon {
  bestIsa(): string;
  /** Native bytes that the garbage collector knows of. */
  externalBytes(): number;
  readonly NativeBackend: new (threads: number, isa: string) => NativeBackend;
  readonly NativeWeights: new (backend: NativeBackend, fast: boolean) => NativeWeights;
  readonly NativeKv: new (
    backend: NativeBackend,
    names: readonly string[],
    widths: Int32Array,
    dtypes: Int32Array,
    blocks: number,
    blockSize: number,
  ) => NativeKv;
  readonly NativeExecutable: new (
    backend: NativeBackend,
    program: LoweredProgram,
    weights: NativeWeights,
    kv: NativeKv,
  ) => NativeExecutable;
}

export interface NativeBackend {
  isa(): string;
  threads(): number;
  /** Ends the step thread. What is in flight is rejected. */
  dispose(): void;
}

export interface NativeWeights {
  /** Resolves to the bytes now resident for this weight. */
  pack(weight: LoweredWeight): Promise<number>;
  /** Unmaps the files. */
  endLoad(): void;
  dispose(): void;
}

export interface NativeKv {
  dispose(): void;
}

export interface NativeExecutable {
  /** Resolves to the outputs, and with `profile` nanoseconds: one an op, then those of the block copies. */
  launch(
    dims: Float64Array,
    inputs: readonly (Float32Array | Int32Array)[],
    blockCopies: Int32Array | undefined,
    profile: boolean,
  ): Promise<[outputs: (Float32Array | Int32Array)[], profile: Float64Array | undefined]>;
  dispose(): void;
}

/** A program as numbers; lower.ts makes it, native/addon/parse.cc reads it. */
export interface LoweredProgram {
  readonly name: string;
  readonly fast: boolean;
  readonly arenaBytes: number;
  /** T, S, R, B. */
  readonly maxDims: Float64Array;
  /** 9 columns a tensor: kind, is i32, rank, 4 sizes, index among its kind, ragged. */
  readonly tensors: Int32Array;
  /** Bytes into the arena, one a tensor. */
  readonly offsets: Float64Array;
  readonly names: readonly string[];
  readonly consts: readonly (Float32Array | Int32Array)[];
  /** op, counts of inputs, outputs and attributes, then the ids; one op behind the other. */
  readonly ops: Int32Array;
  readonly attrs: Float64Array;
  readonly inputs: Int32Array;
  readonly outputs: Int32Array;
}

export type LoweredBytes = Uint8Array | { readonly file: string; readonly offset: number; readonly byteLength: number };

/** A weight as numbers; absent parts are empty lists and zeros. */
export interface LoweredWeight {
  readonly name: string;
  readonly format: number;
  readonly groups: number;
  readonly rows: number;
  readonly cols: number;
  /** Bit i: use number i. */
  readonly uses: number;
  readonly data: readonly LoweredBytes[];
  readonly blockScales: readonly LoweredBytes[];
  readonly blockRows: number;
  readonly blockCols: number;
  readonly scales: readonly LoweredBytes[];
  readonly zeros: readonly LoweredBytes[];
  readonly groupSize: number;
  readonly perm: Int32Array | undefined;
}
