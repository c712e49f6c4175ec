import { describe, expect, it } from 'vitest';
import { tinyDecoder, tinyLaunches, tinyWeights } from '../../test/tiny-decoder.js';
import { launch, newGraph, runGraph, weight } from '../../test/run-graph.js';
import { compile } from '../compile.js';
import type { Graph } from '../graph.js';
import { eliminateSlices } from './eliminate-slices.js';
import { foldConstants } from './fold-constants.js';
import { fuseAddNorm } from './fuse-add-norm.js';
import { defaultPasses } from './index.js';
import { mergeLinears } from './merge-linears.js';
import type { Pass } from './pass.js';
import { removeDead } from './remove-dead.js';

const ops = (graph: Graph, op: string) => graph.nodes.filter((n) => n.op === op).length;
const runTiny = (passes: readonly Pass[]) =>
  runGraph({ graph: tinyDecoder().build(), weights: tinyWeights(), launches: tinyLaunches(), passes });

describe('every pass', () => {
  it.each([...defaultPasses.map((p) => [p.name, [p]] as const), ['all', defaultPasses] as const])(
    '%s keeps every bit and changes something',
    async (_, passes) => {
      expect(await runTiny(passes)).toEqual(await runTiny([]));
      const before = tinyDecoder().build();
      const copy = structuredClone(before);
      expect(passes.reduce((n, p) => n + p.run(before).changes, 0)).toBeGreaterThan(0);
      expect(before).toEqual(copy);
    },
  );
});

describe('foldConstants', () => {
  it('computes chains of constants', () => {
    const { graph, changes } = foldConstants.run(tinyDecoder().build());
    expect(changes).toBe(2);
    const rope = graph.nodes.find((n) => n.op === 'rope')!;
    expect(graph.tensors[rope.inputs[2]!]).toMatchObject({ kind: 'const', shape: [2], data: Float32Array.of(1, 0.5) });
  });

  it('folds through reshapes and leaves results of the graph computed', async () => {
    const g = newGraph();
    const c = g.constant('c', Float32Array.of(1, 2, 3, 4), [2, 2]);
    const twice = g.add(c, c);
    const flat = g.reshape(twice, [4]);
    g.output('four', g.add(flat, g.constant('d', Float32Array.of(1, 1, 1, 1))));
    const { graph, changes } = foldConstants.run(g.build());
    expect(changes).toBe(1);
    expect(graph.tensors[flat.id]).toMatchObject({ kind: 'const', shape: [4] });
    const [out] = await runGraph({ graph: g.build(), launches: [launch({}, {})] });
    expect([...out!.four!]).toEqual([3, 5, 7, 9]);
  });
});

describe('fuseAddNorm', () => {
  it('fuses sums with the first norm that reads them', () => {
    const { graph, changes } = fuseAddNorm.run(tinyDecoder().build());
    expect(changes).toBe(2);
    expect(ops(graph, 'add_rms_norm')).toBe(2);
    expect(ops(graph, 'rms_norm')).toBe(1);
  });

  it('leaves a second norm of the same sum alone', async () => {
    const g = newGraph();
    const x = g.input('x', 'f32', ['T', 2]);
    const sum = g.add(x, x);
    g.output('a', g.rmsNorm(sum, g.weight('w', [2]), 0));
    g.output('b', g.rmsNorm(sum, g.weight('w', [2]), 1));
    const { graph } = fuseAddNorm.run(g.build());
    expect(graph.nodes.map((n) => n.op)).toEqual(['add_rms_norm', 'rms_norm']);
    const run = (passes: readonly Pass[]) =>
      runGraph({
        graph: g.build(),
        weights: [weight('w', [2], [1, 2])],
        launches: [launch({ T: 1 }, { x: [3, -1] })],
        passes,
      });
    expect(await run([fuseAddNorm])).toEqual(await run([]));
  });
});

describe('mergeLinears', () => {
  it('merges Q, K, V and gate, up, keeping biases with their weights', () => {
    const { graph, changes } = mergeLinears.run(tinyDecoder().build());
    expect(changes).toBe(5);
    const merged = graph.nodes.filter((n) => n.op === 'linear');
    expect(merged.map((n) => n.outputs.length)).toEqual([5, 1, 2, 1, 1]);
    expect(merged[0]!.name).toBe('q+k+v+gate+up');
  });

  it('never merges f32 products with others', async () => {
    const g = newGraph();
    const x = g.input('x', 'f32', ['T', 2]);
    g.output('a', g.linear(x, g.weight('a', [1, 2]), g.weight('bias', [1])));
    g.output('r', g.linear(x, g.weight('r', [1, 2]), undefined, { f32: true }));
    g.output('b', g.linear(x, g.weight('b', [2, 2])));
    g.output('c', g.linear(x, g.weight('c', [1, 2]), g.weight('bias', [1])));
    const { graph } = mergeLinears.run(g.build());
    expect(graph.nodes.map((n) => n.outputs.length)).toEqual([3, 1]);
    const [out] = await runGraph({
      graph: g.build(),
      weights: [
        weight('a', [1, 2], [1, 2]),
        weight('bias', [1], [10]),
        weight('r', [1, 2], [3, 4]),
        weight('b', [2, 2], [5, 6, 7, 8]),
        weight('c', [1, 2], [9, 0]),
      ],
      launches: [launch({ T: 1 }, { x: [1, 1] })],
      passes: [mergeLinears],
    });
    expect([out!.a, out!.r, out!.b, out!.c].map((t) => [...t!])).toEqual([[13], [7], [11, 15], [19]]);
  });
});

describe('removeDead', () => {
  it('drops what no output needs and keeps cache writes', () => {
    const { graph, changes } = removeDead.run(tinyDecoder().build());
    expect(changes).toBe(3);
    expect(ops(graph, 'kv_write')).toBe(2);
  });
});

describe('eliminateSlices', () => {
  it('removes whole slices and composes nested ones', () => {
    const { graph } = eliminateSlices.run(tinyDecoder().build());
    const slice = graph.nodes.find((n) => graph.outputs.part === n.outputs[0])!;
    expect(slice.attrs).toEqual({ start: 3, length: 3 });
    expect(graph.nodes.some((n) => n.op === 'slice' && n.attrs.length === 8)).toBe(false);
  });

  it('keeps whole slices of inputs, which an output may name', async () => {
    const g = newGraph();
    g.output('y', g.slice(g.input('x', 'f32', ['T', 2]), 0, 2));
    const [out] = await runGraph({ graph: g.build(), launches: [launch({ T: 1 }, { x: [1, 2] })] });
    expect([...out!.y!]).toEqual([1, 2]);
  });
});

describe('compile', () => {
  it('reports what it did', () => {
    const { report, program } = compile(tinyDecoder().build());
    expect(report).toMatchObject({
      nodesBefore: 29,
      addNormFusions: 2,
      linearsMerged: 3,
      constantsFolded: 2,
      slicesEliminated: 3,
    });
    expect(report.nodesAfter).toBe(program.ops.length);
    expect(report.arenaBytes).toBe(program.arenaBytes);
    expect(report.arenaBytes).toBeLessThan(report.arenaBytesWithoutReuse / 2);
  });

  it('gives plain data that survives JSON and a structured clone', () => {
    const { program } = compile(tinyDecoder().build());
    expect(structuredClone(program)).toEqual(program);
  });
});
