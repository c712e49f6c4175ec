import {
  sampleColumns,
  SampleF32,
  SampleI32,
  weightUses,
  type CpuBackend,
  type HostArray,
  type Program,
} from '../../src/index.js';
import { ProgramBuilder } from './program-builder.js';
import type { SampleRow } from './sampler-reference.js';

export function sampleProgram(vocabulary: number, topLogprobs: number, maxRows = 16): Program {
  const b = new ProgramBuilder({ T: 1, S: 1, R: maxRows, B: 1 });
  const inputs = [
    b.input('logits', 'f32', ['R', vocabulary]),
    b.input('params_f32', 'f32', ['R', sampleColumns]),
    b.input('params_i32', 'i32', ['R', sampleColumns]),
    b.input('penalty_starts', 'i32', []),
    b.input('penalty_ids', 'i32', []),
    b.input('penalty_counts', 'i32', []),
    b.input('bias_starts', 'i32', []),
    b.input('bias_ids', 'i32', []),
    b.input('bias_values', 'f32', []),
  ];
  const outputs = {
    tokens: b.value('tokens', ['R'], 'i32'),
    status: b.value('status', ['R'], 'i32'),
    logprobs: b.value('logprobs', ['R']),
    top_ids: b.value('top_ids', ['R', topLogprobs], 'i32'),
    top_logprobs: b.value('top_logprobs', ['R', topLogprobs]),
  };
  b.op('sample', inputs, Object.values(outputs), { topLogprobs });
  for (const [name, id] of Object.entries(outputs)) b.output(name, id);
  return b.build();
}

/** The inputs of the sample op for these rows; `logits` [R, V]. */
export function sampleInputs(logits: Float32Array, rows: readonly SampleRow[]): Record<string, HostArray> {
  const f = new Float32Array(rows.length * sampleColumns);
  const n = new Int32Array(rows.length * sampleColumns);
  const penalties: [number, number][] = [];
  const biases: [number, number][] = [];
  const penaltyStarts = [0];
  const biasStarts = [0];
  rows.forEach((row, r) => {
    const at = r * sampleColumns;
    f[at + SampleF32.temperature] = row.temperature ?? 1;
    f[at + SampleF32.topP] = row.topP ?? 1;
    f[at + SampleF32.minP] = row.minP ?? 0;
    f[at + SampleF32.typicalP] = row.typicalP ?? 1;
    f[at + SampleF32.repetitionPenalty] = row.repetitionPenalty ?? 1;
    f[at + SampleF32.frequencyPenalty] = row.frequencyPenalty ?? 0;
    f[at + SampleF32.presencePenalty] = row.presencePenalty ?? 0;
    f[at + SampleF32.topNSigma] = row.topNSigma ?? 0;
    f[at + SampleF32.xtcProbability] = row.xtcProbability ?? 0;
    f[at + SampleF32.xtcThreshold] = row.xtcThreshold ?? 0.1;
    const seed = row.seed ?? 0n;
    n[at + SampleI32.topK] = row.topK ?? 0;
    n[at + SampleI32.seedLow] = Number(BigInt.asIntN(32, seed));
    n[at + SampleI32.seedHigh] = Number(BigInt.asIntN(32, seed >> 32n));
    n[at + SampleI32.choice] = row.choice ?? 0;
    n[at + SampleI32.index] = row.index ?? 0;
    n[at + SampleI32.logprobs] = row.logprobs ?? -1;
    n[at + SampleI32.processedLogprobs] = Number(row.processedLogprobs ?? false);
    penalties.push(...(row.penalties ?? []));
    biases.push(...(row.biases ?? []));
    penaltyStarts.push(penalties.length);
    biasStarts.push(biases.length);
  });
  return {
    logits,
    params_f32: f,
    params_i32: n,
    penalty_starts: Int32Array.from(penaltyStarts),
    penalty_ids: Int32Array.from(penalties, (p) => p[0]),
    penalty_counts: Int32Array.from(penalties, (p) => p[1]),
    bias_starts: Int32Array.from(biasStarts),
    bias_ids: Int32Array.from(biases, (b) => b[0]),
    bias_values: Float32Array.from(biases, (b) => b[1]),
  };
}

/** A compiled sample op, for many launches. */
export async function compileSampler(backend: CpuBackend, vocabulary: number, topLogprobs: number) {
  const program = sampleProgram(vocabulary, topLogprobs);
  const weights = await backend.loadWeights([], weightUses([program]), { numerics: 'exact' });
  const kv = backend.createKv([], 1, 16);
  const executable = backend.compile(program, weights, kv);
  return {
    run: (logits: Float32Array, rows: readonly SampleRow[]) =>
      executable.launch({ dims: { T: 0, S: 0, R: rows.length, B: 0 }, inputs: sampleInputs(logits, rows) }),
    dispose() {
      executable.dispose();
      kv.dispose();
      weights.dispose();
    },
  };
}
