import { describe, expect, it } from 'vitest';
import { bitsOf, Fixture } from '../test/read-fixture.js';
import { bf16ArrayToF32, bf16ToF32, f32ArrayToBf16, f32ToBf16 } from './bfloat16.js';
import { f16ArrayToF32, f16ToF32, f32ArrayToF16, f32ToF16 } from './float16.js';
import {
  f32ArrayToFp8E4m3,
  f32ArrayToFp8E5m2,
  f32ToFp8E4m3,
  f32ToFp8E5m2,
  fp8E4m3ArrayToF32,
  fp8E4m3ToF32,
  fp8E5m2ArrayToF32,
  fp8E5m2ToF32,
} from './float8.js';

const fixture = new Fixture('fp8');
const edges = new Float32Array(fixture.bytes('edge_f32_bits').buffer);
const isNaN32 = (bits: number): boolean => (bits & 0x7fffffff) > 0x7f800000;

/** Equal, or both NaN (whose payload differs between libraries). */
function expectSameUnlessNaN(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  const bits = bitsOf(edges);
  for (let i = 0; i < expected.length; i++) if (!isNaN32(bits[i]!)) expect([i, actual[i]]).toEqual([i, expected[i]]);
}

const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i);

describe('fp8', () => {
  it.each([
    ['e4m3fn', fp8E4m3ArrayToF32, fp8E4m3ToF32],
    ['e5m2', fp8E5m2ArrayToF32, fp8E5m2ToF32],
  ] as const)('decodes every %s byte as torch does', (name, decodeAll, decode) => {
    const expected = fixture.u32(`${name}_f32_bits`);
    const values = decodeAll(everyByte);
    for (let i = 0; i < 256; i++) {
      if (isNaN32(expected[i]!)) expect(values[i]).toBeNaN();
      else expect(bitsOf(values)[i]).toBe(expected[i]);
      expect(decode(i)).toBe(values[i]);
    }
  });

  it('encodes edge cases as torch does', () => {
    expect(f32ArrayToFp8E4m3(edges, 'nan')).toEqual(fixture.bytes('edge_to_e4m3fn_overflow_nan_u8'));
    expect(f32ArrayToFp8E4m3(edges)).toEqual(fixture.bytes('edge_to_e4m3fn_saturating_u8'));
    expect(f32ArrayToFp8E5m2(edges)).toEqual(fixture.bytes('edge_to_e5m2_u8'));
    expectSameUnlessNaN(
      Array.from(edges, (v) => f32ToFp8E4m3(v)),
      fixture.bytes('edge_to_e4m3fn_saturating_u8'),
    );
    expectSameUnlessNaN(
      Array.from(edges, (v) => f32ToFp8E5m2(v)),
      fixture.bytes('edge_to_e5m2_u8'),
    );
  });

  it('gives every finite number back', () => {
    for (const [decode, encode] of [
      [fp8E4m3ToF32, f32ToFp8E4m3],
      [fp8E5m2ToF32, f32ToFp8E5m2],
    ] as const)
      for (let i = 0; i < 256; i++) if (Number.isFinite(decode(i))) expect(encode(decode(i))).toBe(i);
  });
});

describe('f16 and bf16', () => {
  it('encode edge cases as torch does', () => {
    expectSameUnlessNaN(f32ArrayToF16(edges), fixture.u32('edge_to_f16_u16'));
    expectSameUnlessNaN(f32ArrayToBf16(edges), fixture.u32('edge_to_bf16_u16'));
    expectSameUnlessNaN(
      Array.from(edges, (v) => f32ToBf16(v)),
      fixture.u32('edge_to_bf16_u16'),
    );
  });

  it('keep NaN a NaN', () => {
    expect(f16ToF32(f32ToF16(NaN))).toBeNaN();
    expect(bf16ToF32(f32ToBf16(NaN))).toBeNaN();
    expect(bf16ToF32(f32ArrayToBf16(new Float32Array(Uint32Array.of(0x7f800001).buffer))[0]!)).toBeNaN();
  });

  it('give all 65,536 numbers back', () => {
    const every = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const f16 = f16ArrayToF32(every);
    const bf16 = bf16ArrayToF32(every);
    for (let i = 0; i < 65536; i++) {
      if (!Number.isNaN(f16[i]!) && f32ToF16(f16[i]!) !== i) expect.fail(`f16 ${i}`);
      if (!Number.isNaN(bf16[i]!) && f32ToBf16(bf16[i]!) !== i) expect.fail(`bf16 ${i}`);
    }
  });
});
