import type { LaunchArgs, Program } from '@dsi/kernels';
import { ConformanceError, expectBits, expectClose } from '../compare.js';
import { both, evaluate, program, type ConformanceCase, type Outputs, type Session } from '../harness.js';
import { Random } from '../random.js';
import { BlockTables, type Piece } from '../step.js';

type KvDtype = 'f32' | 'f16' | 'bf16';

/** One attention op over caches written in the same step; per-token inputs by name with their elements a token. */
interface Setup {
  readonly program: Program;
  readonly inputs: Readonly<Record<string, number>>;
  /** Elements of a token's result. */
  readonly width: number;
}

function gqa(s: Session, H: number, G: number, D: number, Dv: number, window: number, kvDtype: KvDtype): Setup {
  const build = program(
    s.numerics,
    (g) => {
      const [k, v] = [g.kv('k', G * D), g.kv('v', G * Dv)];
      g.kvWrite(k, g.input('k_in', 'f32', ['T', G * D]));
      g.kvWrite(v, g.input('v_in', 'f32', ['T', G * Dv]));
      const q = g.input('q', 'f32', ['T', H, D]);
      g.output('o', g.attention(q, k, v, { scale: 1 / Math.sqrt(D), kvHeads: G, window }));
    },
    { kvDtype },
  );
  return { program: build, inputs: { q: H * D, k_in: G * D, v_in: G * Dv }, width: H * Dv };
}

function mla(s: Session, H: number, C: number, Dr: number, kvDtype: KvDtype): Setup {
  const build = program(
    s.numerics,
    (g) => {
      const cache = g.kv('latent', C + Dr);
      g.kvWrite(cache, g.input('c', 'f32', ['T', C]), g.input('r', 'f32', ['T', Dr]));
      const [q, qr] = [g.input('q', 'f32', ['T', H, C]), g.input('qr', 'f32', ['T', H, Dr])];
      g.output('o', g.mlaAttention(q, qr, cache, { scale: 1 / Math.sqrt(C + Dr) }));
    },
    { kvDtype },
  );
  return { program: build, inputs: { q: H * C, qr: H * Dr, c: C, r: Dr }, width: H * C };
}

/** Random per-token inputs of sequences, so that any cutting of them into steps gives the same tokens. */
class Sequences {
  readonly #data = new Map<number, Record<string, Float32Array>>();

  constructor(
    readonly setup: Setup,
    lengths: readonly number[],
    random: Random,
  ) {
    lengths.forEach((n, id) =>
      this.#data.set(
        id,
        Object.fromEntries(Object.entries(setup.inputs).map(([name, w]) => [name, random.normals(n * w)])),
      ),
    );
  }

  launch(tables: BlockTables, pieces: readonly Piece[]): LaunchArgs {
    const { dims, ...step } = tables.step(pieces);
    const inputs: Record<string, Float32Array | Int32Array> = { ...step };
    for (const [name, w] of Object.entries(this.setup.inputs)) {
      const all = new Float32Array(dims.T * w);
      let at = 0;
      for (const p of pieces) {
        all.set(this.#data.get(p.id)![name]!.subarray(p.from * w, p.to * w), at);
        at += (p.to - p.from) * w;
      }
      inputs[name] = all;
    }
    return { dims, inputs };
  }
}

/** Results by sequence and position: one row each. */
function byToken(
  steps: readonly (readonly Piece[])[],
  outputs: readonly Outputs[],
  width: number,
): Map<string, Float32Array> {
  const rows = new Map<string, Float32Array>();
  steps.forEach((pieces, i) => {
    let at = 0;
    for (const p of pieces)
      for (let pos = p.from; pos < p.to; pos++, at += width)
        rows.set(`sequence ${p.id}, position ${pos}`, (outputs[i]!.o as Float32Array).subarray(at, at + width));
  });
  return rows;
}

const lengths = [1, 255, 256, 257, 34, 530];

/** Prefill whole, then one decode step of every sequence with a prefill chunk of another between them. */
function mixedSteps(): Piece[][] {
  return [
    [0, 1, 2, 3].map((id) => ({ id, from: 0, to: lengths[id]! })),
    [{ id: 4, from: 0, to: 33 }],
    [
      { id: 5, from: 0, to: 500 },
      { id: 4, from: 33, to: 34 },
    ],
    [{ id: 5, from: 500, to: 530 }],
  ];
}

function againstReference(name: string, make: (s: Session) => Setup, seed: number): ConformanceCase {
  return {
    name: `${name}: against the reference`,
    async run(s) {
      const setup = make(s);
      const random = new Random(seed);
      const sequences = new Sequences(setup, lengths, random);
      const tables = new BlockTables(random);
      const launches = mixedSteps().map((pieces) => sequences.launch(tables, pieces));
      launches.push(sequences.launch(tables, [{ id: 3, from: 257, to: 257 }]));
      const { actual, expected } = await both(s, { program: setup.program, weights: [], launches });
      expected.forEach((e, i) => expectClose(`o of step ${i}`, actual[i]!.o!, e.o!, () => s.tolerances.attention));
    },
  };
}

function invariance(name: string, make: (s: Session) => Setup, seed: number): ConformanceCase {
  return {
    name: `${name}: bits do not depend on chunks, company, order or blocks`,
    async run(s) {
      const setup = make(s);
      const random = new Random(seed);
      const sequences = new Sequences(setup, lengths, random);
      const chunks = (id: number, sizes: readonly number[]): Piece[][] => {
        const pieces: Piece[][] = [];
        for (let from = 0, i = 0; from < lengths[id]!; i++) {
          const to = Math.min(lengths[id]!, from + sizes[i % sizes.length]!);
          pieces.push([{ id, from, to }]);
          from = to;
        }
        return pieces;
      };
      const runs: Piece[][][] = [
        mixedSteps(),
        [[5, 4, 1].map((id) => ({ id, from: 0, to: lengths[id]! }))],
        [...chunks(5, [256, 255, 1]), ...chunks(4, [1, 2])],
        chunks(5, [7, 64, 33, 129]),
      ];
      const seen = new Map<string, Float32Array>();
      for (const steps of runs) {
        const tables = new BlockTables(random);
        const launches = steps.map((pieces) => sequences.launch(tables, pieces));
        const outputs = await evaluate(s.backend, { program: setup.program, weights: [], launches }, s.numerics);
        for (const [token, row] of byToken(steps, outputs, setup.width)) {
          const earlier = seen.get(token);
          if (earlier === undefined) seen.set(token, row);
          else expectBits(token, row, earlier);
        }
      }
    },
  };
}

/** A window of one position gives back the stored V of the token itself. */
function storedValues(kvDtype: KvDtype): ConformanceCase {
  return {
    name: `kv_write ${kvDtype}: rounding, slot -1, block copies`,
    async run(s) {
      const random = new Random(4300);
      const setup = gqa(s, 2, 2, 8, 8, 1, kvDtype);
      const sequences = new Sequences(setup, [40], random);
      const tables = new BlockTables(random);
      const write = sequences.launch(tables, [{ id: 0, from: 0, to: 40 }]);
      (write.inputs.v_in as Float32Array).set([
        65519,
        -65504,
        1e-8,
        -0,
        3.0000001,
        1 + 2 ** -9,
        1 + 3 * 2 ** -9,
        2 ** -25,
      ]);
      const again = sequences.launch(tables, [{ id: 0, from: 20, to: 40 }]);
      const skipped = {
        ...again,
        inputs: { ...again.inputs, slots: new Int32Array(20).fill(-1), v_in: random.normals(320) },
      };
      // The sequence's last block moves to one that no one uses.
      const moved = again.inputs.block_tables as Int32Array;
      const [from, to] = [moved[2]!, tables.blocks(1, 1)[0]!];
      const copied = {
        ...skipped,
        inputs: { ...skipped.inputs, block_tables: Int32Array.of(moved[0]!, moved[1]!, to) },
        blockCopies: Int32Array.of(from, to),
      };
      const { actual, expected } = await both(s, {
        program: setup.program,
        weights: [],
        launches: [write, skipped, copied],
      });
      ['what was written', 'after slot -1', 'after a block copy'].forEach((what, i) =>
        expectBits(what, actual[i]!.o!, expected[i]!.o!),
      );
      if (actual[1]!.o!.some((v, i) => v !== actual[0]!.o![20 * 16 + i]))
        throw new ConformanceError('slot -1: the cache changed.');
    },
  };
}

export function attentionCases(numerics: 'exact' | 'fast'): ConformanceCase[] {
  const dtypes: readonly KvDtype[] = numerics === 'exact' ? ['f32'] : ['bf16', 'f16', 'f32'];
  return dtypes.flatMap((kv) => {
    const setups: Readonly<Record<string, (s: Session) => Setup>> = {
      [`attention ${kv} 4/2 heads of 16`]: (s) => gqa(s, 4, 2, 16, 16, 0, kv),
      [`attention ${kv} 3/1 heads of 20, V of 12`]: (s) => gqa(s, 3, 1, 20, 12, 0, kv),
      [`attention ${kv} 2/2 heads of 64, window 40`]: (s) => gqa(s, 2, 2, 64, 64, 40, kv),
      [`attention ${kv} 4/1 heads of 8, window 300`]: (s) => gqa(s, 4, 1, 8, 8, 300, kv),
      [`mla_attention ${kv} 3 heads, latent 48 + 16`]: (s) => mla(s, 3, 48, 16, kv),
      [`mla_attention ${kv} 5 heads, latent 20 + 6`]: (s) => mla(s, 5, 20, 6, kv),
    };
    return [
      ...Object.entries(setups).flatMap(([name, make], i) => [
        againstReference(name, make, 4000 + i),
        invariance(name, make, 4100 + i),
      ]),
      storedValues(kv),
    ];
  });
}
