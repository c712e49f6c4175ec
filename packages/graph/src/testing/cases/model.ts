import type { LaunchArgs, Program, WeightFormat } from '@dsi/kernels';
import type { GraphBuilder } from '../../builder.js';
import { expectBits, expectClose } from '../compare.js';
import { both, evaluate, program, type ConformanceCase } from '../harness.js';
import { Random } from '../random.js';
import { formatCols, randomWeight } from '../random-weights.js';
import { BlockTables, type Piece } from '../step.js';

/** Sizes of a small decoder of two layers, one with a dense and one with a routed MLP. */
interface Sizes {
  readonly V: number;
  readonly D: number;
  readonly H: number;
  readonly G: number;
  readonly hd: number;
  readonly I: number;
}

/** Rows of K-quants are multiples of 256; the others keep the cases quick. */
function sizesOf(format: WeightFormat): Sizes {
  return formatCols[format] % 256 === 0
    ? { V: 61, D: 256, H: 4, G: 1, hd: 64, I: 256 }
    : { V: 61, D: 64, H: 4, G: 2, hd: 16, I: 96 };
}

function shapesOf({ V, D, H, G, hd, I }: Sizes): Record<string, readonly number[]> {
  const layers = [0, 1].flatMap((l): [string, readonly number[]][] => [
    [`${l}.norm1`, [D]],
    [`${l}.norm2`, [D]],
    [`${l}.q`, [H * hd, D]],
    [`${l}.k`, [G * hd, D]],
    [`${l}.v`, [G * hd, D]],
    [`${l}.o`, [D, H * hd]],
  ]);
  return {
    embed: [V, D],
    ...Object.fromEntries(layers),
    gate: [I, D],
    up: [I, D],
    down: [D, I],
    router: [4, D],
    'experts.gate': [4, I, D],
    'experts.up': [4, I, D],
    'experts.down': [4, D, I],
    norm: [D],
    head: [V, D],
  };
}

function decoder(g: GraphBuilder, sizes: Sizes): void {
  const { H, G, hd } = sizes;
  const shapes = shapesOf(sizes);
  const w = (name: string) => g.weight(name, shapes[name] as number[]);
  const freq = g.constant(
    'freq',
    Float32Array.from({ length: hd / 2 }, (_, i) => 10000 ** (-i / (hd / 2))),
  );
  let x = g.embedding(g.input('tokens', 'i32', ['T']), w('embed'));
  for (const l of [0, 1]) {
    const a = g.rmsNorm(x, w(`${l}.norm1`), 1e-5);
    const q = g.reshape(g.linear(a, w(`${l}.q`)), ['T', H, hd]);
    const k = g.reshape(g.linear(a, w(`${l}.k`)), ['T', G, hd]);
    const v = g.linear(a, w(`${l}.v`));
    const [kCache, vCache] = [g.kv(`${l}.k_cache`, G * hd), g.kv(`${l}.v_cache`, G * hd)];
    g.kvWrite(kCache, g.rope(k, g.step.positions, freq, { style: 'half' }));
    g.kvWrite(vCache, v);
    const rotated = g.rope(q, g.step.positions, freq, { style: 'half' });
    const o = g.attention(rotated, kCache, vCache, { scale: 1 / Math.sqrt(hd), kvHeads: G });
    x = g.add(x, g.linear(g.reshape(o, ['T', H * hd]), w(`${l}.o`)));
    const m = g.rmsNorm(x, w(`${l}.norm2`), 1e-5);
    if (l === 0) x = g.add(x, g.linear(g.siluMul(g.linear(m, w('gate')), g.linear(m, w('up'))), w('down')));
    else {
      const logits = g.linear(m, w('router'), undefined, { f32: true });
      const routing = g.moeRoute(logits, undefined, { scoring: 'softmax', topK: 2, normalize: true });
      x = g.add(x, g.moeMlp(m, routing, w('experts.gate'), w('experts.up'), w('experts.down')));
    }
  }
  g.output('logits', g.linear(g.gatherRows(g.rmsNorm(x, w('norm'), 1e-5), g.step.rows), w('head')));
}

const lengths = [300, 40, 9];

function launchOf(tokens: readonly Int32Array[], tables: BlockTables, pieces: readonly Piece[]): LaunchArgs {
  let at = 0;
  const rows = Int32Array.from(pieces, (p) => (at += p.to - p.from) - 1);
  const { dims, ...step } = tables.step(pieces, rows.length);
  const all = new Int32Array(dims.T);
  at = 0;
  for (const p of pieces) {
    all.set(tokens[p.id]!.subarray(p.from, p.to), at);
    at += p.to - p.from;
  }
  return { dims, inputs: { ...step, rows, tokens: all } };
}

function decoderCase(format: WeightFormat, seed: number): ConformanceCase {
  return {
    name: `a small decoder, ${format}: logits by any chunks, company, order and passes`,
    async run(s) {
      const random = new Random(seed);
      const sizes = sizesOf(format);
      const { V } = sizes;
      const weights = Object.entries(shapesOf(sizes)).map(([name, shape]) =>
        randomWeight(name, shape.length === 1 || name === 'router' ? 'F32' : format, shape, random),
      );
      const tokens = lengths.map((n) => random.ints(n, 0, V - 1));
      const whole = (id: number): Piece => ({ id, from: 0, to: lengths[id]! });
      const cut = (id: number, at: number): [Piece, Piece] => [
        { id, from: 0, to: at },
        { id, from: at, to: lengths[id]! },
      ];
      const [a, b] = [cut(0, 299), cut(0, 256)];
      const c = cut(1, 39);
      const d = cut(2, 1);
      const runs: Piece[][][] = [
        [[whole(0), whole(1), whole(2)]],
        [[c[0], a[0]], [d[0]], [d[1], a[1], c[1]]],
        [
          [b[0], c[0]],
          [b[1], c[1]],
        ],
      ];
      const run = async (p: Program, steps: Piece[][]) => {
        const tables = new BlockTables(random);
        const launches = steps.map((pieces) => launchOf(tokens, tables, pieces));
        return { launches, outputs: await evaluate(s.backend, { program: p, weights, launches }, s.numerics) };
      };
      const p = program(s.numerics, (g) => decoder(g, sizes));
      const seen = new Map<number, Float32Array>();
      const plain = program(s.numerics, (g) => decoder(g, sizes), { passes: [] });
      for (const [i, steps] of [...runs, runs[0]!].entries()) {
        const { outputs } = await run(i === runs.length ? plain : p, steps);
        steps.forEach((pieces, j) =>
          pieces.forEach((piece, r) => {
            if (piece.to < lengths[piece.id]!) return;
            const logits = (outputs[j]!.logits as Float32Array).subarray(r * V, (r + 1) * V);
            const earlier = seen.get(piece.id);
            if (earlier === undefined) seen.set(piece.id, logits);
            else expectBits(`run ${i}, logits of sequence ${piece.id}`, logits, earlier);
          }),
        );
      }
      if (s.numerics === 'exact') {
        const { launches } = await run(p, runs[0]!);
        const { actual, expected } = await both(s, { program: p, weights, launches });
        const scale = Array.from(expected[0]!.logits!).reduce((m, v) => Math.max(m, Math.abs(v)), 1);
        expectClose('logits', actual[0]!.logits!, expected[0]!.logits!, () => s.tolerances.attention * scale);
      }
    },
  };
}

export function modelCases(wanted: readonly WeightFormat[]): ConformanceCase[] {
  return (['BF16', 'Q8_0', 'Q4_K', 'F8_E4M3'] as const)
    .filter((f) => wanted.includes(f))
    .map((f, i) => decoderCase(f, 6000 + i));
}
