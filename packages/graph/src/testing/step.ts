import type { DimSymbol } from '@dsi/kernels';
import { blockSize, numBlocks } from './harness.js';
import type { Random } from './random.js';

/** A sequence's tokens of one step: absolute positions from .. to-1, of the sequence numbered `id`. */
export interface Piece {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

export interface Step {
  readonly dims: Readonly<Record<DimSymbol, number>>;
  readonly positions: Int32Array;
  readonly seq_starts: Int32Array;
  readonly block_tables: Int32Array;
  readonly slots: Int32Array;
}

/** Which blocks every sequence owns: handed out in a shuffled order. */
export class BlockTables {
  readonly #free: Int32Array;
  readonly #owned = new Map<number, number[]>();
  #next = 0;

  constructor(random: Random) {
    this.#free = random.permutation(numBlocks);
  }

  /** Block numbers of sequence `id` for positions 0 .. length-1. */
  blocks(id: number, length: number): number[] {
    const owned = this.#owned.get(id) ?? [];
    this.#owned.set(id, owned);
    while (owned.length * blockSize < length) owned.push(this.#free[this.#next++]!);
    return owned;
  }

  /** Inputs of a step of these pieces, in this order. Unused columns of the block tables hold 0. */
  step(pieces: readonly Piece[], R = 0): Step {
    const T = pieces.reduce((n, p) => n + p.to - p.from, 0);
    const B = Math.max(1, ...pieces.map((p) => Math.ceil(p.to / blockSize)));
    const positions: number[] = [];
    const slots: number[] = [];
    const starts = [0];
    const tables = new Int32Array(pieces.length * B);
    pieces.forEach((piece, s) => {
      const blocks = this.blocks(piece.id, piece.to);
      tables.set(blocks.slice(0, B), s * B);
      for (let p = piece.from; p < piece.to; p++) {
        positions.push(p);
        slots.push(blocks[Math.floor(p / blockSize)]! * blockSize + (p % blockSize));
      }
      starts.push(positions.length);
    });
    return {
      dims: { T, S: pieces.length, R, B },
      positions: Int32Array.from(positions),
      seq_starts: Int32Array.from(starts),
      block_tables: tables,
      slots: Int32Array.from(slots),
    };
  }
}
