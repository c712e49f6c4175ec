import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StopMatcher } from './stop-matcher.js';

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
  const matcher = new StopMatcher(stops, include);
  let text = '';
  for (const piece of pieces) {
    const push = matcher.push(piece);
    text += push.text;
    if (push.matched !== undefined) return { text, matched: push.matched };
  }
  return { text: text + matcher.flush() };
}

test('a stop string over several pieces never shows', () => {
  const matcher = new StopMatcher(['own fox'], false);
  expect(matcher.push('The quick br')).toEqual({ text: 'The quick br' });
  expect(matcher.push('own')).toEqual({ text: '' });
  expect(matcher.push(' fox jumps')).toEqual({ text: '', matched: 'own fox' });
});

test('text that only began like a stop string is given back', () => {
  const matcher = new StopMatcher(['own fox'], false);
  expect(matcher.push('brown').text).toBe('br');
  expect(matcher.push(' dog').text).toBe('own dog');
  expect(matcher.push(' o').text).toBe(' ');
  expect(matcher.flush()).toBe('o');
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
