import { UnsupportedModelError } from '../errors.js';
import type { Fields } from './fields.js';
import { limits, ropeFactorRange, ropeThetaRange } from './limits.js';
import {
  longRopeAttentionFactor,
  yarnMscale,
  type RopeConfig,
  type RopeContext,
  type RopeScaling,
} from './rope-config.js';

/** Small f32 tensors that hold RoPE divisors. */
export interface GgufRopeTensors {
  /** Values of a tensor of the file in f32, at most `count` of them; undefined if there is none. @throws WeightShapeError */
  valuesOf(tensor: string, count: number): readonly number[] | undefined;
}

/** RoPE as GGUF metadata describes it (`rope.freq_base`, `rope.scaling.*`) with the divisors that some files hold as tensors. */
export function ropeFromGguf(fields: Fields, tensors: GgufRopeTensors, context: RopeContext): RopeConfig {
  const theta = fields.optionalNumber('rope.freq_base', ropeThetaRange) ?? 10_000;
  return { theta, dim: context.dim, style: context.style, scaling: scalingFromGguf(fields, tensors, context) };
}

function scalingFromGguf(fields: Fields, tensors: GgufRopeTensors, context: RopeContext): RopeScaling {
  const half = context.dim / 2;
  const divisors = tensors.valuesOf('rope_freqs.weight', half);
  if (divisors !== undefined)
    return { type: 'factors', factors: checkedFactors(fields, 'rope_freqs.weight', divisors) };
  const long = tensors.valuesOf('rope_factors_long.weight', half);
  const short = tensors.valuesOf('rope_factors_short.weight', half);
  if (long !== undefined && short !== undefined) return longRope(fields, long, short, context);

  const type = fields.optionalString('rope.scaling.type') ?? (fields.has('rope.scale_linear') ? 'linear' : 'none');
  switch (type) {
    case 'none':
      return { type: 'default' };
    case 'linear':
      return {
        type: 'linear',
        factor:
          fields.optionalNumber('rope.scaling.factor', ropeFactorRange) ??
          fields.number('rope.scale_linear', ropeFactorRange),
      };
    case 'yarn':
      return yarn(fields, context);
    default:
      throw new UnsupportedModelError('RoPE scaling', type, [
        'none',
        'linear',
        'yarn',
        'longrope (with factor tensors)',
      ]);
  }
}

function yarn(fields: Fields, context: RopeContext): RopeScaling {
  const factor = fields.number('rope.scaling.factor', ropeFactorRange);
  const attention =
    (fields.optionalNumber('rope.scaling.attn_factor', ropeFactorRange) ?? 1) *
    (fields.optionalNumber('rope.scaling.yarn_attn_factor', ropeFactorRange) ?? 1);
  // 0.1 * mscale_all_dim. Where it is given, mscale equals mscale_all_dim and their ratio on cos and sin is 1.
  const logMultiplier = fields.optionalNumber('rope.scaling.yarn_log_multiplier', { max: ropeFactorRange.max }) ?? 0;
  const inSoftmax = context.mscaleInSoftmax && logMultiplier > 0 ? yarnMscale(factor, logMultiplier / 0.1) : 1;
  return {
    type: 'yarn',
    factor,
    originalMaxPositions:
      fields.optionalInteger('rope.scaling.original_context_length', { max: limits.positions }) ?? context.maxPositions,
    betaFast: fields.optionalNumber('rope.scaling.yarn_beta_fast', ropeFactorRange) ?? 32,
    betaSlow: fields.optionalNumber('rope.scaling.yarn_beta_slow', ropeFactorRange) ?? 1,
    truncate: true,
    attentionFactor: context.mscaleInSoftmax && logMultiplier > 0 ? attention : attention * yarnMscale(factor, 1),
    softmaxFactor: inSoftmax * inSoftmax,
  };
}

function longRope(
  fields: Fields,
  long: readonly number[],
  short: readonly number[],
  context: RopeContext,
): RopeScaling {
  const originalMaxPositions =
    fields.optionalInteger('rope.scaling.original_context_length', { max: limits.positions }) ?? context.maxPositions;
  return {
    type: 'longrope',
    longFactors: checkedFactors(fields, 'rope_factors_long.weight', long),
    shortFactors: checkedFactors(fields, 'rope_factors_short.weight', short),
    originalMaxPositions,
    attentionFactor:
      fields.optionalNumber('rope.scaling.attn_factor', ropeFactorRange) ??
      longRopeAttentionFactor(context.maxPositions / originalMaxPositions, originalMaxPositions),
  };
}

function checkedFactors(fields: Fields, tensor: string, factors: readonly number[]): readonly number[] {
  const bad = factors.find((f) => !Number.isFinite(f) || f <= 0);
  if (bad !== undefined) throw fields.error(tensor, bad, 'positive divisors');
  return factors;
}
