import { SampleF32, SampleI32, sampleColumns } from '@dsi/kernels';
import type { PenaltyCounter } from './penalty-counter.js';
import type { ResolvedSampling } from './sampling-params.js';

/** One row of logits and what is to be drawn from it. */
export interface SampleRow {
  /** Position of the token whose logits these are; the drawn token stands at position + 1. */
  readonly position: number;
  readonly draw: Draw | Score;
}

/** Draw a token by a request's sampler chain. */
export interface Draw {
  readonly kind: 'draw';
  readonly sampling: ResolvedSampling;
  readonly seedLow: number;
  readonly seedHigh: number;
  readonly choice: number;
  /** Tokens generated before this one. */
  readonly index: number;
  readonly penalties: PenaltyCounter | undefined;
  readonly biasIds: readonly number[];
  readonly biasValues: readonly number[];
}

/** Take the raw log-probability of a given token (prompt_logprobs, perplexity). `target` -1: only check that the row is finite. */
export interface Score {
  readonly kind: 'score';
  readonly target: number;
  /** Best logprobs wanted besides; 0 = none. */
  readonly logprobs: number;
}

/** Larger than any logit: added to one id it makes that id the argmax, while raw log-probabilities do not see biases. */
const forcingBias = 1e30;

/** The inputs of the `sample` op for R rows, freshly allocated. Layout: @dsi/kernels, sampling.ts. */
export function packSampleInputs(rows: readonly SampleRow[]): Record<string, Float32Array | Int32Array> {
  const f32 = new Float32Array(rows.length * sampleColumns);
  const i32 = new Int32Array(rows.length * sampleColumns);
  const penaltyStarts = new Int32Array(rows.length + 1);
  const biasStarts = new Int32Array(rows.length + 1);
  rows.forEach(({ draw }, r) => {
    penaltyStarts[r + 1] = penaltyStarts[r]! + (draw.kind === 'draw' ? (draw.penalties?.size ?? 0) : 0);
    const numBiases = draw.kind === 'draw' ? draw.biasIds.length : draw.target >= 0 ? 1 : 0;
    biasStarts[r + 1] = biasStarts[r]! + numBiases;
  });
  const penaltyIds = new Int32Array(penaltyStarts[rows.length]!);
  const penaltyCounts = new Int32Array(penaltyIds.length);
  const biasIds = new Int32Array(biasStarts[rows.length]!);
  const biasValues = new Float32Array(biasIds.length);
  rows.forEach(({ draw }, r) => {
    const f = f32.subarray(r * sampleColumns, (r + 1) * sampleColumns);
    const i = i32.subarray(r * sampleColumns, (r + 1) * sampleColumns);
    if (draw.kind === 'draw') {
      packDraw(draw, f, i);
      if (draw.penalties) {
        penaltyIds.set(draw.penalties.ids, penaltyStarts[r]!);
        penaltyCounts.set(draw.penalties.counts, penaltyStarts[r]!);
      }
      biasIds.set(draw.biasIds, biasStarts[r]!);
      biasValues.set(draw.biasValues, biasStarts[r]!);
    } else {
      packNeutral(f);
      i[SampleI32.logprobs] = draw.target >= 0 ? draw.logprobs : -1;
      if (draw.target >= 0) {
        biasIds[biasStarts[r]!] = draw.target;
        biasValues[biasStarts[r]!] = forcingBias;
      }
    }
  });
  return {
    params_f32: f32,
    params_i32: i32,
    penalty_starts: penaltyStarts,
    penalty_ids: penaltyIds,
    penalty_counts: penaltyCounts,
    bias_starts: biasStarts,
    bias_ids: biasIds,
    bias_values: biasValues,
  };
}

function packNeutral(f: Float32Array): void {
  f[SampleF32.topP] = 1;
  f[SampleF32.typicalP] = 1;
  f[SampleF32.repetitionPenalty] = 1;
}

function packDraw(draw: Draw, f: Float32Array, i: Int32Array): void {
  const s = draw.sampling;
  f[SampleF32.temperature] = s.temperature;
  f[SampleF32.topP] = s.topP;
  f[SampleF32.minP] = s.minP;
  f[SampleF32.typicalP] = s.typicalP;
  f[SampleF32.repetitionPenalty] = s.repetitionPenalty;
  f[SampleF32.frequencyPenalty] = s.frequencyPenalty;
  f[SampleF32.presencePenalty] = s.presencePenalty;
  f[SampleF32.topNSigma] = s.topNSigma;
  f[SampleF32.xtcProbability] = s.xtcProbability;
  f[SampleF32.xtcThreshold] = s.xtcThreshold;
  i[SampleI32.topK] = s.topK;
  i[SampleI32.seedLow] = draw.seedLow;
  i[SampleI32.seedHigh] = draw.seedHigh;
  i[SampleI32.choice] = draw.choice;
  i[SampleI32.index] = draw.index;
  i[SampleI32.logprobs] = s.logprobs;
  i[SampleI32.processedLogprobs] = s.processedLogprobs ? 1 : 0;
}
