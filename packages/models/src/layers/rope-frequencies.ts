import type { RopeConfig, RopeScaling } from '../config/rope-config.js';

export interface RopeFrequencies {
  /** Radians a position, one for each rotated pair: [dim/2]. */
  readonly inverse: Float32Array;
  /** Multiplies cos and sin. */
  readonly scale: number;
  /** Multiplies the attention's softmax scale. */
  readonly softmaxFactor: number;
}

/**
 * Inverse frequencies of a RoPE configuration for sequences up to `maxSequenceLength` tokens (LongRoPE has one set for sequences
 * within the original length and one for longer ones; a program keeps one set, so that cached keys stay valid).
 */
export function ropeFrequencies(rope: RopeConfig, maxSequenceLength: number): RopeFrequencies {
  const plain = Array.from({ length: rope.dim / 2 }, (_, i) => rope.theta ** (-(2 * i) / rope.dim));
  const s = rope.scaling;
  return {
    inverse: Float32Array.from(scaled(plain, rope, maxSequenceLength)),
    scale: s.type === 'yarn' || s.type === 'longrope' ? s.attentionFactor : 1,
    softmaxFactor: s.type === 'yarn' ? s.softmaxFactor : 1,
  };
}

function scaled(plain: number[], rope: RopeConfig, maxSequenceLength: number): number[] {
  const s = rope.scaling;
  switch (s.type) {
    case 'default':
    case 'dynamic':
      return plain;
    case 'linear':
      return plain.map((f) => f / s.factor);
    case 'llama3':
      return plain.map((f) => llama3Frequency(f, s));
    case 'yarn':
      return yarnFrequencies(plain, rope, s);
    case 'longrope': {
      const factors = maxSequenceLength > s.originalMaxPositions ? s.longFactors : s.shortFactors;
      return plain.map((f, i) => f / (factors[i] as number));
    }
    case 'factors':
      return plain.map((f, i) => f / (s.factors[i] as number));
  }
}

/** Llama 3.1: long wavelengths divided by `factor`, short ones kept, a linear blend between. */
function llama3Frequency(frequency: number, s: Extract<RopeScaling, { type: 'llama3' }>): number {
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < s.originalMaxPositions / s.highFreqFactor) return frequency;
  if (wavelength > s.originalMaxPositions / s.lowFreqFactor) return frequency / s.factor;
  const smooth = (s.originalMaxPositions / wavelength - s.lowFreqFactor) / (s.highFreqFactor - s.lowFreqFactor);
  return ((1 - smooth) * frequency) / s.factor + smooth * frequency;
}

/** YaRN's NTK-by-parts: dimensions that turn often keep their frequency, slow ones are interpolated, a ramp between. */
function yarnFrequencies(plain: number[], rope: RopeConfig, s: Extract<RopeScaling, { type: 'yarn' }>): number[] {
  const dimensionOf = (rotations: number): number =>
    (rope.dim * Math.log(s.originalMaxPositions / (rotations * 2 * Math.PI))) / (2 * Math.log(rope.theta));
  const fast = dimensionOf(s.betaFast);
  const slow = dimensionOf(s.betaSlow);
  const low = Math.max(s.truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(s.truncate ? Math.ceil(slow) : slow, rope.dim - 1);
  const span = high === low ? 0.001 : high - low;
  return plain.map((f, i) => {
    const interpolated = Math.min(1, Math.max(0, (i - low) / span));
    return (f / s.factor) * interpolated + f * (1 - interpolated);
  });
}
