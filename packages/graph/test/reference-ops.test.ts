import { describe, expect, it } from 'vitest';
import type { MoeRouteAttrs } from '../src/index.js';
import { close, launch, newGraph, runGraph, weight } from './run-graph.js';

const ln = Math.log;
const sigmoid = (v: number) => 1 / (1 + Math.exp(-v));
const silu = (v: number) => v * sigmoid(v);
const logit = (p: number) => ln(p / (1 - p));

async function route(logits: readonly number[], attrs: MoeRouteAttrs, bias?: readonly number[]) {
  const g = newGraph();
  const E = logits.length;
  const b = bias === undefined ? undefined : g.weight('bias', [E]);
  const r = g.moeRoute(g.input('logits', 'f32', ['T', E]), b, attrs);
  g.output('ids', r.ids);
  g.output('weights', r.weights);
  const weights = bias === undefined ? [] : [weight('bias', [E], bias)];
  return (await runGraph({ graph: g.build(), weights, launches: [launch({ T: 1 }, { logits })] }))[0]!;
}

describe('row ops by hand', () => {
  it('embeds, norms, adds, gates, slices and gathers', async () => {
    const g = newGraph();
    const x = g.embedding(g.input('tokens', 'i32', ['T']), g.weight('table', [3, 2]));
    g.output('x', x);
    g.output('norm', g.rmsNorm(x, g.weight('w', [2]), 0));
    g.output('silu', g.siluMul(x, x));
    g.output('gated', g.sigmoidMul(x, g.slice(x, 1, 1)));
    g.output('rows', g.gatherRows(x, g.step.rows));
    const [out] = await runGraph({
      graph: g.build(),
      weights: [weight('table', [3, 2], [0, 0, 3, 4, -1, 2]), weight('w', [2], [1, 2])],
      launches: [launch({ T: 2, R: 3 }, {}, { tokens: [1, 2], rows: [1, 0, 1] })],
    });
    close(out!.x, [3, 4, -1, 2]);
    const rms = Math.sqrt((9 + 16) / 2);
    close(out!.norm, [3 / rms, 8 / rms, -1 / Math.sqrt(2.5), 4 / Math.sqrt(2.5)]);
    close(out!.silu, [9 * sigmoid(3), 16 * sigmoid(4), sigmoid(-1), 4 * sigmoid(2)], 2e-6);
    close(out!.gated, [3 * sigmoid(4), 4 * sigmoid(4), -sigmoid(2), 2 * sigmoid(2)]);
    close(out!.rows, [-1, 2, 3, 4, -1, 2]);
  });

  it('multiplies with and without bias, and one matrix a head', async () => {
    const g = newGraph();
    const x = g.input('x', 'f32', ['T', 2]);
    g.output('y', g.linear(x, g.weight('w', [3, 2]), g.weight('b', [3])));
    g.output('h', g.headLinear(g.input('heads', 'f32', ['T', 2, 2]), g.weight('wh', [2, 1, 2])));
    const [out] = await runGraph({
      graph: g.build(),
      weights: [
        weight('w', [3, 2], [1, 2, 3, 4, 5, 6]),
        weight('b', [3], [0.5, 0, -1]),
        weight('wh', [2, 1, 2], [1, 10, 100, 1000]),
      ],
      launches: [launch({ T: 1 }, { x: [1, -1], heads: [1, 2, 3, 4] })],
    });
    close(out!.y, [-0.5, -1, -2]);
    close(out!.h, [21, 4300]);
  });

  it.each([
    ['half', [0, 1, 2, 3], [0, Math.cos(1) - 3 * Math.sin(1), 2, Math.sin(1) + 3 * Math.cos(1)]],
    [
      'interleaved',
      [0, 1, 2, 3],
      [-Math.sin(0), 1, 2 * Math.cos(1) - 3 * Math.sin(1), 2 * Math.sin(1) + 3 * Math.cos(1)],
    ],
  ] as const)('rotates: %s', async (style, x, expected) => {
    const g = newGraph();
    // Pair 0 stands still, pair 1 turns by one radian a position.
    const freq = g.constant('freq', Float32Array.of(0, 1));
    g.output('y', g.rope(g.input('x', 'f32', ['T', 1, 4]), g.step.positions, freq, { style }));
    const [out] = await runGraph({ graph: g.build(), launches: [launch({ T: 1 }, { x }, { positions: [1] })] });
    close(out!.y, expected);
  });

  it('rotates a part of a head, scaled, and copies the rest', async () => {
    const g = newGraph();
    const freq = g.constant('freq', Float32Array.of(0.5));
    const attrs = { style: 'half', offset: 1, scale: 2 } as const;
    g.output('y', g.rope(g.input('x', 'f32', ['T', 1, 4]), g.step.positions, freq, attrs));
    const [out] = await runGraph({
      graph: g.build(),
      launches: [launch({ T: 1 }, { x: [7, 1, 0, 9] }, { positions: [3] })],
    });
    close(out!.y, [7, 2 * Math.cos(1.5), 2 * Math.sin(1.5), 9]);
  });
});

describe('moe_route by hand', () => {
  it('Mixtral and Qwen3: softmax, best k, renormalised', async () => {
    const out = await route([ln(1), ln(4), ln(2), ln(1)], { scoring: 'softmax', topK: 2, normalize: true });
    expect([...out.ids!]).toEqual([1, 2]);
    close(out.weights, [2 / 3, 1 / 3]);
  });

  it('Qwen2: softmax, not renormalised; ties to the lowest id', async () => {
    const out = await route([ln(1), ln(2), ln(2), ln(3)], { scoring: 'softmax', topK: 2, normalize: false });
    expect([...out.ids!]).toEqual([3, 1]);
    close(out.weights, [3 / 8, 2 / 8]);
  });

  it('DeepSeek-V2: best groups by their maximum, scaled', async () => {
    // Groups {1, 6}, {5, 4}, {3, 2}: the best two hold 6 and 5, 4.
    const attrs = { scoring: 'softmax', topK: 3, nGroup: 3, topkGroup: 2, normalize: false, scale: 21 } as const;
    const out = await route([1, 6, 5, 4, 3, 2].map(ln), attrs);
    expect([...out.ids!]).toEqual([1, 2, 3]);
    close(out.weights, [6, 5, 4], 1e-5);
  });

  it('DeepSeek-V3: sigmoid, choice with bias, groups by their two best, weights without bias', async () => {
    const attrs = {
      scoring: 'sigmoid',
      topK: 2,
      nGroup: 2,
      topkGroup: 1,
      groupScore: 'top2sum',
      normalize: true,
      scale: 2.5,
    } as const;
    // Scores .9 .1 | .4 .5, biases lift the second group: 1.0 against 1.1.
    const out = await route([0.9, 0.1, 0.4, 0.5].map(logit), attrs, [0, 0, 0.2, 0]);
    expect([...out.ids!]).toEqual([2, 3]);
    close(out.weights, [(2.5 * 0.4) / 0.9, (2.5 * 0.5) / 0.9]);
  });
});

describe('moe_mlp by hand', () => {
  it('weights the chosen experts', async () => {
    const g = newGraph();
    const routing = g.moeRoute(g.input('logits', 'f32', ['T', 2]), undefined, {
      scoring: 'softmax',
      topK: 2,
      normalize: false,
    });
    const w = (name: string) => g.weight(name, [2, 1, 1]);
    g.output('y', g.moeMlp(g.input('x', 'f32', ['T', 1]), routing, w('gate'), w('up'), w('down')));
    const [out] = await runGraph({
      graph: g.build(),
      weights: [weight('gate', [2, 1, 1], [1, 2]), weight('up', [2, 1, 1], [3, 4]), weight('down', [2, 1, 1], [5, 6])],
      launches: [launch({ T: 1 }, { x: [1], logits: [Math.log(3), 0] })],
    });
    close(out!.y, [0.75 * 5 * silu(1) * 3 + 0.25 * 6 * silu(2) * 4], 1e-5);
  });
});
