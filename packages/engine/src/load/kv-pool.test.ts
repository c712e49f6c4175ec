import { KvCacheManager } from '@dsi/kv-cache';
import { expect, test } from 'vitest';
import { kvSpecOf, longestSequence, poolBlocks } from './kv-pool.js';
import { usableMemory } from './memory.js';

const GiB = 2 ** 30;
const spec = kvSpecOf({ kvGroups: [{ window: 0, tensors: ['k', 'v'], bytesPerToken: 1024 }] });
const options = { blockSize: 16, maxNumSeqs: 4 };

test('a quarter of the memory, or what the seats can use if that is less', () => {
  expect(poolBlocks(spec, options, 1_000_000, GiB)).toBe(GiB / 4 / (1024 * 16));
  expect(poolBlocks(spec, options, 1000, GiB)).toBe(4 * 63 + 1);
});

test('as asked for, in bytes or usable blocks', () => {
  expect(poolBlocks(spec, { ...options, kvCacheMemory: 1024 * 16 * 10 }, 1000, GiB)).toBe(10);
  expect(poolBlocks(spec, { ...options, numBlocks: 10 }, 1000, GiB)).toBe(11);
  expect(() => poolBlocks(spec, { ...options, kvCacheMemory: 1024 }, 1000, GiB)).toThrow('KV blocks');
});

function manager(window: number): KvCacheManager {
  const windowed = kvSpecOf({ kvGroups: [{ window, tensors: ['k'], bytesPerToken: 8 }] });
  return new KvCacheManager({ spec: windowed, numBlocks: 11, blockSize: 16 });
}

test('the longest sequence of a small pool; windows need less', () => {
  expect(longestSequence(manager(0), 100, 64)).toBe(100);
  expect(longestSequence(manager(0), 1000, 64)).toBe(160);
  expect(longestSequence(manager(32), 1000, 64)).toBe(1000);
});

test('a cgroup limit counts when it is below the machine’s memory', () => {
  expect(usableMemory(8 * GiB, 2 * GiB)).toBe(2 * GiB);
  expect(usableMemory(8 * GiB, 0)).toBe(8 * GiB);
  expect(usableMemory(8 * GiB, 2 ** 63)).toBe(8 * GiB);
});
