import { UnsupportedModelError } from '../errors.js';
import type { Fields } from '../config/fields.js';
import { decoderFromGguf, expertsFromGguf } from '../config/gguf.js';
import { decoderFromHuggingFace } from '../config/hugging-face.js';
import { limits } from '../config/limits.js';
import { mlaFromGguf, mlaFromHuggingFace } from '../config/mla.js';
import type { RouterConfig } from '../config/model-config.js';
import { deepseekExperts } from '../config/moe.js';
import type { Architecture } from './architecture.js';
import { deepseekLayer } from './deepseek-v2.js';

/** DeepSeek-V3 and R1 (2024): V2's layer with sigmoid scores, a balancing bias on the choice, and a multi-token-prediction module. */
export const deepseekV3: Architecture = {
  name: 'deepseek_v3',
  modelTypes: ['deepseek_v3'],
  classNames: ['DeepseekV3ForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'deepseek_v3',
      ropeStyle: fields.boolean('rope_interleave', true) ? 'interleaved' : 'half',
      qkvBias: fields.boolean('attention_bias', false),
      outputBias: fields.boolean('attention_bias', false),
      mla: mlaFromHuggingFace(fields),
      moe: (f, layers) => deepseekExperts(f, layers, router(f)),
      mtpLayers: fields.optionalInteger('num_nextn_predict_layers', { min: 0, max: limits.mtpLayers }) ?? 0,
    }),
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, {
      architecture: 'deepseek_v3',
      ropeStyle: 'interleaved',
      mla: mlaFromGguf(fields),
      moe: (f, layers) =>
        expertsFromGguf(f, layers, {
          router: {
            scoring: 'sigmoid',
            correctionBias: true,
            groups: 1,
            topkGroups: 1,
            groupScore: 'top2sum',
            normalize: true,
            scale: 1,
          },
        }),
    }),
  layer: deepseekLayer,
};

function router(fields: Fields): RouterConfig {
  const scoring = fields.optionalString('scoring_func') ?? 'sigmoid';
  if (scoring !== 'sigmoid') throw new UnsupportedModelError('deepseek_v3 scoring_func', scoring, ['sigmoid']);
  const method = fields.optionalString('topk_method') ?? 'noaux_tc';
  if (method !== 'noaux_tc') throw new UnsupportedModelError('deepseek_v3 topk_method', method, ['noaux_tc']);
  return {
    scoring: 'sigmoid',
    correctionBias: true,
    groups: fields.optionalInteger('n_group', { max: limits.groups }) ?? 1,
    topkGroups: fields.optionalInteger('topk_group', { max: limits.groups }) ?? 1,
    groupScore: 'top2sum',
    normalize: fields.boolean('norm_topk_prob', true),
    scale: fields.optionalNumber('routed_scaling_factor', { above: 0, max: 1e6 }) ?? 1,
  };
}
