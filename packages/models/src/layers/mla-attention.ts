import type { GraphValue } from '@dsi/graph';
import type { MlaConfig } from '../config/model-config.js';
import { absorbedKeys, absorbedValues } from '../weights/head-matrices.js';
import type { ModelBuilder } from './model-builder.js';

/** The norms inside MLA use this epsilon whatever rms_norm_eps says. */
const latentNormEps = 1e-6;

/**
 * Multi-head latent attention in its absorbed form (DeepSeek-V2, section 2.1): the cache holds one latent and one RoPE key a token,
 * W_UK is folded into the query and W_UV into the output. x [T, D] -> [T, D].
 */
export function mlaAttention(m: ModelBuilder, x: GraphValue, layer: number): GraphValue {
  const { config, g } = m;
  const { heads, hiddenSize, outputBias } = config;
  const mla = config.mla as MlaConfig;
  const { kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim } = mla;
  const at = `model.layers.${layer}.self_attn`;

  const q = g.reshape(queries(m, x, at, mla), ['T', heads, qkNopeHeadDim + qkRopeHeadDim]);
  const qNope = g.slice(q, 0, qkNopeHeadDim);
  const qRope = m.rope(g.slice(q, qkNopeHeadDim, qkRopeHeadDim));

  const kv = m.linear(x, `${at}.kv_a_proj_with_mqa`, kvLoraRank + qkRopeHeadDim, { bias: config.qkvBias });
  const latent = m.norm(g.slice(kv, 0, kvLoraRank), `${at}.kv_a_layernorm`, latentNormEps);
  const kRope = m.rope(g.reshape(g.slice(kv, kvLoraRank, qkRopeHeadDim), ['T', 1, qkRopeHeadDim]));
  const cache = g.kv(`layers.${layer}.latent`, kvLoraRank + qkRopeHeadDim);
  g.kvWrite(cache, latent, kRope);

  const wUk = m.derived(`${at}.w_uk`, [heads, kvLoraRank, qkNopeHeadDim], () => absorbedKeys(m, at, mla));
  const wUv = m.derived(`${at}.w_uv`, [heads, vHeadDim, kvLoraRank], () => absorbedValues(m, at, mla));
  const o = g.mlaAttention(g.headLinear(qNope, wUk), qRope, cache, { scale: m.attentionScale });
  const v = g.reshape(g.headLinear(o, wUv), ['T', heads * vHeadDim]);
  return m.linear(v, `${at}.o_proj`, hiddenSize, { bias: outputBias });
}

function queries(m: ModelBuilder, x: GraphValue, at: string, mla: MlaConfig): GraphValue {
  const size = m.config.heads * (mla.qkNopeHeadDim + mla.qkRopeHeadDim);
  if (mla.qLoraRank === undefined) return m.linear(x, `${at}.q_proj`, size);
  const compressed = m.linear(x, `${at}.q_a_proj`, mla.qLoraRank, { bias: m.config.qkvBias });
  return m.linear(m.norm(compressed, `${at}.q_a_layernorm`, latentNormEps), `${at}.q_b_proj`, size);
}
