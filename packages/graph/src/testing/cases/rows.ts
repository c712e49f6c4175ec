import { expectBits, expectClose, rowRelative } from '../compare.js';
import { both, program, rowsLaunch, type ConformanceCase } from '../harness.js';
import { Random } from '../random.js';
import { randomWeight } from '../random-weights.js';

const widths = [1, 7, 64, 129] as const;

function norms(format: 'F32' | 'F16' | 'BF16'): ConformanceCase {
  return {
    name: `rms_norm and add_rms_norm, weight ${format}`,
    async run(s) {
      const random = new Random(3000);
      for (const D of widths) {
        const p = program(s.numerics, (g) => {
          const [x, residual, w] = [g.input('x', 'f32', ['T', D]), g.input('r', 'f32', ['T', D]), g.weight('w', [D])];
          const sum = g.add(x, residual);
          g.output('norm', g.rmsNorm(x, w, 1e-5));
          g.output('fused', g.rmsNorm(sum, w, 1e-6));
          g.output('sum', sum);
        });
        const T = 6;
        const [x, r] = [random.activations(T * D), random.activations(T * D, 3)];
        x.fill(0, 0, D);
        const weights = [randomWeight('w', format, [D], random)];
        const last = { x: x.subarray(5 * D), r: r.subarray(5 * D) };
        const empty = { x: x.subarray(0, 0), r: r.subarray(0, 0) };
        const launches = [rowsLaunch(T, { x, r }), rowsLaunch(1, last), rowsLaunch(0, empty)];
        const { actual, expected } = await both(s, { program: p, weights, launches });
        expectBits('sum', actual[0]!.sum!, expected[0]!.sum!);
        for (const name of ['norm', 'fused']) {
          const e = expected[0]![name]!;
          expectClose(`${name} of width ${D}`, actual[0]![name]!, e, rowRelative(e, D, s.tolerances.elementwise, 1e-2));
          expectBits(`${name}, last row alone`, actual[1]![name]!, actual[0]![name]!.subarray(5 * D));
          expectBits(`${name} of no rows`, actual[2]![name]!, new Float32Array(0));
        }
      }
    },
  };
}

const gates: ConformanceCase = {
  name: 'silu_mul, sigmoid_mul, add, slice, gather_rows',
  async run(s) {
    const random = new Random(3100);
    for (const D of widths) {
      const [start, length] = [Math.floor(D / 3), Math.ceil(D / 2)];
      const p = program(s.numerics, (g) => {
        const [a, b] = [g.input('a', 'f32', ['T', D]), g.input('b', 'f32', ['T', D])];
        g.output('silu', g.siluMul(a, b));
        g.output('sigmoid', g.sigmoidMul(a, g.slice(b, D - 1, 1)));
        g.output('add', g.add(a, b));
        g.output('slice', g.slice(a, start, length));
        g.output('gather', g.gatherRows(g.add(a, b), g.step.rows));
      });
      const T = 5;
      const a = random.activations(T * D, 4);
      const b = random.activations(T * D, 4);
      // Where exp overflows or vanishes.
      a.set([100, -100, 88.8, -88.8, -0].slice(0, Math.min(5, T * D)));
      const rows = Int32Array.of(4, 0, 4, 2);
      const { actual, expected } = await both(s, {
        program: p,
        weights: [],
        launches: [rowsLaunch(T, { a, b, rows }, 4)],
      });
      for (const name of ['add', 'slice', 'gather']) expectBits(name, actual[0]![name]!, expected[0]![name]!);
      for (const name of ['silu', 'sigmoid']) {
        const e = expected[0]![name]!;
        expectClose(name, actual[0]![name]!, e, (i) => s.tolerances.elementwise * Math.max(1, Math.abs(e[i]!)));
      }
    }
  },
};

function ropeCase(style: 'half' | 'interleaved'): ConformanceCase {
  return {
    name: `rope ${style}: whole and partial heads, offset, scale`,
    async run(s) {
      const random = new Random(3200);
      for (const [H, D, n, offset, scale] of [
        [3, 16, 8, 0, 1],
        [1, 70, 9, 5, 1.25],
        [4, 96, 16, 64, 0.9],
      ] as const) {
        const p = program(s.numerics, (g) => {
          const freq = g.constant(
            'freq',
            Float32Array.from({ length: n }, (_, i) => 10000 ** (-i / n)),
          );
          g.output('y', g.rope(g.input('x', 'f32', ['T', H, D]), g.step.positions, freq, { style, offset, scale }));
        });
        const positions = Int32Array.of(0, 1, 2, 511, 4000, 7);
        const x = random.normals(6 * H * D);
        const launches = [rowsLaunch(6, { x, positions })];
        const { actual, expected } = await both(s, { program: p, weights: [], launches });
        const e = expected[0]!.y!;
        expectClose('y', actual[0]!.y!, e, rowRelative(e, D, s.tolerances.rope, 1));
      }
    },
  };
}

export function rowCases(): ConformanceCase[] {
  return [norms('F32'), norms('F16'), norms('BF16'), gates, ropeCase('half'), ropeCase('interleaved')];
}
