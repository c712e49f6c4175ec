import type { GraphValue } from '@dsi/graph';
import { fusedLinear } from './fused-linear.js';
import type { ModelBuilder } from './model-builder.js';

/** Queries [T, heads * headDim], keys and values [T, kvHeads * headDim] of a step. */
export interface Qkv {
  readonly q: GraphValue;
  readonly k: GraphValue;
  readonly v: GraphValue;
}

/** Grouped-query attention with three projections: x [T, D] -> [T, D]. */
export function gqaAttention(m: ModelBuilder, x: GraphValue, layer: number): GraphValue {
  const { heads, kvHeads, headDim, qkvBias } = m.config;
  const at = `model.layers.${layer}.self_attn`;
  return attend(m, layer, {
    q: m.linear(x, `${at}.q_proj`, heads * headDim, { bias: qkvBias }),
    k: m.linear(x, `${at}.k_proj`, kvHeads * headDim, { bias: qkvBias }),
    v: m.linear(x, `${at}.v_proj`, kvHeads * headDim, { bias: qkvBias }),
  });
}

/** The same with one stored projection, rows [q | k | v] (phi3). */
export function fusedQkvAttention(m: ModelBuilder, x: GraphValue, layer: number): GraphValue {
  const { heads, kvHeads, headDim } = m.config;
  const at = `model.layers.${layer}.self_attn`;
  const [q, k, v] = fusedLinear(m, x, `${at}.qkv_proj`, {
    [`${at}.q_proj`]: heads * headDim,
    [`${at}.k_proj`]: kvHeads * headDim,
    [`${at}.v_proj`]: kvHeads * headDim,
  }) as [GraphValue, GraphValue, GraphValue];
  return attend(m, layer, { q, k, v });
}

/** Per-head norms (qwen3), RoPE, cache, attention, output projection. */
function attend(m: ModelBuilder, layer: number, { q, k, v }: Qkv): GraphValue {
  const { heads, kvHeads, headDim, hiddenSize, qkNorm, outputBias, windows } = m.config;
  const at = `model.layers.${layer}.self_attn`;
  let query = m.g.reshape(q, ['T', heads, headDim]);
  let key = m.g.reshape(k, ['T', kvHeads, headDim]);
  if (qkNorm) {
    query = m.norm(query, `${at}.q_norm`);
    key = m.norm(key, `${at}.k_norm`);
  }
  const keys = m.g.kv(`layers.${layer}.k`, kvHeads * headDim);
  const values = m.g.kv(`layers.${layer}.v`, kvHeads * headDim);
  m.g.kvWrite(keys, m.rope(key));
  m.g.kvWrite(values, v);
  const o = m.g.attention(m.rope(query), keys, values, {
    scale: m.attentionScale,
    kvHeads,
    window: windows[layer] ?? 0,
  });
  return m.linear(m.g.reshape(o, ['T', heads * headDim]), `${at}.o_proj`, hiddenSize, { bias: outputBias });
}
