import type { Graph, GraphNode, GraphTensor } from '../graph.js';

export interface PassResult {
  readonly graph: Graph;
  /** How many nodes the pass fused away, folded or removed. */
  readonly changes: number;
}

/** A rewrite of a graph that keeps what it computes. Never changes its argument; tensor ids stay what they are. */
export interface Pass {
  readonly name: string;
  run(graph: Graph): PassResult;
}

/** The node that writes each tensor, by tensor id. */
export function producers(graph: Graph): Map<number, GraphNode> {
  const map = new Map<number, GraphNode>();
  for (const node of graph.nodes) for (const id of node.outputs) map.set(id, node);
  return map;
}

/** The graph with every use of a key (as operand, alias base or output) replaced by its value. */
export function substitute(graph: Graph, replacements: ReadonlyMap<number, number>): Graph {
  const to = (id: number): number => {
    let r = id;
    for (let next = replacements.get(r); next !== undefined; next = replacements.get(r)) r = next;
    return r;
  };
  return {
    ...graph,
    tensors: graph.tensors.map((t): GraphTensor => (t.kind === 'value' ? { ...t, aliasOf: to(t.aliasOf) } : t)),
    nodes: graph.nodes.map((n) => ({ ...n, inputs: n.inputs.map(to) })),
    outputs: Object.fromEntries(Object.entries(graph.outputs).map(([name, id]) => [name, to(id)])),
  };
}
