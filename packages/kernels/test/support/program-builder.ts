import {
  dtypeBytes,
  shapeSize,
  type AttrValue,
  type DimSymbol,
  type Numerics,
  type OpName,
  type Program,
  type ProgramOp,
  type ProgramTensor,
  type Shape,
} from '../../src/index.js';

/** Writes small programs for tests: every value gets memory of its own. */
export class ProgramBuilder {
  readonly #tensors: ProgramTensor[] = [];
  readonly #ops: ProgramOp[] = [];
  readonly #outputs: Record<string, number> = {};
  #arena = 0;

  constructor(
    readonly maxDims: Record<DimSymbol, number> = { T: 64, S: 16, R: 16, B: 64 },
    readonly numerics: Numerics = 'exact',
  ) {}

  #add(tensor: ProgramTensor): number {
    return this.#tensors.push(tensor) - 1;
  }

  input(name: string, dtype: 'f32' | 'i32', shape: Shape): number {
    return this.#add({ kind: 'input', name, dtype, shape });
  }

  weight(name: string, shape: readonly number[]): number {
    return this.#add({ kind: 'weight', name, shape });
  }

  constant(name: string, data: Float32Array | Int32Array, shape: readonly number[] = [data.length]): number {
    return this.#add({ kind: 'const', name, dtype: data instanceof Float32Array ? 'f32' : 'i32', shape, data });
  }

  kv(name: string, width: number, dtype: 'f32' | 'f16' | 'bf16'): number {
    return this.#add({ kind: 'kv', name, dtype, width, shape: [] });
  }

  value(name: string, shape: Shape, dtype: 'f32' | 'i32' = 'f32'): number {
    const offset = this.#arena;
    this.#arena += Math.ceil((shapeSize(shape, this.maxDims) * dtypeBytes[dtype]) / 64) * 64;
    return this.#add({ kind: 'value', name, dtype, shape, offset });
  }

  /** Another view of a value's memory. */
  alias(name: string, of: number, shape: Shape): number {
    const tensor = this.#tensors[of];
    if (tensor?.kind !== 'value') throw new Error('only values have aliases');
    return this.#add({ ...tensor, name, shape });
  }

  op(op: OpName, inputs: number[], outputs: number[], attrs: Record<string, AttrValue> = {}): this {
    this.#ops.push({ op, inputs, outputs, attrs });
    return this;
  }

  output(name: string, id: number): this {
    this.#outputs[name] = id;
    return this;
  }

  build(): Program {
    return {
      version: 1,
      name: 'test',
      numerics: this.numerics,
      maxDims: this.maxDims,
      tensors: this.#tensors,
      ops: this.#ops,
      arenaBytes: this.#arena,
      outputs: this.#outputs,
    };
  }
}
