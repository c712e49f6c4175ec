import { UnsupportedModelError } from '../errors.js';
import type { Fields } from './fields.js';
import { limits, ropeFactorRange, ropeThetaRange } from './limits.js';

/** How inverse frequencies differ from the plain theta^(-2i/dim). Names are those of Hugging Face's `rope_type`. */
export type RopeScaling =
  | { readonly type: 'default' }
  /** Positions divided by `factor` (position interpolation). */
  | { readonly type: 'linear'; readonly factor: number }
  /** NTK-aware base change that starts past the trained length; within it the frequencies are the plain ones. */
  | { readonly type: 'dynamic'; readonly factor: number }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPositions: number;
    }
  | {
      readonly type: 'yarn';
      readonly factor: number;
      readonly originalMaxPositions: number;
      readonly betaFast: number;
      readonly betaSlow: number;
      /** Round the correction range outwards to whole dimensions. */
      readonly truncate: boolean;
      /** Multiplies cos and sin. */
      readonly attentionFactor: number;
      /** Multiplies the softmax scale (DeepSeek's mscale_all_dim, squared); 1 elsewhere. */
      readonly softmaxFactor: number;
    }
  | {
      readonly type: 'longrope';
      readonly shortFactors: readonly number[];
      readonly longFactors: readonly number[];
      readonly originalMaxPositions: number;
      readonly attentionFactor: number;
    }
  /** Divisors given by the checkpoint itself (GGUF tensor rope_freqs.weight). */
  | { readonly type: 'factors'; readonly factors: readonly number[] };

export interface RopeConfig {
  readonly theta: number;
  /** Rotated elements of a head, even. The first ones, or the rope part of an MLA head. */
  readonly dim: number;
  /** half: element i pairs with i + dim/2; interleaved: 2i with 2i+1. */
  readonly style: 'half' | 'interleaved';
  readonly scaling: RopeScaling;
}

const supportedTypes = ['default', 'linear', 'dynamic', 'llama3', 'yarn', 'longrope'];
/** YaRN's attention temperature, m(x) = 0.1 x ln(factor) + 1 (Peng et al. 2023, section 3.4). */
export function yarnMscale(factor: number, x: number): number {
  return factor <= 1 ? 1 : 0.1 * x * Math.log(factor) + 1;
}

export interface RopeContext {
  readonly dim: number;
  readonly style: RopeConfig['style'];
  readonly maxPositions: number;
  /** DeepSeek models multiply the softmax scale by m(mscale_all_dim)^2. */
  readonly mscaleInSoftmax: boolean;
}

/** Reads `rope_parameters`, or the older `rope_theta` + `rope_scaling`. */
export function ropeFromHuggingFace(fields: Fields, context: RopeContext): RopeConfig {
  const parameters = fields.object('rope_parameters');
  const scaling = parameters ?? fields.object('rope_scaling');
  const theta =
    parameters?.optionalNumber('rope_theta', ropeThetaRange) ??
    fields.optionalNumber('rope_theta', ropeThetaRange) ??
    10_000;
  return {
    theta,
    dim: context.dim,
    style: context.style,
    scaling: scaling === undefined ? { type: 'default' } : parseScaling(fields, scaling, context),
  };
}

function parseScaling(fields: Fields, scaling: Fields, context: RopeContext): RopeScaling {
  if (scaling.has('full_attention') || scaling.has('sliding_attention')) {
    throw new UnsupportedModelError('RoPE parameters', 'one set a layer type', ['one set for all layers']);
  }
  const type = scaling.optionalString('rope_type') ?? scaling.optionalString('type') ?? 'default';
  const original = (): number =>
    scaling.optionalInteger('original_max_position_embeddings', { max: limits.positions }) ??
    fields.optionalInteger('original_max_position_embeddings', { max: limits.positions }) ??
    context.maxPositions;
  switch (type) {
    case 'default':
    case 'mrope':
      return { type: 'default' };
    case 'linear':
      return { type: 'linear', factor: scaling.number('factor', ropeFactorRange) };
    case 'dynamic':
      return { type: 'dynamic', factor: scaling.number('factor', ropeFactorRange) };
    case 'llama3': {
      const low = scaling.number('low_freq_factor', ropeFactorRange);
      const high = scaling.number('high_freq_factor', ropeFactorRange);
      if (high <= low) throw scaling.error('high_freq_factor', high, `a number above low_freq_factor (${low})`);
      return {
        type: 'llama3',
        factor: scaling.number('factor', ropeFactorRange),
        lowFreqFactor: low,
        highFreqFactor: high,
        originalMaxPositions: original(),
      };
    }
    case 'yarn':
      return parseYarn(scaling, original(), context);
    case 'longrope':
    case 'su':
      return parseLongRope(scaling, original(), context);
    default:
      throw new UnsupportedModelError('RoPE scaling', type, supportedTypes);
  }
}

/** The factor given, or how much longer the model's limit is than the trained length. */
function factorOf(scaling: Fields, originalMaxPositions: number, context: RopeContext): number {
  const factor = scaling.optionalNumber('factor', ropeFactorRange) ?? context.maxPositions / originalMaxPositions;
  if (factor < ropeFactorRange.min || factor > ropeFactorRange.max) {
    throw scaling.error(
      'original_max_position_embeddings',
      originalMaxPositions,
      `near max_position_embeddings (${context.maxPositions})`,
    );
  }
  return factor;
}

function parseYarn(scaling: Fields, originalMaxPositions: number, context: RopeContext): RopeScaling {
  const factor = factorOf(scaling, originalMaxPositions, context);
  const given = scaling.optionalNumber('attention_factor', ropeFactorRange);
  const mscale = scaling.optionalNumber('mscale', { max: ropeFactorRange.max });
  const mscaleAllDim = scaling.optionalNumber('mscale_all_dim', { max: ropeFactorRange.max });
  // A zero counts as absent, as in the published implementations.
  const both = (mscale ?? 0) !== 0 && (mscaleAllDim ?? 0) !== 0;
  const ratio =
    yarnMscale(factor, both ? (mscale as number) : 1) / yarnMscale(factor, both ? (mscaleAllDim as number) : 0);
  const betaFast = scaling.optionalNumber('beta_fast', ropeFactorRange) ?? 32;
  const betaSlow = scaling.optionalNumber('beta_slow', ropeFactorRange) ?? 1;
  if (betaFast < betaSlow) throw scaling.error('beta_fast', betaFast, `at least beta_slow (${betaSlow})`);
  const softmax = context.mscaleInSoftmax && (mscaleAllDim ?? 0) !== 0 ? yarnMscale(factor, mscaleAllDim as number) : 1;
  return {
    type: 'yarn',
    factor,
    originalMaxPositions,
    betaFast,
    betaSlow,
    truncate: scaling.boolean('truncate', true),
    attentionFactor: given ?? ratio,
    softmaxFactor: softmax * softmax,
  };
}

function parseLongRope(scaling: Fields, originalMaxPositions: number, context: RopeContext): RopeScaling {
  const half = context.dim / 2;
  return {
    type: 'longrope',
    shortFactors: scaling.numbers('short_factor', half, ropeFactorRange),
    longFactors: scaling.numbers('long_factor', half, ropeFactorRange),
    originalMaxPositions,
    attentionFactor:
      scaling.optionalNumber('attention_factor', ropeFactorRange) ??
      longRopeAttentionFactor(factorOf(scaling, originalMaxPositions, context), originalMaxPositions),
  };
}

/** LongRoPE's attention factor, sqrt(1 + ln(factor) / ln(original length)). */
export function longRopeAttentionFactor(factor: number, originalMaxPositions: number): number {
  if (factor <= 1 || originalMaxPositions <= 1) return 1;
  return Math.sqrt(1 + Math.log(factor) / Math.log(originalMaxPositions));
}

/** Longest sequence that RoPE parameters stand for: YaRN's factor may reach past max_position_embeddings, which some models leave at the trained length. */
export function ropeReach(scaling: RopeScaling, maxPositions: number): number {
  if (scaling.type !== 'yarn') return maxPositions;
  return Math.min(limits.positions, Math.max(maxPositions, Math.floor(scaling.originalMaxPositions * scaling.factor)));
}
