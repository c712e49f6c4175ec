import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export type TinyArchitecture = 'qwen2' | 'deepseek_v3';

/** Byte-level vocabulary (ids 0 to 255 in byte order), a few merges, then the special tokens. */
const merges = ['t h', 'th e', 'Ġ a', 'i n', 'o n', 'Ġ the'];
export const specialTokens = ['<|begin|>', '<|end|>', '<|user|>', '<|assistant|>'] as const;
const firstSpecial = 256 + merges.length;
export const vocabSize = firstSpecial + specialTokens.length;
export const bosId = firstSpecial;
export const eosId = firstSpecial + 1;

const chatTemplate =
  "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

const common = {
  vocab_size: vocabSize,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  hidden_act: 'silu',
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  bos_token_id: bosId,
  eos_token_id: eosId,
  torch_dtype: 'bfloat16',
};

const configs: Record<TinyArchitecture, Record<string, unknown>> = {
  qwen2: {
    ...common,
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    num_key_value_heads: 2,
    tie_word_embeddings: true,
    use_sliding_window: false,
  },
  deepseek_v3: {
    ...common,
    architectures: ['DeepseekV3ForCausalLM'],
    model_type: 'deepseek_v3',
    num_key_value_heads: 4,
    tie_word_embeddings: false,
    attention_bias: false,
    q_lora_rank: 32,
    kv_lora_rank: 32,
    qk_nope_head_dim: 16,
    qk_rope_head_dim: 16,
    v_head_dim: 16,
    first_k_dense_replace: 1,
    moe_layer_freq: 1,
    n_routed_experts: 4,
    n_shared_experts: 1,
    num_experts_per_tok: 2,
    n_group: 2,
    topk_group: 1,
    moe_intermediate_size: 32,
    scoring_func: 'sigmoid',
    topk_method: 'noaux_tc',
    norm_topk_prob: true,
    routed_scaling_factor: 2.5,
    rope_interleave: true,
    num_nextn_predict_layers: 0,
  },
};

function shapes(architecture: TinyArchitecture): [string, number[]][] {
  const D = 64;
  const mlp = (name: string, width: number): [string, number[]][] => [
    [`${name}.gate_proj.weight`, [width, D]],
    [`${name}.up_proj.weight`, [width, D]],
    [`${name}.down_proj.weight`, [D, width]],
  ];
  const list: [string, number[]][] = [['model.embed_tokens.weight', [vocabSize, D]]];
  for (let i = 0; i < 2; i++) {
    const p = `model.layers.${i}`;
    list.push([`${p}.input_layernorm.weight`, [D]], [`${p}.post_attention_layernorm.weight`, [D]]);
    if (architecture === 'qwen2') {
      const sizes = { q: 64, k: 32, v: 32 };
      for (const [part, size] of Object.entries(sizes)) {
        list.push([`${p}.self_attn.${part}_proj.weight`, [size, D]], [`${p}.self_attn.${part}_proj.bias`, [size]]);
      }
      list.push([`${p}.self_attn.o_proj.weight`, [D, D]], ...mlp(`${p}.mlp`, 128));
      continue;
    }
    list.push(
      [`${p}.self_attn.q_a_proj.weight`, [32, D]],
      [`${p}.self_attn.q_a_layernorm.weight`, [32]],
      [`${p}.self_attn.q_b_proj.weight`, [4 * 32, 32]],
      [`${p}.self_attn.kv_a_proj_with_mqa.weight`, [48, D]],
      [`${p}.self_attn.kv_a_layernorm.weight`, [32]],
      [`${p}.self_attn.kv_b_proj.weight`, [4 * 32, 32]],
      [`${p}.self_attn.o_proj.weight`, [D, 64]],
    );
    if (i === 0) {
      list.push(...mlp(`${p}.mlp`, 128));
      continue;
    }
    list.push([`${p}.mlp.gate.weight`, [4, D]], [`${p}.mlp.gate.e_score_correction_bias`, [4]]);
    for (let e = 0; e < 4; e++) list.push(...mlp(`${p}.mlp.experts.${e}`, 32));
    list.push(...mlp(`${p}.mlp.shared_experts`, 32));
  }
  list.push(['model.norm.weight', [D]]);
  if (architecture === 'deepseek_v3') list.push(['lm_head.weight', [vocabSize, D]]);
  return list;
}

/** Uniform numbers in [-1, 1), the same on every machine (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

function safetensors(architecture: TinyArchitecture): Buffer {
  const next = random(7);
  const header: Record<string, unknown> = {};
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const [name, shape] of shapes(architecture)) {
    const isNorm = name.includes('norm');
    const isBias = name.endsWith('bias');
    // Strong enough projections that the argmax depends on the whole context.
    const scale = isBias || isNorm ? 0.3 : 2.5 / Math.sqrt(shape.at(-1)!);
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1)).map(() => (isNorm ? 1 : 0) + scale * next());
    const words = new Uint16Array(data.length);
    const bits = new Uint32Array(data.buffer);
    words.forEach((_, i) => (words[i] = bits[i]! >>> 16));
    header[name] = { dtype: 'BF16', shape, data_offsets: [offset, offset + words.byteLength] };
    offset += words.byteLength;
    parts.push(new Uint8Array(words.buffer));
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...parts]);
}

function printable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/** The printable stand-in of every byte, as byte-level BPE files write them (GPT-2). */
function byteLetters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++));
}

function tokenizerJson(): unknown {
  const vocab: Record<string, number> = Object.fromEntries(byteLetters().map((letter, id) => [letter, id]));
  merges.forEach((merge, i) => (vocab[merge.replace(' ', '')] = 256 + i));
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, i) => ({
      id: firstSpecial + i,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab,
      merges,
    },
  };
}

export interface TinyModel {
  /** A directory in Hugging Face layout. */
  readonly path: string;
  remove(): void;
}

/** Writes a model of random weights (about 100 KB) with a byte-level tokenizer and a chat template. */
export function writeTinyModel(architecture: TinyArchitecture): TinyModel {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'dsi-tiny-'));
  const write = (name: string, content: string | Buffer) => writeFileSync(path.join(directory, name), content);
  write('config.json', JSON.stringify(configs[architecture]));
  write('generation_config.json', JSON.stringify({ eos_token_id: eosId, temperature: 0.6, top_p: 0.95 }));
  write('tokenizer.json', JSON.stringify(tokenizerJson()));
  write(
    'tokenizer_config.json',
    JSON.stringify({
      add_bos_token: true,
      bos_token: specialTokens[0],
      eos_token: specialTokens[1],
      chat_template: chatTemplate,
    }),
  );
  write('model.safetensors', safetensors(architecture));
  return { path: directory, remove: () => rmSync(directory, { recursive: true }) };
}
