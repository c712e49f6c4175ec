import { describe, expect, it } from 'vitest';
import { Random } from '../src/testing/random.js';
import { close, launch, newGraph, runGraph, weight } from './run-graph.js';

const numbers = (random: Random, n: number) => [...random.normals(n)];

/** softmax-weighted mean of rows, the textbook way. */
function attend(scores: readonly number[], values: readonly (readonly number[])[]): number[] {
  const max = Math.max(...scores);
  const e = scores.map((s) => Math.exp(s - max));
  const sum = e.reduce((a, b) => a + b, 0);
  return values[0]!.map((_, d) => e.reduce((acc, w, j) => acc + (w / sum) * values[j]![d]!, 0));
}

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((s, v, i) => s + v * b[i]!, 0);
const row = (a: readonly number[], i: number, n: number) => a.slice(i * n, (i + 1) * n);

describe('attention', () => {
  it.each([0, 3])('equals the textbook formula, two sequences, window %i', async (window) => {
    const random = new Random(1);
    const [H, G, D] = [4, 2, 3];
    const g = newGraph();
    const [k, v] = [g.kv('k', G * D), g.kv('v', G * D)];
    g.kvWrite(k, g.input('ki', 'f32', ['T', G * D]));
    g.kvWrite(v, g.input('vi', 'f32', ['T', G * D]));
    g.output('o', g.attention(g.input('q', 'f32', ['T', H, D]), k, v, { scale: 0.5, kvHeads: G, window }));
    const T = 8;
    const [q, ki, vi] = [numbers(random, T * H * D), numbers(random, T * G * D), numbers(random, T * G * D)];
    // Sequence 0: positions 0..4 in blocks 5, 2; sequence 1: positions 0..2 in block 7.
    const step = {
      positions: [0, 1, 2, 3, 4, 0, 1, 2],
      seq_starts: [0, 5, 8],
      block_tables: [5, 2, 7, 0],
      slots: [20, 21, 22, 23, 8, 28, 29, 30],
    };
    const [out] = await runGraph({ graph: g.build(), launches: [launch({ T, S: 2, B: 2 }, { q, ki, vi }, step)] });
    for (let t = 0; t < T; t++) {
      const first = t < 5 ? 0 : 5;
      const begin = window > 0 ? Math.max(first, t - window + 1) : first;
      const keys = Array.from({ length: t - begin + 1 }, (_, j) => begin + j);
      for (let h = 0; h < H; h++) {
        const kv = (a: readonly number[], j: number) => row(a, j * G + Math.floor(h / (H / G)), D);
        const scores = keys.map((j) => 0.5 * dot(row(q, t * H + h, D), kv(ki, j)));
        close(
          row([...out!.o!], t * H + h, D),
          attend(
            scores,
            keys.map((j) => kv(vi, j)),
          ),
        );
      }
    }
  });

  it('names the op, operand and value of tables that point outside', async () => {
    const g = newGraph();
    const c = g.kv('c', 2);
    g.output('o', g.attention(g.input('q', 'f32', ['T', 1, 2]), c, c, { scale: 1, kvHeads: 1 }));
    const run = (step: Record<string, number[]>) =>
      runGraph({
        graph: g.build(),
        launches: [launch({ T: 1 }, { q: [1, 1] }, { positions: [0], seq_starts: [0, 1], block_tables: [0], ...step })],
      });
    await expect(run({ block_tables: [8] })).rejects.toThrow('attention: block_tables[0] must be in 0..7, but is 8');
    await expect(run({ positions: [4] })).rejects.toThrow('attention: positions must be below 4');
    await expect(run({ seq_starts: [0, 2] })).rejects.toThrow('attention: seq_starts must be from 0 to 1');
  });
});

describe('mla_attention', () => {
  it('absorbed equals expanded', async () => {
    const random = new Random(2);
    const [T, H, nope, Dr, C, Dv] = [5, 2, 4, 2, 3, 3];
    const scale = 0.4;
    const uk = numbers(random, H * nope * C);
    const uv = numbers(random, H * Dv * C);
    const transposed = Array.from({ length: H * C * nope }, (_, i) => {
      const [h, c, n] = [Math.floor(i / (C * nope)), Math.floor(i / nope) % C, i % nope];
      return uk[(h * nope + n) * C + c]!;
    });
    const g = newGraph();
    const cache = g.kv('latent', C + Dr);
    g.kvWrite(cache, g.input('c', 'f32', ['T', C]), g.input('r', 'f32', ['T', Dr]));
    const latent = g.headLinear(g.input('q', 'f32', ['T', H, nope]), g.weight('uk', [H, C, nope]));
    const o = g.mlaAttention(latent, g.input('qr', 'f32', ['T', H, Dr]), cache, { scale });
    g.output('o', g.headLinear(o, g.weight('uv', [H, Dv, C])));
    const [q, qr, c, r] = [
      numbers(random, T * H * nope),
      numbers(random, T * H * Dr),
      numbers(random, T * C),
      numbers(random, T * Dr),
    ];
    const step = { positions: [0, 1, 2, 3, 4], seq_starts: [0, 5], block_tables: [3, 1], slots: [12, 13, 14, 15, 4] };
    const [out] = await runGraph({
      graph: g.build(),
      weights: [weight('uk', [H, C, nope], transposed), weight('uv', [H, Dv, C], uv)],
      launches: [launch({ T, B: 2 }, { q, qr, c, r }, step)],
    });
    for (let t = 0; t < T; t++)
      for (let h = 0; h < H; h++) {
        const key = (j: number) => Array.from({ length: nope }, (_, n) => dot(row(uk, h * nope + n, C), row(c, j, C)));
        const value = (j: number) => Array.from({ length: Dv }, (_, n) => dot(row(uv, h * Dv + n, C), row(c, j, C)));
        const keys = Array.from({ length: t + 1 }, (_, j) => j);
        const scores = keys.map(
          (j) => scale * (dot(row(q, t * H + h, nope), key(j)) + dot(row(qr, t * H + h, Dr), row(r, j, Dr))),
        );
        close(row([...out!.o!], t * H + h, Dv), attend(scores, keys.map(value)), 2e-6);
      }
  });
});
