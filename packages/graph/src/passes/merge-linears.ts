import type { GraphNode } from '../graph.js';
import type { Pass } from './pass.js';

/** Products that a (maybe merged) linear holds. */
function count(n: GraphNode): number {
  return n.outputs.length;
}

function merge(nodes: readonly GraphNode[]): GraphNode {
  return {
    name: nodes.map((n) => n.name).join('+'),
    op: 'linear',
    inputs: [
      nodes[0]!.inputs[0]!,
      ...nodes.flatMap((n) => n.inputs.slice(1, 1 + count(n))),
      ...nodes.flatMap((n) => n.inputs.slice(1 + count(n))),
    ],
    outputs: nodes.flatMap((n) => n.outputs),
    attrs: nodes[0]!.attrs,
  };
}

/**
 * Products of one activation (Q, K, V; gate and up; the down-projections of MLA) become one variadic `linear`, where the first of
 * them stands. Bit-equal: every output keeps its own chain. Products that must stay f32 merge only with their like.
 */
export const mergeLinears: Pass = {
  name: 'merge-linears',
  run(graph) {
    const groups = new Map<string, GraphNode[]>();
    for (const n of graph.nodes) {
      if (n.op !== 'linear') continue;
      const key = `${n.inputs[0]} ${n.attrs.f32 === true}`;
      groups.set(key, [...(groups.get(key) ?? []), n]);
    }
    const replaced = new Map<GraphNode, GraphNode | undefined>();
    let changes = 0;
    for (const group of groups.values()) {
      if (group.length < 2) continue;
      for (const n of group) replaced.set(n, undefined);
      replaced.set(group[0]!, merge(group));
      changes += group.length - 1;
    }
    const nodes = graph.nodes.map((n) => (replaced.has(n) ? replaced.get(n) : n)).filter((n) => n !== undefined);
    return { graph: { ...graph, nodes }, changes };
  },
};
