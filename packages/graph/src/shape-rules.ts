import { opDeclarations, sampleColumns, type AttrValue, type Dim, type OpName, type Shape } from '@dsi/kernels';
import { operandError } from './errors.js';
import { formatShape, sameShape } from './shape.js';

/** What a shape rule needs to know of a tensor; graph and program tensors both satisfy it. */
export interface OperandInfo {
  readonly name: string;
  readonly kind: 'input' | 'weight' | 'const' | 'value' | 'kv';
  readonly shape: Shape;
  readonly dtype?: string;
  readonly width?: number;
}

export interface OutputSpec {
  readonly dtype: 'f32' | 'i32';
  readonly shape: Shape;
}

type Attrs = Readonly<Record<string, AttrValue>>;

/** Reads operands and attributes of one call, and fails with its names. */
class Call {
  constructor(
    readonly node: string,
    readonly op: OpName,
    readonly inputs: readonly (OperandInfo | undefined)[],
    readonly attrs: Attrs,
  ) {}

  fail(operand: string, expected: string, actual: string): never {
    throw operandError(this.node, this.op, operand, expected, actual);
  }

  /** Operand `index`, of the declared kind. */
  at(index: number, operand: string, kind: 'f32' | 'i32' | 'weight' | 'kv'): OperandInfo {
    const t = this.inputs[index];
    if (t === undefined) return this.fail(operand, `${article(kind)} tensor`, 'missing');
    const ok =
      kind === 'weight' || kind === 'kv' ? t.kind === kind : t.kind !== 'weight' && t.kind !== 'kv' && t.dtype === kind;
    if (!ok) this.fail(operand, `${article(kind)} tensor`, `${t.kind} ${t.dtype ?? ''}`.trim() + ` "${t.name}"`);
    return t;
  }

  shape(operand: string, t: OperandInfo, expected: Shape): void {
    if (!sameShape(t.shape, expected))
      this.fail(operand, formatShape(expected), `${formatShape(t.shape)} ("${t.name}")`);
  }

  rank(operand: string, t: OperandInfo, rank: number, letters: string): void {
    if (t.shape.length !== rank) this.fail(operand, letters, `${formatShape(t.shape)} ("${t.name}")`);
  }

  /** The last axis of an activation, which must be a number. */
  last(operand: string, t: OperandInfo): number {
    const d = t.shape.at(-1);
    if (typeof d !== 'number') return this.fail(operand, '[..., a number]', `${formatShape(t.shape)} ("${t.name}")`);
    return d;
  }

  width(operand: string, t: OperandInfo, expected: number): void {
    if (t.width !== expected) this.fail(operand, `${expected} elements a token`, `${t.width} ("${t.name}")`);
  }

  number(attr: string, rule: (n: number) => boolean, expected: string): number {
    const v = this.attrs[attr];
    if (typeof v !== 'number' || !rule(v)) return this.fail(attr, expected, String(v));
    return v;
  }

  oneOf(attr: string, values: readonly string[]): string {
    const v = this.attrs[attr];
    if (typeof v !== 'string' || !values.includes(v)) return this.fail(attr, values.join(' or '), String(v));
    return v;
  }

  count(n: number): void {
    if (this.inputs.length !== n) this.fail('operands', `${n} in number`, String(this.inputs.length));
  }
}

function article(kind: string): string {
  return kind === 'f32' || kind === 'i32' ? `an ${kind}` : `a ${kind}`;
}

const positive = (n: number) => Number.isSafeInteger(n) && n > 0;
const natural = (n: number) => Number.isSafeInteger(n) && n >= 0;
const f32 = (...shape: Dim[]): OutputSpec => ({ dtype: 'f32', shape });
const withLast = (shape: Shape, last: number): OutputSpec => ({ dtype: 'f32', shape: [...shape.slice(0, -1), last] });

function stepInputs(c: Call, from: number): void {
  c.shape('positions', c.at(from, 'positions', 'i32'), ['T']);
  c.shape('seq_starts', c.at(from + 1, 'seq_starts', 'i32'), ['S+1']);
  c.shape('block_tables', c.at(from + 2, 'block_tables', 'i32'), ['S', 'B']);
  c.number('scale', Number.isFinite, 'a finite number');
  c.number('blockSize', positive, 'a positive whole number');
}

/** A [T, heads, width] query; gives heads and width. */
function heads(c: Call, index: number, operand: string): { t: OperandInfo; h: number; d: number } {
  const t = c.at(index, operand, 'f32');
  c.rank(operand, t, 3, '[T, H, D]');
  const [rows, h] = t.shape;
  if (typeof h !== 'number' || rows !== 'T') return c.fail(operand, '[T, H, D]', formatShape(t.shape));
  return { t, h, d: c.last(operand, t) };
}

const rules: Readonly<Record<OpName, (c: Call) => readonly OutputSpec[]>> = {
  embedding(c) {
    c.count(2);
    c.shape('tokens', c.at(0, 'tokens', 'i32'), ['T']);
    const table = c.at(1, 'table', 'weight');
    c.rank('table', table, 2, '[V, D]');
    return [f32('T', table.shape[1]!)];
  },
  rms_norm(c) {
    c.count(2);
    const x = c.at(0, 'x', 'f32');
    c.shape('weight', c.at(1, 'weight', 'weight'), [c.last('x', x)]);
    c.number('eps', (n) => n >= 0 && Number.isFinite(n), 'a finite number >= 0');
    return [f32(...x.shape)];
  },
  add_rms_norm(c) {
    c.count(3);
    const x = c.at(0, 'x', 'f32');
    c.shape('residual', c.at(1, 'residual', 'f32'), x.shape);
    c.shape('weight', c.at(2, 'weight', 'weight'), [c.last('x', x)]);
    c.number('eps', (n) => n >= 0 && Number.isFinite(n), 'a finite number >= 0');
    return [f32(...x.shape), f32(...x.shape)];
  },
  linear(c) {
    const n = (c.inputs.length - 1) / 2;
    if (!positive(n)) c.fail('operands', 'x, n weights and n biases (absent ones -1)', `${c.inputs.length} in number`);
    const x = c.at(0, 'x', 'f32');
    const k = c.last('x', x);
    const outputs: OutputSpec[] = [];
    for (let i = 0; i < n; i++) {
      const operand = n === 1 ? 'weight' : `weight ${i}`;
      const w = c.at(1 + i, operand, 'weight');
      c.rank(operand, w, 2, `[N, ${k}]`);
      const rows = w.shape[0] as number;
      c.shape(operand, w, [rows, k]);
      if (c.inputs[1 + n + i] !== undefined)
        c.shape(n === 1 ? 'bias' : `bias ${i}`, c.at(1 + n + i, 'bias', 'weight'), [rows]);
      outputs.push(withLast(x.shape, rows));
    }
    return outputs;
  },
  head_linear(c) {
    c.count(2);
    const { h, d } = heads(c, 0, 'x');
    const w = c.at(1, 'weight', 'weight');
    c.rank('weight', w, 3, `[${h}, N, ${d}]`);
    c.shape('weight', w, [h, w.shape[1]!, d]);
    return [f32('T', h, w.shape[1]!)];
  },
  rope(c) {
    c.count(3);
    const { t, d } = heads(c, 0, 'x');
    c.shape('positions', c.at(1, 'positions', 'i32'), ['T']);
    const freq = c.at(2, 'inv_freq', 'f32');
    c.rank('inv_freq', freq, 1, '[n]');
    const n = c.last('inv_freq', freq);
    c.oneOf('style', ['half', 'interleaved']);
    c.number('scale', Number.isFinite, 'a finite number');
    c.number('offset', (o) => natural(o) && o + 2 * n <= d, `a whole number in 0..${d - 2 * n}`);
    return [f32(...t.shape)];
  },
  kv_write(c) {
    c.shape('slots', c.at(0, 'slots', 'i32'), ['T']);
    const cache = c.at(1, 'cache', 'kv');
    if (c.inputs.length < 3) c.fail('x', 'at least one tensor', 'missing');
    let width = 0;
    for (let i = 2; i < c.inputs.length; i++) {
      const x = c.at(i, 'x', 'f32');
      c.shape('x', x, ['T', c.last('x', x)]);
      width += c.last('x', x);
    }
    c.width('cache', cache, width);
    return [];
  },
  attention(c) {
    c.count(6);
    const { h, d } = heads(c, 0, 'q');
    const g = c.number('kvHeads', (n) => positive(n) && h % n === 0, `a divisor of the ${h} query heads`);
    c.width('k_cache', c.at(1, 'k_cache', 'kv'), g * d);
    const v = c.at(2, 'v_cache', 'kv');
    if ((v.width ?? 0) % g !== 0) c.fail('v_cache', `a multiple of ${g} elements a token`, `${v.width} ("${v.name}")`);
    c.number('window', natural, 'a whole number >= 0');
    stepInputs(c, 3);
    return [f32('T', h, v.width! / g)];
  },
  mla_attention(c) {
    c.count(6);
    const latent = heads(c, 0, 'q_latent');
    const ropePart = c.at(1, 'q_rope', 'f32');
    c.shape('q_rope', ropePart, ['T', latent.h, c.last('q_rope', ropePart)]);
    c.width('cache', c.at(2, 'cache', 'kv'), latent.d + c.last('q_rope', ropePart));
    stepInputs(c, 3);
    return [f32(...latent.t.shape)];
  },
  silu_mul(c) {
    c.count(2);
    const gate = c.at(0, 'gate', 'f32');
    c.shape('up', c.at(1, 'up', 'f32'), gate.shape);
    return [f32(...gate.shape)];
  },
  add(c) {
    c.count(2);
    const a = c.at(0, 'a', 'f32');
    c.shape('b', c.at(1, 'b', 'f32'), a.shape);
    return [f32(...a.shape)];
  },
  sigmoid_mul(c) {
    c.count(2);
    const x = c.at(0, 'x', 'f32');
    c.rank('x', x, 2, '[T, D]');
    c.shape('gate', c.at(1, 'gate', 'f32'), [x.shape[0]!, 1]);
    return [f32(...x.shape)];
  },
  slice(c) {
    c.count(1);
    const x = c.at(0, 'x', 'f32');
    const d = c.last('x', x);
    const start = c.number('start', (n) => natural(n) && n < d, `a whole number in 0..${d - 1}`);
    const length = c.number('length', (n) => positive(n) && start + n <= d, `a whole number in 1..${d - start}`);
    return [withLast(x.shape, length)];
  },
  gather_rows(c) {
    c.count(2);
    const x = c.at(0, 'x', 'f32');
    c.rank('x', x, 2, '[T, D]');
    c.shape('rows', c.at(1, 'rows', 'i32'), ['R']);
    return [f32('R', c.last('x', x))];
  },
  moe_route(c) {
    c.count(2);
    const logits = c.at(0, 'logits', 'f32');
    c.rank('logits', logits, 2, '[T, E]');
    const e = c.last('logits', logits);
    if (c.inputs[1] !== undefined) c.shape('bias', c.at(1, 'bias', 'weight'), [e]);
    const groups = c.number('nGroup', (n) => positive(n) && e % n === 0, `a divisor of the ${e} experts`);
    const kept = c.number('topkGroup', (n) => positive(n) && n <= groups, `a whole number in 1..${groups}`);
    const most = (e / groups) * kept;
    const k = c.number('topK', (n) => positive(n) && n <= most, `a whole number in 1..${most}`);
    c.oneOf('scoring', ['softmax', 'sigmoid']);
    const score = c.oneOf('groupScore', ['max', 'top2sum']);
    if (score === 'top2sum' && groups > 1 && e / groups < 2) c.fail('groupScore', 'max (one expert a group)', score);
    if (typeof c.attrs.normalize !== 'boolean') c.fail('normalize', 'true or false', String(c.attrs.normalize));
    c.number('scale', Number.isFinite, 'a finite number');
    return [
      { dtype: 'i32', shape: [logits.shape[0]!, k] },
      { dtype: 'f32', shape: [logits.shape[0]!, k] },
    ];
  },
  moe_mlp(c) {
    c.count(6);
    const x = c.at(0, 'x', 'f32');
    c.rank('x', x, 2, '[T, D]');
    const d = c.last('x', x);
    const ids = c.at(1, 'ids', 'i32');
    c.rank('ids', ids, 2, '[T, k]');
    c.shape('ids', ids, [x.shape[0]!, c.last('ids', ids)]);
    c.shape('weights', c.at(2, 'weights', 'f32'), ids.shape);
    const gate = c.at(3, 'gate', 'weight');
    c.rank('gate', gate, 3, `[E, I, ${d}]`);
    const [e, i] = gate.shape as readonly [number, number];
    c.shape('gate', gate, [e, i, d]);
    c.shape('up', c.at(4, 'up', 'weight'), [e, i, d]);
    c.shape('down', c.at(5, 'down', 'weight'), [e, d, i]);
    return [f32(...x.shape)];
  },
  sample(c) {
    c.count(9);
    const logits = c.at(0, 'logits', 'f32');
    c.shape('logits', logits, ['R', c.last('logits', logits)]);
    c.shape('params_f32', c.at(1, 'params_f32', 'f32'), ['R', sampleColumns]);
    c.shape('params_i32', c.at(2, 'params_i32', 'i32'), ['R', sampleColumns]);
    const ragged = opDeclarations.sample.inputs.slice(3);
    ragged.forEach((o, i) => c.shape(o.name, c.at(3 + i, o.name, o.kind), []));
    const v = c.last('logits', logits);
    const l = c.number('topLogprobs', (n) => positive(n) && n <= v, `a whole number in 1..${v}`);
    return [
      { dtype: 'i32', shape: ['R'] },
      { dtype: 'i32', shape: ['R'] },
      { dtype: 'f32', shape: ['R'] },
      { dtype: 'i32', shape: ['R', l] },
      { dtype: 'f32', shape: ['R', l] },
    ];
  },
};

/**
 * Checks the operands and attributes of one call and gives its outputs' dtypes and shapes, in declaration order.
 *
 * @param node name for messages
 * @throws GraphError naming node, operand, expectation and finding
 */
export function inferShapes(
  node: string,
  op: OpName,
  inputs: readonly (OperandInfo | undefined)[],
  attrs: Attrs,
): readonly OutputSpec[] {
  const rule = Object.hasOwn(rules, op) ? rules[op] : undefined;
  if (rule === undefined) throw operandError(node, op, 'op', `one of ${Object.keys(rules).join(', ')}`, String(op));
  return rule(new Call(node, op, inputs, attrs));
}
