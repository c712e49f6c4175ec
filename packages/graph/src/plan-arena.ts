import { maxBytes } from './check-program.js';
import { rootOf, type Graph } from './graph.js';

/** Bytes that a tensor owns, and the nodes between which it must keep them. */
export interface Lifetime {
  /** Tensor id. */
  readonly id: number;
  /** At the declared maxima, rounded up to the alignment. */
  readonly bytes: number;
  /** Index of the node that writes it. */
  readonly first: number;
  /** Index of the last node that reads it; the number of nodes for a result of the graph. */
  readonly last: number;
}

export interface ArenaPlan {
  /** Byte offset of every owning value tensor, by tensor id. */
  readonly offsets: ReadonlyMap<number, number>;
  readonly bytes: number;
  /** What the tensors would take if each had bytes of its own. */
  readonly bytesWithoutReuse: number;
}

const alignment = 64;

/** Lifetimes of the value tensors that nodes write; aliases count as uses of their root. */
export function lifetimes(graph: Graph): Lifetime[] {
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  graph.nodes.forEach((node, i) => {
    for (const id of node.inputs) {
      const root = rootOf(graph.tensors, id);
      if (first.has(root)) last.set(root, i);
    }
    for (const id of node.outputs) {
      first.set(id, i);
      last.set(id, i);
    }
  });
  for (const id of Object.values(graph.outputs)) last.set(rootOf(graph.tensors, id), graph.nodes.length);
  return [...first].map(([id, begin]) => {
    const t = graph.tensors[id]!;
    const size = t.kind === 'value' ? maxBytes(t.shape, t.dtype, graph.maxDims) : 0;
    return { id, bytes: Math.ceil(size / alignment) * alignment, first: begin, last: last.get(id)! };
  });
}

/**
 * Places tensors so that two whose lifetimes touch never share bytes (a node's operands and results are alive together):
 * largest first, each into the tightest gap that is free during its whole lifetime.
 */
export function planArena(tensors: readonly Lifetime[]): ArenaPlan {
  const placed: (Lifetime & { readonly offset: number })[] = [];
  const order = tensors.toSorted((a, b) => b.bytes - a.bytes || a.first - b.first || a.id - b.id);
  for (const t of order) {
    const others = placed.filter((o) => o.first <= t.last && t.first <= o.last).toSorted((a, b) => a.offset - b.offset);
    let best: { offset: number; gap: number } | undefined;
    let end = 0;
    for (const o of others) {
      const gap = o.offset - end;
      if (gap >= t.bytes && (best === undefined || gap < best.gap)) best = { offset: end, gap };
      end = Math.max(end, o.offset + o.bytes);
    }
    placed.push({ ...t, offset: best?.offset ?? end });
  }
  return {
    offsets: new Map(placed.map((t) => [t.id, t.offset])),
    bytes: placed.reduce((n, t) => Math.max(n, t.offset + t.bytes), 0),
    bytesWithoutReuse: tensors.reduce((n, t) => n + t.bytes, 0),
  };
}
