import { describe, expect, it } from 'vitest';
import { bitsOf, Fixture } from '../../test/read-fixture.js';
import { SizeMismatchError, UnknownFormatError } from '../errors.js';
import { formatByGgmlId, formatByName, ggmlFormats, rowBytes, type GgmlTypeName } from '../formats.js';
import { dequantize } from './dequantize.js';

const fixture = new Fixture('ggml_blocks');
const types = fixture
  .names()
  .filter((name) => name.endsWith('.raw'))
  .map((name) => name.slice(0, -4) as GgmlTypeName);

describe('dequantize', () => {
  it('covers every block type of gguf-py', () => {
    expect(types).toHaveLength(25);
  });

  it.each(types)('%s equals gguf-py bit for bit', (type) => {
    const expected = bitsOf(fixture.f32(`${type}.f32`));
    const actual = dequantize(type, fixture.bytes(`${type}.raw`), expected.length);
    expect(bitsOf(actual)).toEqual(expected);
  });

  it.each(types)('%s decodes from a view that is not aligned, into a longer array', (type) => {
    const raw = fixture.bytes(`${type}.raw`);
    const shifted = new Uint8Array(raw.length + 3);
    shifted.set(raw, 3);
    const expected = fixture.f32(`${type}.f32`);
    const out = new Float32Array(expected.length + 5).fill(7);
    dequantize(type, shifted.subarray(3), expected.length, out);
    expect(bitsOf(out.slice(0, expected.length))).toEqual(bitsOf(expected));
    expect([...out.slice(expected.length)]).toEqual([7, 7, 7, 7, 7]);
  });

  it('reads plain numbers', () => {
    const bytes = new Uint8Array(new Float64Array([1.5, -2]).buffer);
    expect([...dequantize('F64', bytes, 2)]).toEqual([1.5, -2]);
    expect([...dequantize('I16', new Uint8Array(new Int16Array([-3, 300]).buffer), 2)]).toEqual([-3, 300]);
    expect([...dequantize('I64', new Uint8Array(new BigInt64Array([-3n]).buffer), 1)]).toEqual([-3]);
    expect([...dequantize('I8', Uint8Array.of(255), 1)]).toEqual([-1]);
    expect([...dequantize('I32', new Uint8Array(new Int32Array([-70000]).buffer), 1)]).toEqual([-70000]);
  });

  it('keeps NaN payloads of F32', () => {
    const bits = Uint32Array.of(0x7fc12345);
    expect(bitsOf(dequantize('F32', new Uint8Array(bits.buffer), 1))).toEqual(bits);
  });

  it('reads Q8_1 and Q8_K by their scale and codes', () => {
    const q81 = new Uint8Array(36);
    q81.set([0x00, 0x38, 9, 9], 0); // 0.5, and a sum that is not used
    q81.set([2, 254], 4);
    expect(Array.from(dequantize('Q8_1', q81, 32).slice(0, 3))).toEqual([1, -1, 0]);
    const q8k = new Uint8Array(292);
    new DataView(q8k.buffer).setFloat32(0, 0.25, true);
    q8k.set([4, 252], 4);
    expect(Array.from(dequantize('Q8_K', q8k, 256).slice(0, 3))).toEqual([1, -1, 0]);
  });

  it('reads Q1_0 as plus or minus its scale', () => {
    const bytes = new Uint8Array(18);
    bytes.set([0x00, 0x38, 0b101], 0);
    expect(Array.from(dequantize('Q1_0', bytes, 128).slice(0, 4))).toEqual([0.5, -0.5, 0.5, -0.5]);
  });

  it('reads Q2_0 as -1, 0, 1 or 2 times its scale', () => {
    const bytes = new Uint8Array(18);
    bytes.set([0x00, 0x38, 0b11_10_01_00], 0);
    expect(Array.from(dequantize('Q2_0', bytes, 64).slice(0, 5))).toEqual([-0.5, 0, 0.5, 1, -0.5]);
  });

  it('refuses sizes that do not fit', () => {
    expect(() => dequantize('Q4_0', new Uint8Array(17), 32)).toThrow(SizeMismatchError);
    expect(() => dequantize('Q4_0', new Uint8Array(18), 31)).toThrow(/elements is 31, expected a multiple of 32/);
    expect(() => dequantize('Q4_K', new Uint8Array(144), 256, new Float32Array(255))).toThrow(SizeMismatchError);
    expect(() => dequantize('F32', new Uint8Array(8), -1)).toThrow(SizeMismatchError);
    expect(() => dequantize('F32', new Uint8Array(8), NaN)).toThrow(SizeMismatchError);
    expect(() => dequantize('Q9_Z' as GgmlTypeName, new Uint8Array(8), 1)).toThrow(UnknownFormatError);
  });
});

describe('formats', () => {
  it('finds each format by name and by id', () => {
    for (const [name, format] of ggmlFormats) {
      expect(formatByName(name)).toBe(format);
      expect(formatByGgmlId(format.ggmlId)).toBe(format);
    }
  });

  it('names what is supported when it does not know a format', () => {
    expect(() => formatByName('Q4_2')).toThrow(/Unknown weight format "Q4_2". Supported: F32, F16, Q4_0/);
    expect(() => formatByGgmlId(4)).toThrow(UnknownFormatError);
  });

  it('computes row bytes', () => {
    expect(rowBytes('Q4_K', 512)).toBe(288);
    expect(rowBytes(formatByName('Q8_0'), 64)).toBe(68);
    expect(() => rowBytes('Q4_K', 128)).toThrow(SizeMismatchError);
  });
});
