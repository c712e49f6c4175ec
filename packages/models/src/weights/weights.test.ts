import { f32ArrayToBf16, quantize, quantizeFp8 } from '@dsi/model-files';
import { describe, expect, it } from 'vitest';
import type { WeightTensor } from '../contract.js';
import { WeightFormatError, WeightMissingError, WeightShapeError } from '../errors.js';
import type { Checkpoint, CheckpointTensor } from './checkpoint.js';
import { decodeMatrix } from './decode.js';
import { ggufTensorName } from './gguf-names.js';
import { GgufWeights } from './gguf-weights.js';
import { absorbedKeys, absorbedValues } from './head-matrices.js';
import { HuggingFaceWeights } from './hugging-face-weights.js';
import { bytesOf, lazyPart } from './lazy-bytes.js';
import { normalValues } from './random-values.js';
import { asFloat32, readParts } from './read-part.js';
import type { WeightSource } from './weight-source.js';
import { sliceColumns, sliceRows, weightBytes } from './slice.js';

const rows = 128;
const columns = 64;
const values = normalValues(rows * columns, 1, 5);

function tensor(name: string, dtype: string, shape: number[], bytes: Uint8Array): CheckpointTensor {
  return { name, dtype, shape, data: { bytes } };
}

function checkpoint(...tensors: CheckpointTensor[]): Checkpoint {
  return { kind: 'safetensors', tensors: new Map(tensors.map((t) => [t.name, t])) };
}

function plain(format: 'F32' | 'BF16' | 'F16' | 'Q8_0' | 'Q4_0'): WeightTensor {
  return { name: 'w', format, shape: [rows, columns], data: [{ bytes: quantize(format, values, columns) }] };
}

function fp8(blockRows: number, blockCols: number): WeightTensor {
  const { bytes, scales } = quantizeFp8(values, { rows, cols: columns, format: 'F8_E4M3', blockRows, blockCols });
  const blockScales = { data: [{ bytes: bytesOf(scales) }], blockRows, blockCols };
  return { name: 'w', format: 'F8_E4M3', shape: [rows, columns], data: [{ bytes }], blockScales };
}

function int4(): WeightTensor {
  const codes = Uint8Array.from({ length: (rows * columns) / 2 }, (_, i) => (i * 37) & 255);
  const groups = rows * (columns / 32);
  const scales = Float32Array.from({ length: groups }, (_, i) => 1 + i / 100);
  const zeros = Float32Array.from({ length: groups }, (_, i) => i % 15);
  return {
    name: 'w',
    format: 'INT4_GROUP',
    shape: [rows, columns],
    data: [{ bytes: codes }],
    int4: { groupSize: 32, scales: [{ bytes: bytesOf(scales) }], zeros: [{ bytes: bytesOf(zeros) }] },
  };
}

const stored: [string, WeightTensor][] = [
  ['F32', plain('F32')],
  ['BF16', plain('BF16')],
  ['Q8_0', plain('Q8_0')],
  ['Q4_0', plain('Q4_0')],
  ['F8 in blocks', fp8(32, 32)],
  ['F8 by row', fp8(1, columns)],
  ['F8 by tensor', fp8(rows, columns)],
  ['INT4_GROUP', int4()],
];

const mla = { qLoraRank: undefined, kvLoraRank: columns, qkNopeHeadDim: 24, qkRopeHeadDim: 8, vHeadDim: 40 };
const heads = 2;

function bf16(count: number): Uint8Array {
  return bytesOf(f32ArrayToBf16(normalValues(count, 1, 1)));
}

function f32(...v: number[]): Uint8Array {
  return bytesOf(Float32Array.from(v));
}

/** A source whose only matrix is kv_b_proj. */
function source(weight: WeightTensor): WeightSource {
  return { has: () => false, weight: () => weight, experts: () => weight, unused: () => [] };
}

function absorbedFormats(weight: WeightTensor): string[] {
  const context = { source: source(weight), numerics: 'fast', config: { heads } } as const;
  return [absorbedKeys(context, 'a', mla).format, absorbedValues(context, 'a', mla).format];
}

describe('slices of a stored matrix', () => {
  it.each(stored)('%s: rows decode to the rows of the whole', (_, weight) => {
    const whole = decodeMatrix(weight);
    const slice = sliceRows('slice', weight, 32, 64);
    expect(slice.shape).toEqual([64, columns]);
    expect(decodeMatrix(slice)).toEqual(whole.slice(32 * columns, 96 * columns));
  });

  it.each(stored.filter(([name]) => name !== 'INT4_GROUP'))(
    '%s: columns decode to the columns of the whole',
    (_, weight) => {
      const whole = decodeMatrix(weight);
      const slice = decodeMatrix(sliceColumns('slice', weight, 32, 32));
      for (const r of [0, 1, rows - 1]) {
        expect(slice.slice(r * 32, (r + 1) * 32)).toEqual(whole.slice(r * columns + 32, (r + 1) * columns));
      }
    },
  );

  it('takes a file range as a file range', () => {
    const weight: WeightTensor = {
      name: 'w',
      format: 'Q8_0',
      shape: [rows, columns],
      data: [{ file: '/m', offset: 1000, byteLength: rows * 68 }],
    };
    expect(sliceRows('s', weight, 2, 3).data).toEqual([{ file: '/m', offset: 1000 + 2 * 68, byteLength: 3 * 68 }]);
    expect(weightBytes(weight)).toBe(rows * 68);
  });

  it('refuses cuts inside blocks', () => {
    expect(() => sliceRows('s', fp8(32, 32), 16, 32)).toThrow(/do not begin and end on scale blocks of 32 rows/);
    expect(() => sliceColumns('s', plain('Q8_0'), 16, 32)).toThrow(WeightFormatError);
    expect(() => sliceColumns('s', fp8(32, 32), 16, 32)).toThrow(WeightFormatError);
    expect(() => sliceColumns('s', int4(), 32, 32)).toThrow(/columns cannot be split/);
  });
});

describe('absorbed MLA projections', () => {
  it.each(stored)('%s: W_UK is transposed and W_UV picked without a change of value', (_, weight) => {
    const whole = decodeMatrix(weight);
    const context = { source: source(weight), numerics: 'exact', config: { heads } } as const;
    const keys = absorbedKeys(context, 'a', mla);
    const picked = absorbedValues(context, 'a', mla);
    expect(keys.shape).toEqual([heads, columns, 24]);
    expect(picked.shape).toEqual([heads, 40, columns]);
    const k = decodeMatrix({ ...keys, shape: [heads * columns, 24] });
    const v = decodeMatrix({ ...picked, shape: [heads * 40, columns] });
    for (const [h, row, c] of [
      [0, 0, 0],
      [0, 23, 5],
      [1, 7, 63],
    ] as const) {
      expect(k[(h * columns + c) * 24 + row]).toBe(whole[(h * 64 + row) * columns + c]);
      expect(v[(h * 40 + row) * columns + c]).toBe(whole[(h * 64 + 24 + row) * columns + c]);
    }
  });

  it('keeps the stored format where it can, and decodes to BF16 in fast numerics where it cannot', () => {
    expect(absorbedFormats(plain('BF16'))).toEqual(['BF16', 'BF16']);
    expect(absorbedFormats(plain('F16'))).toEqual(['F16', 'F16']);
    expect(absorbedFormats(plain('Q8_0'))).toEqual(['BF16', 'Q8_0']);
    expect(absorbedFormats(fp8(32, 32))).toEqual(['BF16', 'BF16']);
  });
});

describe('HuggingFaceWeights', () => {
  it('names what is missing and where it looked', () => {
    const weights = new HuggingFaceWeights(checkpoint(), undefined);
    expect(() => weights.weight('model.layers.0.mlp.gate.weight', [4, 8])).toThrow(WeightMissingError);
    expect(() => weights.weight('model.layers.0.mlp.gate.weight', [4, 8])).toThrow(/block_sparse_moe\.gate\.weight/);
  });

  it('checks shapes against the configuration', () => {
    const weights = new HuggingFaceWeights(checkpoint(tensor('a.weight', 'BF16', [4, 8], bf16(32))), undefined);
    expect(() => weights.weight('a.weight', [8, 4])).toThrow(WeightShapeError);
    expect(() => weights.weight('a.weight', [8, 4])).toThrow(/has shape \[4, 8\]; the configuration implies \[8, 4\]/);
  });

  it('reads scales of 8-bit floats in every layout, widening them to f32', () => {
    const data = tensor('a.weight', 'F8_E4M3', [4, 8], new Uint8Array(32).fill(0x38));
    const load = (scale: CheckpointTensor, block?: readonly [number, number]): Float32Array => {
      const weights = new HuggingFaceWeights(checkpoint(data, scale), { method: 'fp8', blockShape: block });
      return decodeMatrix(weights.weight('a.weight', [4, 8]));
    };
    expect(load(tensor('a.weight_scale', 'F32', [], f32(2)))).toEqual(new Float32Array(32).fill(2));
    expect(load(tensor('a.weight_scale', 'F32', [4, 1], f32(1, 2, 3, 4)))[16]).toBe(3);
    const half = bytesOf(f32ArrayToBf16(Float32Array.from([1, 2, 3, 4])));
    expect(load(tensor('a.weight_scale_inv', 'BF16', [2, 2], half), [2, 4])[31]).toBe(4);
    expect(() => load(tensor('a.weight_scale_inv', 'F32', [3, 2], f32(1, 2, 3, 4, 5, 6)), [2, 4])).toThrow(
      WeightShapeError,
    );
    const bare = new HuggingFaceWeights(checkpoint(data), { method: 'fp8', blockShape: [2, 4] });
    expect(() => bare.weight('a.weight', [4, 8])).toThrow(/a\.weight_scale_inv, a\.weight_scale/);
  });

  it('refuses experts that are stored unlike each other', () => {
    const weights = new HuggingFaceWeights(
      checkpoint(
        tensor('m.experts.0.up_proj.weight', 'BF16', [4, 8], bf16(32)),
        tensor('m.experts.1.up_proj.weight', 'F32', [4, 8], new Uint8Array(128)),
      ),
      undefined,
    );
    expect(() => weights.experts('m', 'up', [2, 4, 8])).toThrow(/the other experts of its layer are stored as BF16/);
  });

  it('reports what nothing asked for', () => {
    const weights = new HuggingFaceWeights(
      checkpoint(tensor('a', 'F32', [1], new Uint8Array(4)), tensor('b', 'F32', [1], new Uint8Array(4))),
      undefined,
    );
    weights.weight('b', [1]);
    expect(weights.unused()).toEqual(['a']);
  });
});

describe('GGUF names', () => {
  it.each([
    ['model.embed_tokens.weight', 'token_embd.weight'],
    ['model.layers.12.self_attn.q_proj.bias', 'blk.12.attn_q.bias'],
    ['model.layers.3.mlp.experts.down_proj.weight', 'blk.3.ffn_down_exps.weight'],
    ['model.layers.3.mlp.gate.e_score_correction_bias', 'blk.3.exp_probs_b.bias'],
    ['model.layers.61.shared_head.norm.weight', 'blk.61.nextn.shared_head_norm.weight'],
    ['something.else', 'something.else'],
  ])('%s is %s', (name, expected) => {
    expect(ggufTensorName(name)).toBe(expected);
  });

  it('takes vectors where a matrix of one row is meant', () => {
    const gate = tensor('blk.0.ffn_gate_inp_shexp.weight', 'F32', [8], new Uint8Array(32));
    const weights = new GgufWeights(checkpoint(gate));
    expect(weights.weight('model.layers.0.mlp.shared_expert_gate.weight', [1, 8]).shape).toEqual([1, 8]);
  });
});

describe('lazyPart', () => {
  it('computes when read, not before', () => {
    let made = 0;
    const part = lazyPart(8, () => {
      made++;
      return bytesOf(Float32Array.of(1, 2));
    });
    expect(made).toBe(0);
    expect(Array.from(asFloat32(readParts([part, part])))).toEqual([1, 2, 1, 2]);
    expect(made).toBe(1);
  });
});
