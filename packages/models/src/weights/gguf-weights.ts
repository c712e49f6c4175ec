import type { WeightTensor } from '../contract.js';
import { WeightMissingError } from '../errors.js';
import type { Checkpoint } from './checkpoint.js';
import { ggufTensorName } from './gguf-names.js';
import { wholeTensorWeight } from './linear-weight.js';
import { TensorIndex } from './tensor-index.js';
import type { Projection, WeightSource } from './weight-source.js';

/** Weights of GGUF files: every tensor is used as it is stored; experts are already stacked. */
export class GgufWeights implements WeightSource {
  readonly #index: TensorIndex;

  constructor(checkpoint: Checkpoint) {
    this.#index = new TensorIndex(checkpoint);
  }

  has(name: string): boolean {
    return this.#index.has(ggufTensorName(name));
  }

  weight(name: string, shape: readonly number[]): WeightTensor {
    const fileName = ggufTensorName(name);
    const tensor = this.#index.use(fileName);
    if (tensor === undefined) throw new WeightMissingError(name, [fileName]);
    return wholeTensorWeight(name, tensor, shape);
  }

  experts(mlp: string, projection: Projection, shape: readonly [number, number, number]): WeightTensor {
    return this.weight(`${mlp}.experts.${projection}_proj.weight`, shape);
  }

  unused(): string[] {
    return this.#index.unused();
  }
}
