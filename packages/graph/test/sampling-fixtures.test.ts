import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import * as transforms from '../src/reference/sampling/transforms.js';

type Step = [string, ...number[]];

interface Case {
  readonly name: string;
  readonly logits: string;
  readonly chain: readonly Step[];
  readonly kept: number;
  readonly kept_ids?: readonly number[];
  readonly probs_kept?: readonly number[];
  readonly probs_even?: readonly number[];
  readonly probs_sorted?: readonly number[];
  readonly argmax: number;
  readonly entropy_nats: number;
}

interface Fixtures {
  readonly history: readonly number[];
  readonly logits: Readonly<Record<string, readonly (number | '-inf')[]>>;
  readonly cases: readonly Case[];
}

const file = new URL('./fixtures/sampling.json.gz', import.meta.url);
const fixtures = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Fixtures;

const counts = new Map<number, number>();
for (const id of fixtures.history) counts.set(id, (counts.get(id) ?? 0) + 1);
const ids = Int32Array.from(counts.keys());
const idCounts = Int32Array.from(counts.values());

function apply(logits: Float64Array, [name, a, b]: Step): void {
  switch (name) {
    case 'temperature':
      return transforms.temperature(logits, a!);
    case 'top_k':
      return transforms.topK(logits, a!);
    case 'top_p':
      return transforms.topP(logits, a!);
    case 'min_p':
      return transforms.minP(logits, a!);
    case 'typical_p':
      return transforms.typicalP(logits, a!);
    case 'repetition_penalty':
      return transforms.repetitionPenalty(logits, ids, a!);
    case 'frequency_presence_openai':
      return transforms.frequencyPresence(logits, ids, idCounts, a!, b!);
    default:
      throw new Error(name);
  }
}

/** Expected and actual probabilities, in the order that the case gives them. */
function comparison(c: Case, all: Float64Array, kept: readonly number[]): [readonly number[], readonly number[]] {
  const probabilities = kept.map((id) => all[id]!);
  if (c.probs_sorted !== undefined) return [c.probs_sorted, probabilities.toSorted((a, b) => a - b)];
  if (c.probs_even !== undefined) return [c.probs_even, [...all].filter((_, id) => id % 2 === 0)];
  return [c.probs_kept!, probabilities];
}

// epsilon_cutoff is not part of the chain.
const cases = fixtures.cases.filter((c) => c.chain.every(([name]) => name !== 'epsilon_cutoff'));

describe('sampling transforms against transformers', () => {
  it('covers the fixtures', () => expect(cases.length).toBe(115));

  it.each(cases.map((c) => [c.name, c] as const))('%s', (_, c) => {
    const logits = Float64Array.from(fixtures.logits[c.logits]!, (v) => (v === '-inf' ? -Infinity : v));
    for (const step of c.chain) apply(logits, step);
    const probabilities = transforms.softmax(logits);
    const kept = [...logits.keys()].filter((id) => logits[id]! > -Infinity);
    const entropy = kept.reduce((s, id) => s - (probabilities[id] || 1) * Math.log(probabilities[id] || 1), 0);
    expect(kept.length).toBe(c.kept);
    expect(transforms.argmax(logits)).toBe(c.argmax);
    expect(Math.abs(entropy - c.entropy_nats)).toBeLessThan(2e-6);
    if (c.kept_ids !== undefined) expect(kept).toEqual(c.kept_ids);
    const [expected, actual] = comparison(c, probabilities, kept);
    expect(actual.length).toBe(expected.length);
    expected.forEach((p, i) => expect(Math.abs(actual[i]! - p)).toBeLessThan(1e-9 + 2e-6 * p));
  });
});
