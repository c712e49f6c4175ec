import type { Fields } from './fields.js';
import { limits } from './limits.js';
import type { MoeConfig, RouterConfig } from './model-config.js';

/** Top-k of a softmax over all experts, no groups. */
export function softmaxRouter(options: { readonly normalize: boolean; readonly scale?: number }): RouterConfig {
  return {
    scoring: 'softmax',
    correctionBias: false,
    groups: 1,
    topkGroups: 1,
    groupScore: 'max',
    normalize: options.normalize,
    scale: options.scale ?? 1,
  };
}

/** Checks and completes the parts of a mixture-of-experts configuration that all architectures share. */
export function checkedMoe(fields: Fields, moe: MoeConfig): MoeConfig {
  const { experts, expertsPerToken, router } = moe;
  if (expertsPerToken > experts) {
    throw fields.error('num_experts_per_tok', expertsPerToken, `at most the number of experts (${experts})`);
  }
  if (experts % router.groups !== 0)
    throw fields.error('n_group', router.groups, `a divisor of the number of experts (${experts})`);
  if (router.topkGroups > router.groups)
    throw fields.error('topk_group', router.topkGroups, `at most n_group (${router.groups})`);
  if (router.groups > 1 && (experts / router.groups) * router.topkGroups < expertsPerToken) {
    throw fields.error('topk_group', router.topkGroups, `enough groups to hold ${expertsPerToken} experts`);
  }
  if (router.groups > 1 && router.groupScore === 'top2sum' && experts / router.groups < 2) {
    throw fields.error('n_group', router.groups, 'groups of at least 2 experts');
  }
  return moe;
}

/** Sparse layers of the Qwen MoE models: every `decoder_sparse_step`-th, less `mlp_only_layers`. */
export function qwenSparseLayers(fields: Fields, layers: number): boolean[] {
  const step = fields.optionalInteger('decoder_sparse_step', { max: limits.layers }) ?? 1;
  const raw = fields.raw('mlp_only_layers');
  if (raw !== undefined && (!Array.isArray(raw) || raw.length > layers)) {
    throw fields.error('mlp_only_layers', raw, `an array of at most ${layers} layer numbers`);
  }
  const dense = new Set(raw === undefined ? [] : fields.numbers('mlp_only_layers', raw.length, { max: layers - 1 }));
  return Array.from({ length: layers }, (_, i) => !dense.has(i) && (i + 1) % step === 0);
}

/** Experts of the DeepSeek models; undefined where the configuration has none. */
export function deepseekExperts(fields: Fields, layers: number, router: RouterConfig): MoeConfig | undefined {
  const experts = fields.optionalInteger('n_routed_experts', { max: limits.experts });
  if (experts === undefined) return undefined;
  const intermediateSize = fields.integer('moe_intermediate_size', { max: limits.intermediateSize });
  const shared = fields.optionalInteger('n_shared_experts', { min: 0, max: limits.experts }) ?? 0;
  const firstDense = fields.optionalInteger('first_k_dense_replace', { min: 0, max: limits.layers }) ?? 0;
  const frequency = fields.optionalInteger('moe_layer_freq', { max: limits.layers }) ?? 1;
  const sharedIntermediateSize = shared * intermediateSize;
  if (sharedIntermediateSize > limits.intermediateSize) {
    throw fields.error(
      'n_shared_experts',
      shared,
      `at most ${limits.intermediateSize} rows of shared experts together`,
    );
  }
  return checkedMoe(fields, {
    experts,
    expertsPerToken: fields.integer('num_experts_per_tok', { max: limits.experts }),
    intermediateSize,
    sharedIntermediateSize,
    sharedGate: false,
    router,
    sparseLayers: Array.from({ length: layers }, (_, i) => i >= firstDense && i % frequency === 0),
  });
}
