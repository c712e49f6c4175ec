import { createHash } from 'node:crypto';
import { createReferenceBackend } from '@dsi/graph';
import { describe, expect, it } from 'vitest';
import { buildModel } from './build-model.js';
import { dummyModel } from './dummy-model.js';
import { UnsupportedModelError } from './errors.js';
import { SequenceRunner } from './sequence-runner.js';
import type { WeightFormat } from './contract.js';
import { dummyFormats } from './weights/dummy-weights.js';
import { readParts } from './weights/read-part.js';

const config = {
  model_type: 'deepseek_v3',
  hidden_size: 256,
  intermediate_size: 256,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  vocab_size: 300,
  q_lora_rank: 256,
  kv_lora_rank: 256,
  qk_nope_head_dim: 32,
  qk_rope_head_dim: 16,
  v_head_dim: 128,
  n_routed_experts: 4,
  n_shared_experts: 1,
  num_experts_per_tok: 2,
  moe_intermediate_size: 256,
  first_k_dense_replace: 1,
};
const options = { numerics: 'exact', maxDims: { T: 8, S: 1, R: 8, B: 1 }, blockSize: 16 } as const;

function digest(seed: number): string {
  const hash = createHash('sha256');
  for (const w of buildModel(dummyModel(config, { format: 'Q4_0', seed }), options).weights)
    hash.update(readParts(w.data));
  return hash.digest('hex');
}

describe('dummyModel', () => {
  it.each(dummyFormats)('runs with %s weights and finite, spread logits', async (format) => {
    const model = buildModel(dummyModel(config, { format }), options);
    const runner = await SequenceRunner.create(model, createReferenceBackend());
    const logits = await runner.prefill(runner.open(), [1, 2, 3]);
    expect(logits).toHaveLength(300);
    expect(logits.every((v) => Number.isFinite(v))).toBe(true);
    const deviation = Math.sqrt(logits.reduce((s, v) => s + v * v, 0) / logits.length);
    expect(deviation).toBeGreaterThan(0.05);
    expect(deviation).toBeLessThan(20);
    runner.dispose();
  });

  it('gives the same bytes for the same seed and others for another', () => {
    expect(digest(1)).toBe(digest(1));
    expect(digest(1)).not.toBe(digest(2));
  });

  it('has the published size of a model without making its weights', () => {
    const v3 = {
      ...config,
      hidden_size: 7168,
      intermediate_size: 18432,
      num_hidden_layers: 61,
      num_attention_heads: 128,
      vocab_size: 129280,
      q_lora_rank: 1536,
      kv_lora_rank: 512,
      qk_nope_head_dim: 128,
      qk_rope_head_dim: 64,
      n_routed_experts: 256,
      num_experts_per_tok: 8,
      moe_intermediate_size: 2048,
      first_k_dense_replace: 3,
      torch_dtype: 'bfloat16',
    };
    const { report, kvBytesPerToken } = buildModel(dummyModel(v3, { format: 'F8_E4M3' }), {
      ...options,
      numerics: 'fast',
    });
    expect(report.parameters).toBeGreaterThan(671.0e9);
    expect(report.parameters).toBeLessThan(671.1e9);
    expect(kvBytesPerToken).toBe(70_272);
  });

  it('refuses a format that cannot be made, naming those that can', () => {
    expect(() => dummyModel(config, { format: 'IQ2_XXS' as WeightFormat })).toThrow(UnsupportedModelError);
    expect(() => dummyModel(config, { format: 'IQ2_XXS' as WeightFormat })).toThrow(/Q4_K/);
  });
});
