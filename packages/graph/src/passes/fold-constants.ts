import { rootOf, type Graph, type GraphConst, type GraphNode, type GraphTensor } from '../graph.js';
import { Call } from '../reference/call.js';
import { referenceOps } from '../reference/ops.js';
import { staticSize } from '../shape.js';
import type { Pass } from './pass.js';

type Bound = { name: string; shape: number[]; data: Float32Array | Int32Array };

/** Runs a node whose operands are all constants on the reference ops. */
function evaluate(graph: Graph, node: GraphNode, tensors: readonly GraphTensor[]): GraphConst[] {
  const inputs = node.inputs.map((id): Bound | undefined => {
    const t = tensors[id];
    return t?.kind === 'const' ? { name: t.name, shape: t.shape as number[], data: t.data } : undefined;
  });
  const results = node.outputs.map((id): GraphConst => {
    const t = tensors[id] as GraphTensor & { kind: 'value' };
    const data = new (t.dtype === 'f32' ? Float32Array : Int32Array)(staticSize(t.shape)!);
    return { kind: 'const', id, name: t.name, shape: t.shape, dtype: t.dtype, data };
  });
  referenceOps[node.op](new Call(graph.name, node.op, inputs, results as unknown as Bound[], node.attrs));
  return results;
}

function foldable(
  node: GraphNode,
  graph: Graph,
  tensors: readonly GraphTensor[],
  results: ReadonlySet<number>,
): boolean {
  return (
    node.outputs.length > 0 &&
    node.inputs.every((id) => id < 0 || tensors[id]?.kind === 'const') &&
    node.outputs.every((id) => !results.has(id) && staticSize(graph.tensors[id]!.shape) !== undefined)
  );
}

/** Computes at compile time every node that has only constant operands. Results of the graph itself stay computed. */
export const foldConstants: Pass = {
  name: 'fold-constants',
  run(graph) {
    const tensors = [...graph.tensors];
    const results = new Set(Object.values(graph.outputs).map((id) => rootOf(graph.tensors, id)));
    const nodes = graph.nodes.filter((node) => {
      if (!foldable(node, graph, tensors, results)) return true;
      for (const c of evaluate(graph, node, tensors)) {
        for (const t of graph.tensors)
          if (t.kind === 'value' && rootOf(graph.tensors, t.id) === c.id)
            tensors[t.id] = { ...c, id: t.id, name: t.name, shape: t.shape };
      }
      return false;
    });
    return { graph: { ...graph, tensors, nodes }, changes: graph.nodes.length - nodes.length };
  },
};
