import { dtypeBytes } from '../dtype.js';
import { shapeSize, type DimSymbol, type Program, type ProgramTensor } from '../program.js';
import type { OpName } from './names.js';

/** Least work of one op call: what a kernel that touches everything once would do. The base of roofline reports. */
export interface OpCost {
  /** Bytes read and written, weights and cache included. */
  readonly bytes: number;
  /** Floating-point operations, a multiply-add counted as two. */
  readonly flops: number;
}

/** The step whose cost is asked for. */
export interface CostStep {
  readonly dims: Readonly<Record<DimSymbol, number>>;
  /** (query row, visible key) pairs of the step, for attention: the sum over rows of min(position + 1, window). */
  readonly visiblePairs: number;
  /** Cache rows that some query of the step sees, summed over the sequences. */
  readonly cachedRows: number;
  /** Bytes of a weight as it is resident. Default: f32. */
  readonly weightBytes?: (name: string) => number | undefined;
}

type Rule = (c: CostCall) => OpCost;

class CostCall {
  constructor(
    readonly program: Program,
    readonly index: number,
    readonly step: CostStep,
  ) {}

  tensor(index: number, side: 'inputs' | 'outputs' = 'inputs'): ProgramTensor | undefined {
    return this.program.tensors[this.program.ops[this.index]?.[side][index] ?? -1];
  }

  size(tensor: ProgramTensor | undefined): number {
    return tensor ? shapeSize(tensor.shape, this.step.dims) : 0;
  }

  /** Size of one axis of an input. */
  axis(index: number, axis: number): number {
    const dim = this.tensor(index)?.shape.at(axis);
    return dim === undefined ? 0 : shapeSize([dim], this.step.dims);
  }

  /** Bytes of all operands but KV tensors. `fraction`: share of input `i` that is touched. */
  operandBytes(fraction: (input: number) => number = () => 1): number {
    const op = this.program.ops[this.index];
    let bytes = 0;
    op?.inputs.forEach((_, i) => (bytes += fraction(i) * this.#bytes(this.tensor(i))));
    op?.outputs.forEach((_, i) => (bytes += this.#bytes(this.tensor(i, 'outputs'))));
    return bytes;
  }

  #bytes(tensor: ProgramTensor | undefined): number {
    if (!tensor || tensor.kind === 'kv') return 0;
    if (tensor.kind === 'weight') return this.step.weightBytes?.(tensor.name) ?? 4 * this.size(tensor);
    return this.size(tensor) * dtypeBytes[tensor.dtype];
  }

  cacheRowBytes(index: number): number {
    const tensor = this.tensor(index);
    return tensor?.kind === 'kv' ? tensor.width * dtypeBytes[tensor.dtype] : 0;
  }
}

/** An op of `flops` operations an element of its first output. */
const perElement =
  (flops: number): Rule =>
  (c) => ({ bytes: c.operandBytes(), flops: flops * c.size(c.tensor(0, 'outputs')) });

const rules: Readonly<Record<OpName, Rule>> = {
  embedding: (c) => ({ bytes: c.operandBytes((i) => (i === 1 ? c.axis(0, 0) / c.axis(1, 0) : 1)), flops: 0 }),
  rms_norm: perElement(4),
  add_rms_norm: perElement(5),
  linear(c) {
    const n = ((c.program.ops[c.index]?.inputs.length ?? 1) - 1) / 2;
    const rows = c.size(c.tensor(0)) / c.axis(0, -1);
    let flops = 0;
    for (let i = 0; i < n; i++) flops += 2 * rows * c.size(c.tensor(1 + i));
    return { bytes: c.operandBytes(), flops };
  },
  head_linear: (c) => ({ bytes: c.operandBytes(), flops: 2 * c.axis(0, 0) * c.size(c.tensor(1)) }),
  rope: perElement(3),
  kv_write(c) {
    const tokens = c.axis(0, 0);
    return { bytes: c.operandBytes() + tokens * c.cacheRowBytes(1), flops: 0 };
  },
  attention(c) {
    const heads = c.axis(0, 1);
    const o = c.tensor(0, 'outputs')?.shape.at(-1);
    const widths = c.axis(0, -1) + (typeof o === 'number' ? o : 0);
    const cache = c.step.cachedRows * (c.cacheRowBytes(1) + c.cacheRowBytes(2));
    return { bytes: c.operandBytes() + cache, flops: 2 * heads * widths * c.step.visiblePairs };
  },
  mla_attention(c) {
    const widths = 2 * c.axis(0, -1) + c.axis(1, -1);
    const cache = c.step.cachedRows * c.cacheRowBytes(2);
    return { bytes: c.operandBytes() + cache, flops: 2 * c.axis(0, 1) * widths * c.step.visiblePairs };
  },
  silu_mul: perElement(5),
  add: perElement(1),
  sigmoid_mul: perElement(1),
  slice(c) {
    const length = c.tensor(0, 'outputs')?.shape.at(-1);
    const share = typeof length === 'number' ? length / c.axis(0, -1) : 1;
    return { bytes: c.operandBytes(() => share), flops: 0 };
  },
  gather_rows: (c) => ({
    bytes: c.operandBytes((i) => (i === 0 ? c.axis(1, 0) / Math.max(1, c.axis(0, 0)) : 1)),
    flops: 0,
  }),
  moe_route: (c) => ({ bytes: c.operandBytes(), flops: 5 * c.size(c.tensor(0)) }),
  moe_mlp(c) {
    const [tokens, k, experts] = [c.axis(1, 0), c.axis(1, 1), c.axis(3, 0)];
    // Experts that at least one token chose, were all equally likely.
    const touched = 1 - (1 - k / experts) ** tokens;
    const expert = (c.size(c.tensor(3)) + c.size(c.tensor(4)) + c.size(c.tensor(5))) / experts;
    return { bytes: c.operandBytes((i) => (i >= 3 ? touched : 1)), flops: 2 * tokens * k * expert };
  },
  sample: (c) => ({ bytes: c.operandBytes(), flops: 4 * c.size(c.tensor(0)) }),
};

/** Bytes and operations of op `index` of a program in one step. */
export function opCost(program: Program, index: number, step: CostStep): OpCost {
  const op = program.ops[index];
  if (!op) throw new RangeError(`program "${program.name}" has no op ${index}: it has ${program.ops.length}`);
  return rules[op.op](new CostCall(program, index, step));
}
