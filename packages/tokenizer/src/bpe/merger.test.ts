import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MergeTable } from './merge-table.js';
import { Merger } from './merger.js';

/** Merges by the definition: again and again the leftmost pair of lowest rank. */
function mergeNaively(table: MergeTable, symbols: readonly number[]): number[] {
  const result = [...symbols];
  for (;;) {
    let best = -1;
    let at = -1;
    for (let i = 0; i + 1 < result.length; i++) {
      const slot = table.find(result[i]!, result[i + 1]!);
      if (slot >= 0 && (best < 0 || table.slots[slot + 2]! < table.slots[best + 2]!)) {
        best = slot;
        at = i;
      }
    }
    if (best < 0) return result;
    result.splice(at, 2, table.slots[best + 3]!);
  }
}

const merges = fc.uniqueArray(fc.tuple(fc.nat(12), fc.nat(12)), { selector: (pair) => pair.join(), maxLength: 60 });

it.each([
  ['short', 2, 48],
  ['long', 49, 300],
])('merges %s lists as the definition says, also with equal ranks', (_name, minLength, maxLength) => {
  fc.assert(
    fc.property(merges, fc.nat(3), fc.array(fc.nat(5), { minLength, maxLength }), (pairs, shared, symbols) => {
      const table = new MergeTable(4);
      pairs.forEach(([left, right], i) => table.add(left, right, i >> shared, 6 + (i % 30)));
      const merger = new Merger(table);
      merger.reserve(symbols.length);
      merger.symbols.set(symbols);
      const count = merger.merge(symbols.length);
      expect([...merger.symbols.subarray(0, count)]).toEqual(mergeNaively(table, symbols));
    }),
    { numRuns: 300 },
  );
});

it('grows and keeps the last rank of a pair', () => {
  const table = new MergeTable(1);
  for (let i = 0; i < 1000; i++) table.add(i, i + 1, i, i + 2);
  table.add(7, 8, 5000, 1);
  expect(table.size).toBe(1000);
  const slot = table.find(7, 8);
  expect([table.slots[slot + 2], table.slots[slot + 3]]).toEqual([5000, 1]);
  expect(table.find(8, 7)).toBe(-1);
});
