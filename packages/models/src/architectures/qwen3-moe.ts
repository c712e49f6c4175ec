import type { Fields } from '../config/fields.js';
import { decoderFromGguf, expertsFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace, windowsWhenEnabled } from '../config/hugging-face.js';
import { limits } from '../config/limits.js';
import type { MoeConfig } from '../config/model-config.js';
import { checkedMoe, qwenSparseLayers, softmaxRouter } from '../config/moe.js';
import type { Architecture } from './architecture.js';
import { qwenMoeLayer } from './qwen2-moe.js';

/** Qwen3's attention with routed experts and no shared MLP. */
export const qwen3Moe: Architecture = {
  name: 'qwen3_moe',
  modelTypes: ['qwen3_moe'],
  classNames: ['Qwen3MoeForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'qwen3_moe',
      qkNorm: true,
      qkvBias: fields.boolean('attention_bias', false),
      outputBias: fields.boolean('attention_bias', false),
      windows: windowsWhenEnabled,
      moe: experts,
    }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, {
      architecture: 'qwen3_moe',
      qkNorm: true,
      moe: (f, layers) => expertsFromGguf(f, layers, { router: softmaxRouter({ normalize: true }) }),
    }),
  layer: qwenMoeLayer,
};

function experts(fields: Fields, layers: number): MoeConfig {
  return checkedMoe(fields, {
    experts:
      fields.optionalInteger('num_experts', { max: limits.experts }) ??
      fields.integer('num_local_experts', { max: limits.experts }),
    expertsPerToken: fields.integer('num_experts_per_tok', { max: limits.experts }),
    intermediateSize: fields.integer('moe_intermediate_size', { max: limits.intermediateSize }),
    sharedIntermediateSize: 0,
    sharedGate: false,
    router: softmaxRouter({ normalize: fields.boolean('norm_topk_prob', false) }),
    sparseLayers: qwenSparseLayers(fields, layers),
  });
}
