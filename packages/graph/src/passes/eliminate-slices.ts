import type { GraphNode } from '../graph.js';
import { producers, substitute, type Pass } from './pass.js';

/** A slice of a slice reads the first operand; a slice of everything is its operand. */
export const eliminateSlices: Pass = {
  name: 'eliminate-slices',
  run(graph) {
    const written = producers(graph);
    const replacements = new Map<number, number>();
    let changes = 0;
    const nodes: GraphNode[] = [];
    for (const original of graph.nodes) {
      let node = original;
      const inner = node.op === 'slice' ? written.get(node.inputs[0]!) : undefined;
      if (inner?.op === 'slice') {
        const start = (inner.attrs.start as number) + (node.attrs.start as number);
        node = { ...node, inputs: inner.inputs, attrs: { ...node.attrs, start } };
        written.set(node.outputs[0]!, node);
        changes++;
      }
      const x = graph.tensors[node.inputs[0]!];
      if (node.op === 'slice' && x?.kind === 'value' && node.attrs.length === x.shape.at(-1)) {
        replacements.set(node.outputs[0]!, x.id);
        changes++;
      } else nodes.push(node);
    }
    return { graph: substitute({ ...graph, nodes }, replacements), changes };
  },
};
