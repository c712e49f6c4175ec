import { SampleF32, SampleI32, SampleStatus, sampleColumns, type HostArray } from '@dsi/kernels';
import { describe, expect, it } from 'vitest';
import { drawToken } from '../src/index.js';
import { close, launch, newGraph, runGraph } from './run-graph.js';

const empty = {
  penalty_ids: new Int32Array(0),
  penalty_counts: new Int32Array(0),
  bias_ids: new Int32Array(0),
  bias_values: new Float32Array(0),
};

/** Samples one row per entry of `rows`, all of the same logits. */
async function sample(
  logits: readonly number[],
  rows: readonly {
    f?: Partial<Record<keyof typeof SampleF32, number>>;
    i?: Partial<Record<keyof typeof SampleI32, number>>;
  }[],
  ragged: Readonly<Record<string, HostArray>> = {},
) {
  const g = newGraph();
  const out = g.sample(g.input('logits', 'f32', ['R', logits.length]), { topLogprobs: 2 });
  for (const [name, t] of Object.entries(out)) g.output(name, t);
  const R = rows.length;
  const f = new Float32Array(R * sampleColumns);
  const i = new Int32Array(R * sampleColumns);
  rows.forEach((row, r) => {
    const floats = { temperature: 1, topP: 1, typicalP: 1, repetitionPenalty: 1, ...row.f };
    for (const [k, v] of Object.entries(floats)) f[r * sampleColumns + SampleF32[k as keyof typeof SampleF32]] = v;
    for (const [k, v] of Object.entries({ logprobs: 2, ...row.i }))
      i[r * sampleColumns + SampleI32[k as keyof typeof SampleI32]] = v;
  });
  const { dims, inputs } = launch({ R }, { logits: rows.flatMap(() => logits) });
  const starts = new Int32Array(R + 1);
  const params = { params_f32: f, params_i32: i, penalty_starts: starts, bias_starts: starts };
  const all = { ...inputs, ...params, ...empty, ...ragged };
  return (await runGraph({ graph: g.build(), launches: [{ dims, inputs: all }] }))[0]!;
}

describe('sample', () => {
  it('draws as the distribution says, by seed, choice and index', async () => {
    const logits = Float64Array.of(Math.log(0.2), Math.log(0.5), -Infinity, Math.log(0.3));
    const counts = [0, 0, 0, 0];
    for (let index = 0; index < 6000; index++) {
      const id = drawToken(logits, { seedLow: 9, seedHigh: 1, choice: index % 3, index });
      counts[id] = counts[id]! + 1;
    }
    close(
      counts.map((n) => n / 6000),
      [0.2, 0.5, 0, 0.3],
      0.02,
    );
  });

  it('temperature 0 takes the best, ties to the lowest id, with raw logprobs', async () => {
    const out = await sample(
      [0, 1, 1, -1],
      [{ f: { temperature: 0 } }, { f: { temperature: 0 }, i: { logprobs: -1 } }],
    );
    expect([...out.tokens!]).toEqual([1, 1]);
    const z = Math.log(1 + 2 * Math.E + 1 / Math.E);
    close(out.logprobs, [1 - z, 0]);
    expect([...out.topIds!]).toEqual([1, 2, -1, -1]);
    close(out.topLogprobs, [1 - z, 1 - z, 0, 0]);
  });

  it('gives processed logprobs of what the chain left', async () => {
    const out = await sample([Math.log(3), 0, -5], [{ i: { topK: 2, processedLogprobs: 1 }, f: { temperature: 0.5 } }]);
    close(out.topLogprobs, [Math.log(0.9), Math.log(0.1)]);
    const one = await sample([Math.log(3), 0, -5], [{ i: { topK: 1, processedLogprobs: 1 } }]);
    expect([...one.topIds!]).toEqual([0, -1]);
    close(one.topLogprobs, [0, 0]);
  });

  it('biases and penalises rows apart', async () => {
    const greedy = { f: { temperature: 0, repetitionPenalty: 2, frequencyPenalty: 1 } };
    const out = await sample([4, 3, 2.5], [greedy, greedy, greedy], {
      penalty_starts: Int32Array.of(0, 0, 1, 3),
      penalty_ids: Int32Array.of(0, 0, 1),
      penalty_counts: Int32Array.of(0, 1, 0),
      bias_starts: Int32Array.of(0, 1, 1, 1),
      bias_ids: Int32Array.of(0),
      bias_values: Float32Array.of(-Infinity),
    });
    expect([...out.tokens!]).toEqual([1, 1, 2]);
  });

  it('says when a row cannot be sampled', async () => {
    for (const bad of [NaN, Infinity, -Infinity]) {
      const out = await sample([0, bad, 1], [{}]);
      expect([out.status![0], out.tokens![0]]).toEqual([SampleStatus.nonFinite, -1]);
    }
    const none = { bias_ids: Int32Array.of(1, 0), bias_values: Float32Array.of(-Infinity, -Infinity) };
    const out = await sample([0, 1], [{}], { bias_starts: Int32Array.of(0, 2), ...none });
    expect([out.status![0], out.tokens![0], out.topIds![0]]).toEqual([SampleStatus.noCandidate, -1, -1]);
  });

  it('refuses ragged lists that do not fit, and more logprobs than declared', async () => {
    await expect(sample([0, 1], [{}], { bias_starts: Int32Array.of(0, 1) })).rejects.toThrow('bias_starts[0..1]');
    await expect(sample([0, 1], [{}], { penalty_starts: Int32Array.of(0) })).rejects.toThrow(
      'penalty_starts must be 2',
    );
    await expect(sample([0, 1], [{ i: { logprobs: 3 } }])).rejects.toThrow('at most 2');
    const one = { bias_starts: Int32Array.of(0, 1), bias_ids: Int32Array.of(2), bias_values: Float32Array.of(1) };
    await expect(sample([0, 1], [{}], one)).rejects.toThrow('bias_ids[0] must be in 0..1, but is 2');
  });
});
