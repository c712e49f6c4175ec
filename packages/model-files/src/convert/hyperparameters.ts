import { gguf } from '../gguf/fields.js';
import type { GgufField } from '../gguf/value.js';
import type { ModelConfig } from './config.js';
import { UnsupportedConversionError } from './errors.js';
import { llama3Factors } from './llama3-scaling.js';
import type { GgufArchitecture } from './names.js';

/** What a conversion needs to know about a model, read from config.json once. */
export interface Hyperparameters {
  readonly arch: GgufArchitecture;
  readonly layers: number;
  /** Multi-token-prediction layers after the main ones. */
  readonly nextnLayers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** 0 for dense models. */
  readonly experts: number;
  readonly tied: boolean;
  /** qk_nope_head_dim and v_head_dim of multi-head latent attention. */
  readonly latent?: { readonly nope: number; readonly value: number };
  /** GGUF metadata of the architecture, without general.* and the tokenizer. */
  readonly fields: ReadonlyMap<string, GgufField>;
  /** Divisors of the RoPE frequencies (llama3 scaling), stored as a tensor. */
  readonly ropeFactors?: Float32Array;
  /** Phi-3's divisors for long and short contexts. */
  readonly longRope?: { readonly long: Float32Array; readonly short: Float32Array };
  /** Where the GGUF file cannot say what the model does, or llama.cpp does it differently. */
  readonly warnings: readonly string[];
}

const architectures: ReadonlyMap<string, GgufArchitecture> = new Map(
  Object.entries({
    llama: 'llama',
    mistral: 'llama',
    mixtral: 'llama',
    qwen2: 'qwen2',
    qwen2_moe: 'qwen2moe',
    qwen3: 'qwen3',
    qwen3_moe: 'qwen3moe',
    phi3: 'phi3',
    deepseek_v2: 'deepseek2',
    deepseek_v3: 'deepseek2',
  } as const),
);

/** Collects the fields of one architecture under its prefix. */
class FieldSet {
  readonly fields = new Map<string, GgufField>();
  readonly warnings: string[] = [];
  constructor(private readonly arch: string) {}

  uint32(key: string, value: number | undefined): void {
    if (value !== undefined) this.fields.set(`${this.arch}.${key}`, gguf.uint32(value));
  }
  float32(key: string, value: number | undefined): void {
    if (value !== undefined) this.fields.set(`${this.arch}.${key}`, gguf.float32(value));
  }
  bool(key: string, value: boolean): void {
    this.fields.set(`${this.arch}.${key}`, gguf.bool(value));
  }
  string(key: string, value: string): void {
    this.fields.set(`${this.arch}.${key}`, gguf.string(value));
  }
}

/** RoPE settings: `rope_parameters` of recent files, else `rope_theta` and `rope_scaling`. */
function ropeSection(config: ModelConfig): { rope: ModelConfig; type: string; theta: number } {
  const rope = config.section(config.has('rope_parameters') ? 'rope_parameters' : 'rope_scaling');
  const type = (rope.optionalString('rope_type') ?? rope.optionalString('type') ?? 'default').toLowerCase();
  return { rope, type, theta: rope.optionalNumber('rope_theta') ?? config.optionalNumber('rope_theta') ?? 10000 };
}

function phi3LongRope(config: ModelConfig, rope: ModelConfig, dims: number, out: FieldSet) {
  const original = config.optionalSize('original_max_position_embeddings') ?? config.size('max_position_embeddings');
  out.uint32('rope.scaling.original_context_length', original);
  const long = rope.optionalNumbers('long_factor');
  const short = rope.optionalNumbers('short_factor');
  if (long === undefined && short === undefined) return undefined;
  if (long?.length !== dims / 2 || short?.length !== dims / 2)
    return rope.fail('long_factor', long?.length, `two lists of ${dims / 2} numbers, long_factor and short_factor`);
  // Attention factor of LongRoPE (Phi-3 report): sqrt(1 + ln(scale) / ln(original context)).
  const scale = config.size('max_position_embeddings') / original;
  out.float32('rope.scaling.attn_factor', scale > 1 ? Math.sqrt(1 + Math.log(scale) / Math.log(original)) : 1);
  return { long: Float32Array.from(long), short: Float32Array.from(short) };
}

function ropeFields(config: ModelConfig, out: FieldSet, arch: GgufArchitecture, dims: number, file: string) {
  const { rope, type, theta } = ropeSection(config);
  out.uint32('rope.dimension_count', dims);
  out.float32('rope.freq_base', theta);
  if (arch === 'phi3') return { longRope: phi3LongRope(config, rope, dims, out) };
  switch (type) {
    case 'default':
      return {};
    case 'llama3':
      if (arch !== 'llama') break;
      return {
        ropeFactors: llama3Factors(
          {
            factor: rope.optionalNumber('factor') ?? 8,
            low_freq_factor: rope.optionalNumber('low_freq_factor') ?? 1,
            high_freq_factor: rope.optionalNumber('high_freq_factor') ?? 4,
            original_max_position_embeddings: rope.optionalNumber('original_max_position_embeddings') ?? 8192,
          },
          theta,
          dims,
        ),
      };
    case 'linear':
      out.string('rope.scaling.type', 'linear');
      out.float32('rope.scaling.factor', rope.number('factor'));
      return {};
    case 'yarn': {
      out.string('rope.scaling.type', 'yarn');
      out.float32('rope.scaling.factor', rope.number('factor'));
      out.uint32(
        'rope.scaling.original_context_length',
        rope.optionalSize('original_max_position_embeddings') ?? config.size('max_position_embeddings'),
      );
      out.float32('rope.scaling.yarn_ext_factor', rope.optionalNumber('extrapolation_factor'));
      out.float32('rope.scaling.yarn_attn_factor', rope.optionalNumber('attention_factor'));
      out.float32('rope.scaling.yarn_beta_fast', rope.optionalNumber('beta_fast'));
      out.float32('rope.scaling.yarn_beta_slow', rope.optionalNumber('beta_slow'));
      const all = rope.optionalNumber('mscale_all_dim');
      if (arch !== 'deepseek2') return {};
      // deepseek2 files hold a tenth of mscale_all_dim here.
      out.float32('rope.scaling.yarn_log_multiplier', all === undefined ? undefined : 0.1 * all);
      if ((rope.optionalNumber('mscale') ?? 1) !== (all ?? 0))
        out.warnings.push('rope_scaling.mscale differs from mscale_all_dim, which GGUF files cannot say');
      return {};
    }
  }
  throw new UnsupportedConversionError(`RoPE scaling ${type} of ${arch} has no GGUF form`, {
    file,
    field: 'rope_scaling',
    value: type,
    limit: 'default, linear, yarn, llama3 (llama) and longrope (phi3)',
  });
}

function expertFields(config: ModelConfig, out: FieldSet, arch: GgufArchitecture, modelType: string): number {
  const experts =
    config.optionalSize('num_local_experts') ??
    config.optionalSize('num_experts') ??
    config.optionalSize('n_routed_experts');
  if (experts === undefined) return 0;
  out.uint32('expert_count', experts);
  out.uint32('expert_used_count', config.size('num_experts_per_tok'));
  if (arch === 'llama') return experts;
  out.uint32('expert_feed_forward_length', config.size('moe_intermediate_size'));
  if (arch !== 'deepseek2') {
    out.uint32('expert_shared_feed_forward_length', config.optionalSize('shared_expert_intermediate_size'));
    const normalised = config.flag('norm_topk_prob', false);
    if (normalised !== (arch === 'qwen3moe'))
      out.warnings.push(`norm_topk_prob is ${normalised}; llama.cpp takes ${!normalised} for ${arch}`);
    return experts;
  }
  const v3 = modelType === 'deepseek_v3';
  out.uint32('expert_shared_count', config.optionalNumber('n_shared_experts') ?? 0);
  out.float32('expert_weights_scale', config.optionalNumber('routed_scaling_factor'));
  if (config.flag('norm_topk_prob', v3)) out.bool('expert_weights_norm', true);
  const scoring = config.optionalString('scoring_func') ?? (v3 ? 'sigmoid' : 'softmax');
  if (scoring !== 'softmax' && scoring !== 'sigmoid') config.fail('scoring_func', scoring, 'softmax or sigmoid');
  out.uint32('expert_gating_func', scoring === 'sigmoid' ? 2 : 1);
  // "greedy" ignores groups, whatever their number says.
  const method = config.optionalString('topk_method') ?? (v3 ? 'noaux_tc' : 'greedy');
  if (method !== 'greedy') {
    out.uint32('expert_group_count', config.optionalSize('n_group'));
    out.uint32('expert_group_used_count', config.optionalSize('topk_group'));
    if (method === 'group_limited_greedy' && (config.optionalNumber('n_group') ?? 1) > 1)
      out.warnings.push('group_limited_greedy ranks groups by their best expert; llama.cpp adds up the best two');
  }
  return experts;
}

function latentFields(config: ModelConfig, out: FieldSet, experts: number): { nope: number; value: number } {
  const rank = config.size('kv_lora_rank');
  const nope = config.size('qk_nope_head_dim');
  const rope = config.size('qk_rope_head_dim');
  const value = config.size('v_head_dim');
  const layers = config.size('num_hidden_layers');
  out.uint32('leading_dense_block_count', config.optionalNumber('first_k_dense_replace') ?? (experts > 0 ? 0 : layers));
  // Absent in V2-Lite, but llama.cpp demands the key for other layer counts; 0 means that there is no such projection.
  out.uint32('attention.q_lora_rank', config.optionalSize('q_lora_rank') ?? 0);
  out.uint32('attention.kv_lora_rank', rank);
  // The cache holds one latent "head" for all heads; the *_mla lengths are those of the expanded heads.
  out.uint32('attention.head_count_kv', 1);
  out.uint32('attention.key_length', rank + rope);
  out.uint32('attention.value_length', rank);
  out.uint32('attention.key_length_mla', nope + rope);
  out.uint32('attention.value_length_mla', value);
  return { nope, value };
}

/** Context, widths and window that all architectures have. */
function commonFields(config: ModelConfig, out: FieldSet, heads: number, kvHeads: number): void {
  out.uint32('context_length', config.optionalSize('max_position_embeddings'));
  out.uint32('embedding_length', config.size('hidden_size'));
  out.uint32('feed_forward_length', config.size('intermediate_size'));
  out.uint32('attention.head_count', heads);
  out.uint32('attention.head_count_kv', kvHeads);
  out.float32('attention.layer_norm_rms_epsilon', config.optionalNumber('rms_norm_eps') ?? 1e-6);
  out.uint32('vocab_size', config.size('vocab_size'));
}

/**
 * Reads config.json into GGUF metadata with llama.cpp's keys.
 *
 * @throws UnsupportedConversionError for a model type or RoPE scaling that has no GGUF form here
 * @throws MalformedFieldError for a missing or impossible value
 */
export function readHyperparameters(config: ModelConfig, file: string): Hyperparameters {
  const modelType = config.optionalString('model_type') ?? '';
  const arch = architectures.get(modelType);
  if (arch === undefined)
    throw new UnsupportedConversionError(`model_type ${JSON.stringify(modelType)} is not converted`, {
      file,
      field: 'model_type',
      value: modelType,
      limit: [...architectures.keys()].join(', '),
    });
  const out = new FieldSet(arch);
  const layers = config.size('num_hidden_layers');
  const heads = config.size('num_attention_heads');
  const kvHeads = config.optionalSize('num_key_value_heads') ?? heads;
  const latent = arch === 'deepseek2';
  const headDim = config.optionalSize('head_dim') ?? config.size('hidden_size') / heads;
  out.uint32('block_count', layers);
  commonFields(config, out, heads, kvHeads);
  if (!latent && config.has('head_dim')) {
    out.uint32('attention.key_length', headDim);
    out.uint32('attention.value_length', headDim);
  }
  const experts = expertFields(config, out, arch, modelType);
  const latentShape = latent ? latentFields(config, out, experts) : undefined;
  const ropeDims = latent
    ? config.size('qk_rope_head_dim')
    : Math.floor(headDim * (config.optionalNumber('partial_rotary_factor') ?? 1));
  const { ropeFactors, longRope } = ropeFields(config, out, arch, ropeDims, file);

  const window = config.optionalSize('sliding_window');
  const usesWindow = modelType === 'mistral' || modelType === 'mixtral' || config.flag('use_sliding_window', false);
  if (arch === 'phi3') out.uint32('attention.sliding_window', window ?? 0);
  else if (window !== undefined && usesWindow) {
    out.uint32('attention.sliding_window', window);
    out.warnings.push(`llama.cpp ignores the sliding window of ${window} for ${arch}`);
  }
  return {
    arch,
    layers,
    nextnLayers: latent ? (config.optionalNumber('num_nextn_predict_layers') ?? 0) : 0,
    heads,
    kvHeads: latent ? 1 : kvHeads,
    headDim,
    experts,
    tied: config.flag('tie_word_embeddings', false),
    ...(latentShape && { latent: latentShape }),
    fields: out.fields,
    ...(ropeFactors && { ropeFactors }),
    ...(longRope && { longRope }),
    warnings: out.warnings,
  };
}
