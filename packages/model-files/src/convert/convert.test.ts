import { dequantize, quantizeFp8, type GgmlTypeName } from '@dsi/quantization';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../test/temporary.js';
import {
  tinyDeepseek,
  tinyLlama,
  tinyQwen3Moe,
  tinyTokenizer,
  writeTinyModel,
  type TinyModel,
} from '../../test/tiny-models.js';
import { MalformedFieldError, type ModelFileError } from '../errors.js';
import type { ModelFiles } from '../model-files.js';
import { openModel } from '../open-model.js';
import { convertToGguf, type ConvertProgress } from './convert-to-gguf.js';
import { convertToSafetensors } from './convert-to-safetensors.js';
import { UnsupportedConversionError } from './errors.js';
import { ggufArchitectures, ggufToHfName, hfToGgufName } from './names.js';

const temporary = temporaryDirectory();

async function values(model: ModelFiles, name: string): Promise<Float32Array> {
  const t = model.tensors.get(name)!;
  const elements = t.shape.reduce((a, b) => a * b, 1);
  return dequantize(t.dtype as GgmlTypeName, await model.read(name), elements);
}

const models: Record<string, () => TinyModel> = {
  llama: () => tinyLlama(),
  deepseek: tinyDeepseek,
  qwen3moe: tinyQwen3Moe,
};

describe('convertToGguf and back', () => {
  it.each(Object.keys(models))('%s comes back bit for bit', async (kind) => {
    const directory = await writeTinyModel(temporary.path(`hf-${kind}`), models[kind]!());
    const path = temporary.path(`${kind}.gguf`);
    const { warnings } = await convertToGguf(directory, path, { types: 'BF16' });
    expect(warnings).toEqual([]);
    await convertToSafetensors(path, temporary.path(`back-${kind}`));
    const before = await openModel(directory);
    const after = await openModel(temporary.path(`back-${kind}`));
    expect(new Set(after.tensors.keys())).toEqual(new Set(before.tensors.keys()));
    for (const [name, t] of before.tensors) {
      expect(after.tensors.get(name)).toMatchObject({ dtype: t.dtype, shape: t.shape });
      expect([name, await after.read(name)]).toEqual([name, await before.read(name)]);
    }
    for (const key of Object.keys(before.config!).filter((k) => k !== 'rope_scaling'))
      expect([key, after.config![key]]).toEqual([key, before.config![key]]);
    const { rope_scaling: scaling } = before.config as { rope_scaling?: object };
    if (scaling !== undefined) expect(after.config!.rope_scaling).toMatchObject(scaling);
    expect(await after.chatTemplate!()).toBe('{{ messages }}');
    const tokenizer = (await after.tokenizerJson!()) as typeof tinyTokenizer;
    expect(tokenizer.model.vocab).toEqual(tinyTokenizer.model.vocab);
    expect(tokenizer.added_tokens).toMatchObject(tinyTokenizer.added_tokens);
    await Promise.all([before.close(), after.close()]);
  });

  it("interleaves llama's q and k rows by head, biases too, and leaves v", async () => {
    const directory = await writeTinyModel(temporary.path('hf-rope'), tinyLlama());
    const path = temporary.path('rope.gguf');
    await convertToGguf(directory, path, { types: 'F32' });
    const [hf, converted] = [await openModel(directory), await openModel(path)];
    for (const part of ['q', 'k'])
      for (const [suffix, width] of [
        ['weight', 64],
        ['bias', 1],
      ] as const) {
        const from = await values(hf, `model.layers.1.self_attn.${part}_proj.${suffix}`);
        const to = await values(converted, `blk.1.attn_${part}.${suffix}`);
        // Head of 16: GGUF rows 2i and 2i + 1 are the pair (i, i + 8).
        for (let row = 0; row < from.length / width; row++) {
          const inHead = row % 16;
          const source = row - inHead + (inHead % 2) * 8 + Math.floor(inHead / 2);
          expect(to.slice(row * width, (row + 1) * width)).toEqual(from.slice(source * width, (source + 1) * width));
        }
      }
    expect(await values(converted, 'blk.0.attn_v.weight')).toEqual(
      await values(hf, 'model.layers.0.self_attn.v_proj.weight'),
    );
    const factors = await values(converted, 'rope_freqs.weight');
    expect(factors).toHaveLength(8);
    expect([factors[0], factors[7]]).toEqual([1, 8]);
    await Promise.all([hf.close(), converted.close()]);
  });

  it('splits kv_b_proj, stacks experts, and writes the metadata of deepseek2', async () => {
    const directory = await writeTinyModel(temporary.path('hf-v3'), tinyDeepseek());
    const path = temporary.path('v3.gguf');
    await convertToGguf(directory, path, { types: 'F32' });
    const [hf, model] = [await openModel(directory), await openModel(path)];
    const joint = await values(hf, 'model.layers.1.self_attn.kv_b_proj.weight');
    const keys = await values(model, 'blk.1.attn_k_b.weight');
    const vals = await values(model, 'blk.1.attn_v_b.weight');
    expect(model.tensors.get('blk.1.attn_k_b.weight')!.shape).toEqual([2, 32, 16]);
    expect(model.tensors.get('blk.1.attn_v_b.weight')!.shape).toEqual([2, 12, 32]);
    for (let h = 0; h < 2; h++)
      for (let c = 0; c < 32; c++) {
        for (let i = 0; i < 16; i++) expect(keys[(h * 32 + c) * 16 + i]).toBe(joint[(h * 28 + i) * 32 + c]);
        for (let i = 0; i < 12; i++) expect(vals[(h * 12 + i) * 32 + c]).toBe(joint[(h * 28 + 16 + i) * 32 + c]);
      }
    expect(model.tensors.get('blk.1.ffn_gate_exps.weight')!.shape).toEqual([4, 32, 64]);
    const stacked = await values(model, 'blk.1.ffn_gate_exps.weight');
    expect(stacked.slice(3 * 32 * 64)).toEqual(await values(hf, 'model.layers.1.mlp.experts.3.gate_proj.weight'));
    expect(await values(model, 'blk.1.exp_probs_b.bias')).toEqual(
      await values(hf, 'model.layers.1.mlp.gate.e_score_correction_bias'),
    );
    const fields = Object.fromEntries([...model.metadata].filter(([key]) => key.startsWith('deepseek2.')));
    expect(fields).toEqual({
      'deepseek2.attention.head_count': 2,
      'deepseek2.attention.head_count_kv': 1,
      'deepseek2.attention.key_length': 40,
      'deepseek2.attention.key_length_mla': 24,
      'deepseek2.attention.kv_lora_rank': 32,
      'deepseek2.attention.layer_norm_rms_epsilon': Math.fround(1e-5),
      'deepseek2.attention.q_lora_rank': 32,
      'deepseek2.attention.value_length': 32,
      'deepseek2.attention.value_length_mla': 12,
      'deepseek2.block_count': 3,
      'deepseek2.context_length': 128,
      'deepseek2.embedding_length': 64,
      'deepseek2.expert_count': 4,
      'deepseek2.expert_feed_forward_length': 32,
      'deepseek2.expert_gating_func': 2,
      'deepseek2.expert_group_count': 2,
      'deepseek2.expert_group_used_count': 1,
      'deepseek2.expert_shared_count': 1,
      'deepseek2.expert_used_count': 2,
      'deepseek2.expert_weights_norm': true,
      'deepseek2.expert_weights_scale': 2.5,
      'deepseek2.feed_forward_length': 96,
      'deepseek2.leading_dense_block_count': 1,
      'deepseek2.nextn_predict_layers': 1,
      'deepseek2.rope.dimension_count': 8,
      'deepseek2.rope.freq_base': 10000,
      'deepseek2.rope.scaling.factor': 40,
      'deepseek2.rope.scaling.original_context_length': 64,
      'deepseek2.rope.scaling.type': 'yarn',
      'deepseek2.rope.scaling.yarn_beta_fast': 32,
      'deepseek2.rope.scaling.yarn_beta_slow': 1,
      'deepseek2.rope.scaling.yarn_log_multiplier': Math.fround(0.1),
      'deepseek2.vocab_size': 40,
    });
    await Promise.all([hf.close(), model.close()]);
  });

  it('keeps, separates or leaves out the multi-token-prediction layer', async () => {
    const directory = await writeTinyModel(temporary.path('hf-mtp'), tinyDeepseek());
    const names = async (path: string): Promise<{ layers: unknown; next: string[] }> => {
      const model = await openModel(path);
      await model.close();
      return {
        layers: model.metadata.get('deepseek2.block_count'),
        next: [...model.tensors.keys()].filter((n) => n.startsWith('blk.2.')),
      };
    };
    const include = await convertToGguf(directory, temporary.path('m1.gguf'), { types: 'F16' });
    expect((await names(include.path)).next).toContain('blk.2.nextn.eh_proj.weight');
    const sidecar = await convertToGguf(directory, temporary.path('m2.gguf'), { types: 'F16', mtp: 'sidecar' });
    expect(sidecar.mtpPath).toBe(temporary.path('m2.mtp.gguf'));
    expect(await names(sidecar.path)).toEqual({ layers: 2, next: [] });
    expect((await names(sidecar.mtpPath!)).next).toContain('blk.2.nextn.enorm.weight');
    const skip = await convertToGguf(directory, temporary.path('m3.gguf'), { types: 'F16', mtp: 'skip' });
    expect(skip.mtpPath).toBeUndefined();
    expect(await names(skip.path)).toEqual({ layers: 2, next: [] });
  });

  it('writes the tokenizer', async () => {
    const directory = await writeTinyModel(temporary.path('hf-tok'), tinyLlama());
    const path = temporary.path('tok.gguf');
    await convertToGguf(directory, path, { types: 'F32', name: 'Tiny' });
    const { metadata } = await openModel(path);
    const get = (key: string) => metadata.get(`tokenizer.ggml.${key}`);
    expect(metadata.get('general.name')).toBe('Tiny');
    expect(get('model')).toBe('gpt2');
    expect(get('pre')).toBe('llama-bpe');
    expect((get('tokens') as string[]).slice(34)).toEqual(['ab34', 'ab35', '<s>', '<tool>', '[PAD38]', '[PAD39]']);
    expect((get('token_type') as Int32Array).slice(34)).toEqual(Int32Array.of(1, 1, 3, 4, 5, 5));
    expect(get('merges')).toEqual(['a b', 'ab cĠd']);
    expect(get('bos_token_id')).toBe(36);
    expect(get('add_bos_token')).toBe(true);
    expect(metadata.get('tokenizer.chat_template')).toBe('{{ messages }}');
    const bare = await writeTinyModel(temporary.path('hf-bare'), tinyLlama(), false);
    await convertToGguf(bare, path, { types: 'F32' });
    expect((await openModel(path)).metadata.get('tokenizer.ggml.model')).toBe('none');
  });

  it('quantises with types of its own, importance, progress and fallbacks', async () => {
    const directory = await writeTinyModel(temporary.path('hf-rule'), tinyQwen3Moe());
    const path = temporary.path('rule.gguf');
    const seen: ConvertProgress[] = [];
    const importance = new Map([
      ['blk.0.ffn_up_exps.weight', Float32Array.from({ length: 4 * 64 }, (_, i) => (i % 5) + 0.1)],
      ['blk.0.attn_q.weight', new Float32Array(64).fill(1)],
    ]);
    const { types } = await convertToGguf(directory, path, {
      types: (t) => (t.name.includes('ffn_down') ? 'Q4_K' : 'Q4_0'),
      importance,
      onProgress: (p) => seen.push(p),
    });
    expect(types.get('blk.0.ffn_up_exps.weight')).toBe('Q4_0');
    expect(types.get('blk.0.ffn_down_exps.weight')).toBe('Q5_0');
    expect(types.get('blk.0.ffn_gate_inp.weight')).toBe('F32');
    expect(types.get('blk.0.attn_q_norm.weight')).toBe('F32');
    expect(seen.at(-1)!.doneWeights).toBe(seen.at(-1)!.totalWeights);
    const [hf, model] = [await openModel(directory), await openModel(path)];
    const original = await values(hf, 'model.layers.0.mlp.experts.2.up_proj.weight');
    const quantised = (await values(model, 'blk.0.ffn_up_exps.weight')).slice(2 * 32 * 64, 3 * 32 * 64);
    for (let i = 0; i < original.length; i++) expect(Math.abs(quantised[i]! - original[i]!)).toBeLessThan(0.07);
    await Promise.all([hf.close(), model.close()]);
    const wrong = new Map([['blk.0.attn_q.weight', new Float32Array(63)]]);
    await expect(convertToGguf(directory, path, { types: 'Q4_0', importance: wrong })).rejects.toBeInstanceOf(
      MalformedFieldError,
    );
  });

  it('dequantises FP8 blocks', async () => {
    const model = tinyLlama(1);
    const name = 'model.layers.0.mlp.down_proj.weight';
    const data = Float32Array.from({ length: 64 * 96 }, (_, i) => Math.sin(i) / 3);
    const { bytes, scales } = quantizeFp8(data, {
      rows: 64,
      cols: 96,
      format: 'F8_E4M3',
      blockRows: 40,
      blockCols: 40,
    });
    model.tensors.splice(
      model.tensors.findIndex((t) => t.name === name),
      1,
      { name, dtype: 'F8_E4M3', shape: [64, 96], data: bytes },
      { name: `${name}_scale_inv`, dtype: 'F32', shape: [2, 3], data: new Uint8Array(scales.buffer) },
    );
    const config = { ...model.config, quantization_config: { quant_method: 'fp8', weight_block_size: [40, 40] } };
    const directory = await writeTinyModel(temporary.path('hf-fp8'), { ...model, config });
    await convertToGguf(directory, temporary.path('fp8.gguf'), { types: 'F32' });
    const converted = await openModel(temporary.path('fp8.gguf'));
    const down = await values(converted, 'blk.0.ffn_down.weight');
    for (let i = 0; i < data.length; i++) expect(Math.abs(down[i]! - data[i]!)).toBeLessThan(0.02);
    await converted.close();
  });

  it('refuses what it does not know, by name', async () => {
    const refuse = async (
      change: (m: { config: Record<string, unknown>; tensors: TinyModel['tensors'] }) => void,
      tag: string,
    ) => {
      const model = tinyLlama(1);
      change(model);
      const directory = await writeTinyModel(temporary.path(`hf-bad-${tag}`), model);
      return convertToGguf(directory, temporary.path(`bad-${tag}.gguf`), { types: 'F32' }).then(
        () => undefined,
        (error: unknown) => error as ModelFileError,
      );
    };
    const type = await refuse((m) => (m.config.model_type = 'gpt_oss'), 'type');
    expect(type).toBeInstanceOf(UnsupportedConversionError);
    expect(type!.field).toBe('model_type');
    expect(await refuse((m) => (m.config.rope_scaling = { rope_type: 'dynamic', factor: 2 }), 'rope')).toBeInstanceOf(
      UnsupportedConversionError,
    );
    expect(await refuse((m) => delete m.config.hidden_size, 'width')).toMatchObject({ field: 'hidden_size' });
    expect(await refuse((m) => (m.config.vocab_size = 37), 'vocab')).toBeInstanceOf(MalformedFieldError);
    expect(
      await refuse(
        (m) => m.tensors.push({ name: 'model.extra.weight', dtype: 'BF16', shape: [1], data: new Uint8Array(2) }),
        'extra',
      ),
    ).toBeInstanceOf(UnsupportedConversionError);
    expect(await refuse((m) => m.tensors.shift(), 'missing')).toMatchObject({ field: 'tensor token_embd.weight' });
  });
});

describe('names', () => {
  it('map both ways', () => {
    const names = ['token_embd.weight', 'output.weight', 'blk.3.attn_norm.weight', 'blk.12.attn_output.weight'];
    for (const arch of ggufArchitectures)
      for (const name of names) expect(hfToGgufName(arch, ggufToHfName(arch, name)!)).toEqual({ name });
    expect(hfToGgufName('qwen3moe', 'model.layers.1.mlp.experts.17.up_proj.weight')).toEqual({
      name: 'blk.1.ffn_up_exps.weight',
      expert: 17,
    });
    expect(ggufToHfName('llama', 'blk.0.ffn_down_exps.weight')).toBe(
      'model.layers.0.block_sparse_moe.experts.{e}.w2.weight',
    );
    expect(ggufToHfName('deepseek2', 'blk.5.exp_probs_b.bias')).toBe('model.layers.5.mlp.gate.e_score_correction_bias');
    expect(ggufToHfName('llama', 'rope_freqs.weight')).toBeUndefined();
    expect(ggufToHfName('llama', 'blk.0.constructor.weight')).toBeUndefined();
  });
});
