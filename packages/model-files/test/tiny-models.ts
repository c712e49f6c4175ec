import { f32ArrayToBf16 } from '@dsi/quantization';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSafetensors, type SafetensorsTensor } from '../src/index.js';

/** bf16 values that differ from tensor to tensor and element to element. */
function tensor(name: string, shape: number[], dtype = 'BF16'): SafetensorsTensor {
  let state = [...name].reduce((a, c) => (Math.imul(a, 31) + c.codePointAt(0)!) >>> 0, 7);
  const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  const bits = f32ArrayToBf16(values);
  const data = dtype === 'BF16' ? new Uint8Array(bits.buffer) : new Uint8Array(values.buffer);
  return { name, dtype, shape, data };
}

export interface TinyModel {
  readonly config: Record<string, unknown>;
  readonly tensors: SafetensorsTensor[];
}

const base = {
  vocab_size: 40,
  hidden_size: 64,
  intermediate_size: 96,
  rms_norm_eps: 1e-5,
  max_position_embeddings: 128,
};

function shell(tied: boolean): SafetensorsTensor[] {
  const all = [tensor('model.embed_tokens.weight', [40, 64]), tensor('model.norm.weight', [64])];
  return tied ? all : [...all, tensor('lm_head.weight', [40, 64])];
}

function norms(p: string): SafetensorsTensor[] {
  return [tensor(`${p}input_layernorm.weight`, [64]), tensor(`${p}post_attention_layernorm.weight`, [64])];
}

function mlp(p: string, width = 96): SafetensorsTensor[] {
  return [
    tensor(`${p}gate_proj.weight`, [width, 64]),
    tensor(`${p}up_proj.weight`, [width, 64]),
    tensor(`${p}down_proj.weight`, [64, width]),
  ];
}

/** Grouped-query Llama with attention biases and llama3 RoPE scaling. */
export function tinyLlama(layers = 2): TinyModel {
  const tensors = shell(false);
  for (let i = 0; i < layers; i++) {
    const p = `model.layers.${i}.`;
    tensors.push(...norms(p), ...mlp(`${p}mlp.`));
    for (const [name, rows] of [
      ['q', 64],
      ['k', 32],
      ['v', 32],
    ] as const)
      tensors.push(
        tensor(`${p}self_attn.${name}_proj.weight`, [rows, 64]),
        tensor(`${p}self_attn.${name}_proj.bias`, [rows]),
      );
    tensors.push(tensor(`${p}self_attn.o_proj.weight`, [64, 64]));
  }
  const rope_scaling = {
    rope_type: 'llama3',
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 64,
  };
  return {
    config: {
      ...base,
      model_type: 'llama',
      num_hidden_layers: layers,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      rope_theta: 500000,
      rope_scaling,
    },
    tensors,
  };
}

/** DeepSeek-V3: one dense layer, one with experts, one multi-token-prediction layer. */
export function tinyDeepseek(): TinyModel {
  const tensors = shell(false);
  for (let i = 0; i < 3; i++) {
    const p = `model.layers.${i}.`;
    const a = `${p}self_attn.`;
    tensors.push(
      ...norms(p),
      tensor(`${a}q_a_proj.weight`, [32, 64]),
      tensor(`${a}q_a_layernorm.weight`, [32]),
      tensor(`${a}q_b_proj.weight`, [2 * 24, 32]),
      tensor(`${a}kv_a_proj_with_mqa.weight`, [32 + 8, 64]),
      tensor(`${a}kv_a_layernorm.weight`, [32]),
      tensor(`${a}kv_b_proj.weight`, [2 * (16 + 12), 32]),
      tensor(`${a}o_proj.weight`, [64, 24]),
    );
    if (i === 0) tensors.push(...mlp(`${p}mlp.`));
    else {
      tensors.push(tensor(`${p}mlp.gate.weight`, [4, 64]), tensor(`${p}mlp.gate.e_score_correction_bias`, [4], 'F32'));
      for (let e = 0; e < 4; e++) tensors.push(...mlp(`${p}mlp.experts.${e}.`, 32));
      tensors.push(...mlp(`${p}mlp.shared_experts.`, 32));
    }
    if (i === 2)
      tensors.push(
        tensor(`${p}eh_proj.weight`, [64, 128]),
        tensor(`${p}enorm.weight`, [64]),
        tensor(`${p}hnorm.weight`, [64]),
        tensor(`${p}shared_head.norm.weight`, [64]),
      );
  }
  return {
    config: {
      ...base,
      model_type: 'deepseek_v3',
      num_hidden_layers: 2,
      num_nextn_predict_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 2,
      q_lora_rank: 32,
      kv_lora_rank: 32,
      qk_nope_head_dim: 16,
      qk_rope_head_dim: 8,
      v_head_dim: 12,
      first_k_dense_replace: 1,
      n_routed_experts: 4,
      n_shared_experts: 1,
      num_experts_per_tok: 2,
      moe_intermediate_size: 32,
      n_group: 2,
      topk_group: 1,
      routed_scaling_factor: 2.5,
      norm_topk_prob: true,
      scoring_func: 'sigmoid',
      topk_method: 'noaux_tc',
      rope_theta: 10000,
      rope_scaling: {
        type: 'yarn',
        factor: 40,
        beta_fast: 32,
        beta_slow: 1,
        mscale: 1,
        mscale_all_dim: 1,
        original_max_position_embeddings: 64,
      },
    },
    tensors,
  };
}

/** Qwen3 with experts, tied embeddings. */
export function tinyQwen3Moe(): TinyModel {
  const tensors = shell(true);
  const p = 'model.layers.0.';
  tensors.push(...norms(p), tensor(`${p}mlp.gate.weight`, [4, 64]));
  for (let e = 0; e < 4; e++) tensors.push(...mlp(`${p}mlp.experts.${e}.`, 32));
  for (const [name, rows] of [
    ['q', 64],
    ['k', 32],
    ['v', 32],
  ] as const)
    tensors.push(tensor(`${p}self_attn.${name}_proj.weight`, [rows, 64]));
  tensors.push(
    tensor(`${p}self_attn.o_proj.weight`, [64, 64]),
    tensor(`${p}self_attn.q_norm.weight`, [16]),
    tensor(`${p}self_attn.k_norm.weight`, [16]),
  );
  return {
    config: {
      ...base,
      model_type: 'qwen3_moe',
      num_hidden_layers: 1,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 16,
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 32,
      norm_topk_prob: true,
      tie_word_embeddings: true,
      rope_theta: 1000000,
    },
    tensors,
  };
}

const llama3Split = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** A byte-level BPE tokenizer.json of 38 entries: 36 letters and merges, two special tokens. */
export const tinyTokenizer = {
  added_tokens: [
    { id: 36, content: '<s>', special: true },
    { id: 37, content: '<tool>', special: false },
  ],
  pre_tokenizer: {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: llama3Split }, behavior: 'Isolated' },
      { type: 'ByteLevel', use_regex: false },
    ],
  },
  post_processor: {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<s>' } }, { Sequence: { id: 'A' } }],
  },
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(
      Array.from({ length: 36 }, (_, i) => [i < 26 ? String.fromCodePoint(97 + i) : `ab${i}`, i]),
    ),
    merges: [
      ['a', 'b'],
      ['ab', 'c d'],
    ],
  },
};

/** Writes a model as a Hugging Face directory. */
export async function writeTinyModel(directory: string, model: TinyModel, tokenizer = true): Promise<string> {
  await mkdir(directory, { recursive: true });
  await writeSafetensors(join(directory, 'model.safetensors'), { tensors: model.tensors });
  await writeFile(join(directory, 'config.json'), JSON.stringify(model.config));
  if (tokenizer) {
    await writeFile(join(directory, 'tokenizer.json'), JSON.stringify(tinyTokenizer));
    await writeFile(
      join(directory, 'tokenizer_config.json'),
      JSON.stringify({ bos_token: { content: '<s>' }, chat_template: '{{ messages }}' }),
    );
  }
  return directory;
}
