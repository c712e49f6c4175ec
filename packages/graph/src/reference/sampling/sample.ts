import { SampleF32, SampleI32, SampleStatus, sampleColumns } from '@dsi/kernels';
import type { Call } from '../call.js';
import { gumbel, xtcDraw, type DrawPosition } from './philox.js';
import * as transforms from './transforms.js';

/** Parameters of one row. */
interface RowParams {
  readonly f: Float32Array;
  readonly i: Int32Array;
  readonly penaltyIds: Int32Array;
  readonly penaltyCounts: Int32Array;
  readonly biasIds: Int32Array;
  readonly biasValues: Float32Array;
}

/** Everything before temperature: biases and penalties. */
function penalise(logits: Float32Array, p: RowParams): void {
  transforms.bias(logits, p.biasIds, p.biasValues);
  transforms.repetitionPenalty(logits, p.penaltyIds, p.f[SampleF32.repetitionPenalty]!);
  transforms.frequencyPresence(
    logits,
    p.penaltyIds,
    p.penaltyCounts,
    p.f[SampleF32.frequencyPenalty]!,
    p.f[SampleF32.presencePenalty]!,
  );
}

/** Temperature and every filter, in the chain's order. */
function filter(logits: Float32Array, p: RowParams, at: DrawPosition): void {
  transforms.temperature(logits, p.f[SampleF32.temperature]!);
  transforms.topNSigma(logits, p.f[SampleF32.topNSigma]!);
  transforms.topK(logits, p.i[SampleI32.topK]!);
  transforms.typicalP(logits, p.f[SampleF32.typicalP]!);
  transforms.topP(logits, p.f[SampleF32.topP]!);
  transforms.minP(logits, p.f[SampleF32.minP]!);
  if (xtcDraw(at) < p.f[SampleF32.xtcProbability]!) transforms.xtc(logits, p.f[SampleF32.xtcThreshold]!);
}

function logSoftmax(logits: Float32Array): Float64Array {
  const max = logits[transforms.argmax(logits)]!;
  const logSum = max + Math.log(logits.reduce((s, v) => s + Math.exp(v - max), 0));
  return Float64Array.from(logits, (v) => v - logSum);
}

/** Gumbel-max over the kept ids: argmax of logit + noise. */
export function drawToken(logits: transforms.Logits, at: DrawPosition): number {
  return transforms.argmax(Float64Array.from(logits, (v, id) => (v === -Infinity ? v : v + gumbel(at, id))));
}

interface RowResult {
  readonly token: number;
  readonly status: number;
  readonly logprob: number;
  readonly topIds: readonly number[];
  readonly topLogprobs: readonly number[];
}

const failed = { token: -1, logprob: 0, topIds: [], topLogprobs: [] };

function sampleRow(raw: Float32Array, p: RowParams): RowResult {
  // Bans come as biases: a raw logit that is not finite is a numerical accident.
  if (raw.some((v) => !Number.isFinite(v))) return { ...failed, status: SampleStatus.nonFinite };
  const logits = raw.slice();
  penalise(logits, p);
  const at: DrawPosition = {
    seedLow: p.i[SampleI32.seedLow]!,
    seedHigh: p.i[SampleI32.seedHigh]!,
    choice: p.i[SampleI32.choice]!,
    index: p.i[SampleI32.index]!,
  };
  const greedy = p.f[SampleF32.temperature] === 0;
  if (transforms.argmax(logits) < 0) return { ...failed, status: SampleStatus.noCandidate };
  if (!greedy) filter(logits, p, at);
  const token = greedy ? transforms.argmax(logits) : drawToken(logits, at);
  const wanted = p.i[SampleI32.logprobs]!;
  if (wanted < 0) return { token, status: SampleStatus.ok, logprob: 0, topIds: [], topLogprobs: [] };
  const logprobs = logSoftmax(p.i[SampleI32.processedLogprobs] === 1 ? logits : raw);
  const topIds = [...logprobs.keys()]
    .filter((id) => logprobs[id]! > -Infinity)
    .toSorted((a, b) => logprobs[b]! - logprobs[a]! || a - b)
    .slice(0, wanted);
  return {
    token,
    status: SampleStatus.ok,
    logprob: logprobs[token]!,
    topIds,
    topLogprobs: topIds.map((id) => logprobs[id]!),
  };
}

/** starts[r] .. starts[r + 1] of a ragged operand, checked. */
function range(c: Call, operand: string, starts: Int32Array, r: number, length: number): [number, number] {
  const [begin, end] = [starts[r]!, starts[r + 1]!];
  if (!(begin >= 0 && begin <= end && end <= length))
    c.fail(`${operand}[${r}..${r + 1}]`, `an ascending range within 0..${length}`, `${begin}..${end}`);
  return [begin, end];
}

function rowParams(c: Call, r: number, V: number): RowParams {
  const i = c.i32(2).subarray(r * sampleColumns, (r + 1) * sampleColumns);
  const [p0, p1] = range(c, 'penalty_starts', c.i32(3), r, Math.min(c.i32(4).length, c.i32(5).length));
  const [b0, b1] = range(c, 'bias_starts', c.i32(6), r, Math.min(c.i32(7).length, c.f32(8).length));
  for (let j = p0; j < p1; j++) c.index('penalty_ids', c.i32(4), j, V);
  for (let j = b0; j < b1; j++) c.index('bias_ids', c.i32(7), j, V);
  const most = c.num('topLogprobs');
  if (i[SampleI32.logprobs]! > most)
    c.fail(`params_i32[${r}].logprobs`, `at most ${most}`, String(i[SampleI32.logprobs]));
  return {
    f: c.f32(1).subarray(r * sampleColumns, (r + 1) * sampleColumns),
    i,
    penaltyIds: c.i32(4).subarray(p0, p1),
    penaltyCounts: c.i32(5).subarray(p0, p1),
    biasIds: c.i32(7).subarray(b0, b1),
    biasValues: c.f32(8).subarray(b0, b1),
  };
}

/**
 * The `sample` op as sampling.ts of @dsi/kernels defines it: every step of the chain rounds to f32 once, probabilities are float64.
 * A row whose raw logits are not all finite, or of which the biases ban everything, gets its status and token -1. Columns of `top_ids`
 * beyond what the row wants, or beyond the tokens that the chain kept, hold -1 (their logprobs 0).
 */
export function sample(c: Call): void {
  const [R, V] = c.in(0).shape as [number, number];
  const L = c.num('topLogprobs');
  for (const [operand, starts] of [
    ['penalty_starts', c.i32(3)],
    ['bias_starts', c.i32(6)],
  ] as const)
    if (starts.length !== R + 1) c.fail(operand, `${R + 1} long`, `${starts.length} long`);
  c.outI32(3).fill(-1);
  c.outF32(4).fill(0);
  for (let r = 0; r < R; r++) {
    const row = sampleRow(c.f32(0).subarray(r * V, (r + 1) * V), rowParams(c, r, V));
    c.outI32(0)[r] = row.token;
    c.outI32(1)[r] = row.status;
    c.outF32(2)[r] = row.logprob;
    c.outI32(3).set(row.topIds, r * L);
    c.outF32(4).set(row.topLogprobs, r * L);
  }
}
