import type { GraphValue } from '@dsi/graph';
import { sliceRows } from '../weights/slice.js';
import { lastSize, type ModelBuilder } from './model-builder.js';

/** Products with consecutive row ranges of one stored matrix, each a weight of its own: the graph merges them again. */
export function fusedLinear(
  m: ModelBuilder,
  x: GraphValue,
  stored: string,
  parts: Readonly<Record<string, number>>,
): GraphValue[] {
  const columns = lastSize(x);
  const total = Object.values(parts).reduce((n, rows) => n + rows, 0);
  let start = 0;
  return Object.entries(parts).map(([name, rows]) => {
    const first = start;
    start += rows;
    const weight = m.derived(`${name}.weight`, [rows, columns], () =>
      sliceRows(`${name}.weight`, m.source.weight(`${stored}.weight`, [total, columns]), first, rows),
    );
    return m.g.linear(x, weight);
  });
}
