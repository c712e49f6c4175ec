import type { WeightFormat } from '@dsi/kernels';
import { decodeWeight } from '../../reference/weights.js';
import { ConformanceError, expectBits, expectClose, rowRelative } from '../compare.js';
import { both, evaluate, program, rowsLaunch, type ConformanceCase, type Session } from '../harness.js';
import { Random } from '../random.js';
import { formatCols, randomWeight } from '../random-weights.js';
import { productBounds } from './product-bound.js';

/** Errors of a product's rows against their bounds, and their root mean square against that of rounding noise. */
function expectProduct(
  s: Session,
  what: string,
  x: Float32Array,
  w: Float32Array,
  K: number,
  actual: Float32Array,
  expected: Float32Array,
  /** Element of w at which the matrix of row r begins. */
  matrixAt: (row: number) => number = () => 0,
  f32 = false,
): void {
  const t = f32 ? { ...s.tolerances, activation: 0, rounding: 0, noise: Infinity } : s.tolerances;
  const rows = x.length / K;
  const N = expected.length / rows;
  const bounds = Array.from({ length: rows }, (_, r) =>
    productBounds(x.subarray(r * K, (r + 1) * K), w, matrixAt(r), N, t),
  );
  expectClose(what, actual, expected, (i) => bounds[Math.floor(i / N)]!.worst[i % N]!);
  let squares = 0;
  expected.forEach((v, i) => (squares += ((actual[i]! - v) / bounds[Math.floor(i / N)]!.sigma[i % N]!) ** 2));
  const noise = Math.sqrt(squares / expected.length);
  if (noise > t.noise)
    throw new ConformanceError(
      `${what}: the errors are ${noise.toFixed(2)} times the rounding noise of int8 activations, at most ${t.noise} is expected.`,
    );
}

function linearCase(format: WeightFormat, seed: number): ConformanceCase {
  return {
    name: `linear ${format}: three weights, two biases, any number of rows, rows independent of one another`,
    async run(s) {
      const random = new Random(seed);
      const K = formatCols[format];
      const sizes = [37, 16, 5] as const;
      const weights = sizes.map((N, i) => randomWeight(`w${i}`, format, [N, K], random));
      const biases = sizes.slice(0, 2).map((N, i) => randomWeight(`b${i}`, 'F32', [N], random));
      const p = program(s.numerics, (g) => {
        const x = g.input('x', 'f32', ['T', K]);
        sizes.forEach((N, i) => {
          const bias = i < 2 ? g.weight(`b${i}`, [N]) : undefined;
          g.output(`y${i}`, g.linear(x, g.weight(`w${i}`, [N, K]), bias));
        });
      });
      const counts = [19, 1, 2, 3, 4, 5, 8, 0];
      const x = random.activations(counts[0]! * K);
      const launches = counts.map((T) => rowsLaunch(T, { x: x.subarray(0, T * K) }));
      launches.push(rowsLaunch(1, { x: x.subarray(18 * K) }));
      const { actual, expected } = await both(s, { program: p, weights: [...weights, ...biases], launches });
      sizes.forEach((N, i) => {
        const y = actual[0]![`y${i}`] as Float32Array;
        const w = decodeWeight(weights[i]!).data;
        expectProduct(s, `y${i}`, x, w, K, y, expected[0]![`y${i}`] as Float32Array);
        counts.forEach((T, j) => expectBits(`y${i} of ${T} rows`, actual[j]![`y${i}`]!, y.subarray(0, T * N)));
        expectBits(`y${i}, last row alone`, actual.at(-1)![`y${i}`]!, y.subarray(18 * N));
      });
    },
  };
}

const mergedEqualsSingle: ConformanceCase = {
  name: 'linear: merged products equal single ones, and mixed formats merge',
  async run(s) {
    const random = new Random(77);
    const K = 256;
    const formats = ['Q8_0', 'Q4_K', 'BF16', 'Q6_K'] as const;
    const weights = formats.map((f, i) => randomWeight(`w${i}`, f, [24 + i, K], random));
    const build = (passes: 'merged' | 'single') =>
      program(
        s.numerics,
        (g) => {
          const x = g.input('x', 'f32', ['T', K]);
          formats.forEach((_, i) => g.output(`y${i}`, g.linear(x, g.weight(`w${i}`, [24 + i, K]))));
        },
        passes === 'single' ? { passes: [] } : {},
      );
    const launches = [rowsLaunch(6, { x: random.activations(6 * K) })];
    const merged = await evaluate(s.backend, { program: build('merged'), weights, launches }, s.numerics);
    const single = await evaluate(s.backend, { program: build('single'), weights, launches }, s.numerics);
    formats.forEach((_, i) => expectBits(`y${i}`, merged[0]![`y${i}`]!, single[0]![`y${i}`]!));
  },
};

const f32Product: ConformanceCase = {
  name: 'linear f32: stays f32 in every numerics mode',
  async run(s) {
    const random = new Random(78);
    const K = 129;
    const N = 9;
    const weight = randomWeight('w', 'BF16', [N, K], random);
    const p = program(s.numerics, (g) => {
      g.output('y', g.linear(g.input('x', 'f32', ['T', K]), g.weight('w', [N, K]), undefined, { f32: true }));
    });
    const x = random.activations(7 * K);
    const { actual, expected } = await both(s, { program: p, weights: [weight], launches: [rowsLaunch(7, { x })] });
    const [a, e] = [actual[0]!.y as Float32Array, expected[0]!.y as Float32Array];
    expectProduct(s, 'y', x, decodeWeight(weight).data, K, a, e, () => 0, true);
  },
};

function headLinearCase(format: WeightFormat, seed: number): ConformanceCase {
  return {
    name: `head_linear ${format}`,
    async run(s) {
      const random = new Random(seed);
      const [T, H, K, N] = [5, 3, format === 'Q8_0' ? 64 : 33, 21];
      const weight = randomWeight('w', format, [H, N, K], random);
      const p = program(s.numerics, (g) => {
        g.output('y', g.headLinear(g.input('x', 'f32', ['T', H, K]), g.weight('w', [H, N, K])));
      });
      const x = random.activations(T * H * K);
      const launches = [rowsLaunch(T, { x }), rowsLaunch(1, { x: x.subarray(4 * H * K) })];
      const { actual, expected } = await both(s, { program: p, weights: [weight], launches });
      const y = actual[0]!.y as Float32Array;
      const w = decodeWeight(weight).data;
      expectProduct(s, 'y', x, w, K, y, expected[0]!.y as Float32Array, (row) => (row % H) * N * K);
      expectBits('y, last row alone', actual[1]!.y!, y.subarray(4 * H * N));
    },
  };
}

function embeddingCase(format: WeightFormat, seed: number): ConformanceCase {
  return {
    name: `embedding ${format}`,
    async run(s) {
      const random = new Random(seed);
      const D = formatCols[format];
      const p = program(s.numerics, (g) => {
        g.output('y', g.embedding(g.input('tokens', 'i32', ['T']), g.weight('table', [50, D])));
      });
      const weights = [randomWeight('table', format, [50, D], random)];
      const launches = [rowsLaunch(9, { tokens: Int32Array.of(0, 49, 3, 3, 17, 30, 31, 32, 1) })];
      const { actual, expected } = await both(s, { program: p, weights, launches });
      const [a, e] = [actual[0]!.y!, expected[0]!.y!];
      expectClose('y', a, e, rowRelative(e, D, s.tolerances.elementwise, 1e-3));
    },
  };
}

const formats = Object.keys(formatCols) as WeightFormat[];

/** Products and embeddings in these weight formats. */
export function productCases(wanted: readonly WeightFormat[] = formats): ConformanceCase[] {
  return [
    ...wanted.map((f) => linearCase(f, 1000 + formats.indexOf(f))),
    mergedEqualsSingle,
    f32Product,
    ...(['F32', 'F16', 'BF16', 'Q8_0'] as const)
      .filter((f) => wanted.includes(f))
      .map((f, i) => headLinearCase(f, 1100 + i)),
    ...wanted.map((f) => embeddingCase(f, 1200 + formats.indexOf(f))),
  ];
}
