import { decoderFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsOfUpperLayers } from '../config/hugging-face.js';
import type { Architecture } from './architecture.js';
import { llamaLayer } from './llama.js';

/** Llama's layer with biases on q, k and v; also the DeepSeek-R1 Qwen distills. */
export const qwen2: Architecture = {
  name: 'qwen2',
  modelTypes: ['qwen2'],
  classNames: ['Qwen2ForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, { architecture: 'qwen2', qkvBias: true, windows: windowsOfUpperLayers }),
  configureGguf: (fields, tensors) => decoderFromGguf(fields, tensors, { architecture: 'qwen2' }),
  layer: llamaLayer,
};
