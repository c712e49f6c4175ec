import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelFiles } from '@dsi/model-files';
import { buildModel } from '../build-model.js';
import { dummyModel } from '../dummy-model.js';
import { BuildOptionError, ModelConfigError, UnsupportedModelError } from '../errors.js';
import { loadModelDefinition } from '../model-definition.js';

const options = { numerics: 'fast', maxDims: { T: 8, S: 2, R: 2, B: 4 }, blockSize: 16 } as const;

const llama31 = {
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
  max_position_embeddings: 131072,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  rope_scaling: {
    rope_type: 'llama3',
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  },
  torch_dtype: 'bfloat16',
  eos_token_id: 128001,
};

const v2Lite = {
  model_type: 'deepseek_v2',
  hidden_size: 2048,
  intermediate_size: 10944,
  num_hidden_layers: 27,
  num_attention_heads: 16,
  num_key_value_heads: 16,
  vocab_size: 102400,
  max_position_embeddings: 163840,
  q_lora_rank: null,
  kv_lora_rank: 512,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  n_routed_experts: 64,
  n_shared_experts: 2,
  num_experts_per_tok: 6,
  moe_intermediate_size: 1408,
  first_k_dense_replace: 1,
  topk_method: 'greedy',
  rope_theta: 10000,
  rope_scaling: {
    type: 'yarn',
    factor: 40,
    beta_fast: 32,
    beta_slow: 1,
    mscale: 0.75,
    mscale_all_dim: 0.75,
    original_max_position_embeddings: 4096,
  },
  torch_dtype: 'bfloat16',
};

const qwen25 = {
  architectures: ['Qwen2ForCausalLM'],
  hidden_size: 3584,
  intermediate_size: 18944,
  num_hidden_layers: 28,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  vocab_size: 152064,
  max_position_embeddings: 32768,
  rope_parameters: { rope_type: 'yarn', rope_theta: 1e6, factor: 4, original_max_position_embeddings: 32768 },
  use_sliding_window: true,
  sliding_window: 4096,
  max_window_layers: 20,
  dtype: 'bfloat16',
};

const gguf: Record<string, unknown> = {
  'general.architecture': 'llama',
  'general.file_type': 7,
  'llama.block_count': 2,
  'llama.context_length': 256,
  'llama.embedding_length': 64,
  'llama.feed_forward_length': 96,
  'llama.attention.head_count': 4,
  'llama.attention.head_count_kv': 2,
  'llama.attention.layer_norm_rms_epsilon': 1e-5,
  'llama.rope.freq_base': 10000,
  'llama.rope.dimension_count': 16,
  'llama.vocab_size': 100,
  'tokenizer.ggml.eos_token_id': 3,
};

function refuse(): never {
  throw new Error('configuration reading must not read tensors');
}

function files(part: Partial<ModelFiles>): ModelFiles {
  return {
    kind: 'safetensors',
    path: '/model',
    tensors: new Map(),
    metadata: new Map(),
    read: refuse,
    readRange: refuse,
    close: () => Promise.resolve(),
    ...part,
  };
}

const ggufFiles = (metadata: Record<string, unknown>): ModelFiles =>
  files({ kind: 'gguf', metadata: new Map(Object.entries(metadata)) as ModelFiles['metadata'] });

function settles(load: () => { config: object }): void {
  let definition: { config: object };
  try {
    definition = load();
  } catch (error) {
    expect(error instanceof ModelConfigError || error instanceof UnsupportedModelError, String(error)).toBe(true);
    return;
  }
  expect(
    JSON.stringify(definition.config, (_, v: unknown) => (typeof v === 'number' && !Number.isFinite(v) ? 'BAD' : v)),
  ).not.toContain('"BAD"');
}

describe('configurations of published models', () => {
  it('give their known cache sizes', () => {
    expect(buildModel(dummyModel(llama31), options).kvBytesPerToken).toBe(131_072);
    expect(buildModel(dummyModel(qwen25), options).kvBytesPerToken).toBe(57_344);
    expect(buildModel(dummyModel(v2Lite), options).kvBytesPerToken).toBe(31_104);
  });

  it('reads the older and the newer spelling of RoPE alike', () => {
    const { rope_theta, rope_scaling, ...rest } = llama31;
    const newer = { ...rest, rope_parameters: { ...rope_scaling, rope_theta } };
    expect(dummyModel(newer).config.rope).toEqual(dummyModel(llama31).config.rope);
  });

  it('lets YaRN reach past max_position_embeddings', () => {
    expect(dummyModel(qwen25).config.maxPositions).toBe(131_072);
    expect(dummyModel(v2Lite).config.maxPositions).toBe(163_840);
  });

  it('groups KV tensors by window', () => {
    const { kvGroups } = buildModel(dummyModel(qwen25), options);
    expect(kvGroups.map((g) => [g.window, g.tensors.length])).toEqual([
      [0, 40],
      [4096, 16],
    ]);
  });

  it('joins the end ids of both files', () => {
    const definition = loadModelDefinition(
      files({ config: llama31, generationConfig: { eos_token_id: [128001, 128008, 128009] } }),
    );
    expect(definition.config.eosTokenIds).toEqual([128001, 128008, 128009]);
  });

  it('tells architectures of one GGUF name apart', () => {
    expect(loadModelDefinition(ggufFiles(gguf)).architecture.name).toBe('llama');
    const experts = { ...gguf, 'llama.expert_count': 8, 'llama.expert_used_count': 2 };
    expect(loadModelDefinition(ggufFiles(experts)).architecture.name).toBe('mixtral');
  });
});

describe('configurations that cannot be built', () => {
  it.each([
    [{ model_type: 'gpt_neox' }, UnsupportedModelError, /model_type "gpt_neox"; supported: llama, mistral/],
    [{ hidden_act: 'gelu' }, UnsupportedModelError, /activation "gelu"/],
    [{ rope_scaling: { type: 'spiral' } }, UnsupportedModelError, /RoPE scaling "spiral"; supported: default/],
    [{ hidden_size: -1 }, ModelConfigError, /hidden_size is -1; expected an integer from 1/],
    [{ hidden_size: 2 ** 40 }, ModelConfigError, /hidden_size/],
    [{ num_hidden_layers: 1e9 }, ModelConfigError, /num_hidden_layers is 1000000000/],
    [{ num_key_value_heads: 5 }, ModelConfigError, /a divisor of num_attention_heads \(32\)/],
    [{ vocab_size: undefined }, ModelConfigError, /vocab_size is absent/],
    [{ rms_norm_eps: NaN }, ModelConfigError, /rms_norm_eps is NaN/],
    [{ rope_theta: 0 }, ModelConfigError, /rope_theta is 0; expected a number above 1/],
    [{ rope_scaling: { rope_type: 'linear', factor: 1e-300 } }, ModelConfigError, /rope_scaling.factor/],
    [{ rope_scaling: 'yarn' }, ModelConfigError, /rope_scaling/],
    [{ head_dim: 127 }, ModelConfigError, /head_dim is 127; expected an even size/],
    [{ eos_token_id: [1, 'x'] }, ModelConfigError, /eos_token_id\[1\]/],
    [{ torch_dtype: 'int8' }, UnsupportedModelError, /dtype "int8"/],
  ])('%j', (change, type, message) => {
    expect(() => dummyModel({ ...llama31, ...change })).toThrow(type);
    expect(() => dummyModel({ ...llama31, ...change })).toThrow(message);
  });

  it('names the methods when the quantization is unknown', () => {
    const config = { ...llama31, quantization_config: { quant_method: 'quip' } };
    expect(() => loadModelDefinition(files({ config }))).toThrow(/quantization method "quip"; supported: fp8/);
  });

  it('checks experts against groups', () => {
    const limited = { ...v2Lite, topk_method: 'group_limited_greedy', n_group: 7, topk_group: 3 };
    expect(() => dummyModel(limited)).toThrow(/n_group is 7; expected a divisor of the number of experts \(64\)/);
    expect(() => dummyModel({ ...limited, n_group: 8, topk_group: 9 })).toThrow(/topk_group is 9/);
    expect(() => dummyModel({ ...v2Lite, num_experts_per_tok: 65 })).toThrow(/at most the number of experts/);
  });

  it('refuses sequences beyond the model', () => {
    expect(() => buildModel(dummyModel(llama31), { ...options, maxSequenceLength: 200_000 })).toThrow(BuildOptionError);
  });

  const strange = fc.oneof(
    fc.constantFrom(null, NaN, Infinity, -1, 0, 0.5, 1e300, 5e-324, 2 ** 31, 2 ** 53, '', 'x', '1', true, [], {}, [[]]),
    fc.integer(),
    fc.double(),
    fc.string(),
    fc.jsonValue(),
  );

  it.each([llama31, v2Lite, qwen25] as Record<string, unknown>[])(
    'any value in any field of config %# gives a configuration or a typed error',
    (base) => {
      const nested = { ...(base.rope_scaling as object), ...(base.rope_parameters as object) };
      fc.assert(
        fc.property(
          fc.constantFrom(...Object.keys(base)),
          fc.constantFrom(...Object.keys(nested)),
          strange,
          strange,
          (field, inner, a, b) => {
            settles(() => dummyModel({ ...base, [field]: a }));
            const key = base.rope_scaling === undefined ? 'rope_parameters' : 'rope_scaling';
            settles(() => dummyModel({ ...base, [key]: { ...(base[key] as object), [inner]: b } }));
          },
        ),
        { numRuns: 300 },
      );
    },
  );

  it('any value in any GGUF field gives a configuration or a typed error', () => {
    const more = [
      'llama.expert_count',
      'llama.rope.scaling.type',
      'llama.rope.scaling.factor',
      'llama.nextn_predict_layers',
      'llama.attention.key_length',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(gguf), ...more), strange, (field, value) => {
        settles(() => loadModelDefinition(ggufFiles({ ...gguf, [field]: value })));
      }),
      { numRuns: 500 },
    );
  });
});
