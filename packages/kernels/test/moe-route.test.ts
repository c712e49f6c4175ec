import { expect, it } from 'vitest';
import type { AttrValue } from '../src/index.js';
import { describeNative, f32Weight, isas, runOnce, suiteBackend } from './support/native.js';
import { expectClose, normals } from './support/numbers.js';
import { ProgramBuilder } from './support/program-builder.js';

interface Route {
  readonly scoring: 'softmax' | 'sigmoid';
  readonly topK: number;
  readonly nGroup: number;
  readonly topkGroup: number;
  readonly groupScore: 'max' | 'top2sum';
  readonly normalize: boolean;
  readonly scale: number;
}

const base: Route = {
  scoring: 'softmax',
  topK: 2,
  nGroup: 1,
  topkGroup: 1,
  groupScore: 'max',
  normalize: true,
  scale: 1,
};

const cases: Readonly<Record<string, { route: Route; experts: number; bias?: boolean }>> = {
  'mixtral: softmax, normalised': { route: base, experts: 8 },
  'qwen2-moe: not normalised': { route: { ...base, topK: 4, normalize: false }, experts: 60 },
  'deepseek-v2: groups by their best': {
    route: { ...base, topK: 6, nGroup: 8, topkGroup: 3, normalize: false, scale: 16 },
    experts: 160,
  },
  'deepseek-v3: sigmoid, bias, groups by their two best': {
    route: { ...base, scoring: 'sigmoid', topK: 8, nGroup: 8, topkGroup: 4, groupScore: 'top2sum', scale: 2.5 },
    experts: 256,
    bias: true,
  },
};

/** The declaration, word by word, in f64. */
function reference(logits: ArrayLike<number>, bias: ArrayLike<number> | undefined, r: Route) {
  const x = Array.from(logits);
  const most = Math.max(...x);
  const total = x.reduce((s, v) => s + Math.exp(v - most), 0);
  const scores = x.map((v) => (r.scoring === 'softmax' ? Math.exp(v - most) / total : 1 / (1 + Math.exp(-v))));
  const choice = scores.map((s, i) => s + (bias?.[i] ?? 0));
  const size = x.length / r.nGroup;
  const groups = Array.from({ length: r.nGroup }, (_, g) => {
    const best = choice.slice(g * size, (g + 1) * size).toSorted((a, b) => b - a);
    return { g, score: r.groupScore === 'max' ? best[0]! : best[0]! + best[1]! };
  });
  const kept = new Set(
    groups
      .toSorted((a, b) => b.score - a.score || a.g - b.g)
      .slice(0, r.topkGroup)
      .map((group) => group.g),
  );
  const ids = [...choice.keys()]
    .filter((i) => kept.has(Math.floor(i / size)))
    .toSorted((a, b) => choice[b]! - choice[a]! || a - b)
    .slice(0, r.topK);
  const sum = r.normalize ? ids.reduce((s, i) => s + scores[i]!, 0) + 1e-20 : 1;
  return { ids, weights: ids.map((i) => (scores[i]! / sum) * r.scale) };
}

for (const isa of isas) {
  describeNative(`moe_route on ${isa}`, () => {
    const backend = suiteBackend({ isa });

    async function run(route: Route, T: number, E: number, logits: Float32Array, bias?: Float32Array) {
      const b = new ProgramBuilder({ T: 64, S: 1, R: 1, B: 1 });
      const inputs = [b.input('logits', 'f32', ['T', E]), bias ? b.weight('bias', [E]) : -1];
      const ids = b.value('ids', ['T', route.topK], 'i32');
      const weights = b.value('weights', ['T', route.topK]);
      b.op('moe_route', inputs, [ids, weights], { ...route } as Record<string, AttrValue>);
      b.output('ids', ids).output('weights', weights);
      return runOnce(backend(), b.build(), {
        dims: { T },
        inputs: { logits },
        weights: bias ? [f32Weight('bias', [E], bias)] : [],
      });
    }

    it.each(Object.entries(cases))('%s', async (_, { route, experts, bias: biased }) => {
      const T = 33;
      const logits = normals(T * experts, 11, 2);
      const bias = biased ? normals(experts, 12, 0.2) : undefined;
      const out = await run(route, T, experts, logits, bias);
      for (let t = 0; t < T; t++) {
        const expected = reference(logits.subarray(t * experts, (t + 1) * experts), bias, route);
        expect(Array.from(out['ids']!.slice(t * route.topK, (t + 1) * route.topK))).toEqual(expected.ids);
        expectClose(out['weights']!.slice(t * route.topK, (t + 1) * route.topK), expected.weights, 1e-5);
      }
    });

    it('gives ties to the lowest id, and valid ids even for NaN', async () => {
      const logits = Float32Array.from([1, 1, 1, 1, NaN, 2, NaN, 1]);
      const out = await run({ ...base, scoring: 'sigmoid', topK: 3 }, 2, 4, logits);
      expect([...out['ids']!]).toEqual([0, 1, 2, 1, 3, 0]);
    });
  });
}
