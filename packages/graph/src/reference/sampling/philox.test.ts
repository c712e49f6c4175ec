import { describe, expect, it } from 'vitest';
import { gumbel, philox4x32, xtcDraw } from './philox.js';

describe('philox4x32', () => {
  // Known answers of the authors' Random123 distribution, philox4x32 with 10 rounds.
  it.each([
    [
      [0, 0, 0, 0],
      [0, 0],
      [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    ],
    [
      [-1, -1, -1, -1],
      [-1, -1],
      [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    ],
  ] as const)('known answer %#', (counter, key, words) => {
    expect(philox4x32(counter, key)).toEqual(words);
  });
});

describe('gumbel', () => {
  const at = { seedLow: 0x243f6a88, seedHigh: -5, choice: 1, index: 7 };

  it('takes word id & 3 of counter (id >> 2, choice, index, 0)', () => {
    const words = philox4x32([2, 1, 7, 0], [at.seedLow, at.seedHigh]);
    [8, 9, 10, 11].forEach((id, i) => {
      expect(gumbel(at, id)).toBe(-Math.log(-Math.log((words[i]! + 0.5) / 2 ** 32)));
    });
  });

  it('has the mean and the variance of the standard Gumbel distribution', () => {
    const n = 20000;
    const values = Array.from({ length: n }, (_, id) => gumbel(at, id));
    const mean = values.reduce((a, b) => a + b, 0) / n;
    const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / n;
    expect(Math.abs(mean - 0.5772)).toBeLessThan(0.03);
    expect(Math.abs(variance - Math.PI ** 2 / 6)).toBeLessThan(0.08);
  });

  it('keeps the XTC number apart from the noise', () => {
    expect(xtcDraw(at)).toBe((philox4x32([0, 1, 7, 1], [at.seedLow, at.seedHigh])[0] + 0.5) / 2 ** 32);
  });
});
