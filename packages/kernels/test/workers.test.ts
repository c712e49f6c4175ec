import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { nativeStatus } from '../src/index.js';
import { lowerProgram } from '../src/native/lower.js';
import { describeNative } from './support/native.js';
import { ProgramBuilder } from './support/program-builder.js';

/** What a worker does, on the addon itself: launches x + x again and again and reports each result. */
const code = `
  const { parentPort, workerData } = require('node:worker_threads');
  const addon = require(workerData.path);
  const backend = new addon.NativeBackend(2, '');
  const weights = new addon.NativeWeights(backend, false);
  const kv = new addon.NativeKv(backend, [], new Int32Array(), new Int32Array(), 1, 16);
  const executable = new addon.NativeExecutable(backend, workerData.program, weights, kv);
  const x = new Float32Array(workerData.rows * 64).fill(workerData.value);
  (async () => {
    for (let i = 0; i < workerData.launches; i++) {
      const [[y]] = await executable.launch(Float64Array.of(workerData.rows, 0, 0, 0), [x], undefined, false);
      parentPort.postMessage(y.every((v) => v === 2 * workerData.value) ? 'ok' : 'wrong');
    }
    if (workerData.dispose) backend.dispose();
  })();
`;

describeNative('several worker threads', () => {
  const b = new ProgramBuilder({ T: 4096, S: 1, R: 1, B: 1 });
  const x = b.input('x', 'f32', ['T', 64]);
  const y = b.value('y', ['T', 64]);
  const program = lowerProgram(b.op('add', [x, x], [y]).output('y', y).build(), new Map());
  const status = nativeStatus();
  const start = (workerData: object) =>
    new Worker(code, {
      eval: true,
      workerData: { path: status.available ? status.path : '', program, rows: 64, launches: 20, ...workerData },
    });

  it('load the addon, launch at the same time, and end with and without dispose', async () => {
    const results = await Promise.all(
      [1, 2, 3].map(
        (value) =>
          new Promise<string[]>((resolve, reject) => {
            const seen: string[] = [];
            const worker = start({ value, dispose: value !== 2 });
            worker.on('message', (message: string) => seen.push(message));
            worker.on('error', reject);
            worker.on('exit', (exitCode) => (exitCode === 0 ? resolve(seen) : reject(new Error(`exit ${exitCode}`))));
          }),
      ),
    );
    expect(results).toEqual([1, 2, 3].map(() => Array.from({ length: 20 }, () => 'ok')));
  });

  it('are terminated in the middle of a launch without harm', async () => {
    for (let i = 0; i < 3; i++) {
      const worker = start({ value: 1, rows: 4096, launches: 1e9 });
      await new Promise<void>((resolve, reject) => {
        worker.once('message', () => resolve());
        worker.once('error', reject);
      });
      expect(await worker.terminate()).toBe(1);
    }
  });
});
