import { describe, expect, it } from 'vitest';
import {
  bias,
  frequencyPresence,
  minP,
  repetitionPenalty,
  topK,
  topNSigma,
  topP,
  typicalP,
  xtc,
} from './transforms.js';

const kept = (logits: Float64Array) => [...logits.keys()].filter((id) => logits[id]! > -Infinity);

/** Logits whose softmax is these probabilities. */
const of = (...probabilities: number[]) => Float64Array.from(probabilities, Math.log);

function after(logits: Float64Array, transform: (l: Float64Array) => void): number[] {
  transform(logits);
  return kept(logits);
}

describe('transforms by hand', () => {
  it('penalties and biases', () => {
    const logits = Float64Array.of(2, -2, 1, 0);
    repetitionPenalty(logits, Int32Array.of(0, 1), 2);
    expect([...logits]).toEqual([1, -4, 1, 0]);
    frequencyPresence(logits, Int32Array.of(0, 1, 2), Int32Array.of(2, 1, 0), 0.5, 0.25);
    expect([...logits]).toEqual([-0.25, -4.75, 1, 0]);
    bias(logits, Int32Array.of(3, 0), Float32Array.of(1.5, -Infinity));
    expect([...logits]).toEqual([-Infinity, -4.75, 1, 1.5]);
  });

  it('top_k keeps ties with the k-th', () => {
    expect(after(of(0.1, 0.3, 0.3, 0.2, 0.1), (l) => topK(l, 1))).toEqual([1, 2]);
    expect(after(of(0.1, 0.3, 0.3, 0.2, 0.1), (l) => topK(l, 4))).toEqual([0, 1, 2, 3, 4]);
    expect(after(of(0.4, 0.6), (l) => topK(l, 0))).toEqual([0, 1]);
  });

  it('top_p keeps the token that crosses, and at least one; of equals the lowest ids', () => {
    expect(after(of(0.5, 0.3, 0.15, 0.05), (l) => topP(l, 0.7))).toEqual([0, 1]);
    expect(after(of(0.5, 0.3, 0.15, 0.05), (l) => topP(l, 0))).toEqual([0]);
    expect(after(Float64Array.of(1, 1, 1, 1), (l) => topP(l, 0.3))).toEqual([0, 1]);
  });

  it('min_p is relative to the best', () => {
    expect(after(of(0.6, 0.29, 0.11), (l) => minP(l, 0.2))).toEqual([0, 1]);
  });

  it('typical_p prefers what is as surprising as the whole', () => {
    // Entropy 1.03: 0.3 (surprise 1.20) is nearest, then 0.5 (0.69), then 0.2 (1.61).
    expect(after(of(0.5, 0.3, 0.2), (l) => typicalP(l, 0.2))).toEqual([1]);
    expect(after(of(0.5, 0.3, 0.2), (l) => typicalP(l, 0.7))).toEqual([0, 1]);
    expect(after(of(0.5, 0.3, 0.2), (l) => typicalP(l, 0.9))).toEqual([0, 1, 2]);
  });

  it('top_n_sigma counts deviations of the kept logits below the best', () => {
    // Mean 2.5, deviation 1.118.
    expect(after(Float64Array.of(1, 2, 3, 4, -Infinity), (l) => topNSigma(l, 1))).toEqual([2, 3]);
    expect(after(Float64Array.of(1, 2, 3, 4), (l) => topNSigma(l, 0))).toEqual([0, 1, 2, 3]);
  });

  it('xtc leaves the least probable of the top, of equals the highest id', () => {
    expect(after(of(0.4, 0.3, 0.2, 0.1), (l) => xtc(l, 0.15))).toEqual([2, 3]);
    expect(after(of(0.4, 0.4, 0.2), (l) => xtc(l, 0.3))).toEqual([1, 2]);
    expect(after(of(0.8, 0.2), (l) => xtc(l, 0.5))).toEqual([0, 1]);
  });

  it('a banned vector stays banned', () => {
    const none = Float64Array.of(-Infinity, -Infinity);
    for (const transform of [topK, topP, minP, typicalP, topNSigma, xtc])
      expect(after(none.slice(), (l) => transform(l, 0.5))).toEqual([]);
  });
});
