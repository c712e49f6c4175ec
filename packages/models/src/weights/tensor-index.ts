import type { Checkpoint, CheckpointTensor } from './checkpoint.js';

/** Tensors by name, keeping note of which ones have been used. */
export class TensorIndex {
  readonly #used = new Set<string>();

  constructor(private readonly checkpoint: Checkpoint) {}

  has(name: string): boolean {
    return this.checkpoint.tensors.has(name);
  }

  readonly use = (name: string): CheckpointTensor | undefined => {
    const tensor = this.checkpoint.tensors.get(name);
    if (tensor !== undefined) this.#used.add(name);
    return tensor;
  };

  unused(): string[] {
    return [...this.checkpoint.tensors.keys()].filter((name) => !this.#used.has(name));
  }
}
