import type { Transfer } from '@dsi/kv-cache';
import type { RowResult, StepRunner, StepSlice } from '../src/core/model-runner.js';

export interface FakeRunnerOptions {
  readonly numBlocks: number;
  readonly blockSize: number;
  readonly vocabSize: number;
  /** Called before each step; may throw, wait, or mark positions as not finite. */
  readonly onStep?: (slices: readonly StepSlice[]) => void | Promise<void>;
  /** The row of this token and position comes out as NaN. */
  readonly isBad?: (token: number, position: number) => boolean;
}

/**
 * A model whose KV cache holds the tokens themselves: every row reads its whole sequence back through the block table and
 * fails when a slot holds anything else. So it proves that blocks, copies and prefix hits are right. The next token is a
 * hash of the sequence, the seed, the choice and the index.
 */
export class FakeRunner implements StepRunner {
  readonly slots: Int32Array;
  steps = 0;
  computedTokens = 0;
  readonly batchSizes: number[] = [];

  constructor(private readonly options: FakeRunnerOptions) {
    this.slots = new Int32Array(options.numBlocks * options.blockSize).fill(-1);
  }

  async run(slices: readonly StepSlice[], transfers: readonly Transfer[]): Promise<RowResult[][]> {
    const { blockSize, onStep } = this.options;
    this.steps++;
    this.batchSizes.push(slices.length);
    await onStep?.(slices);
    for (const { src, dst } of transfers)
      this.slots.copyWithin(dst * blockSize, src * blockSize, (src + 1) * blockSize);
    for (const slice of slices) {
      this.computedTokens += slice.count;
      for (let p = slice.start; p < slice.start + slice.count; p++) {
        this.slots[this.#slot(slice, p)] = slice.tokens[p]!;
      }
    }
    return slices.map((slice) => slice.rows.map((row) => this.#row(slice, row)));
  }

  #slot(slice: StepSlice, position: number): number {
    const block = slice.blockTable[Math.floor(position / this.options.blockSize)]!;
    return block * this.options.blockSize + (position % this.options.blockSize);
  }

  #row(slice: StepSlice, { position, draw }: StepSlice['rows'][number]): RowResult {
    let hash = 0x811c9dc5;
    let finite = true;
    const mix = (value: number) => {
      hash = Math.imul(hash ^ value, 0x01000193) >>> 0;
      hash = (hash ^ (hash >>> 15)) >>> 0;
    };
    for (let p = 0; p <= position; p++) {
      const token = this.slots[this.#slot(slice, p)]!;
      if (token !== slice.tokens[p]) throw new Error(`slot of position ${p} holds ${token}, not ${slice.tokens[p]}`);
      if (this.options.isBad?.(token, p)) finite = false;
      mix(token + 1);
    }
    let token = 0;
    if (draw.kind === 'score') {
      token = Math.max(0, draw.target);
    } else {
      if (draw.sampling.temperature > 0) for (const v of [draw.seedLow, draw.seedHigh, draw.choice, draw.index]) mix(v);
      token = hash % this.options.vocabSize;
      const banned = new Set(draw.biasIds.filter((_, i) => draw.biasValues[i] === -Infinity));
      while (banned.has(token)) token = (token + 1) % this.options.vocabSize;
    }
    return {
      finite,
      token,
      logprob: -(hash % 1000) / 100,
      topIds: Int32Array.from({ length: 20 }, (_, i) => i),
      topLogprobs: Float32Array.from({ length: 20 }, (_, i) => -i),
    };
  }
}
