/** Architecture names as GGUF files carry them in general.architecture. */
export const ggufArchitectures = ['llama', 'qwen2', 'qwen2moe', 'qwen3', 'qwen3moe', 'phi3', 'deepseek2'] as const;
export type GgufArchitecture = (typeof ggufArchitectures)[number];

/** Stands for the expert's number in a Hugging Face name whose GGUF tensor stacks all experts. */
export const expertPlaceholder = '{e}';

type NameTable = Readonly<Record<string, string>>;

const globalNames: NameTable = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight',
};

// GGUF stem in `blk.N.` : Hugging Face stem in `model.layers.N.`; `.weight` and `.bias` are kept.
const norms: NameTable = { attn_norm: 'input_layernorm', ffn_norm: 'post_attention_layernorm' };
const attention: NameTable = {
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
};
const headNorms: NameTable = { attn_q_norm: 'self_attn.q_norm', attn_k_norm: 'self_attn.k_norm' };
const latentAttention: NameTable = {
  attn_q: 'self_attn.q_proj',
  attn_q_a: 'self_attn.q_a_proj',
  attn_q_a_norm: 'self_attn.q_a_layernorm',
  attn_q_b: 'self_attn.q_b_proj',
  attn_kv_a_mqa: 'self_attn.kv_a_proj_with_mqa',
  attn_kv_a_norm: 'self_attn.kv_a_layernorm',
  // attn_k_b [heads, kv_lora, nope] (transposed) and attn_v_b [heads, v, kv_lora] are the two halves of this one.
  attn_kv_b: 'self_attn.kv_b_proj',
  attn_output: 'self_attn.o_proj',
};
const dense: NameTable = { ffn_gate: 'mlp.gate_proj', ffn_up: 'mlp.up_proj', ffn_down: 'mlp.down_proj' };
const experts: NameTable = {
  ffn_gate_inp: 'mlp.gate',
  ffn_gate_exps: `mlp.experts.${expertPlaceholder}.gate_proj`,
  ffn_up_exps: `mlp.experts.${expertPlaceholder}.up_proj`,
  ffn_down_exps: `mlp.experts.${expertPlaceholder}.down_proj`,
};

const layerNames: Record<GgufArchitecture, NameTable> = {
  llama: {
    ...norms,
    ...attention,
    ...dense,
    ffn_gate_inp: 'block_sparse_moe.gate',
    ffn_gate_exps: `block_sparse_moe.experts.${expertPlaceholder}.w1`,
    ffn_up_exps: `block_sparse_moe.experts.${expertPlaceholder}.w3`,
    ffn_down_exps: `block_sparse_moe.experts.${expertPlaceholder}.w2`,
  },
  qwen2: { ...norms, ...attention, ...dense },
  qwen2moe: {
    ...norms,
    ...attention,
    ...experts,
    ffn_gate_inp_shexp: 'mlp.shared_expert_gate',
    ffn_gate_shexp: 'mlp.shared_expert.gate_proj',
    ffn_up_shexp: 'mlp.shared_expert.up_proj',
    ffn_down_shexp: 'mlp.shared_expert.down_proj',
  },
  qwen3: { ...norms, ...attention, ...headNorms, ...dense },
  qwen3moe: { ...norms, ...attention, ...headNorms, ...experts },
  phi3: {
    ...norms,
    attn_qkv: 'self_attn.qkv_proj',
    attn_output: 'self_attn.o_proj',
    ffn_up: 'mlp.gate_up_proj',
    ffn_down: 'mlp.down_proj',
  },
  deepseek2: {
    ...norms,
    ...latentAttention,
    ...dense,
    ...experts,
    ffn_gate_shexp: 'mlp.shared_experts.gate_proj',
    ffn_up_shexp: 'mlp.shared_experts.up_proj',
    ffn_down_shexp: 'mlp.shared_experts.down_proj',
    'nextn.eh_proj': 'eh_proj',
    'nextn.enorm': 'enorm',
    'nextn.hnorm': 'hnorm',
    'nextn.embed_tokens': 'embed_tokens',
    'nextn.shared_head_head': 'shared_head.head',
    'nextn.shared_head_norm': 'shared_head.norm',
  },
};

const routerBias = { gguf: 'exp_probs_b.bias', hf: 'mlp.gate.e_score_correction_bias' } as const;

/** Own entries only: names come from files, and may be "constructor". */
function lookUp(table: NameTable, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function inverse(table: NameTable): ReadonlyMap<string, string> {
  return new Map(Object.entries(table).map(([key, value]) => [value, key]));
}

const globalNamesFromHf = inverse(globalNames);
const layerNamesFromHf = new Map(ggufArchitectures.map((arch) => [arch, inverse(layerNames[arch])]));

/** Whether names of this architecture are known here. */
export function isGgufArchitecture(name: string): name is GgufArchitecture {
  return (ggufArchitectures as readonly string[]).includes(name);
}

/**
 * Hugging Face name of a GGUF tensor, or undefined if it has none (rope_freqs and other derived tensors; attn_k_b and
 * attn_v_b, which together are kv_b_proj). Stacked experts give a name with `{e}` for the expert's number.
 *
 * Contents differ in two places: llama's attn_q and attn_k have each head's rows interleaved for adjacent-pair RoPE,
 * and stacked experts are [E, N, K].
 */
export function ggufToHfName(arch: GgufArchitecture, name: string): string | undefined {
  const whole = lookUp(globalNames, name);
  if (whole !== undefined) return whole;
  const match = /^blk\.(\d+)\.(.+)$/.exec(name);
  if (match === null) return undefined;
  const prefix = `model.layers.${match[1]}.`;
  if (match[2] === routerBias.gguf) return arch === 'deepseek2' ? prefix + routerBias.hf : undefined;
  const parts = /^(.+)\.(weight|bias)$/.exec(match[2]!);
  const stem = parts === null ? undefined : lookUp(layerNames[arch], parts[1]!);
  return stem === undefined ? undefined : `${prefix}${stem}.${parts![2]}`;
}

/**
 * GGUF name of a Hugging Face tensor and, for one expert's matrix, its place in the stacked tensor; undefined if the
 * architecture has no such tensor. kv_b_proj gives attn_kv_b, which current files hold as attn_k_b and attn_v_b.
 */
export function hfToGgufName(
  arch: GgufArchitecture,
  name: string,
): { readonly name: string; readonly expert?: number } | undefined {
  const whole = globalNamesFromHf.get(name);
  if (whole !== undefined) return { name: whole };
  const match = /^model\.layers\.(\d+)\.(.+)$/.exec(name);
  if (match === null) return undefined;
  const prefix = `blk.${match[1]}.`;
  if (match[2] === routerBias.hf) return arch === 'deepseek2' ? { name: prefix + routerBias.gguf } : undefined;
  const parts = /^(.+)\.(weight|bias)$/.exec(match[2]!);
  if (parts === null) return undefined;
  const expert = /\.experts\.(\d+)\./.exec(parts[1]!);
  const pattern = parts[1]!.replace(/\.experts\.\d+\./, `.experts.${expertPlaceholder}.`);
  const stem = layerNamesFromHf.get(arch)!.get(pattern);
  if (stem === undefined) return undefined;
  return { name: `${prefix}${stem}.${parts[2]}`, ...(expert && { expert: Number(expert[1]) }) };
}
