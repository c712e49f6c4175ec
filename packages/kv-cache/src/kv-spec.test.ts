import { describe, expect, it } from 'vitest';
import { KvCapacityError, KvConfigError } from './errors.js';
import { blocksForMemory, bytesPerToken, effectiveWindow, uniformSpec, validateSpec } from './kv-spec.js';
import type { AttentionShape } from './kv-spec.js';

const gqa = (layers: number, kvHeads: number, headDim = 128): AttentionShape => ({
  kind: 'gqa',
  layers,
  kvHeads,
  headDim,
  bytesPerElement: 2,
});
const mla = (layers: number): AttentionShape => ({
  kind: 'mla',
  layers,
  kvLoraRank: 512,
  ropeHeadDim: 64,
  bytesPerElement: 2,
});

describe('bytesPerToken', () => {
  it.each([
    ['Llama-3.1-8B', gqa(32, 8), 131_072],
    ['Llama-3-70B', gqa(80, 8), 327_680],
    ['Qwen2.5-7B', gqa(28, 4), 57_344],
    ['Qwen2.5-32B', gqa(64, 8), 262_144],
    ['DeepSeek-V3', mla(61), 70_272],
    ['DeepSeek-V2-Lite', mla(27), 31_104],
  ])('%s', (_, shape, bytes) => {
    expect(bytesPerToken(shape)).toBe(bytes);
    expect(bytesPerToken(uniformSpec(shape))).toBe(bytes);
  });

  it('gives the known totals', () => {
    expect(bytesPerToken(mla(61)) * 131_072).toBe(9_210_691_584);
    expect((bytesPerToken(mla(61)) * 32_768) / 2 ** 20).toBe(2_196);
    // V2-Lite with the cache expanded to its 16 heads of 192 + 128.
    expect(27 * 16 * (192 + 128) * 2).toBe(276_480);
  });

  it('adds up groups', () => {
    const groups = [
      { layers: [0, 2], bytesPerToken: 100, window: 64 },
      { layers: [1], bytesPerToken: 30, window: null },
    ];
    expect(bytesPerToken({ groups })).toBe(230);
  });
});

const group = (layer: number, window: number | null) => ({ layers: [layer], bytesPerToken: 1, window });

describe('effectiveWindow', () => {
  it('is the largest window when every group has one', () => {
    expect(effectiveWindow({ groups: [group(0, 64), group(1, 128)] })).toBe(128);
    expect(effectiveWindow({ groups: [group(0, 64), group(1, null)] })).toBe(null);
  });
});

describe('validateSpec', () => {
  it.each([
    [[]],
    [[{ layers: [], bytesPerToken: 1, window: null }]],
    [[{ layers: [0, 0], bytesPerToken: 1, window: null }]],
    [[{ layers: [-1], bytesPerToken: 1, window: null }]],
    [[{ layers: [0], bytesPerToken: 0, window: null }]],
    [[{ layers: [0], bytesPerToken: 1, window: 0 }]],
  ])('refuses %j', (groups) => {
    expect(() => validateSpec({ groups })).toThrow(KvConfigError);
  });
});

describe('blocksForMemory', () => {
  const spec = uniformSpec(mla(61));
  it('rounds down to whole blocks', () => {
    const block = 70_272 * 16;
    expect(blocksForMemory(spec, 16, 100 * block)).toBe(100);
    expect(blocksForMemory(spec, 16, 100 * block - 1)).toBe(99);
  });
  it.each([0, -5, Number.NaN, 70_272 * 16])('refuses %d bytes', (bytes) => {
    expect(() => blocksForMemory(spec, 16, bytes)).toThrow(KvCapacityError);
  });
});
