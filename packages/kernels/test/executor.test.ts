import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import {
  createCpuBackend,
  DisposedError,
  LaunchError,
  ProgramError,
  WeightLoadError,
  weightUses,
  type LaunchProfile,
  type Program,
} from '../src/index.js';
import { loadNative } from '../src/native/loader.js';
import { attentionProgram, makeSequences, stepArgs, type AttentionShape } from './support/attention.js';
import { describeNative, f32Weight, suiteBackend } from './support/native.js';
import { normals } from './support/numbers.js';
import { ProgramBuilder } from './support/program-builder.js';

/** tokens -> rows of a table -> norm. */
function embeddingProgram(): Program {
  const b = new ProgramBuilder({ T: 8, S: 1, R: 4, B: 1 });
  const [tokens, rows] = [b.input('tokens', 'i32', ['T']), b.input('rows', 'i32', ['R'])];
  const [table, norm] = [b.weight('table', [10, 32]), b.weight('norm', [32])];
  const [x, y, z] = [b.value('x', ['T', 32]), b.value('y', ['T', 32]), b.value('z', ['R', 32])];
  b.op('embedding', [tokens, table], [x]).op('rms_norm', [x, norm], [y], { eps: 1e-6 });
  return b.op('gather_rows', [y, rows], [z]).output('z', z).build();
}

const weights = [
  f32Weight('table', [10, 32], normals(320, 1)),
  f32Weight('norm', [32], normals(32, 2)),
  f32Weight('unused', [4], normals(4, 3)),
];

const replaceOp = (index: number, change: object) => (p: Program) => ({
  ops: p.ops.map((op, i) => (i === index ? { ...op, ...change } : op)),
});
const replaceTensor = (name: string, change: object) => (p: Program) => ({
  tensors: p.tensors.map((t) => (t.name === name ? { ...t, ...change } : t)) as Program['tensors'],
});

describeNative('executor', () => {
  const backend = suiteBackend();

  async function compiled(program = embeddingProgram()) {
    const set = await backend().loadWeights(weights, weightUses([program]), { numerics: 'exact' });
    const kv = backend().createKv([], 4, 16);
    return { set, kv, executable: backend().compile(program, set, kv) };
  }

  const good = {
    dims: { T: 3, S: 0, R: 2, B: 0 },
    inputs: { tokens: Int32Array.of(9, 0, 4), rows: Int32Array.of(2, 0) },
  };

  it('runs, reports times, and refuses a second launch before the first has settled', async () => {
    const { executable, set, kv } = await compiled();
    let profile: LaunchProfile | undefined;
    const first = executable.launch({ ...good, onProfile: (p) => (profile = p) });
    await expect(executable.launch(good)).rejects.toThrow(/has not settled/);
    const out = await first;
    expect(out['z']!.length).toBe(64);
    expect(profile!.ops.length).toBe(3);
    expect(profile!.ops.every((ns) => ns >= 0)).toBe(true);
    expect((await executable.launch(good))['z']).toEqual(out['z']);
    expect(set.names).toEqual(new Set(['table', 'norm']));
    executable.dispose();
    set.dispose();
    kv.dispose();
  });

  it.each([
    ['a token beyond the table', { tokens: Int32Array.of(1, 10, 2) }, {}, /"tokens"\[1\] is 10: it must be in 0\.\.9/],
    ['a negative token', { tokens: Int32Array.of(-1, 0, 2) }, {}, /"tokens"\[0\] is -1/],
    ['a row beyond the step', { rows: Int32Array.of(0, 3) }, {}, /"rows"\[1\] is 3: it must be in 0\.\.2/],
    ['an input of another length', { tokens: Int32Array.of(1) }, {}, /"tokens" has 1 elements: .* has 3/],
    ['an input of another type', { tokens: Float32Array.of(1, 2, 3) }, {}, /"tokens" must be a Int32Array/],
    ['too many tokens', {}, { T: 9 }, /dims\.T is 9: it must be in 0\.\.8/],
    ['a broken size', {}, { T: 1.5 }, /dims\.T is 1\.5/],
  ])('refuses %s', async (_, inputs, dims, message) => {
    const { executable } = await compiled();
    const launch = executable.launch({ dims: { ...good.dims, ...dims }, inputs: { ...good.inputs, ...inputs } });
    await expect(launch).rejects.toThrow(LaunchError);
    await expect(launch).rejects.toThrow(message);
    await expect(executable.launch({ ...good, inputs: { rows: good.inputs.rows } })).rejects.toThrow(
      /"tokens" is missing/,
    );
    expect((await executable.launch(good))['z']!.length).toBe(64);
    executable.dispose();
  });

  it('checks slots, positions, starts, tables and block copies', async () => {
    const shape: AttentionShape = {
      heads: 2,
      kvHeads: 1,
      headDim: 8,
      valueDim: 8,
      window: 4,
      blockSize: 4,
      dtype: 'f32',
    };
    const program = attentionProgram(shape);
    const set = await backend().loadWeights([], weightUses([program]), { numerics: 'exact' });
    const kv = backend().createKv(
      ['k_cache', 'v_cache'].map((name) => ({ name, width: 8, dtype: 'f32' as const })),
      8,
      4,
    );
    const executable = backend().compile(program, set, kv);
    const [sequence] = makeSequences(shape, [12], 8);
    const args = () => stepArgs(shape, [{ sequence: sequence!, begin: 0, end: 12 }]);
    type Args = ReturnType<typeof args>;
    const broken: [string, (a: Args) => void, RegExp][] = [
      ['slot', (a) => (a.inputs.slots[3] = 32), /"slots"\[3\] is 32: it must be in -1\.\.31/],
      ['position', (a) => (a.inputs.positions[11] = 12), /"positions"\[11\] is 12: it must be in 0\.\.11/],
      ['order', (a) => (a.inputs.positions[5] = 3), /"positions"\[5\] is 3: it must be no lower/],
      ['starts', (a) => (a.inputs.seq_starts[1] = 11), /"seq_starts"\[1\] is 11: it must be 12/],
      ['first start', (a) => (a.inputs.seq_starts[0] = 1), /"seq_starts"\[0\] is 1/],
      ['block', (a) => (a.inputs.block_tables[2] = 8), /"block_tables"\[2\] is 8: it must be in 0\.\.7/],
      ['no block', (a) => (a.inputs.block_tables[0] = -1), /"block_tables"\[0\] is -1/],
    ];
    for (const [, breakIt, message] of broken) {
      const bad = args();
      breakIt(bad);
      await expect(executable.launch(bad)).rejects.toThrow(message);
    }
    await expect(executable.launch({ ...args(), blockCopies: Int32Array.of(0, 8) })).rejects.toThrow(
      /blockCopies\[1\] is 8/,
    );
    await expect(executable.launch({ ...args(), blockCopies: Int32Array.of(0) })).rejects.toThrow(/pairs/);
    const full = (await executable.launch(args()))['o']!;

    // Blocks that the window has left behind need not exist any more.
    const late = stepArgs(shape, [{ sequence: sequence!, begin: 11, end: 12 }]);
    late.inputs.block_tables[0] = late.inputs.block_tables[1] = -1;
    expect((await executable.launch(late))['o']).toEqual(full.slice(-16));

    // Copies happen before the first op: the last block moves to a free one and is read there.
    const from = sequence!.blocks[2]!;
    const to = [0, 1, 2, 3, 4, 5, 6, 7].find((b) => !sequence!.blocks.includes(b))!;
    const moved = stepArgs(shape, [{ sequence: sequence!, begin: 11, end: 12 }]);
    moved.inputs.slots[0] = to * 4 + 3;
    moved.inputs.block_tables[2] = to;
    expect((await executable.launch({ ...moved, blockCopies: Int32Array.of(from, to) }))['o']).toEqual(full.slice(-16));

    // Slot -1 writes nothing.
    const nowhere = stepArgs(shape, [{ sequence: sequence!, begin: 11, end: 12 }]);
    nowhere.inputs.slots[0] = -1;
    nowhere.inputs.k.fill(100);
    expect((await executable.launch(nowhere))['o']).toEqual(full.slice(-16));
    kv.dispose();
    await expect(executable.launch(args())).rejects.toThrow(DisposedError);
    executable.dispose();
    set.dispose();
  });

  it('refuses programs that do not fit, once, at compile', async () => {
    const set = await backend().loadWeights(weights, weightUses([embeddingProgram()]), { numerics: 'exact' });
    const kv = backend().createKv([{ name: 'k', width: 8, dtype: 'f16' }], 4, 16);
    const compile = (change: (p: Program) => Partial<Program>) => () => {
      const program = embeddingProgram();
      return backend().compile({ ...program, ...change(program) }, set, kv);
    };
    const cases: [(p: Program) => Partial<Program>, RegExp][] = [
      [replaceOp(1, { attrs: {} }), /op 1 \(rms_norm\), attribute eps/],
      [replaceOp(1, { inputs: [0, 3] }), /op 1 \(rms_norm\), x: "tokens" is input i32, it must be f32/],
      [replaceOp(1, { op: 'softplus' }), /op 1 \(softplus\).*unknown/],
      [replaceOp(0, { inputs: [0] }), /op 0 \(embedding\), inputs: there are 1, it takes 2/],
      [replaceOp(0, { inputs: [0, 99] }), /op 0 \(embedding\), table: there is no tensor 99/],
      [replaceTensor('y', { shape: ['T', 31] }), /op 1 \(rms_norm\), y: the shape of "y" is \[T, 31\]/],
      [replaceTensor('norm', { shape: [31] }), /weight: the shape of "norm"/],
      [replaceTensor('y', { offset: 8 }), /offset 8 is not a multiple of 64/],
      [replaceTensor('y', { offset: 1 << 20 }), /end beyond the arena/],
      [replaceTensor('table', { name: 'other' }), /the weight "other" was not loaded/],
      [replaceTensor('table', { shape: [11, 32] }), /the weight "table" is \[10, 32\], not \[11, 32\]/],
      [() => ({ outputs: { z: 0 } }), /output "z": tensor 0 is input/],
      [() => ({ numerics: 'fast' as const }), /numerics: it is fast and the weights were loaded as exact/],
    ];
    for (const [change, message] of cases) {
      expect(compile(change)).toThrow(ProgramError);
      expect(compile(change)).toThrow(message);
    }
    set.dispose();
    expect(compile(() => ({}))).toThrow(DisposedError);
  });

  it('throws after dispose and never crashes', async () => {
    const { executable, set, kv } = await compiled();
    const running = executable.launch(good);
    set.dispose();
    set.dispose();
    expect((await running)['z']!.length).toBe(64);
    await expect(executable.launch(good)).rejects.toThrow(/the WeightSet of program "test" was used after dispose/);
    executable.dispose();
    executable.dispose();
    await expect(executable.launch(good)).rejects.toThrow(DisposedError);
    kv.dispose();
    kv.dispose();
  });

  it('keeps alive what an executable needs, and frees what nobody holds', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const { executable } = await compiled();
    for (let i = 0; i < 5; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await executable.launch(good))['z']!.length).toBe(64);
    executable.dispose();
    const external = () => loadNative().externalBytes();
    const before = external();
    backend().createKv([{ name: 'k', width: 1024, dtype: 'f32' }], 1024, 16);
    expect(external() - before).toBeGreaterThan(2 ** 26 - 2 ** 20);
    for (let i = 0; i < 10 && external() - before > 2 ** 20; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(external() - before).toBeLessThan(2 ** 20);
  });

  it('settles what is in flight when the backend goes', async () => {
    const own = createCpuBackend({ threads: 2 });
    const program = embeddingProgram();
    const set = await own.loadWeights(weights, weightUses([program]), { numerics: 'exact' });
    const kv = own.createKv([], 4, 16);
    const executable = own.compile(program, set, kv);
    const running = executable.launch(good).then(
      () => 'done',
      (error: unknown) => (error instanceof DisposedError ? 'disposed' : error),
    );
    own.dispose();
    own.dispose();
    expect(['done', 'disposed']).toContain(await running);
    await expect(executable.launch(good)).rejects.toThrow(DisposedError);
    expect(() => own.createKv([], 1, 1)).toThrow(DisposedError);
    await expect(own.loadWeights([], new Map(), { numerics: 'exact' })).rejects.toThrow(DisposedError);
    set.dispose();
    kv.dispose();
    executable.dispose();
  });

  it('loads with progress, stops at a signal, and names the weight that is wrong', async () => {
    const uses = weightUses([embeddingProgram()]);
    const seen: string[] = [];
    const set = await backend().loadWeights(weights, uses, {
      numerics: 'exact',
      onProgress: ({ name, loadedBytes, totalBytes }) => seen.push(`${name} ${loadedBytes}/${totalBytes}`),
    });
    expect(seen).toEqual(['table 1280/1408', 'norm 1408/1408']);
    expect(set.bytes).toBeGreaterThanOrEqual(1408);
    set.dispose();
    const controller = new AbortController();
    const load = backend().loadWeights(weights, uses, {
      numerics: 'exact',
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    });
    await expect(load).rejects.toThrow('enough');
    const file = '/nonexistent/model.safetensors';
    const missing = [{ ...weights[1]!, data: [{ file, offset: 0, byteLength: 128 }] }];
    const failed = backend().loadWeights(missing, uses, { numerics: 'exact' });
    await expect(failed).rejects.toThrow(WeightLoadError);
    await expect(failed).rejects.toThrow(/weight "norm": the file \/nonexistent\/model.safetensors cannot be opened/);
    const short = [{ ...weights[1]!, data: [{ bytes: new Uint8Array(100) }] }];
    await expect(backend().loadWeights(short, uses, { numerics: 'exact' })).rejects.toThrow(
      /32 elements take 128 bytes and there are 100/,
    );
    const cut = [{ ...weights[1]!, data: [{ file: import.meta.filename, offset: 0, byteLength: 2 ** 40 }] }];
    await expect(backend().loadWeights(cut, uses, { numerics: 'exact' })).rejects.toThrow(/lie beyond the end/);
    const twice = [weights[1]!, weights[1]!];
    await expect(backend().loadWeights(twice, uses, { numerics: 'exact' })).rejects.toThrow(/given twice/);
  });

  it('refuses options and storage sizes with reasons', () => {
    expect(() => createCpuBackend({ threads: 0 })).toThrow(/threads is 0/);
    expect(() => createCpuBackend({ isa: 'mmx' as 'avx2' })).toThrow(RangeError);
    backend();
    expect(() => createCpuBackend({ isa: backend().isa === 'generic' ? 'avx2' : 'generic' })).toThrow(RangeError);
    expect(() => backend().createKv([{ name: 'k', width: 0, dtype: 'f32' }], 1, 1)).toThrow(/width of "k" is 0/);
    expect(() => backend().createKv([], 2 ** 20, 2 ** 20)).toThrow(/slots are more than/);
    expect(() => backend().createKv([{ name: 'k', width: 2 ** 20, dtype: 'f32' }], 2 ** 26, 16)).toThrow(
      /createKv of \d+ bytes/,
    );
  });
});
