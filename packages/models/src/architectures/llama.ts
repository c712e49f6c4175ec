import type { GraphValue } from '@dsi/graph';
import { decoderFromHuggingFace } from '../config/hugging-face.js';
import { decoderFromGguf } from '../config/gguf.js';
import { gatedMlp } from '../layers/gated-mlp.js';
import { gqaAttention } from '../layers/gqa-attention.js';
import type { ModelBuilder } from '../layers/model-builder.js';
import type { Architecture } from './architecture.js';

/** Pre-norm decoder with grouped-query attention and a gated MLP (Touvron et al. 2023); also DeepSeek Coder, LLM and the R1 Llama distills. */
export const llama: Architecture = {
  name: 'llama',
  modelTypes: ['llama'],
  classNames: ['LlamaForCausalLM'],
  configure: (fields) =>
    decoderFromHuggingFace(fields, {
      architecture: 'llama',
      qkvBias: fields.boolean('attention_bias', false),
      outputBias: fields.boolean('attention_bias', false),
      mlpBias: fields.boolean('mlp_bias', false),
    }),
  // llama.cpp permutes the rows of q and k of this architecture so that RoPE pairs neighbours.
  configureGguf: (fields, tensors) =>
    decoderFromGguf(fields, tensors, { architecture: 'llama', ropeStyle: 'interleaved' }),
  layer: llamaLayer,
};

/** x + attention(norm(x)), then h + mlp(norm(h)). */
export function llamaLayer(m: ModelBuilder, x: GraphValue, layer: number): GraphValue {
  const at = `model.layers.${layer}`;
  const h = m.add(x, gqaAttention(m, m.norm(x, `${at}.input_layernorm`), layer));
  return m.add(h, gatedMlp(m, m.norm(h, `${at}.post_attention_layernorm`), `${at}.mlp`));
}
