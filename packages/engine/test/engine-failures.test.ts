import fc from 'fast-check';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { workerLink } from '../src/client/core-link.js';
import { EngineClient } from '../src/client/engine-client.js';
import { EngineClosedError, EngineCrashedError } from '../src/errors/lifecycle-errors.js';
import { DuplicateRequestError } from '../src/errors/request-errors.js';
import { collect, openHarness, promptOf, request } from './core-harness.js';

const endless = { maxTokens: 60, ignoreEos: true };

test('an abort acts within a step; the stream ends with `abort`', async () => {
  const { client, kv, runner } = await openHarness();
  const stream = client.add(request(promptOf(20), endless));
  await stream.next();
  client.abort(stream.requestId);
  const steps = runner.steps;
  const rest = await collect(stream);
  expect(rest.reasons).toEqual(['abort']);
  expect(runner.steps - steps).toBeLessThanOrEqual(2);
  expect(kv.stats().usedBlocks).toBe(0);
  await client.checkIntegrity();
  await client.close();
});

test('an aborted signal rejects with its reason, before, while waiting and while running', async () => {
  const { client, kv } = await openHarness({ maxNumSeqs: 1 });
  const reason = new Error('user left');
  const before = client.add(request(promptOf(5), {}, { signal: AbortSignal.abort(reason) }));
  await expect(collect(before)).rejects.toBe(reason);
  const running = new AbortController();
  const waiting = new AbortController();
  const first = client.add(request(promptOf(5), endless, { signal: running.signal }));
  const second = client.add(request(promptOf(5), endless, { signal: waiting.signal }));
  await first.next();
  waiting.abort(reason);
  running.abort(reason);
  await expect(collect(first)).rejects.toBe(reason);
  await expect(collect(second)).rejects.toBe(reason);
  await client.checkIntegrity();
  expect(kv.stats().usedBlocks).toBe(0);
  expect(client.numPending).toBe(0);
  await client.close();
});

test('leaving a for await early aborts', async () => {
  const { client, kv } = await openHarness();
  for await (const delta of client.add(request(promptOf(20), endless))) {
    expect(delta.tokenIds).toHaveLength(1);
    break;
  }
  await client.checkIntegrity();
  expect(kv.stats().usedBlocks).toBe(0);
  await client.close();
});

test('an id in use is refused', async () => {
  const { client } = await openHarness();
  const stream = client.add(request(promptOf(5), endless, { requestId: 'a' }));
  expect(() => client.add(request(promptOf(5), {}, { requestId: 'a' }))).toThrow(DuplicateRequestError);
  await stream.return();
  await client.close();
});

test('closing mid-flight ends every request, and later calls are refused', async () => {
  const { client, kv } = await openHarness();
  const running = [1, 2, 3].map((salt) => collect(client.add(request(promptOf(20, salt), endless))));
  const integrity = client.checkIntegrity();
  await Promise.all([client.close(), client.close()]);
  await integrity;
  for (const result of await Promise.allSettled(running)) {
    if (result.status === 'fulfilled') expect(result.value.reasons).toEqual(['abort']);
    else expect(result.reason).toBeInstanceOf(EngineClosedError);
  }
  expect(kv.stats().usedBlocks).toBe(0);
  expect(() => client.add(request(promptOf(5)))).toThrow(EngineClosedError);
  await expect(client.checkIntegrity()).rejects.toThrow(EngineClosedError);
});

test('random requests, cancels and failures: blocks balance, survivors are right', async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(1_000_000)), async (numbers) => {
      const random = (n: number) => numbers.next().value! % n;
      let step = 0;
      const { client, kv } = await openHarness({
        numBlocks: 40,
        maxNumSeqs: 6,
        maxNumBatchedTokens: 24,
        isBad: (token) => token === 188,
        onStep: () => {
          if (++step % 41 === 0) throw new Error('injected');
        },
      });
      const running = Array.from({ length: 100 }, async (_, i) => {
        const controller = new AbortController();
        const { signal } = controller;
        const params = { maxTokens: 1 + random(20), n: 1 + (random(5) === 0 ? random(4) : 0), seed: i };
        const stream = client.add(request(promptOf(1 + random(50), random(6)), params, { signal }));
        const cancelAfter = random(3) === 0 ? random(8) : Infinity;
        let seen = 0;
        for await (const delta of stream) {
          expect(delta.completionTokens).toBeLessThanOrEqual(params.maxTokens);
          if (seen++ >= cancelAfter) {
            if (random(2) === 0) controller.abort();
            else break;
          }
        }
      });
      for (const result of await Promise.allSettled(running)) {
        if (result.status === 'rejected') {
          expect((result.reason as Error).name).toMatch(/^(AbortError|StepFailedError|NumericalError)$/);
        }
      }
      await client.checkIntegrity();
      expect(kv.stats().usedBlocks).toBe(0);
      expect(client.numPending).toBe(0);
      await client.close();
    }),
    { numRuns: 5 },
  );
});

/** A worker that loads at once, answers nothing, and ends as told. */
function dummyWorker(body: string): Worker {
  const code = `const { parentPort } = require('node:worker_threads');
    parentPort.postMessage({ type: 'ready', info: {} });
    parentPort.on('message', (message) => { ${body} });`;
  return new Worker(code, { eval: true });
}

test('a crash of the worker rejects everything that is pending, typed', async () => {
  const client = await EngineClient.connect(
    workerLink(dummyWorker(`if (message.type === 'abort') throw new Error('bug');`)),
  );
  const streams = [1, 2].map(() => client.add(request(promptOf(5))));
  const query = client.checkIntegrity();
  client.abort(streams[0]!.requestId);
  for (const stream of streams) await expect(collect(stream)).rejects.toThrow(EngineCrashedError);
  await expect(query).rejects.toThrow('bug');
  expect(() => client.add(request(promptOf(5)))).toThrow(EngineCrashedError);
  await client.close();
});

test('a killed worker is a crash too', async () => {
  const worker = dummyWorker('');
  const client = await EngineClient.connect(workerLink(worker));
  const stream = client.add(request(promptOf(5)));
  await worker.terminate();
  await expect(collect(stream)).rejects.toThrow(EngineCrashedError);
});

test('a worker that dies while loading, and a load that is aborted', async () => {
  const dying = new Worker('process.exit(3)', { eval: true });
  await expect(EngineClient.connect(workerLink(dying))).rejects.toThrow('exit code 3');
  const hanging = new Worker('setInterval(() => {}, 1000)', { eval: true });
  const exited = once(hanging, 'exit');
  const controller = new AbortController();
  const connecting = EngineClient.connect(workerLink(hanging, 50), { signal: controller.signal });
  controller.abort(new Error('never mind'));
  await expect(connecting).rejects.toThrow('never mind');
  await exited;
});
