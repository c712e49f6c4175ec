import { expect, test, vi } from 'vitest';
import { DeltaQueue } from './delta-queue.js';

test('delivers in order, then ends', async () => {
  const queue = new DeltaQueue<number>(() => {});
  queue.push(1);
  const later = (async () => {
    const seen: number[] = [];
    for await (const item of queue) seen.push(item);
    return seen;
  })();
  await Promise.resolve();
  queue.push(2);
  queue.push(3);
  queue.end();
  queue.push(4);
  expect(await later).toEqual([1, 2, 3]);
});

test('an error comes after the items before it, once', async () => {
  const queue = new DeltaQueue<number>(() => {});
  queue.push(1);
  queue.fail(new Error('boom'));
  expect(await queue.next()).toEqual({ value: 1, done: false });
  await expect(queue.next()).rejects.toThrow('boom');
  expect((await queue.next()).done).toBe(true);
});

test('leaving a loop early abandons once; leaving an ended queue does not', async () => {
  const abandon = vi.fn<() => void>();
  const queue = new DeltaQueue<number>(abandon);
  queue.push(1);
  for await (const item of queue) {
    expect(item).toBe(1);
    break;
  }
  await queue.return();
  expect(abandon).toHaveBeenCalledTimes(1);
  const ended = new DeltaQueue<number>(abandon);
  ended.end();
  await ended.return();
  expect(abandon).toHaveBeenCalledTimes(1);
});
