import { SampleStatus, type Executable, type HostArray } from '@dsi/kernels';
import type { Transfer } from '@dsi/kv-cache';
import { packSampleInputs, type SampleRow } from '../sampling/sample-inputs.js';

/** A run of consecutive tokens of one sequence, to be computed in one step. */
export interface StepSlice {
  /** tokens[p] is the token at position p. Read during the call only. */
  readonly tokens: Int32Array;
  /** First position. */
  readonly start: number;
  readonly count: number;
  readonly blockTable: Int32Array;
  readonly numBlocks: number;
  /** Rows of logits wanted, in ascending position; several draws may share a position. */
  readonly rows: readonly SampleRow[];
}

/** What the sample op gave for one row. */
export interface RowResult {
  readonly finite: boolean;
  readonly token: number;
  readonly logprob: number;
  readonly topIds: Int32Array;
  readonly topLogprobs: Float32Array;
  /** Raw logits [V], when the program has that output and the step asked for it. */
  readonly logits?: Float32Array;
}

/** Runs the slices of a step. Results: for each slice its rows, in order. */
export interface StepRunner {
  run(slices: readonly StepSlice[], transfers: readonly Transfer[]): Promise<RowResult[][]>;
}

/**
 * Prepares flat inputs and launches a program: forward pass and sampling in one native call. Where a step wants more rows
 * of logits than the program has room for (prompt log-probabilities), it takes several launches, one after the other.
 */
export class ModelRunner implements StepRunner {
  constructor(
    private readonly executable: Executable,
    private readonly blockSize: number,
  ) {}

  async run(slices: readonly StepSlice[], transfers: readonly Transfer[]): Promise<RowResult[][]> {
    const results: RowResult[][] = slices.map(() => []);
    let first = true;
    for (const launch of splitByRows(slices, this.executable.program.maxDims.R)) {
      const outputs = await this.#launch(launch, first ? transfers : []);
      first = false;
      let r = 0;
      for (const part of launch) for (const _ of part.rows) results[part.slice]!.push(rowResult(outputs, r++));
    }
    return results;
  }

  #launch(parts: readonly LaunchPart[], transfers: readonly Transfer[]): Promise<Readonly<Record<string, HostArray>>> {
    const { blockSize } = this;
    const S = parts.length;
    let T = 0;
    let B = 1;
    for (const { start, count } of parts) {
      T += count;
      B = Math.max(B, Math.ceil((start + count) / blockSize));
    }
    const tokens = new Int32Array(T);
    const positions = new Int32Array(T);
    const slots = new Int32Array(T);
    const seqStarts = new Int32Array(S + 1);
    const blockTables = new Int32Array(S * B);
    const rows: number[] = [];
    const draws: SampleRow[] = [];
    let t = 0;
    parts.forEach(({ source, start, count, rows: wanted }, s) => {
      const { blockTable } = source;
      const numBlocks = Math.min(source.numBlocks, B);
      for (let b = 0; b < numBlocks; b++) blockTables[s * B + b] = blockTable[b]!;
      for (const row of wanted) {
        rows.push(t + row.position - start);
        draws.push(row);
      }
      for (let p = start; p < start + count; p++, t++) {
        tokens[t] = source.tokens[p]!;
        positions[t] = p;
        slots[t] = blockTable[Math.floor(p / blockSize)]! * blockSize + (p % blockSize);
      }
      seqStarts[s + 1] = t;
    });
    const sampling = packSampleInputs(draws);
    return this.executable.launch({
      dims: { T, S, R: rows.length, B },
      inputs: {
        tokens,
        positions,
        slots,
        seq_starts: seqStarts,
        block_tables: blockTables,
        rows: Int32Array.from(rows),
        ...sampling,
      },
      ...(transfers.length === 0 ? {} : { blockCopies: Int32Array.from(transfers.flatMap((c) => [c.src, c.dst])) }),
    });
  }
}

/** A slice or a piece of one. */
interface LaunchPart extends Omit<StepSlice, 'tokens' | 'blockTable' | 'numBlocks'> {
  readonly source: StepSlice;
  /** Index of the slice in the step. */
  readonly slice: number;
}

/** Cuts a step so that no launch has more than `maxRows` rows and none has no row. Token order within a sequence is kept. */
function splitByRows(slices: readonly StepSlice[], maxRows: number): LaunchPart[][] {
  let total = 0;
  for (const { rows } of slices) total += rows.length;
  if (total <= maxRows && total > 0) {
    return [
      slices.map((source, slice) => ({ source, slice, start: source.start, count: source.count, rows: source.rows })),
    ];
  }
  const launches: LaunchPart[][] = [];
  let current: LaunchPart[] = [];
  let used = 0;
  slices.forEach((slice, index) => {
    let start = slice.start;
    let rest = slice.rows;
    const end = slice.start + slice.count;
    while (start < end) {
      if (used >= maxRows) {
        launches.push(current);
        current = [];
        used = 0;
      }
      const rows = takeRows(rest, maxRows - used, used === 0);
      rest = rest.slice(rows.length);
      if (rows.length === 0 && rest.length > 0) {
        launches.push(current);
        current = [];
        used = 0;
        continue;
      }
      const stop = rest.length === 0 ? end : rows.at(-1)!.position + 1;
      current.push({ source: slice, slice: index, start, count: stop - start, rows });
      used += rows.length;
      start = stop;
    }
  });
  if (current.length > 0) launches.push(current);
  return launches;
}

/** As many rows from the front as fit, never parting the draws of one position. */
function takeRows(rows: readonly SampleRow[], room: number, whole: boolean): readonly SampleRow[] {
  if (rows.length <= room) return rows;
  let n = room;
  while (n > 0 && rows[n]!.position === rows[n - 1]!.position) n--;
  if (n === 0 && whole)
    throw new RangeError(`${rows.length} draws at one position exceed the program's ${room} logit rows`);
  return rows.slice(0, n);
}

function rowResult(outputs: Readonly<Record<string, HostArray>>, r: number): RowResult {
  const tokens = outputs['tokens'] as Int32Array;
  const status = outputs['status'] as Int32Array;
  const logprobs = outputs['logprobs'] as Float32Array;
  const topIds = outputs['top_ids'] as Int32Array;
  const topLogprobs = outputs['top_logprobs'] as Float32Array;
  const logits = outputs['logits'] as Float32Array | undefined;
  const L = topIds.length / tokens.length;
  const V = (logits?.length ?? 0) / tokens.length;
  return {
    finite: status[r] === SampleStatus.ok,
    token: tokens[r]!,
    logprob: logprobs[r]!,
    topIds: topIds.subarray(r * L, (r + 1) * L),
    topLogprobs: topLogprobs.subarray(r * L, (r + 1) * L),
    ...(logits === undefined ? {} : { logits: logits.subarray(r * V, (r + 1) * V) }),
  };
}
