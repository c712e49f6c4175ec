// GGUF files of the Qwen2.5 shapes with random weights, written by our own writer. Types follow llama.cpp's mixes, including its replacements
// where a row is no multiple of 256.
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { writeGguf } from '@dsi/model-files';
import { randomMatrix } from './random-blocks.mjs';

export const shapes = {
  'qwen2.5-0.5b': { hidden: 896, layers: 24, heads: 14, kvHeads: 2, inter: 4864, vocab: 151_936, tied: true },
  'qwen2.5-1.5b': { hidden: 1536, layers: 28, heads: 12, kvHeads: 2, inter: 8960, vocab: 151_936, tied: false },
};

const replacement = { Q4_K: 'Q5_0', Q6_K: 'Q8_0' };

function typeOf(quant, role, layer, layers, cols) {
  const fit = (type) => (cols % 256 === 0 ? type : (replacement[type] ?? type));
  if (quant !== 'Q4_K_M') return quant;
  const more = layer < layers / 8 || layer >= (7 * layers) / 8 || (layer - Math.floor(layers / 8)) % 3 === 2;
  if (role === 'output') return fit('Q6_K');
  if (role === 'attn_v' || role === 'ffn_down') return fit(more ? 'Q6_K' : 'Q4_K');
  return fit('Q4_K');
}

function* tensorsOf(shape, quant) {
  const { hidden, layers, heads, kvHeads, inter, vocab, tied } = shape;
  const headDim = hidden / heads;
  let seed = 1;
  const matrix = (name, rows, cols, type) => {
    const s = seed++;
    return { name, type, shape: [rows, cols], data: async () => randomMatrix(type, rows, cols, s) };
  };
  const vector = (name, n) => {
    const s = seed++;
    return { name, type: 'F32', shape: [n], data: async () => randomMatrix('F32', 1, n, s) };
  };
  yield matrix(
    'token_embd.weight',
    vocab,
    hidden,
    tied ? typeOf(quant, 'output', 0, layers, hidden) : typeOf(quant, 'embd', 0, layers, hidden),
  );
  yield vector('output_norm.weight', hidden);
  if (!tied) yield matrix('output.weight', vocab, hidden, typeOf(quant, 'output', 0, layers, hidden));
  for (let l = 0; l < layers; l++) {
    const t = (role, cols) => typeOf(quant, role, l, layers, cols);
    const p = `blk.${l}`;
    yield vector(`${p}.attn_norm.weight`, hidden);
    yield matrix(`${p}.attn_q.weight`, heads * headDim, hidden, t('attn_q', hidden));
    yield matrix(`${p}.attn_k.weight`, kvHeads * headDim, hidden, t('attn_k', hidden));
    yield matrix(`${p}.attn_v.weight`, kvHeads * headDim, hidden, t('attn_v', hidden));
    yield vector(`${p}.attn_q.bias`, heads * headDim);
    yield vector(`${p}.attn_k.bias`, kvHeads * headDim);
    yield vector(`${p}.attn_v.bias`, kvHeads * headDim);
    yield matrix(`${p}.attn_output.weight`, hidden, heads * headDim, t('attn_output', heads * headDim));
    yield vector(`${p}.ffn_norm.weight`, hidden);
    yield matrix(`${p}.ffn_gate.weight`, inter, hidden, t('ffn_gate', hidden));
    yield matrix(`${p}.ffn_up.weight`, inter, hidden, t('ffn_up', hidden));
    yield matrix(`${p}.ffn_down.weight`, hidden, inter, t('ffn_down', inter));
  }
}

/** GPT-2's mapping of bytes to printable characters, then filler up to the vocabulary's size. */
function vocabulary(size) {
  const printable = [];
  for (let b = 33; b < 127; b++) printable.push(b);
  for (let b = 161; b < 173; b++) printable.push(b);
  for (let b = 174; b < 256; b++) printable.push(b);
  const tokens = [];
  let extra = 256;
  for (let b = 0; b < 256; b++) tokens.push(String.fromCodePoint(printable.includes(b) ? b : extra++));
  tokens.push('Ġt');
  for (let i = tokens.length; i < size; i++) tokens.push(`<filler_${i}>`);
  return tokens;
}

function metadataOf(name, shape, quant) {
  const tokens = vocabulary(shape.vocab);
  const u32 = (value) => ({ type: 'uint32', value });
  const f32 = (value) => ({ type: 'float32', value });
  const string = (value) => ({ type: 'string', value });
  return new Map([
    ['general.architecture', string('qwen2')],
    ['general.name', string(`${name} shape, random ${quant} weights`)],
    ['qwen2.block_count', u32(shape.layers)],
    ['qwen2.context_length', u32(32_768)],
    ['qwen2.embedding_length', u32(shape.hidden)],
    ['qwen2.feed_forward_length', u32(shape.inter)],
    ['qwen2.attention.head_count', u32(shape.heads)],
    ['qwen2.attention.head_count_kv', u32(shape.kvHeads)],
    ['qwen2.attention.layer_norm_rms_epsilon', f32(1e-6)],
    ['qwen2.rope.freq_base', f32(1_000_000)],
    ['tokenizer.ggml.model', string('gpt2')],
    ['tokenizer.ggml.pre', string('qwen2')],
    ['tokenizer.ggml.tokens', { type: 'array', elementType: 'string', value: tokens }],
    [
      'tokenizer.ggml.token_type',
      { type: 'array', elementType: 'int32', value: Int32Array.from(tokens, (_, i) => (i < 257 ? 1 : 5)) },
    ],
    ['tokenizer.ggml.merges', { type: 'array', elementType: 'string', value: ['Ġ t'] }],
    ['tokenizer.ggml.eos_token_id', u32(shape.vocab - 1)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
  ]);
}

/** Writes the file unless it is there. Returns its path. */
export async function shapeGguf(directory, name, quant) {
  const file = path.join(directory, `${name}-${quant}.gguf`);
  if (existsSync(file)) return file;
  mkdirSync(directory, { recursive: true });
  await writeGguf(file, { metadata: metadataOf(name, shapes[name], quant), tensors: tensorsOf(shapes[name], quant) });
  return file;
}
