import type { LaunchArgs, WeightTensor } from '@dsi/kernels';
import type { GraphBuilder } from '../src/index.js';
import { Random } from '../src/testing/random.js';
import { launch, newGraph, weight } from './run-graph.js';

const [D, H, hd, V] = [8, 2, 4, 11];

const shapes: Readonly<Record<string, readonly number[]>> = {
  embed: [V, D],
  norm1: [D],
  norm2: [D],
  norm: [D],
  q: [D, D],
  k: [D, D],
  v: [D, D],
  o: [D, D],
  gate: [12, D],
  up: [12, D],
  down: [D, 12],
};

/** One layer with everything a pass may touch: shared operands, sums before norms, slices, constants and dead ends. */
export function tinyDecoder(): GraphBuilder {
  const g = newGraph();
  const w = (name: string) => g.weight(`${name}.weight`, shapes[name] as number[]);
  const half = g.constant('half', Float32Array.of(0.5, 0.25, 1, 1));
  const freq = g.slice(g.add(half, half), 0, 2);
  const x = g.embedding(g.input('tokens', 'i32', ['T']), w('embed'));
  const a = g.rmsNorm(x, w('norm1'), 1e-5);
  const [q, k, v] = ['q', 'k', 'v'].map((name) => g.linear(a, w(name))) as [typeof a, typeof a, typeof a];
  g.siluMul(g.linear(a, w('gate')), g.linear(a, w('up')));
  const [kCache, vCache] = [g.kv('k_cache', D), g.kv('v_cache', D)];
  const rope = (t: typeof a) => g.rope(g.reshape(t, ['T', H, hd]), g.step.positions, freq, { style: 'half' });
  g.kvWrite(kCache, rope(k));
  g.kvWrite(vCache, v);
  const o = g.attention(rope(q), kCache, vCache, { scale: 0.5, kvHeads: H });
  const sum = g.add(x, g.linear(g.reshape(o, ['T', D]), w('o')));
  const m = g.slice(g.rmsNorm(sum, w('norm2'), 1e-5), 0, D);
  const mlp = g.linear(g.siluMul(g.linear(m, w('gate')), g.linear(m, w('up'))), w('down'));
  const last = g.gatherRows(g.rmsNorm(g.add(sum, mlp), w('norm'), 1e-5), g.step.rows);
  g.output('logits', g.linear(last, w('embed')));
  g.output('part', g.slice(g.slice(m, 1, 6), 2, 3));
  return g;
}

export function tinyWeights(): WeightTensor[] {
  const random = new Random(5);
  return Object.entries(shapes).map(([name, shape]) =>
    weight(`${name}.weight`, shape, [
      ...random.normals(
        shape.reduce((x, y) => x * y, 1),
        0.4,
      ),
    ]),
  );
}

/** A prefill of six tokens, then one more. */
export function tinyLaunches(): LaunchArgs[] {
  const tables = { block_tables: [3, 1] };
  return [
    launch(
      { T: 6, R: 2, B: 2 },
      {},
      {
        tokens: [1, 5, 2, 10, 0, 3],
        positions: [0, 1, 2, 3, 4, 5],
        seq_starts: [0, 6],
        slots: [12, 13, 14, 15, 4, 5],
        rows: [5, 2],
        ...tables,
      },
    ),
    launch(
      { T: 1, R: 1, B: 2 },
      {},
      {
        tokens: [7],
        positions: [6],
        seq_starts: [0, 1],
        slots: [6],
        rows: [0],
        ...tables,
      },
    ),
  ];
}
