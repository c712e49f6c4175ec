import { decoderFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsOfAllLayers } from '../config/hugging-face.js';
import { fusedGatedMlp } from '../layers/gated-mlp.js';
import { fusedQkvAttention } from '../layers/gqa-attention.js';
import type { Architecture } from './architecture.js';

/** Llama's layer with q, k, v stored as one matrix and gate, up as another; partial rotary embedding and LongRoPE in some models. */
export const phi3: Architecture = {
  name: 'phi3',
  modelTypes: ['phi3'],
  classNames: ['Phi3ForCausalLM'],
  configure: (fields) => decoderFromHuggingFace(fields, { architecture: 'phi3', windows: windowsOfAllLayers }),
  configureGguf: (fields, tensors) => decoderFromGguf(fields, tensors, { architecture: 'phi3' }),
  layer(m, x, layer) {
    const at = `model.layers.${layer}`;
    const h = m.add(x, fusedQkvAttention(m, m.norm(x, `${at}.input_layernorm`), layer));
    return m.add(h, fusedGatedMlp(m, m.norm(h, `${at}.post_attention_layernorm`), `${at}.mlp`));
  },
};
