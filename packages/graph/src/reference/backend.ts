import type { Backend, KvStorage, WeightSet } from '@dsi/kernels';
import { checkProgram } from '../check-program.js';
import { ReferenceExecutable } from './executable.js';
import { ReferenceKv } from './kv.js';
import { ReferenceWeights } from './weights.js';

export interface ReferenceBackendOptions {
  /** Fill the activation arena with NaN before every launch, so that a read of what no op wrote shows. Default false. */
  readonly poisonArena?: boolean;
}

/**
 * The oracle: every op in plain TypeScript, on the calling thread. Products accumulate in float64 and round to f32 once; a row's
 * bits depend on that row alone. `fast` numerics computes the same as `exact`; only the KV dtype that the program declares differs.
 * Weights are kept as f32, whatever their format.
 */
export function createReferenceBackend(options: ReferenceBackendOptions = {}): Backend {
  const { poisonArena = false } = options;
  return {
    name: 'reference',
    description: 'reference (TypeScript, float64 products, 1 thread)',
    loadWeights: (weights, uses, loadOptions) => ReferenceWeights.load(weights, uses, loadOptions),
    createKv: (specs, numBlocks, blockSize) => new ReferenceKv(specs, numBlocks, blockSize),
    compile(program, weights: WeightSet, kv: KvStorage) {
      if (!(weights instanceof ReferenceWeights) || !(kv instanceof ReferenceKv))
        throw new TypeError('compile: the weights or the KV storage come from another backend');
      checkProgram(program);
      return new ReferenceExecutable(program, weights, kv, { poisonArena });
    },
    dispose() {},
  };
}
