import type { GgufArchitecture } from './names.js';
import type { MetadataReader } from './metadata-reader.js';

/** float32 metadata as the short decimal that it was written from. */
function decimal(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toPrecision(7));
}

const classes: Record<string, string> = {
  llama: 'LlamaForCausalLM',
  mistral: 'MistralForCausalLM',
  mixtral: 'MixtralForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen2_moe: 'Qwen2MoeForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
  qwen3_moe: 'Qwen3MoeForCausalLM',
  phi3: 'Phi3ForCausalLM',
  deepseek_v2: 'DeepseekV2ForCausalLM',
  deepseek_v3: 'DeepseekV3ForCausalLM',
};

function modelTypeOf(arch: GgufArchitecture, m: MetadataReader): string {
  switch (arch) {
    case 'llama':
      if ((m.optionalNumber('expert_count') ?? 0) > 0) return 'mixtral';
      return (m.optionalNumber('attention.sliding_window') ?? 0) > 0 ? 'mistral' : 'llama';
    case 'qwen2moe':
      return 'qwen2_moe';
    case 'qwen3moe':
      return 'qwen3_moe';
    case 'deepseek2':
      return m.optionalNumber('expert_gating_func') === 2 ? 'deepseek_v3' : 'deepseek_v2';
    default:
      return arch;
  }
}

function ropeScaling(m: MetadataReader): Record<string, unknown> | null {
  const type = m.optionalString('rope.scaling.type');
  if (type === undefined || type === 'none') return null;
  const log = m.optionalNumber('rope.scaling.yarn_log_multiplier');
  const all = log === undefined ? undefined : Number((log * 10).toPrecision(6));
  return {
    type,
    rope_type: type,
    factor: m.number('rope.scaling.factor'),
    original_max_position_embeddings: m.optionalNumber('rope.scaling.original_context_length'),
    beta_fast: decimal(m.optionalNumber('rope.scaling.yarn_beta_fast')),
    beta_slow: decimal(m.optionalNumber('rope.scaling.yarn_beta_slow')),
    attention_factor: decimal(m.optionalNumber('rope.scaling.yarn_attn_factor')),
    mscale: all,
    mscale_all_dim: all,
  };
}

function expertConfig(modelType: string, m: MetadataReader): Record<string, unknown> {
  const experts = m.optionalNumber('expert_count') ?? 0;
  if (experts === 0) return {};
  const common = { num_experts_per_tok: m.number('expert_used_count') };
  if (modelType === 'mixtral') return { ...common, num_local_experts: experts };
  const width = { moe_intermediate_size: m.number('expert_feed_forward_length') };
  if (modelType.startsWith('qwen'))
    return {
      ...common,
      ...width,
      num_experts: experts,
      norm_topk_prob: modelType === 'qwen3_moe',
      shared_expert_intermediate_size: m.optionalNumber('expert_shared_feed_forward_length'),
      decoder_sparse_step: 1,
      mlp_only_layers: [],
    };
  const grouped = m.optionalNumber('expert_group_count') !== undefined;
  const v3 = modelType === 'deepseek_v3';
  return {
    ...common,
    ...width,
    n_routed_experts: experts,
    n_shared_experts: m.optionalNumber('expert_shared_count') ?? 0,
    routed_scaling_factor: decimal(m.optionalNumber('expert_weights_scale')) ?? 1,
    norm_topk_prob: m.flag('expert_weights_norm'),
    scoring_func: v3 ? 'sigmoid' : 'softmax',
    topk_method: v3 ? 'noaux_tc' : grouped ? 'group_limited_greedy' : 'greedy',
    n_group: m.optionalNumber('expert_group_count') ?? 1,
    topk_group: m.optionalNumber('expert_group_used_count') ?? 1,
    first_k_dense_replace: m.optionalNumber('leading_dense_block_count') ?? 0,
    moe_layer_freq: 1,
  };
}

/**
 * config.json of a GGUF model, as far as its metadata says.
 *
 * @param tied whether the file has no output.weight
 * @param biases whether attn_q has a bias
 * @param rope llama3 scaling found in rope_freqs, or undefined
 */
export function configFromMetadata(
  arch: GgufArchitecture,
  m: MetadataReader,
  vocabSize: number,
  tied: boolean,
  biases: boolean,
  rope: Record<string, unknown> | undefined,
  dtype: string,
): Record<string, unknown> {
  const modelType = modelTypeOf(arch, m);
  const latent = arch === 'deepseek2';
  const heads = m.number('attention.head_count');
  const window = m.optionalNumber('attention.sliding_window');
  const nextn = m.optionalNumber('nextn_predict_layers') ?? 0;
  const ropeDims = m.number('rope.dimension_count');
  const headDim = m.optionalNumber('attention.key_length');
  const queryRank = m.optionalNumber('attention.q_lora_rank') ?? 0;
  const config: Record<string, unknown> = {
    architectures: [classes[modelType]],
    model_type: modelType,
    vocab_size: vocabSize,
    hidden_size: m.number('embedding_length'),
    intermediate_size: m.number('feed_forward_length'),
    num_hidden_layers: m.number('block_count') - nextn,
    num_attention_heads: heads,
    num_key_value_heads: latent ? heads : (m.optionalNumber('attention.head_count_kv') ?? heads),
    max_position_embeddings: m.optionalNumber('context_length'),
    rms_norm_eps: decimal(m.number('attention.layer_norm_rms_epsilon')),
    rope_theta: decimal(m.optionalNumber('rope.freq_base')) ?? 10000,
    rope_scaling: rope ?? ropeScaling(m),
    hidden_act: 'silu',
    tie_word_embeddings: tied,
    torch_dtype: dtype,
    bos_token_id: m.token('bos'),
    eos_token_id: m.token('eos'),
    ...(window !== undefined && window > 0 && { sliding_window: window }),
    ...((arch === 'llama' || arch === 'qwen3') && { attention_bias: biases }),
    ...(arch === 'phi3' && {
      original_max_position_embeddings: m.optionalNumber('rope.scaling.original_context_length'),
    }),
    ...expertConfig(modelType, m),
  };
  if (!latent) return { ...config, ...(headDim !== undefined && { head_dim: headDim }) };
  return {
    ...config,
    q_lora_rank: queryRank > 0 ? queryRank : null,
    kv_lora_rank: m.number('attention.kv_lora_rank'),
    qk_rope_head_dim: ropeDims,
    qk_nope_head_dim: m.number('attention.key_length_mla') - ropeDims,
    v_head_dim: m.number('attention.value_length_mla'),
    attention_bias: false,
    num_nextn_predict_layers: nextn,
  };
}
