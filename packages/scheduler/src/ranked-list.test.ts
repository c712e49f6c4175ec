import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RankedList } from './ranked-list.js';

describe('RankedList', () => {
  it('agrees with a sorted array', () => {
    const operation = fc.record({
      kind: fc.constantFrom('insert', 'shift', 'pop', 'remove', 'filter', 'resort'),
      value: fc.nat(300),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 250, size: 'max' }), (operations) => {
        let sign = 1;
        const compare = (a: number, b: number): number => sign * (a - b);
        const list = new RankedList<number>(compare);
        let model: number[] = [];
        for (const { kind, value } of operations) {
          if (kind === 'insert') {
            if (!model.includes(value)) {
              list.insert(value);
              model = [...model, value].toSorted(compare);
            }
          } else if (kind === 'shift') expect(list.shift()).toBe(model.shift());
          else if (kind === 'pop') expect(list.pop()).toBe(model.pop());
          else if (kind === 'remove') {
            expect(list.remove(value)).toBe(model.includes(value));
            model = model.filter((entry) => entry !== value);
          } else if (kind === 'filter' && value < 30) {
            list.filter((entry) => entry % 3 !== 0);
            model = model.filter((entry) => entry % 3 !== 0);
          } else if (kind === 'resort' && value < 30) {
            sign = -sign;
            list.resort();
            model = model.toSorted(compare);
          }
          expect([list.size, list.first(), list.last(), list.at(1)]).toEqual([
            model.length,
            model[0],
            model.at(-1),
            model[1],
          ]);
        }
        expect(list.items).toEqual(model);
      }),
      { numRuns: 100 },
    );
  });

  it('stays small while it is a queue', () => {
    const list = new RankedList<number>((a, b) => a - b);
    for (let i = 0; i < 10_000; i++) {
      list.insert(i);
      if (i >= 5) expect(list.shift()).toBe(i - 5);
    }
    expect(list.items).toEqual([9995, 9996, 9997, 9998, 9999]);
  });
});
