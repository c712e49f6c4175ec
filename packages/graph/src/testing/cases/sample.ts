import { SampleF32, SampleI32, sampleColumns, type HostArray } from '@dsi/kernels';
import { expectBits, expectClose } from '../compare.js';
import { both, program, rowsLaunch, type ConformanceCase } from '../harness.js';
import { Random } from '../random.js';

/** One row's parameters; what is left out is neutral. */
interface Row {
  readonly f?: Partial<Record<keyof typeof SampleF32, number>>;
  readonly i?: Partial<Record<keyof typeof SampleI32, number>>;
  readonly penalties?: readonly (readonly [id: number, count: number])[];
  readonly biases?: readonly (readonly [id: number, value: number])[];
}

const neutral = { temperature: 1, topP: 1, typicalP: 1, repetitionPenalty: 1 };

function pack(rows: readonly Row[]): Record<string, HostArray> {
  const f = new Float32Array(rows.length * sampleColumns);
  const i = new Int32Array(rows.length * sampleColumns);
  const starts = (of: (r: Row) => number) => {
    const s = [0];
    for (const r of rows) s.push(s.at(-1)! + of(r));
    return Int32Array.from(s);
  };
  rows.forEach((row, r) => {
    for (const [k, v] of Object.entries({ ...neutral, ...row.f }))
      f[r * sampleColumns + SampleF32[k as keyof typeof SampleF32]] = v;
    for (const [k, v] of Object.entries({ logprobs: -1, ...row.i }))
      i[r * sampleColumns + SampleI32[k as keyof typeof SampleI32]] = v;
  });
  const penalties = rows.flatMap((r) => r.penalties ?? []);
  const biases = rows.flatMap((r) => r.biases ?? []);
  return {
    params_f32: f,
    params_i32: i,
    penalty_starts: starts((r) => r.penalties?.length ?? 0),
    penalty_ids: Int32Array.from(penalties, ([id]) => id),
    penalty_counts: Int32Array.from(penalties, ([, n]) => n),
    bias_starts: starts((r) => r.biases?.length ?? 0),
    bias_ids: Int32Array.from(biases, ([id]) => id),
    bias_values: Float32Array.from(biases, ([, v]) => v),
  };
}

const L = 5;

/** Every transform alone and in company, under several seeds and positions. */
function rowsOf(V: number, random: Random): Row[] {
  const id = () => random.int(0, V - 1);
  const distinct = [...new Set(Array.from({ length: Math.min(V, 12) }, id))];
  const penalties = distinct.map((t) => [t, random.int(0, 3)] as const);
  const chains: Row[] = [
    { f: { temperature: 0 } },
    { f: { temperature: 0, repetitionPenalty: 1.3, frequencyPenalty: 0.4, presencePenalty: 0.2 }, penalties },
    {},
    { f: { temperature: 0.7 } },
    { f: { temperature: 1.5, topNSigma: 1.2 } },
    { i: { topK: 5 } },
    { i: { topK: V + 1 } },
    { f: { typicalP: 0.6 } },
    { f: { topP: 0.8 } },
    { f: { topP: 0.05 } },
    { f: { minP: 0.1 } },
    { f: { temperature: 2, xtcProbability: 0.5, xtcThreshold: 0.05 } },
    { f: { temperature: 2, xtcProbability: 1, xtcThreshold: 0.02 } },
    { f: { repetitionPenalty: 1.5 }, penalties },
    { f: { frequencyPenalty: 1, presencePenalty: -0.5 }, penalties },
    { biases: distinct.map((t, n) => [t, n % 2 === 0 ? -Infinity : 3] as const) },
    { biases: Array.from({ length: V }, (_, t) => [t, -Infinity] as const).filter(([t]) => t !== distinct[0]) },
    {
      f: { temperature: 0.9, topP: 0.9, minP: 0.02, typicalP: 0.95, topNSigma: 3, repetitionPenalty: 1.1 },
      i: { topK: 50 },
      penalties,
      biases: [[distinct[0]!, 2]],
    },
  ];
  return chains.flatMap((row, n) =>
    [0, 1, 2].map((k) => ({
      ...row,
      i: {
        ...row.i,
        seedLow: random.int(-(2 ** 31), 2 ** 31 - 1),
        seedHigh: random.int(-(2 ** 31), 2 ** 31 - 1),
        choice: k,
        index: random.int(0, 5000),
        logprobs: k === 0 ? -1 : (n + k) % (L + 1),
        processedLogprobs: k === 2 ? 1 : 0,
      },
    })),
  );
}

function chainCase(V: number, seed: number): ConformanceCase {
  return {
    name: `sample, vocabulary ${V}`,
    async run(s) {
      const random = new Random(seed);
      const rows = rowsOf(V, random);
      const R = rows.length;
      const p = sampleProgram(s.numerics, V);
      const logits = random.normals(R * V, 2.5);
      const launches = [rowsLaunch(0, { logits, ...pack(rows) }, R)];
      for (const r of [0, 7, R - 1]) {
        const alone = { logits: logits.slice(r * V, (r + 1) * V), ...pack([rows[r]!]) };
        launches.push(rowsLaunch(0, alone, 1));
      }
      launches.push(rowsLaunch(0, { logits: logits.subarray(0, 0), ...pack([]) }, 0));
      const { actual, expected } = await both(s, { program: p, weights: [], launches });
      const [a, e] = [actual[0]!, expected[0]!];
      expectBits('status', a.status!, e.status!);
      expectBits('tokens', a.tokens!, e.tokens!);
      const wanted = rows.map((row) => row.i!.logprobs!);
      // What a row did not ask for is unset.
      const ask = (x: HostArray, width: number) =>
        x.map((v: number, i: number) =>
          i % width < wanted[Math.floor(i / width)]! + (width === 1 ? 1 : 0) ? v : 0,
        ) as HostArray;
      expectClose('logprobs', ask(a.logprobs!, 1), ask(e.logprobs!, 1), () => s.tolerances.logprob);
      expectBits('top_ids', ask(a.top_ids!, L), ask(e.top_ids!, L));
      expectClose('top_logprobs', ask(a.top_logprobs!, L), ask(e.top_logprobs!, L), () => s.tolerances.logprob);
      [0, 7, R - 1].forEach((r, i) => {
        expectBits(`token of row ${r} alone`, actual[1 + i]!.tokens!, a.tokens!.subarray(r, r + 1));
        if (wanted[r]! >= 0)
          expectBits(`logprob of row ${r} alone`, actual[1 + i]!.logprobs!, a.logprobs!.subarray(r, r + 1));
      });
      expectBits('tokens of no rows', actual[4]!.tokens!, new Int32Array(0));
    },
  };
}

function sampleProgram(numerics: 'exact' | 'fast', V: number) {
  return program(numerics, (g) => {
    const out = g.sample(g.input('logits', 'f32', ['R', V]), { topLogprobs: L });
    g.output('tokens', out.tokens);
    g.output('status', out.status);
    g.output('logprobs', out.logprobs);
    g.output('top_ids', out.topIds);
    g.output('top_logprobs', out.topLogprobs);
  });
}

const ties: ConformanceCase = {
  name: 'sample: ties go to the lowest id, rows that cannot be sampled say so',
  async run(s) {
    const V = 40;
    const rows: Row[] = [
      { f: { temperature: 0 }, i: { logprobs: 3 } },
      { i: { topK: 2, logprobs: 2 } },
      { f: { temperature: 0 } },
      { f: { temperature: 0 } },
      {},
      {},
      { biases: Array.from({ length: V }, (_, t) => [t, -Infinity] as const) },
    ];
    const logits = new Float32Array(rows.length * V);
    logits.fill(1, V + 10, V + 20);
    logits[2 * V + 7] = NaN;
    logits[3 * V + 7] = Infinity;
    logits[4 * V + 39] = NaN;
    logits[5 * V + 1] = -Infinity;
    const launches = [rowsLaunch(0, { logits, ...pack(rows) }, rows.length)];
    const { actual, expected } = await both(s, { program: sampleProgram(s.numerics, V), weights: [], launches });
    expectBits('status', actual[0]!.status!, expected[0]!.status!);
    expectBits('tokens', actual[0]!.tokens!, expected[0]!.tokens!);
    expectBits('top_ids of row 0', actual[0]!.top_ids!.subarray(0, 3), expected[0]!.top_ids!.subarray(0, 3));
    expectBits('top_ids of row 1', actual[0]!.top_ids!.subarray(L, L + 2), expected[0]!.top_ids!.subarray(L, L + 2));
  },
};

export function sampleCases(): ConformanceCase[] {
  return [chainCase(7, 5000), chainCase(1000, 5001), chainCase(4099, 5002), ties];
}
