import type { GraphNode } from '../graph.js';
import { producers, type Pass } from './pass.js';

/**
 * `s = add(a, b); y = rms_norm(s)` becomes `s, y = add_rms_norm(a, b)`, where the sum stands. Bit-equal: the sum is rounded to f32
 * before it is normalised in both. Of several norms of one sum the first is fused.
 */
export const fuseAddNorm: Pass = {
  name: 'fuse-add-norm',
  run(graph) {
    const written = producers(graph);
    const fused = new Map<GraphNode, GraphNode>();
    const gone = new Set<GraphNode>();
    for (const norm of graph.nodes) {
      const sum = norm.op === 'rms_norm' ? written.get(norm.inputs[0]!) : undefined;
      if (sum?.op !== 'add' || fused.has(sum)) continue;
      fused.set(sum, {
        name: norm.name,
        op: 'add_rms_norm',
        inputs: [sum.inputs[0]!, sum.inputs[1]!, norm.inputs[1]!],
        outputs: [sum.outputs[0]!, norm.outputs[0]!],
        attrs: norm.attrs,
      });
      gone.add(norm);
    }
    const nodes = graph.nodes.filter((n) => !gone.has(n)).map((n) => fused.get(n) ?? n);
    return { graph: { ...graph, nodes }, changes: fused.size };
  },
};
