/** A [rows, cols] float32 matrix that is read in ranges of rows, so that none has to be in memory whole. */
export interface RowSource {
  readonly rows: number;
  readonly cols: number;
  /** Rows [begin, end) in a new array. */
  read(begin: number, end: number): Promise<Float32Array>;
}

/** Rows of `source` in another order: row r of the result is row `rowOf(r)`. Reads the span that a range needs. */
export function selectRows(source: RowSource, rows: number, rowOf: (row: number) => number): RowSource {
  const { cols } = source;
  return {
    rows,
    cols,
    async read(begin, end) {
      let low = Infinity;
      let high = -1;
      for (let r = begin; r < end; r++) {
        low = Math.min(low, rowOf(r));
        high = Math.max(high, rowOf(r));
      }
      const out = new Float32Array((end - begin) * cols);
      if (end <= begin) return out;
      const span = await source.read(low, high + 1);
      for (let r = begin; r < end; r++) {
        const from = (rowOf(r) - low) * cols;
        out.set(span.subarray(from, from + cols), (r - begin) * cols);
      }
      return out;
    },
  };
}

/** Matrices of equal width one below the other. */
export function stackRows(sources: readonly RowSource[]): RowSource {
  const { cols } = sources[0]!;
  const starts = [0];
  for (const source of sources) starts.push(starts.at(-1)! + source.rows);
  return {
    rows: starts.at(-1)!,
    cols,
    async read(begin, end) {
      const out = new Float32Array((end - begin) * cols);
      for (const [i, source] of sources.entries()) {
        const from = Math.max(begin, starts[i]!);
        const to = Math.min(end, starts[i + 1]!);
        if (from < to) out.set(await source.read(from - starts[i]!, to - starts[i]!), (from - begin) * cols);
      }
      return out;
    },
  };
}

/** Values in memory as one row. */
export function rowOfValues(values: Float32Array): RowSource {
  return {
    rows: 1,
    cols: values.length,
    read: async (begin, end) => (end > begin ? values.slice() : new Float32Array(0)),
  };
}

/**
 * Blocks of `blockRows` consecutive rows, of which the first `count` from `first` on are taken and transposed:
 * [blocks * blockRows, cols] becomes [blocks * cols, count].
 */
export function transposeBlocks(source: RowSource, blockRows: number, first: number, count: number): RowSource {
  const { cols } = source;
  const blocks = source.rows / blockRows;
  return {
    rows: blocks * cols,
    cols: count,
    async read(begin, end) {
      const out = new Float32Array((end - begin) * count);
      for (let block = Math.floor(begin / cols); block * cols < end; block++) {
        const values = await source.read(block * blockRows + first, block * blockRows + first + count);
        const from = Math.max(begin, block * cols);
        const to = Math.min(end, (block + 1) * cols);
        for (let r = from; r < to; r++)
          for (let i = 0; i < count; i++) out[(r - begin) * count + i] = values[i * cols + (r - block * cols)]!;
      }
      return out;
    },
  };
}

/**
 * The row order that turns half-split RoPE (dimension i pairs with i + d/2) into adjacent pairs (2i, 2i + 1), head by
 * head: row 2i + s of a head comes from row s * d/2 + i.
 */
export function interleaveHeads(headDim: number): (row: number) => number {
  return (row) => {
    const inHead = row % headDim;
    return row - inHead + (inHead & 1) * (headDim / 2) + (inHead >> 1);
  };
}

/** The inverse of `interleaveHeads`. */
export function splitHeads(headDim: number): (row: number) => number {
  return (row) => {
    const inHead = row % headDim;
    const half = headDim / 2;
    return row - inHead + (inHead < half ? 2 * inHead : 2 * (inHead - half) + 1);
  };
}
