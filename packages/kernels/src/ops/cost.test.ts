import { expect, it } from 'vitest';
import { ProgramBuilder } from '../../test/support/program-builder.js';
import { attentionProgram } from '../../test/support/attention.js';
import { opCost } from './cost.js';

const dims = { T: 4, S: 2, R: 2, B: 8 };

it('counts a product by its multiply-adds and its resident weights', () => {
  const b = new ProgramBuilder();
  const x = b.input('x', 'f32', ['T', 64]);
  const [w, bias] = [b.weight('w', [100, 64]), b.weight('bias', [100])];
  const program = b.op('linear', [x, w, bias], [b.value('y', ['T', 100])]).build();
  const step = {
    dims,
    visiblePairs: 0,
    cachedRows: 0,
    weightBytes: (name: string) => (name === 'w' ? 3400 : undefined),
  };
  expect(opCost(program, 0, step)).toEqual({ flops: 2 * 4 * 6400, bytes: 4 * 64 * 4 + 3400 + 400 + 4 * 100 * 4 });
});

it('counts attention by what is visible and cached', () => {
  const shape = { heads: 6, kvHeads: 2, headDim: 32, valueDim: 16, window: 0, blockSize: 16, dtype: 'bf16' as const };
  const step = { dims, visiblePairs: 1000, cachedRows: 400 };
  const { bytes, flops } = opCost(attentionProgram(shape), 2, step);
  expect(flops).toBe(2 * 6 * 48 * 1000);
  const operands = 4 * 6 * (32 + 16) * 4 + 4 * (4 + 3 + 16);
  expect(bytes).toBe(operands + 400 * 2 * (32 + 16) * 2);
  expect(opCost(attentionProgram(shape), 0, step).bytes).toBe(4 * 4 + 4 * 64 * 4 + 4 * 64 * 2);
});

it('counts only the experts and rows that are touched', () => {
  const b = new ProgramBuilder();
  const x = b.input('x', 'f32', ['T', 8]);
  const [ids, w] = [b.input('ids', 'i32', ['T', 2]), b.input('w', 'f32', ['T', 2])];
  const [gate, up, down] = [b.weight('g', [4, 16, 8]), b.weight('u', [4, 16, 8]), b.weight('d', [4, 8, 16])];
  b.op('moe_mlp', [x, ids, w, gate, up, down], [b.value('y', ['T', 8])]);
  const [tokens, table] = [b.input('tokens', 'i32', ['T']), b.weight('table', [100, 8])];
  b.op('embedding', [tokens, table], [b.value('e', ['T', 8])]);
  const program = b.build();
  const step = { dims: { ...dims, T: 1 }, visiblePairs: 0, cachedRows: 0 };
  const cost = opCost(program, 0, step);
  expect(cost.flops).toBe(2 * 2 * 3 * 128);
  expect(cost.bytes).toBe(2 * 8 * 4 + 2 * 8 + (3 * 4 * 128 * 4) / 2);
  expect(opCost(program, 1, step).bytes).toBe(4 + 32 + 32);
  expect(() => opCost(program, 9, step)).toThrow(RangeError);
});
