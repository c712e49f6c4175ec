import type { AttrValue, DimSymbol, Numerics, OpName, Shape } from '@dsi/kernels';

interface GraphTensorBase {
  /** Index in {@link Graph.tensors}. */
  readonly id: number;
  /** Unique in the graph. */
  readonly name: string;
  readonly shape: Shape;
}

/** Host data given at each launch. Shape `[]` means that its length is free (ragged). */
export interface GraphInput extends GraphTensorBase {
  readonly kind: 'input';
  readonly dtype: 'f32' | 'i32';
}

/** A checkpoint weight, found by name when the program is bound. */
export interface GraphWeight extends GraphTensorBase {
  readonly kind: 'weight';
}

/** Data that belongs to the graph itself. */
export interface GraphConst extends GraphTensorBase {
  readonly kind: 'const';
  readonly dtype: 'f32' | 'i32';
  readonly data: Float32Array | Int32Array;
}

/** A KV-cache tensor: rows of `width` elements, one a token slot. Shape is that of one row. */
export interface GraphKv extends GraphTensorBase {
  readonly kind: 'kv';
  readonly dtype: 'f32' | 'f16' | 'bf16';
  readonly width: number;
}

/** Result of a node, or (with `aliasOf`) the same bytes under another shape. */
export interface GraphValue extends GraphTensorBase {
  readonly kind: 'value';
  readonly dtype: 'f32' | 'i32';
  /** Id of the tensor whose memory this is; -1 for a tensor that a node writes. Aliases may chain. */
  readonly aliasOf: number;
}

export type GraphTensor = GraphInput | GraphWeight | GraphConst | GraphKv | GraphValue;

/** What an f32 operand may be. */
export type Activation = GraphValue | GraphInput | GraphConst;

/** One call of an op. Operand order is that of the op's declaration; an absent optional operand is -1. */
export interface GraphNode {
  /** Unique in the graph, for people: `layers.0.self_attn.q_proj`. */
  readonly name: string;
  readonly op: OpName;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly attrs: Readonly<Record<string, AttrValue>>;
}

/**
 * A model's step as data: nodes in an order that runs, every tensor written once (SSA). The order of `kv_write` and the
 * attention ops that read the same cache is meaning: passes keep it.
 */
export interface Graph {
  readonly name: string;
  readonly numerics: Numerics;
  readonly maxDims: Readonly<Record<DimSymbol, number>>;
  /** Token slots of a KV block. */
  readonly blockSize: number;
  readonly tensors: readonly GraphTensor[];
  readonly nodes: readonly GraphNode[];
  /** Output name -> tensor id. */
  readonly outputs: Readonly<Record<string, number>>;
}

/** The tensor that owns the memory of `id`: follows aliases to their root. */
export function rootOf(tensors: readonly GraphTensor[], id: number): number {
  let t = tensors[id];
  while (t !== undefined && t.kind === 'value' && t.aliasOf >= 0) t = tensors[t.aliasOf];
  return t === undefined ? id : t.id;
}
