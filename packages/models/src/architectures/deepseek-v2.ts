import type { GraphValue } from '@dsi/graph';
import { UnsupportedModelError } from '../errors.js';
import type { Fields } from '../config/fields.js';
import { decoderFromGguf, expertsFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace } from '../config/hugging-face.js';
import { limits } from '../config/limits.js';
import { mlaFromGguf, mlaFromHuggingFace } from '../config/mla.js';
import type { RouterConfig } from '../config/model-config.js';
import { deepseekExperts, softmaxRouter } from '../config/moe.js';
import { gatedMlp } from '../layers/gated-mlp.js';
import { mlaAttention } from '../layers/mla-attention.js';
import type { ModelBuilder } from '../layers/model-builder.js';
import { moeMlp } from '../layers/moe-mlp.js';
import type { Architecture } from './architecture.js';

/** DeepSeek-V2 (2024): multi-head latent attention; softmax-routed experts, greedy or limited to the best groups, plus shared ones. */
export const deepseekV2: Architecture = {
  name: 'deepseek_v2',
  modelTypes: ['deepseek_v2'],
  classNames: ['DeepseekV2ForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'deepseek_v2',
      ropeStyle: 'interleaved',
      qkvBias: fields.boolean('attention_bias', false),
      outputBias: fields.boolean('attention_bias', false),
      mla: mlaFromHuggingFace(fields),
      moe: (f, layers) => deepseekExperts(f, layers, router(f)),
    }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, {
      architecture: 'deepseek_v2',
      ropeStyle: 'interleaved',
      mla: mlaFromGguf(fields),
      moe: (f, layers) => expertsFromGguf(f, layers, { router: softmaxRouter({ normalize: false }) }),
    }),
  layer: deepseekLayer,
};

/** Latent attention, then experts or (in the first layers) one MLP. */
export function deepseekLayer(m: ModelBuilder, x: GraphValue, layer: number): GraphValue {
  const at = `model.layers.${layer}`;
  const h = m.add(x, mlaAttention(m, m.norm(x, `${at}.input_layernorm`), layer));
  const z = m.norm(h, `${at}.post_attention_layernorm`);
  // A multi-token-prediction layer lies past the last one and is sparse.
  const sparse = m.config.moe !== undefined && (m.config.moe.sparseLayers[layer] ?? true);
  return m.add(h, sparse ? moeMlp(m, z, `${at}.mlp`, 'shared_experts') : gatedMlp(m, z, `${at}.mlp`));
}

function router(fields: Fields): RouterConfig {
  const scoring = fields.optionalString('scoring_func') ?? 'softmax';
  if (scoring !== 'softmax') throw new UnsupportedModelError('deepseek_v2 scoring_func', scoring, ['softmax']);
  const method = fields.optionalString('topk_method') ?? 'greedy';
  const scale = fields.optionalNumber('routed_scaling_factor', { above: 0, max: 1e6 }) ?? 1;
  // The published code of this model never renormalises, whatever norm_topk_prob says.
  const plain = softmaxRouter({ normalize: false, scale });
  if (method === 'greedy') return plain;
  if (method !== 'group_limited_greedy') {
    throw new UnsupportedModelError('deepseek_v2 topk_method', method, ['greedy', 'group_limited_greedy']);
  }
  return {
    ...plain,
    groups: fields.integer('n_group', { max: limits.groups }),
    topkGroups: fields.integer('topk_group', { max: limits.groups }),
  };
}
