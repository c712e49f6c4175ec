import { decoderFromGguf, expertsFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace } from '../config/hugging-face.js';
import { deepseekExperts, softmaxRouter } from '../config/moe.js';
import { gatedMlp } from '../layers/gated-mlp.js';
import { gqaAttention } from '../layers/gqa-attention.js';
import { moeMlp } from '../layers/moe-mlp.js';
import type { Architecture } from './architecture.js';

/** DeepSeekMoE (Dai et al. 2024): llama's attention, fine-grained routed experts plus shared ones, dense first layers. */
export const deepseek: Architecture = {
  name: 'deepseek',
  modelTypes: ['deepseek'],
  classNames: ['DeepseekForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'deepseek',
      qkvBias: fields.boolean('attention_bias', false),
      outputBias: fields.boolean('attention_bias', false),
      moe: (f, layers) => deepseekExperts(f, layers, softmaxRouter({ normalize: f.boolean('norm_topk_prob', false) })),
    }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, {
      architecture: 'deepseek',
      ropeStyle: 'interleaved',
      moe: (f, layers) => expertsFromGguf(f, layers, { router: softmaxRouter({ normalize: false }) }),
    }),
  layer(m, x, layer) {
    const at = `model.layers.${layer}`;
    const h = m.add(x, gqaAttention(m, m.norm(x, `${at}.input_layernorm`), layer));
    const z = m.norm(h, `${at}.post_attention_layernorm`);
    const sparse = m.config.moe?.sparseLayers[layer] === true;
    return m.add(h, sparse ? moeMlp(m, z, `${at}.mlp`, 'shared_experts') : gatedMlp(m, z, `${at}.mlp`));
  },
};
