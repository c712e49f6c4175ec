import type { QuantizationConfig } from '../config/quantization-config.js';
import type { WeightTensor } from '../contract.js';
import { WeightFormatError, WeightMissingError } from '../errors.js';
import type { Checkpoint, CheckpointTensor } from './checkpoint.js';
import { int4Weight } from './int4-weight.js';
import { fp8Weight, wholeTensorWeight } from './linear-weight.js';
import { sliceRows } from './slice.js';
import { stackMatrices } from './stack.js';
import { TensorIndex } from './tensor-index.js';
import type { Projection, WeightSource } from './weight-source.js';

const expertNames: Readonly<Record<Projection, readonly string[]>> = {
  gate: ['gate_proj', 'w1'],
  up: ['up_proj', 'w3'],
  down: ['down_proj', 'w2'],
};

/** Weights of a Hugging Face checkpoint: canonical names are its own; mixtral calls its MLP `block_sparse_moe`. */
export class HuggingFaceWeights implements WeightSource {
  readonly #index: TensorIndex;

  constructor(
    checkpoint: Checkpoint,
    private readonly quantization: QuantizationConfig | undefined,
  ) {
    this.#index = new TensorIndex(checkpoint);
  }

  has(name: string): boolean {
    return aliases(name).some((n) => this.#index.has(n) || this.#index.has(n.replace(/\.weight$/, '.qweight')));
  }

  weight(name: string, shape: readonly number[]): WeightTensor {
    return this.#matrix(name, aliases(name), shape);
  }

  experts(mlp: string, projection: Projection, shape: readonly [number, number, number]): WeightTensor {
    const [experts, rows, columns] = shape;
    const name = `${mlp}.experts.${projection}_proj.weight`;
    const fused = this.#fusedExperts(mlp, projection, shape, name);
    if (fused !== undefined) return fused;
    const matrices = Array.from({ length: experts }, (_, e) => {
      const candidates = expertNames[projection].flatMap((p) => aliases(`${mlp}.experts.${e}.${p}.weight`));
      return this.#matrix(`${mlp}.experts.${e}.${projection}_proj.weight`, candidates, [rows, columns]);
    });
    return stackMatrices(name, matrices);
  }

  unused(): string[] {
    return this.#index.unused();
  }

  /** Newer checkpoints hold all experts of a layer in `gate_up_proj` [E, 2I, D] and `down_proj` [E, D, I]. */
  #fusedExperts(
    mlp: string,
    projection: Projection,
    [experts, rows, columns]: readonly [number, number, number],
    name: string,
  ): WeightTensor | undefined {
    if (projection === 'down') {
      const down = aliases(`${mlp}.experts.down_proj`)
        .map(this.#index.use)
        .find((t) => t !== undefined);
      return down && wholeTensorWeight(name, down, [experts, rows, columns]);
    }
    const both = aliases(`${mlp}.experts.gate_up_proj`)
      .map(this.#index.use)
      .find((t) => t !== undefined);
    if (both === undefined) return undefined;
    const { shape: _, ...all } = wholeTensorWeight(name, both, [experts, 2 * rows, columns]);
    const flat = { ...all, shape: [experts * 2 * rows, columns] };
    const offset = projection === 'gate' ? 0 : rows;
    const slices = Array.from({ length: experts }, (__, e) => sliceRows(name, flat, e * 2 * rows + offset, rows));
    return stackMatrices(name, slices);
  }

  #matrix(name: string, candidates: readonly string[], shape: readonly number[]): WeightTensor {
    for (const candidate of candidates) {
      const plain = this.#index.use(candidate);
      if (plain !== undefined) return this.#stored(name, plain, shape);
      const base = candidate.replace(/\.weight$/, '');
      if (base !== candidate && this.#index.has(`${base}.qweight`)) return this.#packed(name, base, shape);
    }
    throw new WeightMissingError(name, candidates);
  }

  #stored(name: string, tensor: CheckpointTensor, shape: readonly number[]): WeightTensor {
    if (tensor.dtype !== 'F8_E4M3' && tensor.dtype !== 'F8_E5M2') return wholeTensorWeight(name, tensor, shape);
    const base = tensor.name.replace(/\.weight$/, '');
    const names = [`${base}.weight_scale_inv`, `${base}.weight_scale`];
    const scales = names.map(this.#index.use).find((t) => t !== undefined);
    if (scales === undefined) throw new WeightMissingError(name, names);
    // Scales of static activation quantisation are not needed: activations keep their precision here.
    this.#index.use(`${base}.input_scale`);
    const block = this.quantization?.method === 'fp8' ? this.quantization.blockShape : undefined;
    return fp8Weight(name, tensor, scales, shape, block);
  }

  #packed(name: string, base: string, shape: readonly number[]): WeightTensor {
    const { quantization } = this;
    if (quantization?.method !== 'gptq' && quantization?.method !== 'awq') {
      throw new WeightFormatError(
        `${base}.qweight`,
        'packed',
        'config.json has no quantization_config of method gptq or awq',
      );
    }
    // GPTQ writers emit a zero bias for every layer; the architecture says which ones count.
    return int4Weight(name, base, shape, quantization, this.#index.use);
  }
}

function aliases(name: string): string[] {
  const mixtral = name.replace('.mlp.', '.block_sparse_moe.');
  return mixtral === name ? [name] : [name, mixtral];
}
