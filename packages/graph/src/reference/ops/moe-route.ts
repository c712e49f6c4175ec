import type { Call } from '../call.js';
import { sigmoid } from './elementwise.js';

/** softmax or sigmoid of one row of logits, computed in float64 and rounded to f32. */
function scoresOf(logits: Float32Array, scoring: string): Float32Array {
  if (scoring === 'sigmoid') return logits.map(sigmoid);
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const exps = Float64Array.from(logits, (v) => Math.exp(v - max));
  const sum = exps.reduce((a, b) => a + b, 0);
  return Float32Array.from(exps, (v) => v / sum);
}

/** The `count` indices of the largest values, descending, ties to the lowest index. */
function largest(values: Float32Array, candidates: readonly number[], count: number): number[] {
  return candidates.toSorted((a, b) => values[b]! - values[a]! || a - b).slice(0, count);
}

export function moeRoute(c: Call): void {
  const [T, E] = c.in(0).shape as [number, number];
  const bias = c.inputs[1]?.data as Float32Array | undefined;
  const topK = c.num('topK');
  const groups = c.num('nGroup');
  const perGroup = E / groups;
  for (let t = 0; t < T; t++) {
    const scores = scoresOf(c.f32(0).slice(t * E, (t + 1) * E), c.attrs.scoring as string);
    const choice = bias === undefined ? scores : scores.map((s, e) => s + bias[e]!);
    let candidates = Array.from({ length: E }, (_, e) => e);
    if (groups > 1) {
      const groupScores = Float32Array.from({ length: groups }, (_, g) => {
        const best = largest(choice, candidates.slice(g * perGroup, (g + 1) * perGroup), 2).map((e) => choice[e]!);
        return c.attrs.groupScore === 'max' ? best[0]! : best[0]! + best[1]!;
      });
      const kept = new Set(largest(groupScores, [...groupScores.keys()], c.num('topkGroup')));
      candidates = candidates.filter((e) => kept.has(Math.floor(e / perGroup)));
    }
    const chosen = largest(choice, candidates, topK);
    const total = c.attrs.normalize === true ? chosen.reduce((sum, e) => sum + scores[e]!, 1e-20) : 1;
    chosen.forEach((e, j) => {
      c.outI32(0)[t * topK + j] = e;
      c.outF32(1)[t * topK + j] = (scores[e]! / total) * c.num('scale');
    });
  }
}
