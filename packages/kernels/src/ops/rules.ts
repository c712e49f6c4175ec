import { ProgramError } from '../errors.js';
import type { AttrValue, Dim, Program, ProgramOp, ProgramTensor, Shape } from '../program.js';
import { sampleColumns } from '../sampling.js';
import type { OpName } from './names.js';

type OperandKind = 'f32' | 'i32' | 'weight' | 'kv';

/**
 * One op of a program under its rule. Letters of shape patterns are bound at their first match and must agree afterwards;
 * numbers and the step's symbols (`T`, `S+1`, ... given as `=T`) match only themselves.
 */
export class OpCall {
  readonly #letters = new Map<string, Dim>();

  constructor(
    readonly program: Program,
    readonly index: number,
    readonly op: ProgramOp,
  ) {}

  fail(operand: string, detail: string): never {
    throw new ProgramError(this.program.name, `op ${this.index} (${this.op.op})`, operand, detail);
  }

  counts(inputs: number, outputs: number): void {
    if (this.op.inputs.length !== inputs) this.fail('inputs', `there are ${this.op.inputs.length}, it takes ${inputs}`);
    if (this.op.outputs.length !== outputs) {
      this.fail('outputs', `there are ${this.op.outputs.length}, it gives ${outputs}`);
    }
  }

  has(index: number): boolean {
    return (this.op.inputs[index] ?? -1) !== -1;
  }

  input(index: number, operand: string, kind: OperandKind, pattern: readonly (string | number)[]): ProgramTensor {
    return this.#tensor(this.op.inputs[index], operand, kind, pattern);
  }

  output(index: number, operand: string, kind: 'f32' | 'i32', pattern: readonly (string | number)[]): void {
    const tensor = this.#tensor(this.op.outputs[index], operand, kind, pattern);
    if (tensor.kind !== 'value') this.fail(operand, `"${tensor.name}" is ${tensor.kind}, an output must be a value`);
  }

  /** A tensor's own shape as a pattern, for outputs of equal shape. */
  same(tensor: ProgramTensor, last?: number): readonly (string | number)[] {
    const dims = last === undefined ? tensor.shape : [...tensor.shape.slice(0, -1), last];
    return dims.map((dim) => (typeof dim === 'number' ? dim : `=${dim}`));
  }

  /** The bound size of a letter, which must be a number. */
  size(letter: string, operand: string): number {
    const dim = this.#letters.get(letter);
    if (typeof dim !== 'number') return this.fail(operand, `its axis ${letter} is ${String(dim)}, it must be a number`);
    return dim;
  }

  /** Last axis, a number. */
  last(tensor: ProgramTensor, operand: string): number {
    const dim = tensor.shape.at(-1);
    if (typeof dim !== 'number') {
      return this.fail(operand, `the last axis of ${show(tensor.shape)} ("${tensor.name}") must be a number`);
    }
    return dim;
  }

  number(attr: string, ok: (n: number) => boolean, expected: string): number {
    const value = this.#attr(attr);
    if (typeof value !== 'number' || !ok(value)) {
      return this.fail(`attribute ${attr}`, `it is ${String(value)}, it must be ${expected}`);
    }
    return value;
  }

  oneOf(attr: string, values: readonly string[]): void {
    const value = this.#attr(attr);
    if (typeof value !== 'string' || !values.includes(value)) {
      this.fail(`attribute ${attr}`, `it is ${String(value)}, it must be ${values.join(' or ')}`);
    }
  }

  boolean(attr: string, optional = false): void {
    const value = this.#attr(attr);
    if (typeof value !== 'boolean' && !(optional && value === undefined)) {
      this.fail(`attribute ${attr}`, `it is ${String(value)}, it must be true or false`);
    }
  }

  kv(index: number, operand: string, width: number): void {
    const tensor = this.input(index, operand, 'kv', ['slots', 'width']);
    if (tensor.kind === 'kv' && tensor.width !== width) {
      this.fail(operand, `"${tensor.name}" is ${tensor.width} elements wide, it must be ${width}`);
    }
  }

  #attr(name: string): AttrValue | undefined {
    return this.op.attrs[name];
  }

  #tensor(
    id: number | undefined,
    operand: string,
    kind: OperandKind,
    pattern: readonly (string | number)[],
  ): ProgramTensor {
    const tensor = id === undefined ? undefined : this.program.tensors[id];
    if (!tensor) return this.fail(operand, `there is no tensor ${String(id)} in the program`);
    const fits =
      kind === 'weight' || kind === 'kv'
        ? tensor.kind === kind
        : tensor.kind !== 'weight' && tensor.kind !== 'kv' && tensor.dtype === kind;
    if (!fits) this.fail(operand, `"${tensor.name}" is ${describe(tensor)}, it must be ${kind}`);
    if (kind !== 'kv') this.#match(operand, tensor, pattern);
    return tensor;
  }

  #match(operand: string, tensor: ProgramTensor, pattern: readonly (string | number)[]): void {
    const open = pattern[0] === '...';
    const axes = open ? pattern.slice(1) : pattern;
    const skip = tensor.shape.length - axes.length;
    let ok = open ? skip >= 0 : skip === 0;
    axes.forEach((axis, i) => {
      const dim = tensor.shape[skip + i];
      if (!ok || dim === undefined) return;
      if (typeof axis === 'number') ok = dim === axis;
      else if (axis.startsWith('=')) ok = dim === axis.slice(1);
      else if (this.#letters.has(axis)) ok = this.#letters.get(axis) === dim;
      else this.#letters.set(axis, dim);
    });
    if (!ok) {
      const bound = axes.filter((a): a is string => typeof a === 'string' && this.#letters.has(a));
      const where = bound.map((a) => `${a} = ${String(this.#letters.get(a))}`).join(', ');
      const expected = `[${pattern.map((a) => String(a).replace('=', '')).join(', ')}]${where && ` where ${where}`}`;
      this.fail(operand, `the shape of "${tensor.name}" is ${show(tensor.shape)}, it must be ${expected}`);
    }
  }
}

function show(shape: Shape): string {
  return `[${shape.join(', ')}]`;
}

function describe(tensor: ProgramTensor): string {
  return tensor.kind === 'weight' || tensor.kind === 'kv' ? tensor.kind : `${tensor.kind} ${tensor.dtype}`;
}

const positive = (n: number) => Number.isSafeInteger(n) && n > 0;
const natural = (n: number) => Number.isSafeInteger(n) && n >= 0;
const eps = (c: OpCall) => c.number('eps', (n) => n >= 0 && Number.isFinite(n), 'a finite number >= 0');
const scale = (c: OpCall) => c.number('scale', Number.isFinite, 'a finite number');

function elementwise(c: OpCall, a: string, b: string): void {
  c.counts(2, 1);
  const x = c.input(0, a, 'f32', ['...']);
  c.input(1, b, 'f32', c.same(x));
  c.output(0, 'y', 'f32', c.same(x));
}

function stepInputs(c: OpCall): void {
  c.input(3, 'positions', 'i32', ['=T']);
  c.input(4, 'seq_starts', 'i32', ['=S+1']);
  c.input(5, 'block_tables', 'i32', ['=S', '=B']);
  scale(c);
  c.number('blockSize', positive, 'a positive whole number');
}

const rules: Readonly<Record<OpName, (c: OpCall) => void>> = {
  embedding(c) {
    c.counts(2, 1);
    c.input(0, 'tokens', 'i32', ['T']);
    c.input(1, 'table', 'weight', ['V', 'D']);
    c.output(0, 'y', 'f32', ['T', 'D']);
  },
  rms_norm(c) {
    c.counts(2, 1);
    const x = c.input(0, 'x', 'f32', ['...', 'D']);
    c.input(1, 'weight', 'weight', [c.last(x, 'x')]);
    c.output(0, 'y', 'f32', c.same(x));
    eps(c);
  },
  add_rms_norm(c) {
    c.counts(3, 2);
    const x = c.input(0, 'x', 'f32', ['...', 'D']);
    c.input(1, 'residual', 'f32', c.same(x));
    c.input(2, 'weight', 'weight', [c.last(x, 'x')]);
    c.output(0, 'sum', 'f32', c.same(x));
    c.output(1, 'y', 'f32', c.same(x));
    eps(c);
  },
  linear(c) {
    const n = (c.op.inputs.length - 1) / 2;
    if (!positive(n))
      c.fail('inputs', `there are ${c.op.inputs.length}, it takes x, n weights and n biases (-1: none)`);
    c.counts(2 * n + 1, n);
    const x = c.input(0, 'x', 'f32', ['...', 'K']);
    c.last(x, 'x');
    for (let i = 0; i < n; i++) {
      c.input(1 + i, `weight ${i}`, 'weight', [`N${i}`, 'K']);
      const rows = c.size(`N${i}`, `weight ${i}`);
      if (c.has(1 + n + i)) c.input(1 + n + i, `bias ${i}`, 'weight', [rows]);
      c.output(i, `y ${i}`, 'f32', c.same(x, rows));
    }
    c.boolean('f32', true);
  },
  head_linear(c) {
    c.counts(2, 1);
    c.input(0, 'x', 'f32', ['T', 'H', 'K']);
    c.input(1, 'weight', 'weight', ['H', 'N', 'K']);
    c.output(0, 'y', 'f32', ['T', 'H', 'N']);
  },
  rope(c) {
    c.counts(3, 1);
    const x = c.input(0, 'x', 'f32', ['T', 'H', 'D']);
    c.input(1, 'positions', 'i32', ['T']);
    c.input(2, 'inv_freq', 'f32', ['n']);
    c.output(0, 'y', 'f32', c.same(x));
    c.size('H', 'x');
    const room = c.size('D', 'x') - 2 * c.size('n', 'inv_freq');
    c.oneOf('style', ['half', 'interleaved']);
    c.number('offset', (n) => natural(n) && n <= room, `a whole number in 0..${room} (D - 2n)`);
    scale(c);
  },
  kv_write(c) {
    if (c.op.inputs.length < 3) c.fail('inputs', `there are ${c.op.inputs.length}, it takes at least 3`);
    c.counts(c.op.inputs.length, 0);
    c.input(0, 'slots', 'i32', ['T']);
    let width = 0;
    for (let i = 2; i < c.op.inputs.length; i++) {
      width += c.last(c.input(i, `x ${i - 2}`, 'f32', ['T', `width${i}`]), `x ${i - 2}`);
    }
    c.kv(1, 'cache', width);
  },
  attention(c) {
    c.counts(6, 1);
    c.input(0, 'q', 'f32', ['=T', 'H', 'D']);
    const heads = c.size('H', 'q');
    const g = c.number('kvHeads', (n) => positive(n) && heads % n === 0, `a divisor of the ${heads} heads`);
    c.kv(1, 'k_cache', g * c.size('D', 'q'));
    c.output(0, 'o', 'f32', ['=T', 'H', 'Dv']);
    c.kv(2, 'v_cache', g * c.size('Dv', 'o'));
    c.number('window', natural, 'a whole number >= 0');
    stepInputs(c);
  },
  mla_attention(c) {
    c.counts(6, 1);
    c.input(0, 'q_latent', 'f32', ['=T', 'H', 'C']);
    c.input(1, 'q_rope', 'f32', ['=T', 'H', 'Dr']);
    c.size('H', 'q_latent');
    c.kv(2, 'cache', c.size('C', 'q_latent') + c.size('Dr', 'q_rope'));
    c.output(0, 'o', 'f32', ['=T', 'H', 'C']);
    stepInputs(c);
  },
  silu_mul: (c) => elementwise(c, 'gate', 'up'),
  add: (c) => elementwise(c, 'a', 'b'),
  sigmoid_mul(c) {
    c.counts(2, 1);
    c.last(c.input(0, 'x', 'f32', ['T', 'D']), 'x');
    c.input(1, 'gate', 'f32', ['T', 1]);
    c.output(0, 'y', 'f32', ['T', 'D']);
  },
  slice(c) {
    c.counts(1, 1);
    const x = c.input(0, 'x', 'f32', ['...', 'D']);
    const d = c.last(x, 'x');
    const start = c.number('start', (n) => natural(n) && n < d, `a whole number in 0..${d - 1}`);
    const length = c.number('length', (n) => positive(n) && start + n <= d, `a whole number in 1..${d - start}`);
    c.output(0, 'y', 'f32', c.same(x, length));
  },
  gather_rows(c) {
    c.counts(2, 1);
    c.last(c.input(0, 'x', 'f32', ['T', 'D']), 'x');
    c.input(1, 'rows', 'i32', ['R']);
    c.output(0, 'y', 'f32', ['R', 'D']);
  },
  moe_route(c) {
    c.counts(2, 2);
    const e = c.last(c.input(0, 'logits', 'f32', ['T', 'E']), 'logits');
    if (c.has(1)) c.input(1, 'bias', 'weight', [e]);
    const groups = c.number('nGroup', (n) => positive(n) && e % n === 0, `a divisor of the ${e} experts`);
    const kept = c.number('topkGroup', (n) => positive(n) && n <= groups, `a whole number in 1..${groups}`);
    const most = (e / groups) * kept;
    const k = c.number('topK', (n) => positive(n) && n <= most, `a whole number in 1..${most}`);
    c.oneOf('scoring', ['softmax', 'sigmoid']);
    c.oneOf('groupScore', ['max', 'top2sum']);
    c.boolean('normalize');
    scale(c);
    c.output(0, 'ids', 'i32', ['T', k]);
    c.output(1, 'weights', 'f32', ['T', k]);
  },
  moe_mlp(c) {
    c.counts(6, 1);
    c.input(0, 'x', 'f32', ['T', 'D']);
    c.input(1, 'ids', 'i32', ['T', 'k']);
    c.size('k', 'ids');
    c.input(2, 'weights', 'f32', ['T', 'k']);
    c.input(3, 'gate', 'weight', ['E', 'I', 'D']);
    c.input(4, 'up', 'weight', ['E', 'I', 'D']);
    c.input(5, 'down', 'weight', ['E', 'D', 'I']);
    c.output(0, 'y', 'f32', ['T', 'D']);
  },
  sample(c) {
    c.counts(9, 5);
    const v = c.last(c.input(0, 'logits', 'f32', ['=R', 'V']), 'logits');
    c.input(1, 'params_f32', 'f32', ['=R', sampleColumns]);
    c.input(2, 'params_i32', 'i32', ['=R', sampleColumns]);
    const lists = ['penalty_starts', 'penalty_ids', 'penalty_counts', 'bias_starts', 'bias_ids', 'bias_values'];
    lists.forEach((name, i) => {
      const list = c.input(3 + i, name, name === 'bias_values' ? 'f32' : 'i32', []);
      if (list.kind !== 'input') c.fail(name, `"${list.name}" is ${list.kind}, a list of free length must be an input`);
    });
    const l = c.number('topLogprobs', (n) => positive(n) && n <= v, `a whole number in 1..${v}`);
    c.output(0, 'tokens', 'i32', ['=R']);
    c.output(1, 'status', 'i32', ['=R']);
    c.output(2, 'logprobs', 'f32', ['=R']);
    c.output(3, 'top_ids', 'i32', ['=R', l]);
    c.output(4, 'top_logprobs', 'f32', ['=R', l]);
  },
};

/** Checks op `index` of a program: operand counts, kinds, dtypes, shapes, attributes. Throws ProgramError. */
export function checkOp(program: Program, index: number): void {
  const op = program.ops[index];
  if (!op) throw new ProgramError(program.name, `op ${index}`, '', 'it does not exist');
  const call = new OpCall(program, index, op);
  const rule = Object.hasOwn(rules, op.op) ? rules[op.op] : undefined;
  if (!rule) call.fail('', `this op is unknown; known are ${Object.keys(rules).join(', ')}`);
  else rule(call);
}
