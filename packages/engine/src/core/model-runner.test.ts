import type { Executable, HostArray, LaunchArgs, Program } from '@dsi/kernels';
import { expect, test } from 'vitest';
import { ModelRunner, type StepSlice } from './model-runner.js';

/** Records launches; the token of a row is the position of the token it was taken from. */
function recorder(maxRows: number) {
  const launches: LaunchArgs[] = [];
  const executable: Executable = {
    program: { maxDims: { T: 100, S: 10, R: maxRows, B: 10 } } as unknown as Program,
    launch(args): Promise<Record<string, HostArray>> {
      launches.push(args);
      const { rows, positions } = args.inputs as Record<string, Int32Array>;
      const R = args.dims.R;
      return Promise.resolve({
        tokens: Int32Array.from(rows!, (row) => positions![row]!),
        status: new Int32Array(R),
        logprobs: new Float32Array(R),
        top_ids: new Int32Array(2 * R),
        top_logprobs: new Float32Array(2 * R),
      });
    },
    dispose() {},
  };
  return { launches, runner: new ModelRunner(executable, 4) };
}

const score = (position: number) => ({ position, draw: { kind: 'score', target: 1, logprobs: 0 } }) as const;

function slice(start: number, count: number, rows: readonly number[], blocks: readonly number[]): StepSlice {
  return {
    tokens: Int32Array.from({ length: start + count }, (_, p) => 100 + p),
    start,
    count,
    blockTable: Int32Array.from(blocks),
    numBlocks: blocks.length,
    rows: rows.map(score),
  };
}

test('flattens a step into one launch', async () => {
  const { launches, runner } = recorder(16);
  const slices = [slice(5, 1, [5], [7, 3]), slice(0, 3, [2], [9])];
  const results = await runner.run(slices, [{ kind: 'copy', src: 2, dst: 3 }]);
  expect(results.map((rows) => rows.map((row) => row.token))).toEqual([[5], [2]]);
  expect(launches).toHaveLength(1);
  const { dims, inputs, blockCopies } = launches[0]!;
  expect(dims).toEqual({ T: 4, S: 2, R: 2, B: 2 });
  expect(inputs).toMatchObject({
    tokens: Int32Array.of(105, 100, 101, 102),
    positions: Int32Array.of(5, 0, 1, 2),
    slots: Int32Array.of(3 * 4 + 1, 36, 37, 38),
    seq_starts: Int32Array.of(0, 1, 4),
    block_tables: Int32Array.of(7, 3, 9, 0),
    rows: Int32Array.of(0, 3),
  });
  expect(blockCopies).toEqual(Int32Array.of(2, 3));
});

test('too many rows take several launches, each token once, in order', async () => {
  const { launches, runner } = recorder(3);
  const slices = [slice(0, 2, [0, 1], [1]), slice(2, 7, [3, 4, 5, 8], [2, 3, 4])];
  const results = await runner.run(slices, [{ kind: 'copy', src: 2, dst: 3 }]);
  expect(results.map((rows) => rows.map((row) => row.token))).toEqual([
    [0, 1],
    [3, 4, 5, 8],
  ]);
  expect(launches.map((launch) => Array.from(launch.inputs['positions']!))).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7, 8],
  ]);
  expect(launches.map((launch) => launch.blockCopies !== undefined)).toEqual([true, false]);
});

test('draws of one position stay together; more of them than rows are refused', async () => {
  const { launches, runner } = recorder(3);
  await runner.run([slice(0, 2, [1, 1], [1]), slice(0, 2, [1, 1], [2])], []);
  expect(launches.map((launch) => launch.dims.R)).toEqual([2, 2]);
  await expect(runner.run([slice(0, 2, [1, 1, 1, 1], [1])], [])).rejects.toThrow(RangeError);
});
