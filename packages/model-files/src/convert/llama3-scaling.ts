import { dequantize, type GgmlTypeName } from '@dsi/quantization';
import type { ModelFiles } from '../model-files.js';
import type { MetadataReader } from './metadata-reader.js';

export interface Llama3Scaling {
  readonly factor: number;
  readonly low_freq_factor: number;
  readonly high_freq_factor: number;
  readonly original_max_position_embeddings: number;
}

/**
 * Divisor of each RoPE frequency under Llama 3's rule: 1 for short wavelengths, `factor` for long ones, a smooth
 * transition between. Formula: Meta's llama-models reference, apply_scaling.
 */
export function llama3Factors(scaling: Llama3Scaling, theta: number, dims: number): Float32Array {
  const { factor, low_freq_factor: low, high_freq_factor: high } = scaling;
  const context = scaling.original_max_position_embeddings;
  return Float32Array.from({ length: dims / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * theta ** ((2 * i) / dims);
    if (wavelength < context / high) return 1;
    if (wavelength > context / low) return factor;
    const smooth = (context / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

/** rope_scaling of a file with rope_freqs, found by trying the published settings; warns if none gives its divisors. */
export async function llama3Scaling(
  model: ModelFiles,
  m: MetadataReader,
  warnings: string[],
): Promise<Record<string, unknown> | undefined> {
  const tensor = model.tensors.get('rope_freqs.weight');
  if (tensor === undefined) return undefined;
  const elements = tensor.shape[0] ?? 0;
  const stored = dequantize(tensor.dtype as GgmlTypeName, await model.read(tensor.name), elements);
  const theta = m.optionalNumber('rope.freq_base') ?? 10000;
  const factor = stored.reduce((a, b) => Math.max(a, b), 1);
  for (let context = 64; context <= 2 ** 20; context *= 2) {
    const scaling = {
      factor,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: context,
    };
    const expected = llama3Factors(scaling, theta, elements * 2);
    if (expected.every((v, i) => Math.abs(v - stored[i]!) < 1e-4 * v)) return { rope_type: 'llama3', ...scaling };
  }
  warnings.push('rope_freqs fits no known llama3 scaling: rope_scaling is left out');
  return undefined;
}
