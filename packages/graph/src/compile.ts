import type { Program, ProgramTensor } from '@dsi/kernels';
import { checkProgram } from './check-program.js';
import { rootOf, type Graph, type GraphTensor } from './graph.js';
import { defaultPasses } from './passes/index.js';
import type { Pass } from './passes/pass.js';
import { lifetimes, planArena, type ArenaPlan } from './plan-arena.js';

export interface CompileOptions {
  /** Rewrites, in order. Default: {@link defaultPasses}. `[]` gives the graph as it was built. */
  readonly passes?: readonly Pass[];
}

/** What compiling did, for people (`dsi explain`). */
export interface CompileReport {
  readonly name: string;
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Every pass that ran, with how many nodes it fused away, folded or removed. */
  readonly passes: readonly { readonly name: string; readonly changes: number; readonly nodesAfter: number }[];
  /** Sums that became part of the norm after them. */
  readonly addNormFusions: number;
  /** Products that joined another one of the same activation. */
  readonly linearsMerged: number;
  readonly constantsFolded: number;
  readonly slicesEliminated: number;
  readonly deadNodes: number;
  /** Activation memory at the maxima, planned by liveness. */
  readonly arenaBytes: number;
  /** The same if no tensor shared bytes with another. */
  readonly arenaBytesWithoutReuse: number;
}

export interface Compiled {
  readonly program: Program;
  readonly report: CompileReport;
}

/**
 * Rewrites a graph, plans its memory and gives the program that backends run. Pure: the graph is not changed.
 *
 * @throws ProgramError if a pass broke the graph (every program is checked whole)
 */
export function compile(graph: Graph, options: CompileOptions = {}): Compiled {
  const { passes = defaultPasses } = options;
  const ran: { name: string; changes: number; nodesAfter: number }[] = [];
  let rewritten = graph;
  for (const pass of passes) {
    const result = pass.run(rewritten);
    rewritten = result.graph;
    ran.push({ name: pass.name, changes: result.changes, nodesAfter: rewritten.nodes.length });
  }
  const plan = planArena(lifetimes(rewritten));
  const program = lower(rewritten, plan);
  checkProgram(program);
  const changes = (name: string) => ran.reduce((n, p) => (p.name === name ? n + p.changes : n), 0);
  return {
    program,
    report: {
      name: graph.name,
      nodesBefore: graph.nodes.length,
      nodesAfter: rewritten.nodes.length,
      passes: ran,
      addNormFusions: changes('fuse-add-norm'),
      linearsMerged: changes('merge-linears'),
      constantsFolded: changes('fold-constants'),
      slicesEliminated: changes('eliminate-slices'),
      deadNodes: changes('remove-dead'),
      arenaBytes: plan.bytes,
      arenaBytesWithoutReuse: plan.bytesWithoutReuse,
    },
  };
}

/** Only tensors that a node or an output names reach the program, so its inputs are exactly what it needs. */
function lower(graph: Graph, plan: ArenaPlan): Program {
  const used = new Set<number>(Object.values(graph.outputs));
  for (const n of graph.nodes) for (const id of [...n.inputs, ...n.outputs]) if (id >= 0) used.add(id);
  const kept = graph.tensors.filter((t) => used.has(t.id));
  const number = new Map(kept.map((t, i) => [t.id, i]));
  const to = (id: number) => (id < 0 ? -1 : number.get(id)!);
  return {
    version: 1,
    name: graph.name,
    numerics: graph.numerics,
    maxDims: graph.maxDims,
    tensors: kept.map((t) => lowerTensor(t, graph, plan)),
    ops: graph.nodes.map((n) => ({ op: n.op, inputs: n.inputs.map(to), outputs: n.outputs.map(to), attrs: n.attrs })),
    arenaBytes: plan.bytes,
    outputs: Object.fromEntries(Object.entries(graph.outputs).map(([name, id]) => [name, to(id)])),
  };
}

function lowerTensor(t: GraphTensor, graph: Graph, plan: ArenaPlan): ProgramTensor {
  const { name, shape } = t;
  switch (t.kind) {
    case 'input':
      return { kind: 'input', name, shape, dtype: t.dtype };
    case 'weight':
      return { kind: 'weight', name, shape };
    case 'const':
      return { kind: 'const', name, shape, dtype: t.dtype, data: t.data };
    case 'kv':
      return { kind: 'kv', name, shape, dtype: t.dtype, width: t.width };
    case 'value':
      return { kind: 'value', name, shape, dtype: t.dtype, offset: plan.offsets.get(rootOf(graph.tensors, t.id))! };
  }
}
