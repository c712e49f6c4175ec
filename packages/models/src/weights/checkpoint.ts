import type { ModelFiles } from '@dsi/model-files';
import type { WeightBytes } from '../contract.js';

/** A tensor of a checkpoint: what it is and where its bytes are. */
export interface CheckpointTensor {
  readonly name: string;
  /** F32, F16, BF16, F8_E4M3, I32, ... or a ggml type name. */
  readonly dtype: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  /** All of its bytes; a file range where there is a file, so nothing is read. */
  readonly data: WeightBytes;
}

/** Where weights come from: opened files, or made-up data of the same shape. */
export interface Checkpoint {
  readonly kind: 'gguf' | 'safetensors';
  readonly tensors: ReadonlyMap<string, CheckpointTensor>;
}

/** Tensors of opened model files. */
export function checkpointOfFiles(files: ModelFiles): Checkpoint {
  const tensors = new Map<string, CheckpointTensor>();
  for (const [name, { dtype, shape, file, offset, byteLength }] of files.tensors) {
    tensors.set(name, { name, dtype, shape, data: { file, offset, byteLength } });
  }
  return { kind: files.kind, tensors };
}
