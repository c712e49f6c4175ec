import type { Fields } from './fields.js';
import { limits } from './limits.js';
import type { MlaConfig } from './model-config.js';

function checked(fields: Fields, ropeField: string, mla: MlaConfig): MlaConfig {
  if (mla.qkRopeHeadDim % 2 !== 0) throw fields.error(ropeField, mla.qkRopeHeadDim, 'an even size');
  return mla;
}

export function mlaFromHuggingFace(fields: Fields): MlaConfig {
  return checked(fields, 'qk_rope_head_dim', {
    qLoraRank: fields.optionalInteger('q_lora_rank', { max: limits.rank }),
    kvLoraRank: fields.integer('kv_lora_rank', { max: limits.rank }),
    qkNopeHeadDim: fields.integer('qk_nope_head_dim', { max: limits.headDim }),
    qkRopeHeadDim: fields.integer('qk_rope_head_dim', { max: limits.headDim }),
    vHeadDim: fields.integer('v_head_dim', { max: limits.headDim }),
  });
}

/** `key_length_mla` and `value_length_mla` are the sizes of a head; files older than these keys have them in `key_length`, `value_length`. */
export function mlaFromGguf(fields: Fields): MlaConfig {
  const headDim = { max: 2 * limits.headDim };
  const keyField = fields.has('attention.key_length_mla') ? 'attention.key_length_mla' : 'attention.key_length';
  const valueField = fields.has('attention.value_length_mla') ? 'attention.value_length_mla' : 'attention.value_length';
  const key = fields.integer(keyField, headDim);
  const rope = fields.integer('rope.dimension_count', { max: limits.headDim });
  if (key <= rope) throw fields.error(keyField, key, `more than rope.dimension_count (${rope})`);
  const qLora = fields.optionalInteger('attention.q_lora_rank', { min: 0, max: limits.rank });
  return checked(fields, 'rope.dimension_count', {
    qLoraRank: qLora === 0 ? undefined : qLora,
    kvLoraRank: fields.integer('attention.kv_lora_rank', { max: limits.rank }),
    qkNopeHeadDim: key - rope,
    qkRopeHeadDim: rope,
    vHeadDim: fields.integer(valueField, headDim),
  });
}
