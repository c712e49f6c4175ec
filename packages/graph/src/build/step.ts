import type { GraphInput } from '../graph.js';
import type { TensorTable } from './tensor-table.js';

/**
 * The inputs that say which tokens a step holds and where their KV lives. Each is declared in the graph when first read,
 * under the name given here, so a program asks only for what it uses.
 */
export class StepInputs {
  readonly #table: TensorTable;

  /** @internal */
  constructor(table: TensorTable) {
    this.#table = table;
  }

  /** `positions` i32 [T]: absolute position of every token, from 0. */
  get positions(): GraphInput {
    return this.#table.input('positions', 'i32', ['T']);
  }

  /** `seq_starts` i32 [S+1]: rows of sequence s are seq_starts[s] .. seq_starts[s+1]-1, in ascending position. */
  get seqStarts(): GraphInput {
    return this.#table.input('seq_starts', 'i32', ['S+1']);
  }

  /** `block_tables` i32 [S, B]: block numbers of every sequence. */
  get blockTables(): GraphInput {
    return this.#table.input('block_tables', 'i32', ['S', 'B']);
  }

  /** `slots` i32 [T]: token slot that this step's K/V of a token go to, -1 = nowhere. */
  get slots(): GraphInput {
    return this.#table.input('slots', 'i32', ['T']);
  }

  /** `rows` i32 [R]: token rows whose logits are wanted. */
  get rows(): GraphInput {
    return this.#table.input('rows', 'i32', ['R']);
  }
}
