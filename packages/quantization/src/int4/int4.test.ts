import { describe, expect, it } from 'vitest';
import { bitsOf, Fixture } from '../../test/read-fixture.js';
import { SizeMismatchError, UnsupportedFormatError } from '../errors.js';
import { f16ArrayToF32 } from '../float16.js';
import { unpackAwq, type AwqTensors } from './awq.js';
import { unpackGptq, type GptqTensors } from './gptq.js';
import { dequantizeInt4Group } from './int4-group.js';

const fixture = new Fixture('int4');
const shape = [8, 1024] as const;

function gptq(name: string): GptqTensors {
  return {
    qweight: fixture.i32(`${name}.qweight`),
    qzeros: fixture.i32(`${name}.qzeros`),
    scales: f16ArrayToF32(fixture.u16(`${name}.scales`)),
    gIdx: fixture.i32(`${name}.g_idx`),
    bits: 4,
    groupSize: 128,
    checkpointFormat: name.endsWith('v2') ? 'gptq_v2' : 'gptq',
    shape,
  };
}

const awq: AwqTensors = {
  qweight: fixture.i32('awq.qweight'),
  qzeros: fixture.i32('awq.qzeros'),
  scales: f16ArrayToF32(fixture.u16('awq.scales')),
  bits: 4,
  groupSize: 128,
  shape,
};

describe('unpackGptq', () => {
  it.each(['asym_desc_act', 'asym_no_act_v2', 'sym_no_act'])('%s dequantises bit for bit', (name) => {
    const weight = unpackGptq(gptq(name));
    expect(weight.perm !== undefined).toBe(name === 'asym_desc_act');
    expect(bitsOf(dequantizeInt4Group(weight))).toEqual(bitsOf(fixture.f32(`${name}.dequant`)));
  });

  it('sorts the columns by group under activation order', () => {
    const tensors = gptq('asym_desc_act');
    const { perm } = unpackGptq(tensors);
    expect(perm!.toSorted((a, b) => a - b)).toEqual(Int32Array.from({ length: 1024 }, (_, i) => i));
    for (let j = 0; j < 1024; j++) expect(tensors.gIdx![perm![j]!]).toBe(Math.floor(j / 128));
  });

  it('works without g_idx, and with one group for the whole row', () => {
    const { gIdx: _unused, ...tensors } = gptq('sym_no_act');
    expect(bitsOf(dequantizeInt4Group(unpackGptq(tensors)))).toEqual(bitsOf(fixture.f32('sym_no_act.dequant')));
    const one = unpackGptq({
      ...tensors,
      groupSize: -1,
      qzeros: tensors.qzeros.slice(0, 1),
      scales: tensors.scales.slice(0, 8),
    });
    expect(one.groupSize).toBe(1024);
  });

  it('refuses tensors that do not fit', () => {
    const tensors = gptq('asym_desc_act');
    expect(() => unpackGptq({ ...tensors, bits: 3 })).toThrow(UnsupportedFormatError);
    expect(() => unpackGptq({ ...tensors, groupSize: 100 })).toThrow(SizeMismatchError);
    expect(() => unpackGptq({ ...tensors, shape: [8, 1023] })).toThrow(SizeMismatchError);
    expect(() => unpackGptq({ ...tensors, qweight: tensors.qweight.slice(1) })).toThrow(
      /qweight is 1023, expected 1024/,
    );
    expect(() => unpackGptq({ ...tensors, qzeros: tensors.qzeros.slice(1) })).toThrow(SizeMismatchError);
    expect(() => unpackGptq({ ...tensors, scales: tensors.scales.slice(1) })).toThrow(SizeMismatchError);
    expect(() => unpackGptq({ ...tensors, gIdx: tensors.gIdx!.slice(1) })).toThrow(SizeMismatchError);
    const outside = tensors.gIdx!.slice();
    outside[5] = 8;
    expect(() => unpackGptq({ ...tensors, gIdx: outside })).toThrow(/g_idx\[5\] is 8/);
    const uneven = tensors.gIdx!.slice();
    uneven[uneven.indexOf(1)] = 0;
    expect(() => unpackGptq({ ...tensors, gIdx: uneven })).toThrow(/features of group 0 in g_idx is 129/);
  });
});

describe('unpackAwq', () => {
  it('dequantises bit for bit', () => {
    expect(bitsOf(dequantizeInt4Group(unpackAwq(awq)))).toEqual(bitsOf(fixture.f32('awq.dequant')));
  });

  it('takes 8 as zero when there are no zero points', () => {
    const { qzeros: _unused, ...symmetric } = awq;
    expect(unpackAwq(symmetric).zeros.every((z) => z === 8)).toBe(true);
  });

  it('refuses tensors that do not fit', () => {
    expect(() => unpackAwq({ ...awq, bits: 8 })).toThrow(UnsupportedFormatError);
    expect(() => unpackAwq({ ...awq, shape: [12, 1024] })).toThrow(/rows is 12, expected a positive multiple of 8/);
    expect(() => unpackAwq({ ...awq, qzeros: awq.qzeros!.slice(1) })).toThrow(SizeMismatchError);
  });
});

describe('dequantizeInt4Group', () => {
  it('refuses arrays that do not fit', () => {
    const weight = unpackAwq(awq);
    expect(() => dequantizeInt4Group({ ...weight, groupSize: 3 })).toThrow(SizeMismatchError);
    expect(() => dequantizeInt4Group({ ...weight, codes: weight.codes.slice(1) })).toThrow(SizeMismatchError);
    expect(() => dequantizeInt4Group({ ...weight, scales: weight.scales.slice(1) })).toThrow(SizeMismatchError);
    expect(() => dequantizeInt4Group({ ...weight, zeros: weight.zeros.slice(1) })).toThrow(SizeMismatchError);
    expect(() => dequantizeInt4Group({ ...weight, perm: new Int32Array(3) })).toThrow(SizeMismatchError);
  });
});
