import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tinyDecoder } from '../test/tiny-decoder.js';
import { newGraph } from '../test/run-graph.js';
import { compile } from './compile.js';
import { lifetimes, planArena, type Lifetime } from './plan-arena.js';

const lifetime = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 50 }))
  .map(([first, span, size]) => ({ first, last: first + span, bytes: size * 64 }));

const overlap = (a: Lifetime, b: Lifetime) => a.first <= b.last && b.first <= a.last;

describe('planArena', () => {
  it('never lets two tensors that live at the same time share bytes, and needs no more than all of them', () => {
    fc.assert(
      fc.property(fc.array(lifetime, { maxLength: 40 }), (list) => {
        const tensors: Lifetime[] = list.map((t, id) => ({ ...t, id }));
        const plan = planArena(tensors);
        for (const a of tensors) {
          const at = plan.offsets.get(a.id)!;
          expect(at % 64).toBe(0);
          expect(at + a.bytes).toBeLessThanOrEqual(plan.bytes);
          for (const b of tensors) {
            if (b.id <= a.id || !overlap(a, b)) continue;
            const other = plan.offsets.get(b.id)!;
            expect(at + a.bytes <= other || other + b.bytes <= at).toBe(true);
          }
        }
        const busiest = Math.max(
          0,
          ...tensors.map((t) =>
            tensors.filter((o) => overlap(o, { ...t, last: t.first })).reduce((n, o) => n + o.bytes, 0),
          ),
        );
        expect(plan.bytes).toBeGreaterThanOrEqual(busiest);
        expect(plan.bytes).toBeLessThanOrEqual(plan.bytesWithoutReuse);
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('takes the tightest gap', () => {
    const plan = planArena([
      { id: 0, bytes: 640, first: 0, last: 9 },
      { id: 1, bytes: 320, first: 0, last: 3 },
      { id: 2, bytes: 256, first: 0, last: 9 },
      { id: 3, bytes: 192, first: 0, last: 3 },
      { id: 4, bytes: 128, first: 0, last: 9 },
      { id: 5, bytes: 64, first: 5, last: 9 },
    ]);
    expect(plan.offsets.get(5)).toBe(plan.offsets.get(3));
  });

  it('reuses a chain of sums in two buffers', () => {
    const g = newGraph();
    const x = g.input('x', 'f32', ['T', 16]);
    let y = g.add(x, x);
    for (let i = 0; i < 9; i++) y = g.add(y, y);
    g.output('y', y);
    const { report } = compile(g.build());
    expect(report.arenaBytes).toBe(2 * 32 * 16 * 4);
    expect(report.arenaBytesWithoutReuse).toBe(10 * 32 * 16 * 4);
  });
});

describe('lifetimes', () => {
  it('counts uses through aliases, and keeps results of the graph to the end', () => {
    const graph = tinyDecoder().build();
    const all = lifetimes(graph);
    const of = (name: string) => all.find((t) => graph.tensors[t.id]!.name === name)!;
    const rope = graph.nodes.findIndex((n) => n.op === 'rope' && n.name === 'rope_2');
    expect(of('q').last).toBe(rope);
    expect(all.find((t) => t.id === graph.outputs.logits)!.last).toBe(graph.nodes.length);
    expect(of('q').bytes % 64).toBe(0);
  });
});
