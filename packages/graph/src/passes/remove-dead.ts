import { rootOf, type GraphNode } from '../graph.js';
import type { Pass } from './pass.js';

/** Drops nodes that no output of the graph depends on. Writes to the KV cache are effects and stay. */
export const removeDead: Pass = {
  name: 'remove-dead',
  run(graph) {
    const live = new Set(Object.values(graph.outputs).map((id) => rootOf(graph.tensors, id)));
    const nodes: GraphNode[] = [];
    for (const node of graph.nodes.toReversed()) {
      if (node.op !== 'kv_write' && !node.outputs.some((id) => live.has(id))) continue;
      for (const id of node.inputs) if (id >= 0) live.add(rootOf(graph.tensors, id));
      nodes.push(node);
    }
    return { graph: { ...graph, nodes: nodes.toReversed() }, changes: graph.nodes.length - nodes.length };
  },
};
