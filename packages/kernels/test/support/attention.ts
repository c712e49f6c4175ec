import type { CpuBackend, HostArray, KvTensorSpec, Program } from '../../src/index.js';
import { weightUses } from '../../src/index.js';
import { normals, roundBf16, roundF16, uniform } from './numbers.js';
import { ProgramBuilder } from './program-builder.js';

export type CacheDType = KvTensorSpec['dtype'];

export interface AttentionShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
  readonly window: number;
  readonly blockSize: number;
  readonly dtype: CacheDType;
}

/** A sequence with everything its attention depends on; `q` [n, H, D], `k` [n, G*D], `v` [n, G*Dv]. */
export interface AttentionSequence {
  readonly length: number;
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly v: Float32Array;
  readonly blocks: Int32Array;
}

export const scale = 0.17;

/** kv_write of K and V, then attention, in one program. */
export function attentionProgram(s: AttentionShape, maxDims = { T: 2048, S: 16, R: 1, B: 128 }): Program {
  const b = new ProgramBuilder(maxDims);
  const q = b.input('q', 'f32', ['T', s.heads, s.headDim]);
  const k = b.input('k', 'f32', ['T', s.kvHeads * s.headDim]);
  const v = b.input('v', 'f32', ['T', s.kvHeads * s.valueDim]);
  const slots = b.input('slots', 'i32', ['T']);
  const kCache = b.kv('k_cache', s.kvHeads * s.headDim, s.dtype);
  const vCache = b.kv('v_cache', s.kvHeads * s.valueDim, s.dtype);
  const step = [
    b.input('positions', 'i32', ['T']),
    b.input('seq_starts', 'i32', ['S+1']),
    b.input('block_tables', 'i32', ['S', 'B']),
  ];
  const o = b.value('o', ['T', s.heads, s.valueDim]);
  b.op('kv_write', [slots, kCache, k], []).op('kv_write', [slots, vCache, v], []);
  b.op('attention', [q, kCache, vCache, ...step], [o], {
    scale,
    kvHeads: s.kvHeads,
    window: s.window,
    blockSize: s.blockSize,
  });
  return b.output('o', o).build();
}

/** Sequences of the given lengths whose blocks are scattered over the storage. */
export function makeSequences(s: AttentionShape, lengths: readonly number[], numBlocks: number): AttentionSequence[] {
  const free = Array.from({ length: numBlocks }, (_, i) => i);
  const next = uniform(99);
  return lengths.map((length, i) => ({
    length,
    q: normals(length * s.heads * s.headDim, 10 * i + 1),
    k: normals(length * s.kvHeads * s.headDim, 10 * i + 2),
    v: normals(length * s.kvHeads * s.valueDim, 10 * i + 3),
    blocks: Int32Array.from({ length: Math.ceil(length / s.blockSize) }, () => {
      return free.splice(Math.floor(next() * free.length), 1)[0]!;
    }),
  }));
}

/** One piece of a sequence in a step: its rows [begin, end). */
export interface StepPart {
  readonly sequence: AttentionSequence;
  readonly begin: number;
  readonly end: number;
}

/** Launch arguments of one step. */
export function stepArgs(s: AttentionShape, parts: readonly StepPart[]) {
  const T = parts.reduce((n, p) => n + p.end - p.begin, 0);
  const B = Math.max(1, ...parts.map((p) => p.sequence.blocks.length));
  const join = (pick: (p: StepPart) => Float32Array) => {
    const pieces = parts.map(pick);
    const all = new Float32Array(pieces.reduce((n, x) => n + x.length, 0));
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  };
  const rows = (x: Float32Array, width: number, p: StepPart) => x.subarray(p.begin * width, p.end * width);
  const positions = Int32Array.from(parts.flatMap((p) => range(p.begin, p.end)));
  const starts = [0];
  for (const p of parts) starts.push(starts.at(-1)! + p.end - p.begin);
  const tables = new Int32Array(parts.length * B).fill(-1);
  parts.forEach((p, i) => tables.set(p.sequence.blocks, i * B));
  const slots = parts.flatMap((p) =>
    range(p.begin, p.end).map((x) => p.sequence.blocks[Math.floor(x / s.blockSize)]! * s.blockSize + (x % s.blockSize)),
  );
  return {
    dims: { T, S: parts.length, R: 0, B },
    inputs: {
      q: join((p) => rows(p.sequence.q, s.heads * s.headDim, p)),
      k: join((p) => rows(p.sequence.k, s.kvHeads * s.headDim, p)),
      v: join((p) => rows(p.sequence.v, s.kvHeads * s.valueDim, p)),
      slots: Int32Array.from(slots),
      positions,
      seq_starts: Int32Array.from(starts),
      block_tables: tables,
    } satisfies Record<string, HostArray>,
  };
}

function range(begin: number, end: number): number[] {
  return Array.from({ length: end - begin }, (_, i) => begin + i);
}

/** Runs several steps on one cache; gives the output of each. */
export async function runSteps(
  backend: CpuBackend,
  s: AttentionShape,
  numBlocks: number,
  steps: readonly (readonly StepPart[])[],
): Promise<Float32Array[]> {
  const program = attentionProgram(s);
  const weights = await backend.loadWeights([], weightUses([program]), { numerics: 'exact' });
  const kv = backend.createKv(
    [
      { name: 'k_cache', width: s.kvHeads * s.headDim, dtype: s.dtype },
      { name: 'v_cache', width: s.kvHeads * s.valueDim, dtype: s.dtype },
    ],
    numBlocks,
    s.blockSize,
  );
  const executable = backend.compile(program, weights, kv);
  const outputs: Float32Array[] = [];
  try {
    for (const parts of steps) outputs.push((await executable.launch(stepArgs(s, parts)))['o'] as Float32Array);
  } finally {
    executable.dispose();
    kv.dispose();
    weights.dispose();
  }
  return outputs;
}

/** Attention of one whole sequence in f64 from the definition; [n, H, Dv]. */
export function referenceAttention(s: AttentionShape, sequence: AttentionSequence): Float64Array {
  const stored = { f32: (x: number) => x, f16: roundF16, bf16: roundBf16 }[s.dtype];
  const k = sequence.k.map(stored);
  const v = sequence.v.map(stored);
  const out = new Float64Array(sequence.length * s.heads * s.valueDim);
  for (let t = 0; t < sequence.length; t++) {
    const first = s.window > 0 ? Math.max(0, t - s.window + 1) : 0;
    for (let h = 0; h < s.heads; h++) {
      const g = Math.floor(h / (s.heads / s.kvHeads));
      const scores: number[] = [];
      for (let j = first; j <= t; j++) {
        let dot = 0;
        for (let c = 0; c < s.headDim; c++) {
          dot += sequence.q[(t * s.heads + h) * s.headDim + c]! * k[(j * s.kvHeads + g) * s.headDim + c]!;
        }
        scores.push(dot * scale);
      }
      const most = Math.max(...scores);
      const weights = scores.map((x) => Math.exp(x - most));
      const total = weights.reduce((a, b) => a + b, 0);
      for (let c = 0; c < s.valueDim; c++) {
        let sum = 0;
        weights.forEach((w, i) => {
          sum += w * v[((first + i) * s.kvHeads + g) * s.valueDim + c]!;
        });
        out[(t * s.heads + h) * s.valueDim + c] = sum / total;
      }
    }
  }
  return out;
}
