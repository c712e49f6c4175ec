import type { GgufTensors } from '../config/gguf.js';
import { WeightShapeError } from '../errors.js';
import type { Checkpoint } from './checkpoint.js';
import { decodeTensor } from './decode.js';

/** The tensors of a checkpoint as configuration reading sees them. */
export function checkpointTensors(checkpoint: Checkpoint): GgufTensors {
  return {
    shapeOf: (name) => checkpoint.tensors.get(name)?.shape,
    valuesOf: (name, count) => {
      const tensor = checkpoint.tensors.get(name);
      if (tensor === undefined) return undefined;
      if (tensor.shape.length !== 1 || tensor.shape[0] !== count)
        throw new WeightShapeError(name, tensor.shape, [count]);
      return Array.from(decodeTensor(tensor));
    },
  };
}
