import type { HostArray, LaunchArgs, Numerics, WeightTensor } from '@dsi/kernels';
import { compile, createReferenceBackend, GraphBuilder, weightUses, type Graph, type Pass } from '../src/index.js';

const maxDims = { T: 32, S: 4, R: 8, B: 8 };

export function newGraph(numerics: Numerics = 'exact'): GraphBuilder {
  return new GraphBuilder('test', { numerics, maxDims, blockSize: 4 });
}

/** Float32 weight of plain numbers. */
export function weight(name: string, shape: readonly number[], values: readonly number[]): WeightTensor {
  return { name, format: 'F32', shape, data: [{ bytes: new Uint8Array(Float32Array.from(values).buffer) }] };
}

export interface Run {
  readonly graph: Graph;
  readonly weights?: readonly WeightTensor[];
  readonly launches: readonly LaunchArgs[];
  readonly passes?: readonly Pass[];
  readonly numBlocks?: number;
}

/** Runs a graph on the reference, with the arena full of NaN before every launch. */
export async function runGraph(run: Run): Promise<Readonly<Record<string, HostArray>>[]> {
  const { program } = compile(run.graph, run.passes === undefined ? {} : { passes: run.passes });
  const backend = createReferenceBackend({ poisonArena: true });
  const { numerics } = program;
  const weights = await backend.loadWeights(run.weights ?? [], weightUses([program]), { numerics });
  const specs = program.tensors.flatMap((t) =>
    t.kind === 'kv' ? [{ name: t.name, width: t.width, dtype: t.dtype }] : [],
  );
  const executable = backend.compile(program, weights, backend.createKv(specs, run.numBlocks ?? 8, 4));
  const outputs = [];
  for (const args of run.launches) outputs.push(await executable.launch(args));
  return outputs;
}

/** A launch of T rows with inputs given as plain numbers by dtype. */
export function launch(
  dims: Partial<LaunchArgs['dims']>,
  f32: Readonly<Record<string, readonly number[]>>,
  i32: Readonly<Record<string, readonly number[]>> = {},
): LaunchArgs {
  const inputs: Record<string, HostArray> = {};
  for (const [name, v] of Object.entries(f32)) inputs[name] = Float32Array.from(v);
  for (const [name, v] of Object.entries(i32)) inputs[name] = Int32Array.from(v);
  return { dims: { T: 0, S: 1, R: 0, B: 1, ...dims }, inputs };
}

/** Asserts element by element with an absolute tolerance for f32 rounding. */
export function close(actual: ArrayLike<number> | undefined, expected: readonly number[], tolerance = 1e-6): void {
  if (actual?.length !== expected.length) throw new Error(`${actual?.length} elements, expected ${expected.length}`);
  expected.forEach((e, i) => {
    if (!(Math.abs(actual[i]! - e) <= tolerance)) throw new Error(`element ${i} is ${actual[i]}, expected ${e}`);
  });
}
