import { decoderFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsOfUpperLayers } from '../config/hugging-face.js';
import type { Architecture } from './architecture.js';
import { llamaLayer } from './llama.js';

/** Llama's layer with an RMSNorm over each head of q and k before RoPE. */
export const qwen3: Architecture = {
  name: 'qwen3',
  modelTypes: ['qwen3'],
  classNames: ['Qwen3ForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'qwen3',
      qkNorm: true,
      qkvBias: fields.boolean('attention_bias', false),
      outputBias: fields.boolean('attention_bias', false),
      windows: windowsOfUpperLayers,
    }),
  configureGguf: (fields, tensors) => decoderFromGguf(fields, tensors, { architecture: 'qwen3', qkNorm: true }),
  layer: llamaLayer,
};
