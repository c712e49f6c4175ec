import type { WeightFormat } from '@dsi/kernels';
import type { MoeRouteAttrs } from '../../build/attrs.js';
import { decodeWeight } from '../../reference/weights.js';
import { expectBits, expectClose } from '../compare.js';
import { both, program, rowsLaunch, type ConformanceCase } from '../harness.js';
import { Random } from '../random.js';
import { randomWeight } from '../random-weights.js';
import { productBounds } from './product-bound.js';

const routings: Readonly<Record<string, MoeRouteAttrs & { readonly bias: boolean; readonly E: number }>> = {
  mixtral: { E: 8, bias: false, scoring: 'softmax', topK: 2, normalize: true },
  qwen2: { E: 60, bias: false, scoring: 'softmax', topK: 4, normalize: false },
  qwen3: { E: 128, bias: false, scoring: 'softmax', topK: 8, normalize: true },
  'deepseek v2': {
    E: 32,
    bias: false,
    scoring: 'softmax',
    topK: 6,
    nGroup: 8,
    topkGroup: 3,
    normalize: false,
    scale: 16,
  },
  'deepseek v3': {
    E: 64,
    bias: true,
    scoring: 'sigmoid',
    topK: 8,
    nGroup: 8,
    topkGroup: 4,
    groupScore: 'top2sum',
    normalize: true,
    scale: 2.5,
  },
};

function routeCase(name: string, seed: number): ConformanceCase {
  return {
    name: `moe_route ${name}`,
    async run(s) {
      const random = new Random(seed);
      const { E, bias, ...attrs } = routings[name]!;
      const p = program(s.numerics, (g) => {
        const { ids, weights } = g.moeRoute(
          g.input('logits', 'f32', ['T', E]),
          bias ? g.weight('bias', [E]) : undefined,
          attrs,
        );
        g.output('ids', ids);
        g.output('weights', weights);
      });
      const T = 13;
      const logits = random.normals(T * E, 1.5);
      // A row of equal logits: ties go to the lowest ids.
      if (!bias) logits.fill(0.25, 0, E);
      const weights = bias ? [randomWeight('bias', 'F32', [E], random)] : [];
      const { actual, expected } = await both(s, { program: p, weights, launches: [rowsLaunch(T, { logits })] });
      expectBits('ids', actual[0]!.ids!, expected[0]!.ids!);
      const bound = s.tolerances.route * (attrs.scale ?? 1);
      expectClose('weights', actual[0]!.weights!, expected[0]!.weights!, () => bound);
    },
  };
}

function mlpCase(format: WeightFormat, D: number, I: number, seed: number): ConformanceCase {
  return {
    name: `moe_mlp ${format}`,
    async run(s) {
      const random = new Random(seed);
      const [T, E, k] = [11, 6, 3];
      const weights = [
        randomWeight('gate', format, [E, I, D], random),
        randomWeight('up', format, [E, I, D], random),
        randomWeight('down', format, [E, D, I], random),
      ];
      const p = program(s.numerics, (g) => {
        const routing = g.moeRoute(g.input('logits', 'f32', ['T', E]), undefined, {
          scoring: 'softmax',
          topK: k,
          normalize: true,
        });
        const [gate, up, down] = [g.weight('gate', [E, I, D]), g.weight('up', [E, I, D]), g.weight('down', [E, D, I])];
        g.output('y', g.moeMlp(g.input('x', 'f32', ['T', D]), routing, gate, up, down));
        g.output('ids', routing.ids);
        g.output('weights', routing.weights);
      });
      const x = random.activations(T * D);
      const logits = random.normals(T * E);
      const last = { x: x.subarray(10 * D), logits: logits.subarray(10 * E) };
      const launches = [
        rowsLaunch(T, { x, logits }),
        rowsLaunch(1, last),
        rowsLaunch(0, { x: x.subarray(0, 0), logits: logits.subarray(0, 0) }),
      ];
      const { actual, expected } = await both(s, { program: p, weights, launches });
      const [gate, up, down] = weights.map((w) => decodeWeight(w).data) as [Float32Array, Float32Array, Float32Array];
      const bounds = new Float64Array(T * D).fill(1e-6);
      for (let j = 0; j < T * k; j++) {
        const row = Math.floor(j / k);
        const e = expected[0]!.ids![j]!;
        const share = expected[0]!.weights![j]!;
        const xRow = x.subarray(row * D, (row + 1) * D);
        const h = hidden(xRow, gate, up, e * I * D, I, s);
        const b = productBounds(h.values, down, e * D * I, D, s.tolerances, h.error);
        for (let d = 0; d < D; d++) bounds[row * D + d] = bounds[row * D + d]! + share * b.worst[d]!;
      }
      expectClose('y', actual[0]!.y!, expected[0]!.y!, (i) => bounds[i]!);
      expectBits('y, last row alone', actual[1]!.y!, actual[0]!.y!.subarray(10 * D));
      expectBits('y of no rows', actual[2]!.y!, new Float32Array(0));
    },
  };
}

/** silu(gate x) * (up x) and the most that any element of it may err by; |silu'| < 1.1. */
function hidden(
  x: Float32Array,
  gate: Float32Array,
  up: Float32Array,
  at: number,
  I: number,
  s: { readonly tolerances: Parameters<typeof productBounds>[4] },
): { values: Float32Array; error: number } {
  const gateBound = productBounds(x, gate, at, I, s.tolerances).worst;
  const upBound = productBounds(x, up, at, I, s.tolerances).worst;
  const values = new Float32Array(I);
  let error = 0;
  for (let i = 0; i < I; i++) {
    let gx = 0;
    let ux = 0;
    for (let d = 0; d < x.length; d++) {
      gx += x[d]! * gate[at + i * x.length + d]!;
      ux += x[d]! * up[at + i * x.length + d]!;
    }
    const silu = gx / (1 + Math.exp(-gx));
    values[i] = silu * ux;
    const dg = 1.1 * gateBound[i]!;
    error = Math.max(error, dg * (Math.abs(ux) + upBound[i]!) + Math.abs(silu) * upBound[i]!);
  }
  return { values, error };
}

export function moeCases(wanted: readonly WeightFormat[]): ConformanceCase[] {
  const mlps: readonly (readonly [WeightFormat, number, number])[] = [
    ['F32', 37, 19],
    ['BF16', 64, 33],
    ['Q8_0', 64, 96],
    ['Q4_0', 96, 32],
    ['Q4_K', 256, 256],
    ['Q6_K', 256, 256],
    ['Q5_K', 256, 256],
    ['IQ4_XS', 256, 256],
    ['MXFP4', 64, 96],
    ['F8_E4M3', 160, 48],
  ];
  return [
    ...Object.keys(routings).map((name, i) => routeCase(name, 2000 + i)),
    ...mlps.filter(([f]) => wanted.includes(f)).map(([f, D, I], i) => mlpCase(f, D, I, 2100 + i)),
  ];
}
