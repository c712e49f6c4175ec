import type { WeightTensor } from '../contract.js';
import type { Projection, WeightSource } from './weight-source.js';

/** Weights of one checkpoint, and of a second one for those it lacks. */
export class LayeredWeights implements WeightSource {
  constructor(
    private readonly first: WeightSource,
    private readonly second: WeightSource,
  ) {}

  has(name: string): boolean {
    return this.first.has(name) || this.second.has(name);
  }

  weight(name: string, shape: readonly number[]): WeightTensor {
    return (this.first.has(name) ? this.first : this.second).weight(name, shape);
  }

  experts(mlp: string, projection: Projection, shape: readonly [number, number, number]): WeightTensor {
    return this.first.experts(mlp, projection, shape);
  }

  unused(): string[] {
    return this.first.unused();
  }
}
