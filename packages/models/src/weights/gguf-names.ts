const global: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
};

const perLayer: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'self_attn.q_a_proj': 'attn_q_a',
  'self_attn.q_a_layernorm': 'attn_q_a_norm',
  'self_attn.q_b_proj': 'attn_q_b',
  'self_attn.kv_a_proj_with_mqa': 'attn_kv_a_mqa',
  'self_attn.kv_a_layernorm': 'attn_kv_a_norm',
  'self_attn.kv_b_proj': 'attn_kv_b',
  'self_attn.k_b_proj': 'attn_k_b',
  'self_attn.v_b_proj': 'attn_v_b',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
  // phi3: both halves in ffn_up.
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.gate': 'ffn_gate_inp',
  'mlp.shared_expert_gate': 'ffn_gate_inp_shexp',
  'mlp.experts.gate_proj': 'ffn_gate_exps',
  'mlp.experts.up_proj': 'ffn_up_exps',
  'mlp.experts.down_proj': 'ffn_down_exps',
  'mlp.shared_experts.gate_proj': 'ffn_gate_shexp',
  'mlp.shared_experts.up_proj': 'ffn_up_shexp',
  'mlp.shared_experts.down_proj': 'ffn_down_shexp',
  'mlp.shared_expert.gate_proj': 'ffn_gate_shexp',
  'mlp.shared_expert.up_proj': 'ffn_up_shexp',
  'mlp.shared_expert.down_proj': 'ffn_down_shexp',
  eh_proj: 'nextn.eh_proj',
  enorm: 'nextn.enorm',
  hnorm: 'nextn.hnorm',
  embed_tokens: 'nextn.embed_tokens',
  'shared_head.head': 'nextn.shared_head_head',
  'shared_head.norm': 'nextn.shared_head_norm',
};

/** The GGUF tensor that holds a weight of a canonical name; the name itself where GGUF has no other. */
export function ggufTensorName(name: string): string {
  const fixed = global[name];
  if (fixed !== undefined) return fixed;
  const match = /^model\.layers\.(\d+)\.(.+)$/.exec(name);
  if (match === null) return name;
  const [, layer, rest] = match as unknown as [string, string, string];
  if (rest === 'mlp.gate.e_score_correction_bias') return `blk.${layer}.exp_probs_b.bias`;
  const dot = rest.lastIndexOf('.');
  const stem = perLayer[rest.slice(0, dot)];
  return stem === undefined ? name : `blk.${layer}.${stem}${rest.slice(dot)}`;
}
