import type { Executable } from '@dsi/kernels';
import type { TokenBudget } from '../core/token-budget.js';
import { packSampleInputs } from '../sampling/sample-inputs.js';

const sizes = [1, 1, 16, 64, 256];
/** A run this long says enough. */
const enoughMs = 80;

/**
 * Runs a few steps that write no KV, so that the first requests find the weights paged in and the token budget starts from a
 * measured rate.
 */
export async function warmUp(
  executable: Executable,
  blockSize: number,
  budget: TokenBudget,
  clock: () => number,
): Promise<void> {
  const { T: maxTokens, B: maxBlocks } = executable.program.maxDims;
  for (const [i, size] of sizes.entries()) {
    const T = Math.min(size, maxTokens, maxBlocks * blockSize);
    const begin = clock();
    await executable.launch(warmUpStep(T, blockSize));
    const ms = clock() - begin;
    // The first run also pays for paging and for code that is not yet compiled.
    if (i > 0) budget.observe(T, ms);
    if (ms > enoughMs && i > 0) return;
  }
}

function warmUpStep(T: number, blockSize: number) {
  const B = Math.ceil(T / blockSize);
  return {
    dims: { T, S: 1, R: 1, B },
    inputs: {
      tokens: new Int32Array(T),
      positions: Int32Array.from({ length: T }, (_, p) => p),
      slots: new Int32Array(T).fill(-1),
      seq_starts: Int32Array.of(0, T),
      block_tables: new Int32Array(B),
      rows: Int32Array.of(T - 1),
      ...packSampleInputs([{ position: T - 1, draw: { kind: 'score', target: -1, logprobs: 0 } }]),
    },
  };
}
