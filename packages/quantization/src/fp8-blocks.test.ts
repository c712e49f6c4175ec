import { describe, expect, it } from 'vitest';
import { bitsOf, Fixture } from '../test/read-fixture.js';
import { SizeMismatchError } from './errors.js';
import { dequantizeFp8, quantizeFp8 } from './fp8-blocks.js';
import { fp8E4m3ToF32 } from './float8.js';

const fixture = new Fixture('fp8');
const block = { rows: 136, cols: 144, format: 'F8_E4M3', blockRows: 128, blockCols: 128 } as const;

describe('dequantizeFp8', () => {
  it('equals torch bit for bit on ragged 128 x 128 blocks', () => {
    const values = dequantizeFp8(fixture.bytes('block.weight'), { ...block, scales: fixture.f32('block.scale') });
    expect(bitsOf(values)).toEqual(bitsOf(fixture.f32('block.dequant')));
  });

  it('applies one scale for a tensor, or one for each row', () => {
    const bytes = Uint8Array.of(0x38, 0x40, 0xb8, 0x30); // 1, 2, -1, 0.5
    const shape = { rows: 2, cols: 2, format: 'F8_E4M3' } as const;
    const whole = dequantizeFp8(bytes, { ...shape, blockRows: 2, blockCols: 2, scales: Float32Array.of(3) });
    expect([...whole]).toEqual([3, 6, -3, 1.5]);
    const rows = dequantizeFp8(bytes, { ...shape, blockRows: 1, blockCols: 2, scales: Float32Array.of(3, 10) });
    expect([...rows]).toEqual([3, 6, -10, 5]);
  });

  it('refuses sizes that do not fit', () => {
    const scales = fixture.f32('block.scale');
    const bytes = fixture.bytes('block.weight');
    expect(() => dequantizeFp8(bytes.subarray(1), { ...block, scales })).toThrow(SizeMismatchError);
    expect(() => dequantizeFp8(bytes, { ...block, scales: scales.subarray(1) })).toThrow(/scales is 3, expected 4/);
    expect(() => dequantizeFp8(bytes, { ...block, scales, blockRows: 0 })).toThrow(SizeMismatchError);
    expect(() => dequantizeFp8(bytes, { ...block, scales }, new Float32Array(3))).toThrow(SizeMismatchError);
  });
});

describe('quantizeFp8', () => {
  it('gives stored weights back: bytes and scales of a dequantised matrix', () => {
    const { bytes, scales } = quantizeFp8(fixture.f32('block.dequant'), block);
    const stored = fixture.f32('block.scale');
    // Where a block holds the largest FP8 number its scale is found again exactly.
    const weight = fixture.bytes('block.weight');
    const full = [0, 1, 2, 3].filter((t) => {
      let max = 0;
      for (let r = 0; r < 136; r++)
        for (let c = 0; c < 144; c++)
          if ((r >> 7) * 2 + (c >> 7) === t) max = Math.max(max, Math.abs(fp8E4m3ToF32(weight[r * 144 + c]!)));
      return max === 448;
    });
    expect(full).toContain(0);
    for (const t of full) expect(scales[t]).toBeCloseTo(stored[t]!, 10);
    expect(bytes.slice(0, 128)).toEqual(weight.slice(0, 128));
  });

  it('keeps every value within half a step, and zero tiles', () => {
    for (const [format, step] of [
      ['F8_E4M3', 2 ** -4],
      ['F8_E5M2', 2 ** -3],
    ] as const) {
      const shape = { rows: 3, cols: 130, format, blockRows: 2, blockCols: 128 };
      const values = Float32Array.from({ length: 390 }, (_, i) => (i < 260 ? Math.sin(i * 1.7) * 5 : 0));
      const { bytes, scales } = quantizeFp8(values, shape);
      expect(scales).toHaveLength(4);
      const back = dequantizeFp8(bytes, { ...shape, scales });
      for (let i = 0; i < 390; i++)
        expect(Math.abs(back[i]! - values[i]!)).toBeLessThanOrEqual(Math.abs(values[i]!) * step + 1e-4);
    }
  });

  it('refuses a matrix of another size', () => {
    expect(() => quantizeFp8(new Float32Array(5), block)).toThrow(SizeMismatchError);
  });
});
