import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DisposedError, ProgramError, type WeightTensor, type WeightUse } from '@dsi/kernels';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compile, createReferenceBackend } from '../src/index.js';
import { launch, newGraph, weight } from './run-graph.js';

const backend = createReferenceBackend();
const uses = new Map(['a', 'b', 'v', 'w'].map((name) => [name, new Set<WeightUse>(['linear'])]));
const options = { numerics: 'exact' } as const;
const asBytes = (a: Float32Array) => [{ bytes: new Uint8Array(a.buffer) }];

function linearProgram() {
  const g = newGraph();
  g.output('y', g.linear(g.input('x', 'f32', ['T', 2]), g.weight('w', [2, 2])));
  return compile(g.build()).program;
}

async function bind(w: WeightTensor) {
  const weights = await backend.loadWeights([w], uses, options);
  return backend.compile(linearProgram(), weights, backend.createKv([], 1, 4));
}

describe('loadWeights', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dsi-graph-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('reads parts from files and memory in order', async () => {
    const file = join(folder, 'weights.bin');
    writeFileSync(file, new Uint8Array(Float32Array.of(9, 1, 2, 9).buffer));
    const rest = { bytes: new Uint8Array(Float32Array.of(3, 4).buffer) };
    const w: WeightTensor = {
      name: 'w',
      format: 'F32',
      shape: [2, 2],
      data: [{ file, offset: 4, byteLength: 8 }, rest],
    };
    const executable = await bind(w);
    const out = await executable.launch(launch({ T: 1 }, { x: [1, 10] }));
    expect([...out.y!]).toEqual([21, 43]);
  });

  it('refuses ranges beyond the file before it allocates', async () => {
    const file = join(folder, 'short.bin');
    writeFileSync(file, new Uint8Array(8));
    const w: WeightTensor = {
      name: 'w',
      format: 'F32',
      shape: [2, 2],
      data: [{ file, offset: 0, byteLength: 2 ** 50 }],
    };
    await expect(bind(w)).rejects.toThrow(/short\.bin do not exist, it has 8/);
  });

  it('undoes activation order of int4 weights', async () => {
    const w: WeightTensor = {
      name: 'w',
      format: 'INT4_GROUP',
      shape: [2, 2],
      data: [{ bytes: Uint8Array.of(0x21, 0x43) }],
      int4: {
        groupSize: 2,
        scales: asBytes(Float32Array.of(1, 1)),
        zeros: asBytes(Float32Array.of(0, 0)),
        perm: Int32Array.of(1, 0),
      },
    };
    const executable = await bind(w);
    const out = await executable.launch(launch({ T: 1 }, { x: [1, 10] }));
    expect([...out.y!]).toEqual([12, 34]);
  });

  it('reports progress and stops on its signal', async () => {
    const seen: string[] = [];
    const two = [weight('a', [1], [1]), weight('b', [1], [1])];
    await backend.loadWeights(two, uses, {
      ...options,
      onProgress: (p) => seen.push(`${p.name} ${p.loadedBytes}/${p.totalBytes}`),
    });
    expect(seen).toEqual(['a 4/8', 'b 8/8']);
    await expect(backend.loadWeights(two, uses, { ...options, signal: AbortSignal.abort() })).rejects.toThrow();
    await expect(backend.loadWeights([two[0]!, two[0]!], uses, options)).rejects.toThrow('given twice');
  });
});

describe('executable', () => {
  const w = weight('w', [2, 2], [1, 2, 3, 4]);

  it('refuses launches that do not fit, naming input and size', async () => {
    const e = await bind(w);
    await expect(e.launch(launch({ T: 2 }, { x: [1, 1] }))).rejects.toThrow('"x" must be a Float32Array of 4 elements');
    await expect(e.launch(launch({ T: 1 }, {}, { x: [1, 1] }))).rejects.toThrow('is Int32Array of 2');
    await expect(e.launch(launch({ T: 1 }, {}))).rejects.toThrow('missing');
    await expect(e.launch(launch({ T: 33 }, { x: [] }))).rejects.toThrow('dims.T must be in 0..32, but is 33');
    await expect(e.launch({ ...launch({ T: 0 }, { x: [] }), blockCopies: Int32Array.of(0, 1) })).rejects.toThrow(
      'blockCopies[1] must be in 0..0, but is 1',
    );
  });

  it('refuses a second launch while one runs, and any after dispose', async () => {
    const e = await bind(w);
    const first = e.launch(launch({ T: 1 }, { x: [1, 1] }));
    await expect(e.launch(launch({ T: 1 }, { x: [1, 1] }))).rejects.toThrow('still running');
    expect([...(await first).y!]).toEqual([3, 7]);
    e.dispose();
    await expect(e.launch(launch({ T: 1 }, { x: [1, 1] }))).rejects.toThrow(DisposedError);
  });

  it('gives fresh output arrays', async () => {
    const e = await bind(w);
    const a = await e.launch(launch({ T: 1 }, { x: [1, 1] }));
    await e.launch(launch({ T: 1 }, { x: [2, 2] }));
    expect([...a.y!]).toEqual([3, 7]);
  });

  it('refuses weights and KV that do not fit the program', async () => {
    await expect(bind(weight('w', [1, 2], [1, 2]))).rejects.toThrow('w: it is [1, 2], not [2, 2]');
    await expect(bind(weight('v', [2, 2], [1, 2, 3, 4]))).rejects.toThrow('w: it was not loaded');
    const weights = await backend.loadWeights([w], uses, options);
    weights.dispose();
    expect(() => backend.compile(linearProgram(), weights, backend.createKv([], 1, 4))).toThrow(DisposedError);
    const g = newGraph();
    const c = g.kv('c', 2);
    g.output('o', g.attention(g.input('q', 'f32', ['T', 1, 2]), c, c, { scale: 1, kvHeads: 1 }));
    const { program } = compile(g.build());
    const none = await backend.loadWeights([], uses, options);
    const spec = { name: 'c', width: 2, dtype: 'f32' } as const;
    const refusal = (specs: Parameters<typeof backend.createKv>[0], blockSize: number) => () =>
      backend.compile(program, none, backend.createKv(specs, 2, blockSize));
    expect(refusal([], 4)).toThrow('no such tensor');
    expect(refusal([{ ...spec, dtype: 'bf16' }], 4)).toThrow('it is 2 x bf16, not 2 x f32');
    expect(refusal([spec], 8)).toThrow(ProgramError);
    expect(() => backend.createKv([spec, spec], 2, 4)).toThrow(RangeError);
    const fast = await backend.loadWeights([], uses, { numerics: 'fast' });
    expect(() => backend.compile(program, fast, backend.createKv([spec], 2, 4))).toThrow('loaded as fast');
  });
});
