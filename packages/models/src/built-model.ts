import { compile, type CompileReport, type Graph, type GraphKv } from '@dsi/graph';
import type { CheckedBuildOptions } from './build-options.js';
import type { KvTensorSpec, Program, WeightTensor } from './contract.js';
import type { ModelBuilder } from './layers/model-builder.js';
import { weightBytes } from './weights/slice.js';

/** KV tensors that share a sliding window: a token's row may be freed once it is `window` tokens back. */
export interface KvGroup {
  /** Visible tokens, 0 = all. */
  readonly window: number;
  readonly tensors: readonly string[];
  readonly bytesPerToken: number;
}

export interface BuildReport extends CompileReport {
  /** Bytes of all weights as the checkpoint stores them (unpacked where they are packed). */
  readonly weightBytes: number;
  /** Parameters: elements of all weights. */
  readonly parameters: number;
  /** Tensors of the checkpoint that this program does not read. */
  readonly unusedTensors: readonly string[];
}

/** A program and everything it needs bound: weights by name and KV tensors by name. Plain data except for weight bytes that are made when read. */
export interface BuiltModel {
  readonly graph: Graph;
  readonly program: Program;
  readonly weights: readonly WeightTensor[];
  readonly kvSpecs: readonly KvTensorSpec[];
  readonly kvGroups: readonly KvGroup[];
  readonly kvBytesPerToken: number;
  readonly vocabSize: number;
  readonly maxSequenceLength: number;
  readonly report: BuildReport;
}

/** Compiles a finished graph and describes what it binds to. */
export function finishModel(m: ModelBuilder, options: CheckedBuildOptions, window: (kv: string) => number): BuiltModel {
  const graph = m.g.build();
  const { program, report } = compile(graph);
  const kv = graph.tensors.filter((t): t is GraphKv => t.kind === 'kv');
  const groups = new Map<number, GraphKv[]>();
  for (const t of kv) groups.set(window(t.name), [...(groups.get(window(t.name)) ?? []), t]);
  const { weights } = m;
  return {
    graph,
    program,
    weights,
    kvSpecs: kv.map(({ name, width, dtype }) => ({ name, width, dtype })),
    kvGroups: [...groups].map(([size, tensors]) => ({
      window: size,
      tensors: tensors.map((t) => t.name),
      bytesPerToken: tensors.reduce((n, t) => n + rowBytes(t), 0),
    })),
    kvBytesPerToken: kv.reduce((n, t) => n + rowBytes(t), 0),
    vocabSize: m.config.vocabSize,
    maxSequenceLength: options.maxSequenceLength,
    report: {
      ...report,
      weightBytes: weights.reduce((n, w) => n + weightBytes(w), 0),
      parameters: weights.reduce((n, w) => n + w.shape.reduce((a, b) => a * b, 1), 0),
      unusedTensors: m.source.unused(),
    },
  };
}

function rowBytes(kv: GraphKv): number {
  return kv.width * (kv.dtype === 'f32' ? 4 : 2);
}
