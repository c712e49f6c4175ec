import { LaunchError, type AttrValue, type OpName } from '@dsi/kernels';

/** A tensor of a launch: its elements, row-major and compact, under sizes that are all known. */
export interface BoundTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array;
  /** For KV tensors: rounds a number to the cache's dtype. */
  readonly round?: (x: number) => number;
}

/** One op call with everything bound. Outputs do not overlap inputs. */
export class Call {
  constructor(
    /** For messages. */
    readonly program: string,
    readonly name: OpName,
    readonly inputs: readonly (BoundTensor | undefined)[],
    readonly outputs: readonly BoundTensor[],
    readonly attrs: Readonly<Record<string, AttrValue>>,
  ) {}

  in(i: number): BoundTensor {
    return this.inputs[i]!;
  }

  f32(i: number): Float32Array {
    return this.inputs[i]!.data as Float32Array;
  }

  i32(i: number): Int32Array {
    return this.inputs[i]!.data as Int32Array;
  }

  outF32(i: number): Float32Array {
    return this.outputs[i]!.data as Float32Array;
  }

  outI32(i: number): Int32Array {
    return this.outputs[i]!.data as Int32Array;
  }

  num(attr: string): number {
    return this.attrs[attr] as number;
  }

  /** `ids[i]` when it is in 0..limit-1. @throws LaunchError naming op, operand, index, value and limit */
  index(operand: string, ids: Int32Array, i: number, limit: number): number {
    const id = ids[i]!;
    if (id < 0 || id >= limit) this.fail(`${operand}[${i}]`, `in 0..${limit - 1}`, String(id));
    return id;
  }

  fail(operand: string, expected: string, actual: string): never {
    throw new LaunchError(this.program, `${this.name}: ${operand} must be ${expected}, but is ${actual}`);
  }
}

/** Rows of a [..., width] tensor. */
export function rowsOf(t: BoundTensor): number {
  return t.data.length / t.shape.at(-1)!;
}
