import { UnsupportedModelError } from '../errors.js';
import type { Fields } from './fields.js';
import { limits } from './limits.js';

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
const factorRange = { above: 0, max: limits.ropeFactor } as const;

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
    parameters?.optionalNumber('rope_theta', { above: 0, max: 1e15 }) ??
    fields.optionalNumber('rope_theta', { above: 0, max: 1e15 }) ??
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
      return { type: 'linear', factor: scaling.number('factor', factorRange) };
    case 'dynamic':
      return { type: 'dynamic', factor: scaling.number('factor', factorRange) };
    case 'llama3': {
      const low = scaling.number('low_freq_factor', factorRange);
      const high = scaling.number('high_freq_factor', factorRange);
      if (high <= low) throw scaling.error('high_freq_factor', high, `a number above low_freq_factor (${low})`);
      return {
        type: 'llama3',
        factor: scaling.number('factor', factorRange),
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

function parseYarn(scaling: Fields, originalMaxPositions: number, context: RopeContext): RopeScaling {
  const factor = scaling.optionalNumber('factor', factorRange) ?? context.maxPositions / originalMaxPositions;
  const given = scaling.optionalNumber('attention_factor', factorRange);
  const mscale = scaling.optionalNumber('mscale', { max: limits.ropeFactor });
  const mscaleAllDim = scaling.optionalNumber('mscale_all_dim', { max: limits.ropeFactor });
  // A zero counts as absent, as in the published implementations.
  const both = (mscale ?? 0) !== 0 && (mscaleAllDim ?? 0) !== 0;
  const ratio =
    yarnMscale(factor, both ? (mscale as number) : 1) / yarnMscale(factor, both ? (mscaleAllDim as number) : 0);
  const betaFast = scaling.optionalNumber('beta_fast', factorRange) ?? 32;
  const betaSlow = scaling.optionalNumber('beta_slow', factorRange) ?? 1;
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
    shortFactors: scaling.numbers('short_factor', half, factorRange),
    longFactors: scaling.numbers('long_factor', half, factorRange),
    originalMaxPositions,
    attentionFactor:
      scaling.optionalNumber('attention_factor', factorRange) ??
      longRopeAttentionFactor(
        scaling.optionalNumber('factor', factorRange) ?? context.maxPositions / originalMaxPositions,
        originalMaxPositions,
      ),
  };
}

/** LongRoPE's attention factor, sqrt(1 + ln(factor) / ln(original length)). */
export function longRopeAttentionFactor(factor: number, originalMaxPositions: number): number {
  if (factor <= 1 || originalMaxPositions <= 1) return 1;
  return Math.sqrt(1 + Math.log(factor) / Math.log(originalMaxPositions));
}
