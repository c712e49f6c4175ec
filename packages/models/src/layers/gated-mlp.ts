import type { GraphValue } from '@dsi/graph';
import { fusedLinear } from './fused-linear.js';
import type { ModelBuilder } from './model-builder.js';

/** down( silu(gate(x)) * up(x) ): x [T, D] -> [T, D]. */
export function gatedMlp(m: ModelBuilder, x: GraphValue, at: string, size = m.config.intermediateSize): GraphValue {
  const bias = m.config.mlpBias;
  const gate = m.linear(x, `${at}.gate_proj`, size, { bias });
  const up = m.linear(x, `${at}.up_proj`, size, { bias });
  return m.linear(m.g.siluMul(gate, up), `${at}.down_proj`, m.config.hiddenSize, { bias });
}

/** The same with one stored matrix, rows [gate | up] (phi3). */
export function fusedGatedMlp(m: ModelBuilder, x: GraphValue, at: string): GraphValue {
  const size = m.config.intermediateSize;
  const [gate, up] = fusedLinear(m, x, `${at}.gate_up_proj`, {
    [`${at}.gate_proj`]: size,
    [`${at}.up_proj`]: size,
  }) as [GraphValue, GraphValue];
  return m.linear(m.g.siluMul(gate, up), `${at}.down_proj`, m.config.hiddenSize);
}
