import { decoderFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsOfAllLayers } from '../config/hugging-face.js';
import type { Architecture } from './architecture.js';
import { llamaLayer } from './llama.js';

/** Llama's layer with a sliding attention window (Jiang et al. 2023). */
export const mistral: Architecture = {
  name: 'mistral',
  modelTypes: ['mistral'],
  classNames: ['MistralForCausalLM'],
  configure: (fields) => decoderFromHuggingFace(fields, { architecture: 'mistral', windows: windowsOfAllLayers }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, { architecture: 'mistral', ropeStyle: 'interleaved' }),
  layer: llamaLayer,
};
