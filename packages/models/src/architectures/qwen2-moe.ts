import type { GraphValue } from '@dsi/graph';
import type { Fields } from '../config/fields.js';
import { decoderFromGguf, expertsFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsOfUpperLayers } from '../config/hugging-face.js';
import { limits } from '../config/limits.js';
import type { MoeConfig } from '../config/model-config.js';
import { checkedMoe, qwenSparseLayers, softmaxRouter } from '../config/moe.js';
import { gatedMlp } from '../layers/gated-mlp.js';
import { gqaAttention } from '../layers/gqa-attention.js';
import type { ModelBuilder } from '../layers/model-builder.js';
import { moeMlp } from '../layers/moe-mlp.js';
import type { Architecture } from './architecture.js';

/** Qwen2's attention; routed experts plus a shared MLP scaled by its own sigmoid gate. */
export const qwen2Moe: Architecture = {
  name: 'qwen2_moe',
  modelTypes: ['qwen2_moe'],
  classNames: ['Qwen2MoeForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'qwen2_moe',
      qkvBias: fields.boolean('qkv_bias', true),
      windows: windowsOfUpperLayers,
      moe: experts,
    }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, {
      architecture: 'qwen2_moe',
      moe: (f, layers) => expertsFromGguf(f, layers, { router: softmaxRouter({ normalize: false }), sharedGate: true }),
    }),
  layer: qwenMoeLayer,
};

/** Attention, then experts or (in dense layers) one MLP. */
export function qwenMoeLayer(m: ModelBuilder, x: GraphValue, layer: number): GraphValue {
  const at = `model.layers.${layer}`;
  const h = m.add(x, gqaAttention(m, m.norm(x, `${at}.input_layernorm`), layer));
  const z = m.norm(h, `${at}.post_attention_layernorm`);
  const sparse = m.config.moe?.sparseLayers[layer] === true;
  return m.add(h, sparse ? moeMlp(m, z, `${at}.mlp`, 'shared_expert') : gatedMlp(m, z, `${at}.mlp`));
}

function experts(fields: Fields, layers: number): MoeConfig {
  return checkedMoe(fields, {
    experts: fields.integer('num_experts', { max: limits.experts }),
    expertsPerToken: fields.integer('num_experts_per_tok', { max: limits.experts }),
    intermediateSize: fields.integer('moe_intermediate_size', { max: limits.intermediateSize }),
    sharedIntermediateSize: fields.integer('shared_expert_intermediate_size', { max: limits.intermediateSize }),
    sharedGate: true,
    router: softmaxRouter({ normalize: fields.boolean('norm_topk_prob', false) }),
    sparseLayers: qwenSparseLayers(fields, layers),
  });
}
