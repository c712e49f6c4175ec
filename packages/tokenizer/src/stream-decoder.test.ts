import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deepseekTokenizer, smallTokenizers } from '../test/fixtures.js';
import { TokenizerError } from './errors.js';
import { StreamDecoder } from './stream-decoder.js';
import { Tokenizer } from './tokenizer.js';

const tokenizer = deepseekTokenizer();
const NO_BOS = { addSpecialTokens: false } as const;

function run(ids: Iterable<number>, options: ConstructorParameters<typeof StreamDecoder>[1], source = tokenizer) {
  const decoder = new StreamDecoder(source, options);
  const parts: string[] = [];
  for (const id of ids) parts.push(decoder.push(id));
  parts.push(decoder.finish());
  return { parts, text: parts.join(''), stop: decoder.stop };
}

/** Ids that spell `text` byte by byte. */
function byteIds(text: string): number[] {
  return [...new TextEncoder().encode(text)].map((byte) => {
    for (let id = 3; id < 300; id++) {
      const bytes = tokenizer.tokenBytes(id);
      if (bytes.length === 1 && bytes[0] === byte) return id;
    }
    throw new Error(`no token for byte ${byte}`);
  });
}

describe('StreamDecoder', () => {
  it('never emits half a code point', () => {
    const { parts } = run(byteIds('é😀中'), {});
    expect(parts).toEqual(['', 'é', '', '', '', '😀', '', '', '中', '']);
  });

  it('gives U+FFFD for invalid bytes, as decoding at once does', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(tokenizer.vocabSize - 1), { maxLength: 30 }), (ids) => {
        expect(run(ids, { skipSpecialTokens: false }).text).toBe(tokenizer.decode(ids));
        expect(run(ids, {}).text).toBe(tokenizer.decode(ids, { skipSpecialTokens: true }));
      }),
    );
  });

  it('holds back what may begin a stop string', () => {
    const { parts, text, stop } = run(byteIds('The quick brown fox jumps'), { stop: ['own fox'] });
    expect(text).toBe('The quick br');
    expect(stop).toBe('own fox');
    expect(parts.slice(0, 12).join('')).toBe('The quick br');
  });

  it('includes the stop string on request', () => {
    expect(run(byteIds('a END b'), { stop: ['END'], includeStop: true }).text).toBe('a END');
  });

  it('gives back what was held when no stop string came', () => {
    expect(run(byteIds('The quick brown fo'), { stop: ['own fox'] }).text).toBe('The quick brown fo');
  });

  it('takes the stop string that is completed first, and the longest that ends there', () => {
    expect(run(byteIds('abcdef'), { stop: ['bcdef', 'cd'] })).toMatchObject({ text: 'ab', stop: 'cd' });
    expect(run(byteIds('xabc'), { stop: ['bc', 'abc'] })).toMatchObject({ text: 'x', stop: 'abc' });
    expect(run(byteIds('aab'), { stop: ['ab'] })).toMatchObject({ text: 'a', stop: 'ab' });
  });

  it('does not depend on how the text is cut into tokens', () => {
    const texts = ['the stop string', 'ab\n\nUser: x', 'émoji 😀 stop', '中文stop文字'];
    const stops = [['stop'], ['\n\nUser:', '\n\n\n'], ['😀 s'], ['op文'], ['nothing']];
    for (const text of texts) {
      for (const stop of stops) {
        const whole = run(tokenizer.encode(text, NO_BOS), { stop });
        const bytes = run(byteIds(text), { stop });
        expect({ text: bytes.text, stop: bytes.stop }).toEqual({ text: whole.text, stop: whole.stop });
        const at = Math.min(...stop.map((s) => text.indexOf(s)).filter((i) => i >= 0), text.length);
        expect(whole.text).toBe(text.slice(0, at));
      }
    }
  });

  it('agrees with a search in the whole text', () => {
    const word = fc.array(fc.constantFrom('a', 'b', '😀'), { minLength: 1, maxLength: 4 }).map((c) => c.join(''));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), fc.array(word, { minLength: 1, maxLength: 3 }), (words, stop) => {
        const text = words.join('');
        const ends = stop.map((s) => ({ s, end: text.indexOf(s) < 0 ? Infinity : text.indexOf(s) + s.length }));
        const first = Math.min(...ends.map((e) => e.end));
        const { text: got } = run(byteIds(text), { stop });
        if (first === Infinity) {
          expect(got).toBe(text);
        } else {
          const longest = Math.max(...ends.filter((e) => e.end === first).map((e) => e.s.length));
          expect(got).toBe(text.slice(0, first - longest));
        }
      }),
    );
  });

  it('refuses an empty stop string', () => {
    expect(() => new StreamDecoder(tokenizer, { stop: [''] })).toThrow(TokenizerError);
  });

  it('decodes byte-fallback vocabularies as the reference does at once', () => {
    const llama = Tokenizer.fromJson(smallTokenizers().find((entry) => entry.name === 'llama2')!.tokenizer);
    const ids = fc.array(fc.oneof(fc.integer({ min: 3, max: 258 }), fc.nat(llama.vocabSize - 1)), { maxLength: 30 });
    fc.assert(
      fc.property(ids, (sequence) => {
        expect(run(sequence, { skipSpecialTokens: false }, llama).text).toBe(llama.decode(sequence));
      }),
    );
  });
});
