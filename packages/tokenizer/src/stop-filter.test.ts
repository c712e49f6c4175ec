import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StopFilter } from './stop-filter.js';

/** Straight from the definition: the first position at which any stop string is complete; of those the longest. */
function oracle(text: string, stops: readonly string[], include: boolean): { text: string; matched?: string } {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops.filter((s) => text.slice(0, end).endsWith(s)).toSorted((a, b) => b.length - a.length);
    const matched = ending[0];
    if (matched !== undefined) return { text: text.slice(0, include ? end : end - matched.length), matched };
  }
  return { text };
}

function stream(pieces: readonly string[], stops: readonly string[], include: boolean) {
  const filter = new StopFilter({ stop: stops, includeStop: include });
  const text = pieces.map((piece) => filter.push(piece)).join('') + filter.flush();
  return filter.matched === undefined ? { text } : { text, matched: filter.matched };
}

test('a stop string over several pieces never shows', () => {
  const filter = new StopFilter({ stop: ['own fox'] });
  expect(filter.push('The quick br')).toBe('The quick br');
  expect(filter.push('own')).toBe('');
  expect(filter.push(' fox jumps')).toBe('');
  expect(filter.matched).toBe('own fox');
  expect(filter.push('over')).toBe('');
});

test('text that only began like a stop string is given back', () => {
  const filter = new StopFilter({ stop: ['own fox'] });
  expect(filter.push('brown')).toBe('br');
  expect(filter.push(' dog')).toBe('own dog');
  expect(filter.push(' o')).toBe(' ');
  expect(filter.flush()).toBe('o');
});

test('exempt text takes no part in a match', () => {
  const filter = new StopFilter({ stop: ['own fox'] });
  expect(filter.pass('own fox, brown')).toBe('own fox, brown');
  expect(filter.push(' fox br')).toBe(' fox br');
  expect(filter.push('own')).toBe('');
  expect(filter.pass(' ')).toBe('own ');
  expect(filter.push('fox own fox.')).toBe('fox ');
  expect(filter.matched).toBe('own fox');
});

test('without stop strings everything is final at once', () => {
  const filter = new StopFilter({});
  expect(filter.push('text') + filter.flush()).toBe('text');
  expect(filter.matched).toBeUndefined();
});

test('an empty stop string is refused', () => {
  expect(() => new StopFilter({ stop: ['a', ''] })).toThrow('stop[1] is empty');
});

test('any split gives what the definition says', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 });
  const stop = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 8 }),
      fc.array(stop, { maxLength: 5 }),
      fc.boolean(),
      (pieces, stops, include) => {
        expect(stream(pieces, stops, include)).toEqual(oracle(pieces.join(''), stops, include));
      },
    ),
  );
});
