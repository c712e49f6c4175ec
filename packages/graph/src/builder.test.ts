import { describe, expect, it } from 'vitest';
import { GraphBuilder } from './builder.js';
import { GraphError } from './errors.js';

function builder(): GraphBuilder {
  return new GraphBuilder('test', { numerics: 'exact', maxDims: { T: 8, S: 2, R: 2, B: 4 }, blockSize: 4 });
}

function caught(body: () => unknown): GraphError {
  try {
    body();
  } catch (e) {
    expect(e).toBeInstanceOf(GraphError);
    return e as GraphError;
  }
  throw new Error('nothing was thrown');
}

describe('GraphBuilder', () => {
  it('builds a layer and infers its shapes', () => {
    const g = builder();
    const x = g.embedding(g.input('tokens', 'i32', ['T']), g.weight('embed', [100, 32]));
    const q = g.reshape(g.linear(x, g.weight('q_proj.weight', [64, 32])), ['T', 4, 16]);
    const freq = g.constant('inv_freq', new Float32Array(8));
    const k = g.kv('k', 32);
    const v = g.kv('v', 32);
    g.kvWrite(k, g.linear(x, g.weight('k_proj.weight', [32, 32])));
    g.kvWrite(v, g.linear(x, g.weight('v_proj.weight', [32, 32]), g.weight('v_proj.bias', [32])));
    const o = g.attention(g.rope(q, g.step.positions, freq, { style: 'half' }), k, v, { scale: 0.25, kvHeads: 2 });
    expect(o.shape).toEqual(['T', 4, 16]);
    const rows = g.gatherRows(g.linear(g.reshape(o, ['T', 64]), g.weight('o_proj.weight', [32, 64])), g.step.rows);
    const s = g.sample(g.linear(rows, g.weight('embed', [100, 32])), { topLogprobs: 5 });
    expect(s.topIds.shape).toEqual(['R', 5]);
    g.output('tokens', s.tokens);
    const graph = g.build();
    expect(graph.nodes.map((n) => n.op)).toEqual([
      'embedding',
      'linear',
      'linear',
      'kv_write',
      'linear',
      'kv_write',
      'rope',
      'attention',
      'linear',
      'gather_rows',
      'linear',
      'sample',
    ]);
    expect(new Set(graph.tensors.map((t) => t.name)).size).toBe(graph.tensors.length);
  });

  it('names node, operand and both shapes of a misfit', () => {
    const g = builder();
    const x = g.embedding(g.input('tokens', 'i32', ['T']), g.weight('embed', [100, 32]));
    const e = g.scope('layers.0', () => caught(() => g.rmsNorm(x, g.weight('norm', [31]), 1e-6)));
    expect(e).toMatchObject({ node: 'layers.0.rms_norm', op: 'rms_norm', operand: 'weight', expected: '[32]' });
    expect(e.message).toBe('layers.0.rms_norm (rms_norm): weight must be [32], but is [31] ("norm").');
  });

  it.each<[string, (g: GraphBuilder) => unknown, string]>([
    ['inner size', (g) => g.linear(act(g), g.weight('w', [8, 31])), 'weight'],
    ['bias length', (g) => g.linear(act(g), g.weight('w', [8, 32]), g.weight('b', [9])), 'bias'],
    ['weight rank', (g) => g.linear(act(g), g.weight('w', [32])), 'weight'],
    ['f32 where i32 belongs', (g) => g.embedding(act(g), g.weight('w', [8, 32])), 'tokens'],
    ['weight where f32 belongs', (g) => g.add(act(g), g.weight('w', [8, 32]) as never), 'b'],
    ['unequal sum', (g) => g.add(act(g), g.slice(act(g), 0, 16)), 'b'],
    ['slice past the end', (g) => g.slice(act(g), 20, 13), 'length'],
    ['fractional slice', (g) => g.slice(act(g), 0.5, 1), 'start'],
    ['cache width', (g) => g.kvWrite(g.kv('c', 31), act(g)), 'cache'],
    ['heads not divisible', (g) => attend(g, 3), 'kvHeads'],
    ['cache of other width', (g) => attend(g, 4), 'k_cache'],
    ['rope past the head', (g) => rope(g, 9), 'offset'],
    ['too many experts', (g) => route(g, { topK: 33 }), 'topK'],
    ['more experts than the groups hold', (g) => route(g, { topK: 9, nGroup: 8, topkGroup: 2 }), 'topK'],
    ['groups not divisible', (g) => route(g, { topK: 2, nGroup: 5 }), 'nGroup'],
    ['no logprobs column', (g) => g.sample(g.gatherRows(act(g), g.step.rows), { topLogprobs: 0 }), 'topLogprobs'],
    ['logits a token', (g) => g.sample(act(g), { topLogprobs: 1 }), 'logits'],
    ['reshape of other size', (g) => g.reshape(act(g), ['T', 31]), 'shape'],
    ['reshape onto another symbol', (g) => g.reshape(act(g), ['S', 32]), 'shape'],
    ['negative eps', (g) => g.rmsNorm(act(g), g.weight('n', [32]), -1), 'eps'],
  ])('refuses: %s', (_, body, operand) => {
    expect(caught(() => body(builder())).operand).toBe(operand);
  });

  it('refuses tensors of another graph, second declarations that differ, and empty graphs', () => {
    const g = builder();
    const other = act(builder());
    expect(caught(() => g.add(act(g), other)).message).toContain('another graph');
    g.weight('w', [4, 4]);
    expect(g.weight('w', [4, 4])).toBe(g.weight('w', [4, 4]));
    expect(caught(() => g.weight('w', [4, 5])).message).toContain('declared twice');
    expect(caught(() => g.constant('c', new Float32Array(4), [5])).expected).toBe('4 elements');
    expect(caught(() => g.input('i', 'f32', [0])).message).toContain('positive whole number');
    expect(caught(() => g.build()).message).toContain('no output');
  });

  it('refuses options out of range', () => {
    const options = { numerics: 'exact', maxDims: { T: 8, S: 2, R: 2, B: 4 }, blockSize: 4 } as const;
    expect(caught(() => new GraphBuilder('g', { ...options, blockSize: 0 })).operand).toBe('blockSize');
    expect(caught(() => new GraphBuilder('g', { ...options, kvDtype: 'bf16' })).operand).toBe('kvDtype');
    expect(caught(() => new GraphBuilder('g', { ...options, maxDims: { T: 8, S: 2, R: 2, B: 1.5 } })).operand).toBe(
      'maxDims.B',
    );
  });
});

function act(g: GraphBuilder) {
  return g.embedding(g.input('tokens', 'i32', ['T']), g.weight('embed', [100, 32]));
}

function attend(g: GraphBuilder, kvHeads: number) {
  const q = g.reshape(act(g), ['T', 4, 8]);
  return g.attention(q, g.kv('k', 16), g.kv('v', 16), { scale: 1, kvHeads });
}

function rope(g: GraphBuilder, offset: number) {
  const freq = g.constant('f', new Float32Array(4));
  return g.rope(g.reshape(act(g), ['T', 2, 16]), g.step.positions, freq, { style: 'half', offset });
}

function route(g: GraphBuilder, attrs: { topK: number; nGroup?: number; topkGroup?: number }) {
  return g.moeRoute(act(g), undefined, { scoring: 'softmax', normalize: true, ...attrs });
}
