import { describe, expect, it } from 'vitest';
import { blockTagOf, namespaceOf, validateKey } from './cache-key.js';
import { KvConfigError } from './errors.js';

describe('namespaceOf', () => {
  it('tells every combination of fields apart', () => {
    const keys = [
      undefined,
      { adapter: 'x' },
      { salt: 'x' },
      { adapter: 'x', salt: 'x' },
      { adapter: '' },
      { salt: '' },
    ];
    const tricky = [{ adapter: 'a","b' }, { adapter: 'a', salt: 'b' }, { adapter: 'null' }];
    const names = [...keys, ...tricky].map(namespaceOf);
    expect(new Set(names).size).toBe(names.length);
    expect(namespaceOf({})).toBe(namespaceOf(undefined));
  });
});

describe('blockTagOf', () => {
  const images = [
    { start: 3, length: 6, hash: 'A' },
    { start: 9, length: 1, hash: 'B' },
  ];
  it('names the spans that touch the block', () => {
    expect([0, 1, 2, 3].map((block) => blockTagOf({ images }, block, 4))).toEqual([
      '[[3,6,"A"]]',
      '[[-1,6,"A"]]',
      '[[-5,6,"A"],[1,1,"B"]]',
      '',
    ]);
  });
  it('is empty without images', () => {
    expect(blockTagOf({ adapter: 'x' }, 0, 4)).toBe('');
  });
});

const spanAt = (start: number) => ({ start, length: 4, hash: 'h' });

describe('validateKey', () => {
  it.each([
    [{ start: -1, length: 2, hash: '' }],
    [{ start: 0, length: 0, hash: '' }],
    [{ start: 1.5, length: 1, hash: '' }],
  ])('refuses the span %j', (span) => {
    expect(() => validateKey({ images: [span] })).toThrow(KvConfigError);
  });
  it('refuses overlapping and descending spans', () => {
    expect(() => validateKey({ images: [spanAt(0), spanAt(3)] })).toThrow(/where the span before it ends/);
    expect(() => validateKey({ images: [spanAt(8), spanAt(0)] })).toThrow(KvConfigError);
    expect(() => validateKey({ images: [spanAt(0), spanAt(4)] })).not.toThrow();
  });
});
