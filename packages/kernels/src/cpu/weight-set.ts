import type { LoadOptions, WeightSet, WeightUse } from '../backend.js';
import { WeightLoadError } from '../errors.js';
import type { NativeAddon, NativeBackend, NativeWeights } from '../native/addon.js';
import { translateNativeError } from '../native/errors.js';
import { lowerWeight, sourceBytes } from '../native/lower.js';
import type { Numerics } from '../program.js';
import type { WeightTensor } from '../weights.js';

/** Packed weights in native memory. */
export class CpuWeightSet implements WeightSet {
  readonly names: ReadonlySet<string>;

  /** @internal */
  constructor(
    readonly native: NativeWeights,
    readonly numerics: Numerics,
    /** Logical shapes by name. */
    readonly shapes: ReadonlyMap<string, readonly number[]>,
    readonly bytes: number,
  ) {
    this.names = new Set(shapes.keys());
  }

  dispose(): void {
    this.native.dispose();
  }
}

/**
 * Packs the weights one after the other on the step thread. Those without a use are left out.
 *
 * @throws WeightLoadError naming the weight; the signal's reason when aborted. Nothing stays allocated then.
 */
export async function loadWeightSet(
  addon: NativeAddon,
  backend: NativeBackend,
  weights: readonly WeightTensor[],
  uses: ReadonlyMap<string, ReadonlySet<WeightUse>>,
  options: LoadOptions,
): Promise<CpuWeightSet> {
  options.signal?.throwIfAborted();
  const used = weights.filter((weight) => (uses.get(weight.name)?.size ?? 0) > 0);
  const totalBytes = used.reduce((sum, weight) => sum + sourceBytes(weight), 0);
  const shapes = new Map<string, readonly number[]>();
  const native = new addon.NativeWeights(backend, options.numerics === 'fast');
  let bytes = 0;
  let loadedBytes = 0;
  try {
    for (const weight of used) {
      if (shapes.has(weight.name)) throw new WeightLoadError(weight.name, 'it is given twice');
      try {
        bytes += await native.pack(lowerWeight(weight, uses.get(weight.name) ?? new Set()));
      } catch (error) {
        throw translateNativeError(error, { weight: weight.name });
      }
      options.signal?.throwIfAborted();
      shapes.set(weight.name, [...weight.shape]);
      loadedBytes += sourceBytes(weight);
      options.onProgress?.({ loadedBytes, totalBytes, name: weight.name });
    }
  } catch (error) {
    native.dispose();
    throw error;
  }
  native.endLoad();
  return new CpuWeightSet(native, options.numerics, shapes, bytes);
}
