import { expect, it } from 'vitest';
import type { OpName, AttrValue, Shape } from '../src/index.js';
import { describeNative, f32Weight, isas, runOnce, suiteBackend } from './support/native.js';
import { bits, expectClose, normals } from './support/numbers.js';
import { ProgramBuilder } from './support/program-builder.js';

/** Widths around the 16-lane and 64-element steps of the kernels. */
const widths = [1, 7, 16, 33, 64, 130, 1000];
const special = [0, -0, 1e-42, -1e38, 3e38, 88.9, -104, 20, Infinity, -Infinity, NaN];

function rmsNorm(x: Float32Array, w: Float32Array, d: number, eps: number): Float64Array {
  return Float64Array.from(x, (value, i) => {
    const row = x.subarray(Math.floor(i / d) * d, (Math.floor(i / d) + 1) * d);
    const mean = row.reduce((sum, v) => sum + v * v, 0) / d;
    return (value / Math.sqrt(mean + eps)) * w[i % d]!;
  });
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** One op whose inputs are all launch inputs. */
function singleOp(
  op: OpName,
  inputs: Readonly<Record<string, { shape: Shape; data: Float32Array | Int32Array }>>,
  outputs: Readonly<Record<string, Shape>>,
  attrs: Record<string, AttrValue> = {},
) {
  const b = new ProgramBuilder();
  const ids = Object.entries(inputs).map(([name, { shape, data }]) =>
    b.input(name, data instanceof Float32Array ? 'f32' : 'i32', shape),
  );
  const results = Object.entries(outputs).map(([name, shape]) => b.value(name, shape));
  b.op(op, ids, results, attrs);
  Object.keys(outputs).forEach((name, i) => b.output(name, results[i]!));
  return {
    program: b.build(),
    inputs: Object.fromEntries(Object.entries(inputs).map(([name, { data }]) => [name, data])),
  };
}

for (const isa of isas) {
  describeNative(`row ops on ${isa}`, () => {
    const backend = suiteBackend({ isa });

    it.each(widths)('rms_norm and add_rms_norm, width %i', async (d) => {
      const T = 5;
      const b = new ProgramBuilder();
      const x = b.input('x', 'f32', ['T', d]);
      const r = b.input('r', 'f32', ['T', d]);
      const w = b.weight('w', [d]);
      const y = b.value('y', ['T', d]);
      const sum = b.value('sum', ['T', d]);
      const z = b.value('z', ['T', d]);
      b.op('rms_norm', [x, w], [y], { eps: 1e-5 }).op('add_rms_norm', [x, r, w], [sum, z], { eps: 1e-6 });
      b.output('y', y).output('sum', sum).output('z', z);
      const [xs, rs, ws] = [normals(T * d, 1), normals(T * d, 2), normals(d, 3)];
      const out = await runOnce(backend(), b.build(), {
        dims: { T },
        inputs: { x: xs, r: rs },
        weights: [f32Weight('w', [d], ws)],
      });
      const sums = Float32Array.from(xs, (v, i) => v + rs[i]!);
      expectClose(out['y']!, rmsNorm(xs, ws, d, 1e-5), 1e-6);
      expect(bits(out['sum']!)).toEqual(bits(sums));
      expectClose(out['z']!, rmsNorm(sums, ws, d, 1e-6), 1e-6);
    });

    it.each(widths)('silu_mul, add and sigmoid_mul, width %i', async (d) => {
      const T = 3;
      const [a, c, gate] = [normals(T * d, 4, 4), normals(T * d, 5), normals(T, 6, 3)];
      const shape = ['T', d] as const;
      const silu = singleOp('silu_mul', { gate: { shape, data: a }, up: { shape, data: c } }, { y: shape });
      const silued = await runOnce(backend(), silu.program, { dims: { T }, inputs: silu.inputs });
      expectClose(
        silued['y']!,
        a.map((v, i) => v * sigmoid(v) * c[i]!),
        1e-6,
      );

      const add = singleOp('add', { a: { shape, data: a }, b: { shape, data: c } }, { y: shape });
      const added = await runOnce(backend(), add.program, { dims: { T }, inputs: add.inputs });
      expect(bits(added['y']!)).toEqual(bits(a.map((v, i) => v + c[i]!)));

      const gated = singleOp(
        'sigmoid_mul',
        { x: { shape, data: c }, gate: { shape: ['T', 1], data: gate } },
        { y: shape },
      );
      const scaled = await runOnce(backend(), gated.program, { dims: { T }, inputs: gated.inputs });
      expectClose(
        scaled['y']!,
        c.map((v, i) => v * sigmoid(gate[Math.floor(i / d)]!)),
        1e-6,
      );
    });

    it('silu_mul keeps the meaning of infinities, NaN and subnormal results', async () => {
      const gate = Float32Array.from(special);
      const up = gate.map(() => 1);
      const { program, inputs } = singleOp(
        'silu_mul',
        { gate: { shape: ['T'], data: gate }, up: { shape: ['T'], data: up } },
        { y: ['T'] },
      );
      const { y } = await runOnce(backend(), program, { dims: { T: gate.length }, inputs });
      expectClose(
        y!,
        gate.map((v) => v * sigmoid(v)),
        1e-6,
      );
    });

    it('slice and gather_rows copy, with repeated rows', async () => {
      const x = normals(4 * 10, 7);
      const sliced = singleOp('slice', { x: { shape: ['T', 10], data: x } }, { y: ['T', 3] }, { start: 6, length: 3 });
      const a = await runOnce(backend(), sliced.program, { dims: { T: 4 }, inputs: sliced.inputs });
      expect([...a['y']!]).toEqual([...x].filter((_, i) => i % 10 >= 6 && i % 10 < 9));
      const rows = Int32Array.of(3, 0, 3);
      const gathered = singleOp(
        'gather_rows',
        { x: { shape: ['T', 10], data: x }, rows: { shape: ['R'], data: rows } },
        { y: ['R', 10] },
      );
      const b = await runOnce(backend(), gathered.program, { dims: { T: 4, R: 3 }, inputs: gathered.inputs });
      expect([...b['y']!]).toEqual([3, 0, 3].flatMap((r) => [...x.subarray(r * 10, r * 10 + 10)]));
    });

    it.each([
      ['half', 0, 32],
      ['half', 3, 13],
      ['interleaved', 0, 32],
      ['interleaved', 5, 7],
    ] as const)('rope %s, offset %i, %i frequencies', async (style, offset, n) => {
      const [T, H] = [4, 3];
      const d = offset + 2 * n + 2;
      const x = normals(T * H * d, 8);
      const positions = Int32Array.of(0, 1, 77, 4095);
      const freq = Float32Array.from({ length: n }, (_, i) => 10000 ** (-i / n));
      const scale = 1.25;
      const b = new ProgramBuilder();
      const ids = [b.input('x', 'f32', ['T', H, d]), b.input('positions', 'i32', ['T']), b.constant('freq', freq)];
      const y = b.value('y', ['T', H, d]);
      b.op('rope', ids, [y], { style, offset, scale }).output('y', y);
      const out = await runOnce(backend(), b.build(), { dims: { T }, inputs: { x, positions } });
      const expected = Float64Array.from(x);
      for (let row = 0; row < T * H; row++) {
        for (let i = 0; i < n; i++) {
          const angle = Math.fround(positions[Math.floor(row / H)]! * freq[i]!);
          const [c, s] = [Math.cos(angle) * scale, Math.sin(angle) * scale];
          const p = row * d + offset + (style === 'half' ? i : 2 * i);
          const q = p + (style === 'half' ? n : 1);
          expected[p] = x[p]! * c - x[q]! * s;
          expected[q] = x[q]! * c + x[p]! * s;
        }
      }
      expectClose(out['y']!, expected, 1e-6);
    });

    it('runs with no rows at all', async () => {
      const empty = new Float32Array(0);
      const { program, inputs } = singleOp(
        'add',
        { a: { shape: ['T', 8], data: empty }, b: { shape: ['T', 8], data: empty } },
        { y: ['T', 8] },
      );
      const { y } = await runOnce(backend(), program, { inputs });
      expect(y!.length).toBe(0);
    });
  });
}
