import type { DType } from './dtype.js';
import type { OpName } from './ops/names.js';

/**
 * Symbolic sizes of a step, bound at launch:
 * `T` tokens of this step (all sequences flattened), `S` sequences, `R` rows that need logits,
 * `B` block-table columns (blocks of the longest sequence, padded).
 */
export type DimSymbol = 'T' | 'S' | 'R' | 'B';

/** A size known when the program is built, or a symbol bound at launch, or a symbol plus a constant (`S+1`). */
export type Dim = number | DimSymbol | 'S+1';

/** Row-major, outermost axis first. */
export type Shape = readonly Dim[];

/**
 * `exact`: f32 activations, weights as their format dequantises, f32 KV.
 * `fast`: int8 or bf16 products, KV in the model's dtype. Norms, routers, softmax, RoPE, residual sums and logits are f32 in both.
 */
export type Numerics = 'exact' | 'fast';

/** Index of a tensor in {@link Program.tensors}. */
export type TensorId = number;

interface TensorBase {
  /** Unique in the program, for people: `layers.0.attn.q`. */
  readonly name: string;
  readonly shape: Shape;
}

/** Host data given at each launch. Its length is free where the shape is `[]`-ragged (see the op's declaration). */
export interface InputTensor extends TensorBase {
  readonly kind: 'input';
  readonly dtype: DType;
}

/** A weight, looked up by name in the {@link WeightSet} the program is compiled against. */
export interface WeightTensorRef extends TensorBase {
  readonly kind: 'weight';
}

/** Small constant data that belongs to the program itself (RoPE frequencies, folded constants). */
export interface ConstTensor extends TensorBase {
  readonly kind: 'const';
  readonly dtype: 'f32' | 'i32';
  readonly data: Float32Array | Int32Array;
}

/**
 * An activation. Lives in the arena at `offset` bytes (64-byte aligned), sized for the declared maxima of its symbols.
 * Two tensors may share an offset: aliases (reshapes) at the same time, others when their lifetimes do not overlap.
 */
export interface ValueTensor extends TensorBase {
  readonly kind: 'value';
  readonly dtype: 'f32' | 'i32';
  readonly offset: number;
}

/** One KV-cache tensor: `[slots, width]`, owned by a {@link KvStorage}, found by name. Token slot = block * blockSize + offset. */
export interface KvTensor extends TensorBase {
  readonly kind: 'kv';
  readonly dtype: 'f32' | 'f16' | 'bf16';
  /** Elements a token. */
  readonly width: number;
}

export type ProgramTensor = InputTensor | WeightTensorRef | ConstTensor | ValueTensor | KvTensor;

/** Attribute values of an op; each op's declaration names and types its own. */
export type AttrValue = number | string | boolean;

/** One call of an op. Operand order is that of the op's declaration; an absent optional operand is -1. */
export interface ProgramOp {
  readonly op: OpName;
  readonly inputs: readonly TensorId[];
  readonly outputs: readonly TensorId[];
  readonly attrs: Readonly<Record<string, AttrValue>>;
}

/** A flat list of ops that a backend runs in order, with its memory planned. Plain data: it can be posted to a worker or written as JSON. */
export interface Program {
  readonly version: 1;
  readonly name: string;
  readonly numerics: Numerics;
  /** Declared maximum of every symbol; a launch beyond it is refused. */
  readonly maxDims: Readonly<Record<DimSymbol, number>>;
  readonly tensors: readonly ProgramTensor[];
  readonly ops: readonly ProgramOp[];
  /** Bytes of the activation arena at the maxima. */
  readonly arenaBytes: number;
  /** Value tensors copied to the host after the last op, by output name. */
  readonly outputs: Readonly<Record<string, TensorId>>;
}

/** Value of a dim under a binding of the symbols. */
export function dimSize(dim: Dim, dims: Readonly<Record<DimSymbol, number>>): number {
  if (typeof dim === 'number') return dim;
  return dim === 'S+1' ? dims.S + 1 : dims[dim];
}

/** Product of a shape's sizes under a binding. */
export function shapeSize(shape: Shape, dims: Readonly<Record<DimSymbol, number>>): number {
  let n = 1;
  for (const d of shape) n *= dimSize(d, dims);
  return n;
}
