import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fixture } from '../../test/read-fixture.js';
import { SizeMismatchError, UnrepresentableWeightError, UnsupportedFormatError } from '../errors.js';
import { formatByName, rowBytes, type GgmlTypeName } from '../formats.js';
import { dequantize } from './dequantize.js';
import { quantizableFormats, quantize } from './quantize.js';

const fixture = new Fixture('ggml_quantize');

/** Normal values from a fixed sequence (Box-Muller over a small linear congruential generator). */
function normal(count: number, seed = 1): Float32Array {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Float32Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  );
}

/** Root mean square of the error, relative to that of the values; with weights by column if given. */
function relativeError(
  format: GgmlTypeName,
  values: Float32Array,
  rowLength: number,
  importance?: Float32Array,
  weights?: Float32Array,
): number {
  const bytes = quantize(format, values, rowLength, importance && { importance });
  const back = dequantize(format, bytes, values.length);
  let error = 0;
  let norm = 0;
  for (let i = 0; i < values.length; i++) {
    const w = weights?.[i % rowLength] ?? 1;
    error += w * (back[i]! - values[i]!) ** 2;
    norm += w * values[i]! ** 2;
  }
  return Math.sqrt(error / norm);
}

// Largest relative error on normal values: what llama.cpp's quantisers reach on the same values, rounded up.
const errorBounds: readonly [GgmlTypeName, number][] = [
  ['F32', 0],
  ['F16', 0.0003],
  ['BF16', 0.0024],
  ['Q8_0', 0.0058],
  ['Q6_K', 0.0195],
  ['Q5_K', 0.0375],
  ['Q5_1', 0.0435],
  ['Q5_0', 0.0505],
  ['Q4_K', 0.076],
  ['IQ4_XS', 0.079],
  ['IQ4_NL', 0.078],
  ['Q4_1', 0.09],
  ['Q4_0', 0.102],
  ['MXFP4', 0.13],
  ['Q3_K', 0.16],
  ['Q2_K', 0.31],
  ['TQ2_0', 0.81],
  ['TQ1_0', 0.81],
];

const searched: readonly GgmlTypeName[] = [
  'Q4_0',
  'Q4_1',
  'Q5_0',
  'Q5_1',
  'Q2_K',
  'Q3_K',
  'Q4_K',
  'Q5_K',
  'Q6_K',
  'IQ4_NL',
  'IQ4_XS',
];

describe('quantize', () => {
  it.each(['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'BF16', 'TQ1_0', 'TQ2_0', 'MXFP4'] as const)(
    '%s equals gguf-py byte for byte',
    (format) => {
      expect(quantize(format, fixture.f32('input'), 512)).toEqual(fixture.bytes(format));
    },
  );

  it('has an error bound for every format it produces', () => {
    expect(new Set(errorBounds.map(([format]) => format))).toEqual(new Set(quantizableFormats));
  });

  it.each(errorBounds)('%s keeps normal values within a relative error of %f', (format, bound) => {
    expect(relativeError(format, normal(16384), 512)).toBeLessThanOrEqual(bound);
  });

  it.each(searched)('%s spends its precision where importance says', (format) => {
    const values = normal(8192, 5);
    const importance = Float32Array.from({ length: 256 }, (_, i) => (i % 7 === 0 ? 40 : 0.1));
    const plain = relativeError(format, values, 256, undefined, importance);
    const guided = relativeError(format, values, 256, importance, importance);
    expect(guided).toBeLessThan(plain);
  });

  it.each(quantizableFormats)('%s keeps zeros, and rows do not depend on each other', (format) => {
    const values = normal(768, 3);
    values.fill(0, 256, 512);
    const whole = quantize(format, values, 256);
    const size = rowBytes(format, 256);
    for (let r = 0; r < 3; r++)
      expect(whole.slice(r * size, (r + 1) * size)).toEqual(
        quantize(format, values.slice(r * 256, r * 256 + 256), 256),
      );
    const zeros = dequantize(format, whole.slice(size, 2 * size), 256);
    expect(zeros.every((v) => v === 0)).toBe(true);
  });

  it.each(quantizableFormats)('%s stays finite and bounded on any values', (format) => {
    const { blockSize } = formatByName(format);
    const rowLength = Math.max(blockSize, 32);
    const value = fc.oneof(
      fc.float({ min: -1000, max: 1000, noNaN: true }),
      fc.constantFrom(0, -0, 1e-30, -1e-30, 0.5, -0.5, 60000),
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: rowLength, maxLength: rowLength }), (array) => {
        const values = Float32Array.from(array);
        const largest = values.reduce((a, v) => Math.max(a, Math.abs(v)), 0);
        const back = dequantize(format, quantize(format, values, rowLength), rowLength);
        // A scale search may overshoot the largest value by up to one step.
        expect(back.every((v) => Math.abs(v) <= largest * 1.7 + 1e-6)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('does not modify its input', () => {
    const values = normal(256);
    const copy = values.slice();
    quantize('Q4_K', values, 256);
    const f32 = quantize('F32', values, 256);
    f32[0]! ^= 255;
    expect(values).toEqual(copy);
  });

  it('refuses what it cannot do', () => {
    const values = normal(256);
    expect(() => quantize('Q4_K', values, 128)).toThrow(SizeMismatchError);
    expect(() => quantize('Q4_0', values, 96)).toThrow(SizeMismatchError);
    expect(() => quantize('Q4_0', values, 33)).toThrow(/row length is 33, expected a multiple of 32/);
    expect(() => quantize('Q4_0', values, 0)).toThrow(SizeMismatchError);
    expect(() => quantize('IQ2_XXS', values, 256)).toThrow(UnsupportedFormatError);
    expect(() => quantize('Q4_K', values, 256, { importance: new Float32Array(255) })).toThrow(SizeMismatchError);
    expect(() => quantize('Q4_K', values, 256, { importance: new Float32Array(256).fill(-1) })).toThrow(
      SizeMismatchError,
    );
    values[7] = NaN;
    expect(() => quantize('Q4_K', values, 256)).toThrow(UnrepresentableWeightError);
    values[7] = 1e9;
    expect(() => quantize('Q8_0', values, 256)).toThrow(UnrepresentableWeightError);
    expect(() => quantize('F16', values, 256)).toThrow(/F16 cannot hold the value 1000000000 at index 7/);
  });
});
