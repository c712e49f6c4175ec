import { expect, test } from 'vitest';
import { TokenizerFormatError } from './errors.js';
import { atOnce, inSlices, type Slices } from './slices.js';
import { Tokenizer } from './tokenizer.js';

function* count(to: number): Slices<number> {
  let sum = 0;
  for (let i = 1; i <= to; i++) {
    sum += i;
    yield;
  }
  return sum;
}

test('work gives the same at once and in slices', async () => {
  let pauses = 0;
  const pause = async () => void pauses++;
  expect(atOnce(count(10))).toBe(55);
  expect(await inSlices(count(10), pause, 0)).toBe(55);
  expect(pauses).toBe(10);
  expect(await inSlices(count(10), pause, Infinity)).toBe(55);
  expect(pauses).toBe(10);
});

/** The printable stand-in of every byte, as byte-level BPE files write them (GPT-2). */
function byteLetters(): string[] {
  let next = 256;
  const printable = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++));
}

/** Byte-level BPE over all bytes with a merge for every pair of the first 26 letters. */
function description(order: readonly ('vocab' | 'merges')[]): string {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  const merges = letters.flatMap((a) => letters.map((b) => `${a} ${b}`));
  const vocab = Object.fromEntries(
    [...byteLetters(), ...merges.map((m) => m.replace(' ', ''))].map((t, id) => [t, id]),
  );
  const parts = { vocab, merges };
  return JSON.stringify({
    model: { type: 'BPE', ...Object.fromEntries(order.map((name) => [name, parts[name]])) },
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    decoder: { type: 'ByteLevel' },
  });
}

test.each([[['vocab', 'merges'] as const], [['merges', 'vocab'] as const]])(
  'a tokenizer read in slices is the same (%s)',
  async (order) => {
    const json = description(order);
    const whole = Tokenizer.fromJson(json);
    let pauses = 0;
    const sliced = await Tokenizer.fromJsonInSlices(json, undefined, async () => void pauses++, 0);
    expect(pauses).toBeGreaterThan(5);
    const text = 'the quick brown fox, 1234 äöü';
    expect([...sliced.encode(text)]).toEqual([...whole.encode(text)]);
    expect([...sliced.encode(text)]).toEqual([...Tokenizer.fromJson(JSON.parse(json) as object).encode(text)]);
    expect(sliced.decode(sliced.encode(text))).toBe(text);
  },
);

test('an error ends the reading with its own type', async () => {
  const broken = description(['vocab', 'merges']).replace('"a b"', '"a"');
  const pause = async () => {};
  await expect(Tokenizer.fromJsonInSlices(broken, undefined, pause)).rejects.toThrow(TokenizerFormatError);
  await expect(Tokenizer.fromJsonInSlices('{', undefined, pause)).rejects.toThrow(TokenizerFormatError);
});
