import { GraphBuilder, type Activation, type GraphConst, type GraphValue, type GraphWeight } from '@dsi/graph';
import type { BiasPresence, ModelConfig } from '../config/model-config.js';
import type { WeightTensor } from '../contract.js';
import type { Projection, WeightSource } from '../weights/weight-source.js';
import { ropeFrequencies, type RopeFrequencies } from './rope-frequencies.js';

export interface LinearOptions {
  readonly bias?: BiasPresence;
  /** Kept in f32 in every numerics mode (routers). */
  readonly f32?: boolean;
}

/**
 * What layers are written with: a graph under construction, the model's configuration, and its checkpoint. Every weight that a layer
 * names is declared in the graph and looked up in the checkpoint at once, with its shape checked in both.
 */
export class ModelBuilder {
  readonly #weights = new Map<string, WeightTensor>();
  readonly #rope: RopeFrequencies;

  constructor(
    readonly g: GraphBuilder,
    readonly config: ModelConfig,
    readonly source: WeightSource,
    readonly numerics: 'exact' | 'fast',
    maxSequenceLength: number,
  ) {
    this.#rope = ropeFrequencies(config.rope, maxSequenceLength);
  }

  /** Weights named so far, in the order of their first use. */
  get weights(): readonly WeightTensor[] {
    return [...this.#weights.values()];
  }

  /** Softmax scale of the attention, 1/sqrt(head size) with YaRN's temperature where the model has one. */
  get attentionScale(): number {
    return this.#rope.softmaxFactor / Math.sqrt(this.config.headDim);
  }

  weight(name: string, shape: readonly number[]): GraphWeight {
    return this.derived(name, shape, () => this.source.weight(name, shape));
  }

  /** A weight that is made from tensors of the checkpoint rather than named in it. `make` runs at most once a name. */
  derived(name: string, shape: readonly number[], make: () => WeightTensor): GraphWeight {
    if (!this.#weights.has(name)) this.#weights.set(name, make());
    return this.g.weight(name, shape);
  }

  experts(mlp: string, projection: Projection, shape: readonly [number, number, number]): GraphWeight {
    const name = `${mlp}.experts.${projection}_proj.weight`;
    return this.derived(name, shape, () => this.source.experts(mlp, projection, shape));
  }

  /** x W^T + b with W = `name.weight` [size, width of x]. */
  linear(x: Activation, name: string, size: number, options: LinearOptions = {}): GraphValue {
    const weight = this.weight(`${name}.weight`, [size, lastSize(x)]);
    return this.g.linear(x, weight, this.#bias(name, size, options.bias), options.f32 === true ? { f32: true } : {});
  }

  /** RMSNorm over the last axis with `name.weight`. */
  norm(x: Activation, name: string, eps = this.config.rmsNormEps): GraphValue {
    return this.g.rmsNorm(x, this.weight(`${name}.weight`, [lastSize(x)]), eps);
  }

  add(a: Activation, b: Activation): GraphValue {
    return this.g.add(a, b);
  }

  /** Rotary embedding of x [T, H, D] as the configuration says. */
  rope(x: Activation): GraphValue {
    const { style } = this.config.rope;
    return this.g.rope(x, this.g.step.positions, this.#inverseFrequencies(), {
      style,
      offset: 0,
      scale: this.#rope.scale,
    });
  }

  #inverseFrequencies(): GraphConst {
    return this.g.constant('rope.inv_freq', this.#rope.inverse);
  }

  #bias(name: string, size: number, presence: BiasPresence = false): GraphWeight | undefined {
    if (presence === false || (presence === 'if-present' && !this.source.has(`${name}.bias`))) return undefined;
    return this.weight(`${name}.bias`, [size]);
  }
}

/** Size of the last axis, which is a number for every activation. */
export function lastSize(x: Activation): number {
  return x.shape.at(-1) as number;
}
