import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LaunchError, SampleStatus } from '../src/index.js';
import { describeNative, isas, suiteBackend } from './support/native.js';
import { expectClose, normals, uniform } from './support/numbers.js';
import { compileSampler } from './support/sample.js';
import { candidates, philox, sampleReference, type SampleRow } from './support/sampler-reference.js';

type Transform = readonly [string, ...number[]];

interface Fixture {
  readonly history: readonly number[];
  readonly logits: Readonly<Record<string, readonly (number | string)[]>>;
  readonly cases: readonly {
    readonly name: string;
    readonly logits: string;
    readonly chain: readonly Transform[];
    readonly kept: number;
    readonly argmax: number;
    readonly entropy_nats: number;
    readonly kept_ids?: readonly number[];
    readonly probs_kept?: readonly number[];
  }[];
}

/** Made with torch and transformers' logits processors; see `source` in the file. */
const fixture = JSON.parse(
  gunzipSync(readFileSync(new URL('fixtures/sampling.json.gz', import.meta.url))).toString(),
) as Fixture;

function rowOf(chain: readonly Transform[]): SampleRow {
  const counts = new Map<number, number>();
  for (const id of fixture.history) counts.set(id, (counts.get(id) ?? 0) + 1);
  let row: SampleRow = {};
  for (const [name, a = 0, b = 0] of chain) {
    const parts: Readonly<Record<string, SampleRow>> = {
      temperature: { temperature: a },
      top_k: { topK: a },
      top_p: { topP: a },
      min_p: { minP: a },
      typical_p: { typicalP: a },
      repetition_penalty: { repetitionPenalty: a, penalties: counts },
      frequency_presence_openai: { frequencyPenalty: a, presencePenalty: b, penalties: counts },
    };
    row = { ...row, ...parts[name] };
  }
  return row;
}

describeNative('sample against transformers', () => {
  const backend = suiteBackend();
  const vocabulary = 1000;
  let sampler: Awaited<ReturnType<typeof compileSampler>>;
  beforeAll(async () => {
    sampler = await compileSampler(backend(), vocabulary, vocabulary);
  });
  afterAll(() => sampler.dispose());

  it.each(fixture.cases)('$name', async ({ logits: name, chain, ...expected }) => {
    const source = fixture.logits[name]!.map((x) => (x === '-inf' ? -Infinity : Number(x)));
    const biases = new Map(source.flatMap((x, id) => (x === -Infinity ? [[id, -Infinity] as const] : [])));
    const logits = Float32Array.from(source, (x) => (x === -Infinity ? 0 : x));
    const out = await sampler.run(logits, [{ ...rowOf(chain), biases, logprobs: vocabulary, processedLogprobs: true }]);
    expect(out['status']![0]).toBe(SampleStatus.ok);
    const kept = [...out['top_ids']!].filter((id) => id >= 0);
    const probs = [...out['top_logprobs']!].slice(0, kept.length).map((x) => Math.exp(x));
    expect(kept.length).toBe(expected.kept);
    expect(kept[0]).toBe(expected.argmax);
    const entropy = -probs.reduce((s, p) => s + p * Math.log(p), 0);
    expect(entropy).toBeCloseTo(expected.entropy_nats, 5);
    if (expected.probs_kept) {
      const ranked = expected.probs_kept.toSorted((a, b) => b - a);
      expectClose(probs, ranked, 1e-6);
      // At the edge of top_p the reference's choice among equal values is its sort's.
      if (name !== 'ties') expect(kept.toSorted((a, b) => a - b)).toEqual(expected.kept_ids);
    }
  });
});

it('philox follows the known answers of its authors', () => {
  expect(philox([0n, 0n, 0n, 0n], [0n, 0n])).toEqual([0x6627e8d5n, 0xe169c58dn, 0xbc57ac4cn, 0x9b00dbd8n]);
  const ones = 0xffffffffn;
  expect(philox([ones, ones, ones, ones], [ones, ones])).toEqual([0x408f276dn, 0x41c83b0en, 0xa20bc7c6n, 0x6d5451fdn]);
});

for (const isa of isas) {
  describeNative(`sample on ${isa}`, () => {
    const backend = suiteBackend({ isa });

    it('draws the tokens of the reference for random parameters, and in any batch', async () => {
      const vocabulary = 1003;
      const sampler = await compileSampler(backend(), vocabulary, 5);
      const next = uniform(5);
      const pick = <T>(...options: T[]): T => options[Math.floor(next() * options.length)]!;
      const rows: SampleRow[] = Array.from({ length: 160 }, (_, i) => ({
        temperature: pick(0, 0.3, 1, 1, 1.7),
        ...(next() < 0.3 && { topK: pick(1, 3, 40, 200, 2000) }),
        ...(next() < 0.4 && { topP: pick(0.05, 0.5, 0.95) }),
        ...(next() < 0.3 && { minP: pick(0.01, 0.2) }),
        ...(next() < 0.2 && { typicalP: pick(0.3, 0.9) }),
        ...(next() < 0.2 && { topNSigma: pick(0.5, 2) }),
        ...(next() < 0.3 && { xtcProbability: pick(0.5, 1), xtcThreshold: 0.05 }),
        ...(next() < 0.3 && {
          repetitionPenalty: 1.3,
          frequencyPenalty: 0.2,
          presencePenalty: 0.1,
          penalties: new Map(
            [
              [3, 0],
              [Math.floor(next() * vocabulary), 2],
              [1002, 1],
            ].map(([a, b]) => [a!, b!]),
          ),
        }),
        ...(next() < 0.3 && {
          biases: new Map([
            [5, -Infinity],
            [77, 3.5],
          ]),
        }),
        seed: (BigInt(i) << 40n) + 12345n,
        choice: i % 3,
        index: i * 7,
      }));
      const logits = rows.map((_, i) => normals(vocabulary, 1000 + i, pick(1, 3, 6)));
      const tokens: number[] = [];
      for (let i = 0; i < rows.length; i += 16) {
        const all = Float32Array.from(logits.slice(i, i + 16).flatMap((x) => [...x]));
        tokens.push(...(await sampler.run(all, rows.slice(i, i + 16)))['tokens']!);
      }
      expect(tokens).toEqual(rows.map((row, i) => sampleReference(logits[i]!, row)));
      for (const i of [0, 21, 99]) expect((await sampler.run(logits[i]!, [rows[i]!]))['tokens']![0]).toBe(tokens[i]);
      sampler.dispose();
    });

    it('draws in proportion to the probabilities', async () => {
      const sampler = await compileSampler(backend(), 4, 4);
      const logits = Float32Array.of(2, 1.5, 1, 0.5);
      const counts = [0, 0, 0, 0];
      const draws = 4096;
      for (let i = 0; i < draws; i += 16) {
        const rows = Array.from({ length: 16 }, (_, j) => ({ seed: 42n, index: i + j }));
        const all = Float32Array.from({ length: 64 }, (_, j) => logits[j % 4]!);
        for (const token of (await sampler.run(all, rows))['tokens']!) counts[token]!++;
      }
      const expected = [0.455054, 0.276004, 0.167405, 0.101536];
      const chi = counts.reduce((s, n, i) => s + (n - draws * expected[i]!) ** 2 / (draws * expected[i]!), 0);
      expect(chi).toBeLessThan(16.27); // 3 degrees of freedom, p = 0.001
      sampler.dispose();
    });

    it('gives log-probabilities of the raw logits and of the processed distribution', async () => {
      const vocabulary = 37;
      const sampler = await compileSampler(backend(), vocabulary, 5);
      const logits = normals(vocabulary, 3, 2);
      logits[20] = logits[4] = Math.max(...logits) + 1;
      const row: SampleRow = { temperature: 0.7, topK: 3, seed: 9n, logprobs: 4 };
      const out = await sampler.run(Float32Array.from([...logits, ...logits]), [
        row,
        { ...row, processedLogprobs: true },
      ]);
      const lse = Math.log(logits.reduce((s, x) => s + Math.exp(x), 0));
      const ranked = [...logits].map((x, id) => ({ x, id })).toSorted((a, b) => b.x - a.x || a.id - b.id);
      expect(Array.from(out['top_ids']!.slice(0, 5))).toEqual([...ranked.slice(0, 4).map((r) => r.id), -1]);
      expectClose(
        out['top_logprobs']!.slice(0, 4),
        ranked.slice(0, 4).map((r) => r.x - lse),
        1e-6,
      );
      expect(out['logprobs']![0]).toBeCloseTo(logits[out['tokens']![0]!]! - lse, 5);
      const kept = candidates(logits, row);
      const keptLse = Math.log(kept.reduce((s, c) => s + Math.exp(c.z), 0));
      expect(Array.from(out['top_ids']!.slice(5))).toEqual([...kept.map((c) => c.id), -1, -1]);
      expectClose(
        out['top_logprobs']!.slice(5, 8),
        kept.map((c) => c.z - keptLse),
        1e-6,
      );
      sampler.dispose();
    });

    it('marks rows whose logits are not finite or that have no candidate, and only those', async () => {
      const sampler = await compileSampler(backend(), 5, 1);
      const rows = [NaN, Infinity, -Infinity, 0].map((x) => [1, 2, x, 0, 1]);
      rows.push([1, 2, 3, 4, 5], [1, 1, 0, 0, 0]);
      const ban = new Map([0, 1, 2, 3, 4].map((id) => [id, -Infinity]));
      const out = await sampler.run(Float32Array.from(rows.flat()), [
        {},
        {},
        { temperature: 0 },
        { temperature: 0 },
        { biases: ban },
        { temperature: 0 },
      ]);
      const { nonFinite, ok, noCandidate } = SampleStatus;
      expect([...out['status']!]).toEqual([nonFinite, nonFinite, nonFinite, ok, noCandidate, ok]);
      expect([...out['tokens']!]).toEqual([-1, -1, -1, 1, -1, 0]);
      sampler.dispose();
    });

    it('samples at a tiny temperature without overflow', async () => {
      const sampler = await compileSampler(backend(), 3, 1);
      const out = await sampler.run(Float32Array.of(90, 91, 89), [{ temperature: 1e-38 }]);
      expect([out['status']![0], out['tokens']![0]]).toEqual([SampleStatus.ok, 1]);
      sampler.dispose();
    });

    it('refuses parameters that mean nothing', async () => {
      const sampler = await compileSampler(backend(), 3, 1);
      const logits = Float32Array.of(1, 2, 3);
      const bad: [SampleRow, RegExp][] = [
        [{ temperature: -1 }, /temperature is -1/],
        [{ topP: 0 }, /top_p is 0/],
        [{ minP: NaN }, /min_p/],
        [{ repetitionPenalty: 0 }, /repetition_penalty/],
        [{ logprobs: 2 }, /"params_i32"\[5\] is 2: it must be in -1\.\.1/],
        [{ biases: new Map([[3, 1]]) }, /"bias_ids"\[0\] is 3: it must be in 0\.\.2/],
        [{ biases: new Map([[0, NaN]]) }, /"bias_values"\[0\]/],
        [{ penalties: new Map([[-1, 1]]) }, /"penalty_ids"\[0\] is -1/],
      ];
      for (const [row, message] of bad) {
        const result = sampler.run(logits, [row]);
        await expect(result).rejects.toThrow(LaunchError);
        await expect(result).rejects.toThrow(message);
      }
      sampler.dispose();
    });
  });
}
