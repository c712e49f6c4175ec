import { expect, it } from 'vitest';
import { createCpuBackend, weightUses } from '../src/index.js';
import {
  makeSequences,
  referenceAttention,
  runSteps,
  scale,
  type AttentionShape,
  type CacheDType,
} from './support/attention.js';
import { describeNative, isas, suiteBackend } from './support/native.js';
import { bits, expectClose, normals } from './support/numbers.js';
import { ProgramBuilder } from './support/program-builder.js';

const base: AttentionShape = {
  heads: 6,
  kvHeads: 2,
  headDim: 32,
  valueDim: 32,
  window: 0,
  blockSize: 16,
  dtype: 'f32',
};

const shapes: Readonly<Record<string, AttentionShape>> = {
  gqa: base,
  'f16 cache': { ...base, dtype: 'f16' },
  'bf16 cache': { ...base, dtype: 'bf16' },
  'odd sizes': { ...base, heads: 5, kvHeads: 5, headDim: 13, valueDim: 19, blockSize: 7, dtype: 'bf16' },
  'more heads than a tile': { ...base, heads: 70, kvHeads: 1, headDim: 16, valueDim: 24 },
  window: { ...base, window: 40 },
  'window of one': { ...base, window: 1, dtype: 'f16' },
};

/** Rows of a, each followed by a row of x. */
const join = (a: Float32Array, aw: number, x: Float32Array, xw: number, rows: number) =>
  Float32Array.from({ length: rows * (aw + xw) }, (_, i) => {
    const [row, col] = [Math.floor(i / (aw + xw)), i % (aw + xw)];
    return col < aw ? a[row * aw + col]! : x[row * xw + col - aw]!;
  });

for (const isa of isas) {
  describeNative(`attention on ${isa}`, () => {
    const backend = suiteBackend({ isa });

    it.each(Object.entries(shapes))('agrees with the definition: %s', async (_, shape) => {
      const sequences = makeSequences(shape, shape.heads > 10 ? [50, 1] : [70, 1, 270], 64);
      const parts = sequences.map((sequence) => ({ sequence, begin: 0, end: sequence.length }));
      const [out] = await runSteps(backend(), shape, 64, [parts]);
      let at = 0;
      for (const sequence of sequences) {
        const expected = referenceAttention(shape, sequence);
        expectClose(out!.subarray(at, at + expected.length), expected, 3e-6);
        at += expected.length;
      }
    });

    it.each(['f32', 'f16', 'bf16'] as const)(
      'a row has the same bits alone, in a batch and in chunks: %s',
      async (dtype) => {
        const shape = { ...base, dtype, window: dtype === 'f16' ? 100 : 0 };
        const sequences = makeSequences(shape, [530, 290, 17], 64);
        const width = shape.heads * shape.valueDim;
        const whole = await runSteps(backend(), shape, 64, [
          sequences.map((sequence) => ({ sequence, begin: 0, end: sequence.length })),
        ]);
        let at = 0;
        for (const sequence of sequences) {
          const expected = bits(whole[0]!.subarray(at, at + sequence.length * width));
          at += sequence.length * width;
          const cuts = [0, 1, 2, 70, 255, 256, 257, 513, 529, 530].filter((c) => c < sequence.length);
          const steps = [...cuts.keys()].map((i) => [
            { sequence, begin: cuts[i]!, end: cuts[i + 1] ?? sequence.length },
          ]);
          const pieces = await runSteps(backend(), shape, 64, steps);
          expect(pieces.flatMap((piece) => bits(piece))).toEqual(expected);
        }
      },
    );

    it('mla_attention reads keys and values from one latent row', async () => {
      const [T, H, C, Dr] = [37, 4, 48, 16];
      const b = new ProgramBuilder();
      const latent = b.input('latent', 'f32', ['T', C]);
      const rope = b.input('rope', 'f32', ['T', Dr]);
      const [qLatent, qRope] = [b.input('ql', 'f32', ['T', H, C]), b.input('qr', 'f32', ['T', H, Dr])];
      const cache = b.kv('cache', C + Dr, 'f32');
      const slots = b.input('slots', 'i32', ['T']);
      const step = [
        b.input('positions', 'i32', ['T']),
        b.input('seq_starts', 'i32', ['S+1']),
        b.input('block_tables', 'i32', ['S', 'B']),
      ];
      const o = b.value('o', ['T', H, C]);
      b.op('kv_write', [slots, cache, latent, rope], []);
      b.op('mla_attention', [qLatent, qRope, cache, ...step], [o], { scale, blockSize: 16 }).output('o', o);
      const program = b.build();
      const weights = await backend().loadWeights([], weightUses([program]), { numerics: 'exact' });
      const kv = backend().createKv([{ name: 'cache', width: C + Dr, dtype: 'f32' }], 4, 16);
      const executable = backend().compile(program, weights, kv);
      const [c, r, ql, qr] = [normals(T * C, 1), normals(T * Dr, 2), normals(T * H * C, 3), normals(T * H * Dr, 4)];
      const out = await executable.launch({
        dims: { T, S: 1, R: 0, B: 3 },
        inputs: {
          latent: c,
          rope: r,
          ql,
          qr,
          slots: Int32Array.from({ length: T }, (_, i) => i),
          positions: Int32Array.from({ length: T }, (_, i) => i),
          seq_starts: Int32Array.of(0, T),
          block_tables: Int32Array.of(0, 1, 2),
        },
      });
      const shape = { ...base, heads: H, kvHeads: 1, headDim: C + Dr, valueDim: C };
      const expected = referenceAttention(shape, {
        length: T,
        q: join(ql, C, qr, Dr, T * H),
        k: join(c, C, r, Dr, T),
        v: c,
        blocks: new Int32Array(),
      });
      expectClose(out['o']!, expected, 3e-6);
      executable.dispose();
      kv.dispose();
      weights.dispose();
    });
  });
}

describeNative('attention on several threads', () => {
  it('gives the same bits on 1, 2 and 3 threads, where chunks are spread and where they are not', async () => {
    const dtype: CacheDType = 'bf16';
    const shape = { ...base, dtype };
    const results: number[][] = [];
    for (const threads of [1, 2, 3]) {
      const backend = createCpuBackend({ threads });
      const [long, short] = makeSequences(shape, [1100, 200], 96);
      const out = await runSteps(backend, shape, 96, [
        [
          { sequence: long!, begin: 0, end: 1099 },
          { sequence: short!, begin: 0, end: 199 },
        ],
        [{ sequence: long!, begin: 1099, end: 1100 }],
        [{ sequence: short!, begin: 199, end: 200 }],
      ]);
      backend.dispose();
      results.push(out.flatMap((x) => bits(x)));
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });
});
