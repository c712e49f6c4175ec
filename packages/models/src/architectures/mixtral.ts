import type { Fields } from '../config/fields.js';
import { decoderFromGguf, expertsFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsOfAllLayers } from '../config/hugging-face.js';
import { limits } from '../config/limits.js';
import type { MoeConfig } from '../config/model-config.js';
import { checkedMoe, softmaxRouter } from '../config/moe.js';
import { gqaAttention } from '../layers/gqa-attention.js';
import { moeMlp } from '../layers/moe-mlp.js';
import type { Architecture } from './architecture.js';

/** Llama's layer with a mixture of experts, the chosen ones' softmax renormalised (Jiang et al. 2024). */
export const mixtral: Architecture = {
  name: 'mixtral',
  modelTypes: ['mixtral'],
  classNames: ['MixtralForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, { architecture: 'mixtral', windows: windowsOfAllLayers, moe: experts }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, {
      architecture: 'mixtral',
      ropeStyle: 'interleaved',
      moe: (f, layers) => expertsFromGguf(f, layers, { router: softmaxRouter({ normalize: true }) }),
    }),
  layer(m, x, layer) {
    const at = `model.layers.${layer}`;
    const h = m.add(x, gqaAttention(m, m.norm(x, `${at}.input_layernorm`), layer));
    return m.add(h, moeMlp(m, m.norm(h, `${at}.post_attention_layernorm`), `${at}.mlp`, 'shared_expert'));
  },
};

function experts(fields: Fields, layers: number): MoeConfig {
  return checkedMoe(fields, {
    experts: fields.integer('num_local_experts', { max: limits.experts }),
    expertsPerToken: fields.integer('num_experts_per_tok', { max: limits.experts }),
    intermediateSize: fields.integer('intermediate_size', { max: limits.intermediateSize }),
    sharedIntermediateSize: 0,
    sharedGate: false,
    router: softmaxRouter({ normalize: true }),
    sparseLayers: Array.from({ length: layers }, () => true),
  });
}
